"""From an asset to a draft: values, losses, faults, and every value accounted for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from dam_sync.mapping.crosswalk import Crosswalk, Drafted
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset, AssetId, FileRef, Loss, Marker, Placement, Relation, Revision, Rights
from dam_sync.model.codec import draft_to_json
from dam_sync.model.exposure import Decided
from dam_sync.model.schema import Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Localized, Person, Term, Value
from tests.support.schemas import LEAST, SOURCE, TARGET, able, compiled, with_lines
from tests.support.values import assets

NOON = datetime(2024, 3, 5, 12, tzinfo=UTC)


def asset(**fields: Value) -> Asset:
    return Asset(AssetId("7"), Revision("1"), filename="a.jpg", form_type="PICTURE", fields=fields)


def draft(folder: Path, text: str, given_: Asset, target: Schema = TARGET, **terms: TermIndex) -> Drafted:
    return compiled(folder, text, target=target).draft(given_, "mark", terms)


def index(*labels: str) -> TermIndex:
    made = TermIndex()
    for position, label in enumerate(labels):
        made.add(Term(label, f"id{position}"))
    return made


def line(folder: Path, written: str, given_: Asset, target: Schema = TARGET, **terms: TermIndex) -> Drafted:
    """What comes of the least mapping with this line."""
    return draft(folder, with_lines(written), given_, target, **terms)


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
        Loss("fields.title.fr", "language not carried"),
        Loss("fields.inventory", "not mapped"),
        Loss("placements.folder[]", "strip_prefix", "nothing is left"),
    }
    assert drafted.tally["fields.keywords[]", "written"] == 1
    assert drafted.tally["fields.keywords[]", "transformed"] == 1
    assert drafted.tally["fields.keywords[]", "dropped"] == 1
    assert drafted.tally["fields.title.en", "transformed"] == 1
    assert drafted.tally["fields.title.fr", "dropped"] == 1
    assert drafted.tally["fields.stat_views", "dropped"] == 1
    assert drafted.tally["tags[]", "dropped"] == 1
    assert not any(path == "fields.width" for path, _ in drafted.tally)


def test_paths_are_tried_in_order_until_one_gives_something(tmp_path: Path) -> None:
    text = "note: {from: [fields.credit, fields.inventory, filename], pipe: [strip_html]}"
    assert line(tmp_path, text, asset(credit="<p>x</p>", inventory="A1")).draft.fields["note"] == "x"
    assert line(tmp_path, text, asset(credit="<p> </p>", inventory="A1")).draft.fields["note"] == "A1"
    assert line(tmp_path, text, asset()).draft.fields["note"] == "a.jpg"


def test_a_path_that_was_not_needed_is_told(tmp_path: Path) -> None:
    drafted = line(tmp_path, "note: {from: [fields.inventory, fields.credit]}", asset(credit="x", inventory="A1"))
    assert Loss("fields.credit", "not used", "another path of its rule came first") in drafted.losses


def test_a_value_without_the_part_that_is_read_is_told(tmp_path: Path) -> None:
    given_ = asset(people=(Person("Ann", "3"), Person("Bob")))
    drafted = line(tmp_path, 'note: {from: "fields.people[].id", pipe: [{join: ","}]}', given_)
    assert drafted.draft.fields["note"] == "3"
    assert drafted.losses == (Loss("fields.people[]", "not used", "it lacks the part that is read"),)
    assert drafted.tally["fields.people[]", "dropped"] == 1


def test_a_language_that_no_path_leads_to_is_told(tmp_path: Path) -> None:
    drafted = line(tmp_path, "note: {from: fields.title.it}", asset(title=Localized({"en": "Sea"})))
    assert drafted.losses == (Loss("fields.title.en", "language not carried"),)


def test_languages_that_another_line_reads_are_no_loss(tmp_path: Path) -> None:
    text = with_lines("titleFr: {from: fields.title.fr}").replace("{from: filename}", "{from: fields.title.en}")
    drafted = draft(tmp_path, text, asset(title=Localized({"en": "Sea", "fr": "Mer", "de": "See"})))
    assert drafted.draft.fields["titleFr"] == "Mer"
    assert drafted.losses == (Loss("fields.title.de", "language not carried"),)


def test_without_a_locale_the_preferred_language_is_taken(tmp_path: Path) -> None:
    text = "locales: [fr]\n" + with_lines("note: {from: fields.title}")
    drafted = draft(tmp_path, text, asset(title=Localized({"en": "Sea", "fr": "Mer"})))
    assert drafted.draft.fields["note"] == "Mer"
    assert drafted.losses == (Loss("fields.title.en", "language not carried"),)


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
    assert drafted.losses == (Loss("fields.title.en", "language", "the target has no de"),)
    assert drafted.tally["fields.title.en", "transformed"] == 1
    assert drafted.tally["fields.title.fr", "written"] == 1
    assert drafted.tally["fields.title.de", "dropped"] == 1


def test_one_language_into_a_target_with_languages_stays_that_language(tmp_path: Path) -> None:
    given_ = asset(title=Localized({"en": "Sea", "fr": "Mer"}))
    drafted = line(tmp_path, "note: {from: fields.title.fr}", given_, LOCALIZED)
    assert drafted.draft.fields["note"] == Localized({"fr": "Mer"})
    assert drafted.losses == (Loss("fields.title.en", "language not carried"),)


def test_a_language_that_is_cut_away_is_told_and_the_others_stay(tmp_path: Path) -> None:
    given_ = asset(title=Localized({"en": "Sea", "fr": "La mer"}))
    text = "note: {from: fields.title, pipe: [{truncate: {max: 3, on_cut: drop}}]}"
    drafted = line(tmp_path, text, given_, LOCALIZED)
    assert drafted.draft.fields["note"] == Localized({"en": "Sea"})
    assert [(loss.path, loss.rule) for loss in drafted.losses] == [("fields.title.fr", "truncate")]


def test_a_verb_that_needs_one_language_takes_the_preferred_one(tmp_path: Path) -> None:
    given_ = asset(title=Localized({"en": "a;b", "fr": "c"}))
    drafted = line(tmp_path, 'notes: {from: fields.title, pipe: [{split: ";"}]}', given_, LOCALIZED)
    assert drafted.draft.fields["notes"] == ("a", "b")
    assert drafted.losses == (Loss("fields.title.fr", "language not carried"),)


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
    outcome = "parked" if faults else "dropped"
    assert drafted.tally["fields.inventory", outcome] == 1


def test_a_fault_names_line_rule_and_value(tmp_path: Path) -> None:
    (fault,) = line(tmp_path, "note: {from: fields.inventory}", asset(inventory="x" * 21)).rejections
    assert (fault.path, fault.rule) == ("fields.note", "too long")
    assert "21 characters, at most 20" in fault.detail
    assert "(from fields.inventory)" in fault.detail


def test_an_own_choice_of_a_verb_is_stronger_than_on_error(tmp_path: Path) -> None:
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


def test_required_by_the_line_or_by_the_target(tmp_path: Path) -> None:
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


def test_lists_without_a_vocabulary_verb_match_exactly(tmp_path: Path) -> None:
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


def test_terms_made_by_a_verb_before_others_still_count_as_matched(tmp_path: Path) -> None:
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


def test_what_was_created_is_recalled_by_later_runs(tmp_path: Path) -> None:
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


def test_a_profile_by_cases(tmp_path: Path) -> None:
    cases = "profile: {from: form_type, cases: {PICTURE: images, VIDEO: documents}}\n"
    text = LEAST.replace("profile: {default: images}\n", cases)
    assert draft(tmp_path, text, asset()).draft.profile == "images"
    (fault,) = draft(tmp_path, text, replace(asset(), form_type="AUDIO")).rejections
    assert (fault.path, fault.rule) == ("profile", "cases")
    with_default = text.replace("documents}}", "documents}, default: documents}")
    for form_type in ("AUDIO", ""):
        drafted = draft(tmp_path, with_default, replace(asset(), form_type=form_type))
        assert drafted.draft.profile == "documents"
        assert drafted.losses == ()


def test_a_field_outside_the_type_of_the_profile_is_left_out_and_told(tmp_path: Path) -> None:
    text = with_lines("pages: {from: fields.height_cm}")
    cases = "profile: {from: form_type, cases: {DOCUMENT: documents}, default: images}"
    text = text.replace("profile: {default: images}", cases)
    as_image = draft(tmp_path, text, asset(height_cm=3))
    assert "pages" not in as_image.draft.fields
    assert as_image.losses == (Loss("fields.height_cm", "not in this type", "pages is not in Images"),)
    as_document = draft(tmp_path, text, replace(asset(height_cm=3), form_type="DOCUMENT"))
    assert as_document.draft.fields["pages"] == 3
    assert as_document.losses == ()


def test_a_creation_date_that_no_line_carries_is_a_named_loss(tmp_path: Path) -> None:
    dated = replace(asset(), created_at=NOON)
    (told,) = draft(tmp_path, LEAST, dated).losses
    assert told == Loss("created_at", "target cannot hold", str(NOON))
    held = replace(TARGET, capabilities=able(*TARGET.capabilities.parts, "created"))
    (told,) = draft(tmp_path, LEAST, dated, held).losses
    assert told == Loss("created_at", "not mapped", str(NOON))
    assert draft(tmp_path, with_lines("note: {from: created_at, pipe: [text]}"), dated).losses == ()
    assert draft(tmp_path, f"{LEAST}ignore: [created_at]\n", dated).losses == ()


def test_a_creation_date_that_is_also_a_field_is_accounted_for_once(tmp_path: Path) -> None:
    dated = replace(asset(taken_at=NOON), created_at=NOON)
    assert [loss.path for loss in draft(tmp_path, LEAST.replace("ignore", "report"), dated).losses] == [
        "fields.taken_at"
    ]


FULL = replace(
    asset(),
    status="archived",
    substatus="Internal",
    tags=frozenset(("a", "b")),
    machine_tags=frozenset(("m",)),
    placements=frozenset((Placement("folder", ("Press",)), Placement("label", ("Top",)))),
    rights=Rights(NOON, NOON, frozenset(("staff",))),
    versions=(FileRef("1", "a.jpg"), FileRef("2", "b.jpg")),
    attachments=(FileRef("3", "plan.pdf"),),
    relations=frozenset((Relation("Views", AssetId("8")),)),
)


def test_everything_that_nobody_carries_has_a_name(tmp_path: Path) -> None:
    losses = {(loss.path, loss.rule) for loss in draft(tmp_path, LEAST, FULL).losses}
    assert losses == {
        ("status", "target cannot hold"),
        ("substatus", "not mapped"),
        ("tags", "not mapped"),
        ("machine_tags", "not mapped"),
        ("placements", "not mapped"),
        ("labels", "not mapped"),
        ("release", "not mapped"),
        ("expiry", "not mapped"),
        ("groups", "not mapped"),
        ("versions", "target cannot hold"),
        ("attachments", "target cannot hold"),
        ("relations", "target cannot hold"),
    }


def test_what_target_and_lines_carry_is_no_loss(tmp_path: Path) -> None:
    held = replace(
        TARGET,
        capabilities=able(*TARGET.capabilities.parts, "status", "versions", "attachments", "relations"),
        container_kinds=frozenset({"category", "label"}),
        labels=frozenset({"Top"}),
        groups=None,
    )
    text = with_lines("note: {from: substatus}", 'description: {from: "machine_tags[]", pipe: [{join: " "}]}')
    text += """\
