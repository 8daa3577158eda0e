"""From an asset to a draft: values, losses, faults, and every value accounted for."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from dam_sync.model.asset import Loss, Marker, Placement, Rights
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.values import Localized, Person, Term
from tests.support.mapping.drafts import NOON, asset, draft, index, line, tally_of
from tests.support.mapping.tenant_schemas import LEAST, TARGET, with_lines


def test_a_whole_asset(tmp_path: Path) -> None:
    text = """\
version: 1
locales: [en, fr]
vocabularies:
  subject: {source: keywords, target: subject, match: [exact, casefold], unmatched: create}
profile: {from: form_type, cases: {PICTURE: images}, default: documents}
asset:
  filename: {from: filename, pipe: [nfc, {safe_name: 128}]}
fields:
  srckey: {marker: true}
  title: {from: [fields.title.en, fields.title.fr, filename], pipe: [trim, {truncate: {max: 255}}], required: true}
  subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}, unique]}
  shotDate: {from: fields.shot_date}
tags: {from: "tags[]", pipe: [trim, casefold, unique]}
placements: {from: "placements[].path", pipe: [{strip_prefix: /Library}], as: category}
security: {groups: {const: [public]}, release: {from: release_at}, expiry: {from: expires_at}}
ignore: [stat_views]
unmapped: report
"""
    given_ = replace(
        asset(
            title=Localized({"en": " Sea ", "fr": "Mer"}),
            keywords=(Term("sea", "1"), Term("Sea", "2"), Term("Land", "3")),
            shot_date=date(2024, 1, 2),
            stat_views=7,
            width=100,
            inventory="A1",
        ),
        filename="e\u0301te\u0301?.jpg",
        tags=frozenset((" B", "b", "a")),
        placements=frozenset((Placement("folder", ("Library", "Press")), Placement("folder", ("Library",)))),
        rights=Rights(NOON, None, frozenset()),
    )
    drafted = draft(tmp_path, text, given_, subject=index("Sea"))
    made = drafted.draft
    assert made.marker == Marker("srckey", "mark")
    assert (made.filename, made.profile, made.status) == ("été_.jpg", "images", "")
    assert made.fields == {
        "srckey": "mark",
        "title": "Sea",
        "subject": (Term("Sea", "id0"), Term("Land")),
        "shotDate": date(2024, 1, 2),
    }
    assert made.tags == {"a", "b"}
    assert made.placements == {Placement("category", ("Press",))}
    assert made.rights == Rights(NOON, None, frozenset(("public",)))
    assert drafted.rejections == ()
    assert drafted.new_terms == (("subject", Term("Land", path=("Land",))),)
    assert set(drafted.losses) == {
        Loss("fields.title.fr", "language not carried", "Mer"),
        Loss("fields.inventory", "not mapped", "A1"),
        Loss("placements.folder[]", "strip_prefix", "/Library (nothing is left)"),
        Loss("filename", "safe_name", "“été?.jpg” is “été_.jpg”"),
    }
    assert tally_of(drafted)["fields.keywords[]", "written"] == 1
    assert tally_of(drafted)["fields.keywords[]", "transformed"] == 1
    assert tally_of(drafted)["fields.keywords[]", "dropped"] == 1
    assert tally_of(drafted)["fields.title.en", "transformed"] == 1
    assert tally_of(drafted)["fields.title.fr", "lost"] == 1
    assert tally_of(drafted)["fields.stat_views", "dropped"] == 1
    assert tally_of(drafted)["tags[]", "dropped"] == 1
    assert not any(path == "fields.width" for path, _ in tally_of(drafted))


def test_paths_are_tried_in_order_until_one_has_a_value(tmp_path: Path) -> None:
    text = "note: {from: [fields.credit, fields.inventory, filename], pipe: [strip_html]}"
    assert line(tmp_path, text, asset(credit="<p>x</p>", inventory="A1")).draft.fields["note"] == "x"
    assert line(tmp_path, text, asset(credit="<p> </p>", inventory="A1")).draft.fields["note"] == "A1"
    assert line(tmp_path, text, asset()).draft.fields["note"] == "a.jpg"


def test_a_path_that_was_not_needed_is_reported(tmp_path: Path) -> None:
    drafted = line(tmp_path, "note: {from: [fields.inventory, fields.credit]}", asset(credit="x", inventory="A1"))
    assert Loss("fields.credit", "not used", "x (another path of its rule came first)") in drafted.losses


def test_a_value_without_the_part_that_is_read_is_reported(tmp_path: Path) -> None:
    given_ = asset(people=(Person("Ann", "3"), Person("Bob")))
    drafted = line(tmp_path, 'note: {from: "fields.people[].id", pipe: [{join: ","}]}', given_)
    assert drafted.draft.fields["note"] == "3"
    assert drafted.losses == (Loss("fields.people[]", "not used", "Bob (it lacks the part that is read)"),)
    assert tally_of(drafted)["fields.people[]", "dropped"] == 1


def test_a_language_that_no_path_leads_to_is_reported(tmp_path: Path) -> None:
    drafted = line(tmp_path, "note: {from: fields.title.it}", asset(title=Localized({"en": "Sea"})))
    assert drafted.losses == (Loss("fields.title.en", "language not carried", "Sea"),)


@pytest.mark.parametrize(
    ("text", "title", "fields", "lost"),
    [
        pytest.param(
            with_lines("titleFr: {from: fields.title.fr}").replace("{from: filename}", "{from: fields.title.en}"),
            {"en": "Sea", "fr": "Mer", "de": "See"},
            {"titleFr": "Mer"},
            "fields.title.de",
            id="two that two lines read",
        ),
        pytest.param(
            "locales: [fr]\n" + with_lines("note: {from: fields.title}"),
            {"en": "Sea", "fr": "Mer"},
            {"note": "Mer"},
            "fields.title.en",
            id="the preferred one, where the line names none",
        ),
    ],
)
def test_languages_that_no_line_reads_are_a_loss(
    tmp_path: Path, text: str, title: dict[str, str], fields: dict[str, object], lost: str
) -> None:
    drafted = draft(tmp_path, text, asset(title=Localized(title)))
    assert drafted.draft.fields.items() >= fields.items()
    assert drafted.losses == (Loss(lost, "language not carried", title[lost.rpartition(".")[2]]),)


LOCALIZED = replace(
    TARGET,
    fields={
        **TARGET.fields,
        "note": Field("note", FieldKind.TEXT, localized=True, max_length=20),
        "notes": Field("notes", FieldKind.TEXT, localized=True, multiple=True),
    },
    locales=("en", "fr"),
)


def test_a_target_with_languages_gets_all_it_has(tmp_path: Path) -> None:
    given_ = asset(title=Localized({"en": " Sea", "fr": "Mer", "de": "See"}))
    drafted = line(tmp_path, "note: {from: fields.title, pipe: [trim]}", given_, LOCALIZED)
    assert drafted.draft.fields["note"] == Localized({"en": "Sea", "fr": "Mer"})
    assert drafted.losses == (Loss("fields.title.en", "language", "the target has no de: “See”"),)
    assert tally_of(drafted)["fields.title.en", "transformed"] == 1
    assert tally_of(drafted)["fields.title.fr", "written"] == 1
    assert tally_of(drafted)["fields.title.de", "dropped"] == 1


@pytest.mark.parametrize(
    ("text", "title", "fields", "lost"),
    [
        pytest.param(
            "note: {from: fields.title.fr}",
            {"en": "Sea", "fr": "Mer"},
            {"note": Localized({"fr": "Mer"})},
            "fields.title.en",
            id="the one that is read",
        ),
        pytest.param(
            'notes: {from: fields.title, pipe: [{split: ";"}]}',
            {"en": "a;b", "fr": "c"},
            {"notes": ("a", "b")},
            "fields.title.fr",
            id="the preferred one, where a transform needs one",
        ),
    ],
)
def test_one_language_into_a_target_with_languages(
    tmp_path: Path, text: str, title: dict[str, str], fields: dict[str, object], lost: str
) -> None:
    drafted = line(tmp_path, text, asset(title=Localized(title)), LOCALIZED)
    assert drafted.draft.fields.items() >= fields.items()
    assert drafted.losses == (Loss(lost, "language not carried", title[lost.rpartition(".")[2]]),)


def test_a_language_that_is_dropped_is_reported_and_the_others_stay(tmp_path: Path) -> None:
    given_ = asset(title=Localized({"en": "Sea", "fr": "La mer"}))
    text = "note: {from: fields.title, pipe: [{truncate: {max: 3, on_cut: drop}}]}"
    drafted = line(tmp_path, text, given_, LOCALIZED)
    assert drafted.draft.fields["note"] == Localized({"en": "Sea"})
    assert [(loss.path, loss.rule) for loss in drafted.losses] == [("fields.title.fr", "truncate")]


@pytest.mark.parametrize(
    ("on_error", "faults", "losses", "note"),
    [
        ("park", 1, 0, None),
        ("drop", 0, 1, "x"),
        ("null", 0, 1, None),
    ],
)
def test_what_does_not_fit_follows_on_error(
    tmp_path: Path, on_error: str, faults: int, losses: int, note: str | None
) -> None:
    text = f"note: {{from: fields.inventory, on_error: {on_error}, default: x}}"
    drafted = line(tmp_path, text, asset(inventory="a text of more than twenty letters"))
    assert (len(drafted.rejections), len(drafted.losses)) == (faults, losses)
    assert drafted.draft.fields.get("note") == note
    outcome = "parked" if faults else "defaulted" if note else "dropped"
    assert tally_of(drafted)["fields.inventory", outcome] == 1


def test_a_rejection_names_field_rule_cause_and_value(tmp_path: Path) -> None:
    (fault,) = line(tmp_path, "note: {from: fields.inventory}", asset(inventory="x" * 21)).rejections
    assert (fault.path, fault.rule) == ("fields.note", "too long")
    assert "21 characters, at most 20" in fault.detail
    assert "(from fields.inventory)" in fault.detail


def test_the_choice_of_a_transform_takes_precedence_over_on_error(tmp_path: Path) -> None:
    text = "note: {from: fields.inventory, pipe: [{truncate: {max: 3, on_cut: park}}], on_error: drop}"
    assert line(tmp_path, text, asset(inventory="abcd")).rejections


def test_a_default_steps_in_for_nothing_and_for_what_was_dropped(tmp_path: Path) -> None:
    text = "note: {from: fields.inventory, pipe: [{truncate: {max: 3, on_cut: drop}}], default: none}"
    assert line(tmp_path, text, asset()).draft.fields["note"] == "none"
    assert line(tmp_path, text, asset(inventory="abcd")).draft.fields["note"] == "none"
    assert line(tmp_path, text, asset(inventory="abc")).draft.fields["note"] == "abc"


def test_a_default_in_the_pipe_works_on_nothing(tmp_path: Path) -> None:
    text = "note: {from: fields.inventory, pipe: [{default: none}, upper]}"
    assert line(tmp_path, text, asset()).draft.fields["note"] == "NONE"


def test_a_value_may_be_required_by_the_field_rule_or_by_the_target(tmp_path: Path) -> None:
    (fault,) = line(tmp_path, "note: {from: fields.inventory, required: true}", asset()).rejections
    assert (fault.path, fault.rule) == ("fields.note", "required")
    (fault,) = draft(tmp_path, LEAST.replace("from: filename", "from: fields.inventory"), asset()).rejections
    assert (fault.path, fault.rule) == ("fields.title", "required")


def test_several_values_where_one_is_taken(tmp_path: Path) -> None:
    """The schema promised one, the service gave two."""
    drafted = line(tmp_path, "note: {from: fields.inventory}", asset(inventory=("a", "b")))
    assert [fault.rule for fault in drafted.rejections] == ["several values"]
    kept = line(tmp_path, "note: {from: fields.inventory, on_error: drop}", asset(inventory=("a", "b")))
    assert kept.draft.fields["note"] == "a"
    assert [(loss.path, loss.rule) for loss in kept.losses] == [("fields.inventory[]", "several values")]
