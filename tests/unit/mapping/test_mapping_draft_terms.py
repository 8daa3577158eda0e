"""Drafts: terms of vocabularies, found or new."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.schema import Vocabulary
from dam_sync.model.values import Term
from tests.support.mapping.drafts import asset, draft, index, line
from tests.support.mapping.tenant_schemas import TARGET, compiled, with_lines


def test_lists_without_a_vocabulary_transform_match_exactly(tmp_path: Path) -> None:
    text = "country: {from: fields.country, default: Worldwide}"
    known = index("France", "Worldwide")
    assert line(tmp_path, text, asset(country=Term("France", "9")), country=known).draft.fields["country"] == Term(
        "France", "id0"
    )
    assert line(tmp_path, text, asset(), country=known).draft.fields["country"] == Term("Worldwide", "id1")
    (fault,) = line(tmp_path, text, asset(country=Term("france", "9")), country=known).rejections
    assert (fault.path, fault.rule) == ("fields.country", "not in the list")


def test_a_default_that_the_list_has_not_got_parks(tmp_path: Path) -> None:
    (fault,) = line(
        tmp_path, "country: {from: fields.country, default: Mars}", asset(), country=index("France")
    ).rejections
    assert fault.rule == "not in the list"


def test_terms_made_by_an_earlier_transform_still_count_as_matched(tmp_path: Path) -> None:
    text = with_lines('subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}, first, {default: Land}]}')
    text += "vocabularies: {subject: {target: subject, match: [casefold], unmatched: keep}}\n"
    found = draft(tmp_path, text, asset(keywords=(Term("SEA"), Term("x"))), subject=index("Sea", "Land"))
    assert found.draft.fields["subject"] == (Term("Sea", "id0"),)
    none = draft(tmp_path, text, asset(), subject=index("Sea", "Land"))
    assert none.draft.fields["subject"] == (Term("Land", "id1"),)


def test_new_terms_are_asked_for_once_and_parents_first(tmp_path: Path) -> None:
    tree = replace(TARGET, vocabularies={**TARGET.vocabularies, "subject": Vocabulary("subject", hierarchical=True)})
    text = with_lines('subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}]}')
    text += "vocabularies: {subject: {source: keywords, target: subject, unmatched: create}}\n"
    keywords = (Term("Gull", "1", ("Nature", "Birds", "Gull")), Term("Tern", "2", ("Nature", "Birds", "Tern")))
    known = TermIndex()
    drafted = draft(tmp_path, text, asset(keywords=keywords), tree, subject=known)
    assert ["/".join(term.path) for _, term in drafted.new_terms] == [
        "Nature",
        "Nature/Birds",
        "Nature/Birds/Gull",
        "Nature/Birds/Tern",
    ]
    created = {(name, term.path): replace(term, id=f"id-{term.label}") for name, term in drafted.new_terms}
    completed = drafted.with_terms(created)
    for (_, path), term in created.items():
        known.add_created(path, term)
    again = draft(tmp_path, text, asset(keywords=keywords), tree, subject=known)
    assert again.draft.fields["subject"] == (Term("Gull", "id-Gull"), Term("Tern", "id-Tern"))
    assert completed == again, "an asset that is drafted once is as one drafted after its terms were created"


def test_terms_that_were_created_are_remembered_by_later_runs(tmp_path: Path) -> None:
    text = with_lines('subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}]}')
    text += "vocabularies: {subject: {target: subject, unmatched: create}}\n"
    given_, known = asset(keywords=(Term("Gull", "1"),)), TermIndex()
    draft(tmp_path, text, given_, subject=known)
    known.add_created(("Gull",), Term("Gull", "id-Gull", ("Gull",)))
    later = TermIndex(recalled=known.found, partial=True)
    assert draft(tmp_path, text, given_, subject=later).draft.fields["subject"] == (Term("Gull", "id-Gull"),)
    assert not later.lacking


def test_what_a_draft_looks_up_is_known_before_it_is_made(tmp_path: Path) -> None:
    text = with_lines('subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}]}')
    text += "vocabularies: {subject: {target: subject, unmatched: create}}\n"
    crosswalk, known = compiled(tmp_path, text), TermIndex(recalled={}, partial=True)
    assert not crosswalk.look_up(asset(), {"subject": known})
    assert not known.lacking
    crosswalk.look_up(asset(keywords=(Term("Gull", "1"),)), {"subject": known})
    assert known.lacking
    assert crosswalk.look_up(asset(keywords=(Term("Gull", "1"),)), {"subject": TermIndex()})