asset: {status: {from: status}}
tags: {from: "tags[]"}
placements:
  - {from: "placements[].path", as: category}
  - {from: "labels[]", as: label}
security: {groups: {from: "groups[]"}, release: {from: release_at}, expiry: {from: expires_at}}
"""
    drafted = draft(tmp_path, text, FULL, held)
    assert drafted.losses == drafted.rejections == ()
    assert drafted.draft.status == "archived"
    assert drafted.draft.placements == {Placement("category", ("Press",)), Placement("label", ("Top",))}
    assert drafted.draft.rights == FULL.rights


@pytest.mark.parametrize(
    ("line", "decided"),
    [
        ('{from: "groups[]"}', Decided(groups=True)),
        ('{from: "groups[]", pipe: [{const: insiders}]}', Decided(groups=True)),
        ('{from: "placements[].path"}', Decided(containers=True)),
        ("{const: [public]}", Decided()),
        ('{from: "tags[]", default: public}', Decided()),
        ('{from: "groups[]", pipe: [{split: staff}, {default: public}], on_error: drop}', Decided()),
    ],
)
def test_what_the_groups_of_a_draft_were_made_of(tmp_path: Path, line: str, decided: Decided) -> None:
    held = replace(TARGET, groups=None)
    whole = replace(FULL, rights=Rights(groups=frozenset({"staff"})))
    drafted = draft(tmp_path, LEAST + f"security: {{groups: {line}}}\n", whole, held)
    assert drafted.decided == decided
    assert draft(tmp_path, LEAST + f"security: {{groups: {line}}}\n", asset(), held).decided == Decided()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('security: {groups: {from: "groups[]"}}\n', "security.groups"),
        ('placements: [{from: "labels[]", as: label}]\n', "placements[0]"),
        ("asset: {status: {from: substatus}}\n", "asset.status"),
    ],
)
def test_names_that_the_target_does_not_know_park(tmp_path: Path, text: str, place: str) -> None:
    held = replace(
        TARGET,
        capabilities=able(*TARGET.capabilities.parts, "status"),
        container_kinds=frozenset({"label"}),
        labels=frozenset({"Other"}),
        groups=frozenset({"public"}),
    )
    (fault,) = draft(tmp_path, LEAST + text, FULL, held).rejections
    assert (fault.path, fault.rule) == (place, "not in the list")


def test_the_file_name_is_the_assets_own_where_no_line_makes_one(tmp_path: Path) -> None:
    assert draft(tmp_path, LEAST, asset()).draft.filename == "a.jpg"
    nameless = replace(asset(), filename="", versions=(FileRef("1", "b.jpg"),))
    assert draft(tmp_path, LEAST.replace("filename}", "id}"), nameless).draft.filename == "b.jpg"


def test_what_a_selection_takes(tmp_path: Path) -> None:
    crosswalk = compiled(tmp_path, LEAST + 'select: {status: [published], containers: ["/Press"]}\n')
    inside = replace(asset(), status="published", placements=frozenset((Placement("folder", ("Press", "2024")),)))
    assert crosswalk.selects(inside)
    assert not crosswalk.selects(replace(inside, status="draft"))
    assert not crosswalk.selects(replace(inside, placements=frozenset((Placement("folder", ("Pressing",)),))))
    assert compiled(tmp_path, LEAST).selects(asset())


RICH = """\
version: 1
locales: [fr, en]
lookups: {c: {csv: c.csv, unmatched: drop}}
vocabularies:
  subject: {source: keywords, target: subject, match: [exact, casefold, synonym], unmatched: create}
  country: {target: country, match: [exact], unmatched: drop}
profile: {from: form_type, cases: {PICTURE: images}, default: documents}
asset:
  filename: {from: filename, pipe: [nfc, {safe_name: 40}]}
fields:
  srckey: {marker: true}
  title: {from: [fields.title.en, fields.title, filename], pipe: [trim, {truncate: {max: 10, on_cut: note}}]}
  titleFr: {from: fields.title.fr, on_error: "null"}
  note: {from: [fields.inventory, fields.credit], pipe: [strip_html, {truncate: {max: 8, on_cut: drop}}, upper]}
  description: {from: "fields.people[]", pipe: [unique, {join: ", "}]}
  subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}, unique]}
  country: {from: fields.country, pipe: [{lookup: c}, {vocabulary: country}], default: Worldwide}
  shotDate: {from: [fields.shot_date, fields.taken_at], pipe: [{date: {in: [iso, "%Y"]}}], on_error: drop}
  heightCm: {from: fields.height_cm}
  approved: {from: fields.cleared, on_error: drop}
  pages: {from: fields.site.latitude}
tags: {from: "tags[]", pipe: [trim, casefold, unique]}
placements: {from: "placements[].path", as: category}
security: {groups: {from: "groups[]", on_error: drop}, release: {from: release_at}}
unmapped: report
"""


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Crosswalk:
    folder = tmp_path_factory.mktemp("rich")
    (folder / "c.csv").write_text("key,value\na,France\n")
    return compiled(folder, RICH)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_=assets())
def test_every_value_is_accounted_for_and_nothing_raises(rich: Crosswalk, given_: Asset) -> None:
    drafted = rich.draft(given_, "mark", {"subject": index("Sea"), "country": index("France", "Worldwide")})
    assert drafted == rich.draft(given_, "mark", {"subject": index("Sea"), "country": index("France", "Worldwide")})
    draft_to_json(drafted.draft)
    counted: Counter[str] = Counter()
    for (path, outcome), times in drafted.tally.items():
        assert outcome in ("written", "transformed", "dropped", "parked")
        counted[path] += times
    for key, value in given_.fields.items():
        if key == "width":
            assert not any(path.startswith("fields.width") for path in counted)
            continue
        there = Counter(values_of(key, value))
        for path, times in there.items():
            assert counted[path] >= times, (path, drafted.tally)
            assert counted[path] % times == 0
    assert {path.split(".")[1].removesuffix("[]") for path in counted if path.startswith("fields.")} <= set(
        given_.fields
    )
    assert counted["tags[]"] == sum(1 for tag in given_.tags if tag.strip())
    parked = any(outcome == "parked" for _, outcome in drafted.tally)
    assert not parked or drafted.rejections


def values_of(key: str, value: Value) -> list[str]:
    """Names of the values that are not empty, written down again so that the count is not taken from the code."""
    single = not isinstance(value, tuple)
    names = []
    for item in (value,) if not isinstance(value, tuple) else value:
        name = f"fields.{key}" if single else f"fields.{key}[]"
        if isinstance(item, Localized):
            names += [f"{name}.{locale}" for locale, text in item.texts.items() if text.strip()]
        elif not (isinstance(item, str) and not item.strip()) and not (
            isinstance(item, Term) and not item.label.strip()
        ):
            names.append(name)
    return names


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_=assets())
def test_written_values_fit_the_target(rich: Crosswalk, given_: Asset) -> None:
    drafted = rich.draft(given_, "mark", {})
    for key, value in drafted.draft.fields.items():
        field = TARGET.fields[key]
        assert isinstance(value, tuple) == field.multiple
        for item in value if isinstance(value, tuple) else (value,):
            if field.max_length and isinstance(item, str):
                assert len(item) <= field.max_length
    assert all(placement.kind == "category" and placement.path for placement in drafted.draft.placements)
    assert drafted.draft.rights.groups <= (TARGET.groups or frozenset())
    assert SOURCE.fields.keys() >= rich.unread
