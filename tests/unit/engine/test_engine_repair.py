"""What a repair writes: everything that differs, nothing that is right, and nothing over what others added."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dam_sync.engine.compare.facts import Members, Scope
from dam_sync.engine.decide.patches import patch_between
from dam_sync.engine.decide.repair_patch import RepairPatch, repaired_paths
from dam_sync.model.asset import Asset, AssetId, Draft, Patch, Placement, Revision, Rights
from dam_sync.model.audience import Audience
from dam_sync.model.codec import draft_to_json
from dam_sync.model.exposure import is_wider
from dam_sync.model.naming import Naming
from dam_sync.model.schema import Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Localized, Row, Term, Value
from tests.support.comparisons import FILE, facts

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(days=400)
OURS, SPARE = Placement("folder", ("Ours",), "1"), Placement("folder", ("Spare",), "2")
SCHEMA = Schema(
    fields={
        "title": Field("title", FieldKind.TEXT, localized=True),
        "note": Field("note", FieldKind.TEXT),
        "subject": Field("subject", FieldKind.TERM, multiple=True),
        "sizes": Field("sizes", FieldKind.ROWS, multiple=True),
    },
    locales=("en", "fr"),
)
SCOPE = Scope(
    frozenset(SCHEMA.fields), frozenset({"folder"}), tags=True, groups=True, dates=frozenset({"release", "expiry"})
)
DRAFT = Draft(
    None,
    "a.jpg",
    status="published",
    fields={"title": "Sea", "note": "as it was", "subject": (Term("Sea", "1"),)},
    placements=frozenset({OURS}),
    tags=frozenset({"sea"}),
    rights=Rights(NOW, LATER, frozenset({"staff"})),
)
ACTUAL = Asset(
    AssetId("t1"),
    Revision("r"),
    filename="a.jpg",
    status="published",
    versions=(FILE,),
    fields={"title": Localized({"en": "Sea"}), "note": "as it was", "subject": (Term("Sea", "1"),)},
    placements=frozenset({OURS}),
    tags=frozenset({"sea"}),
    rights=Rights(NOW, LATER, frozenset({"staff"})),
)


def patch(
    actual: Asset, *, draft: Draft = DRAFT, last: Draft | None = None, keep: bool = True, schema: Schema = SCHEMA
) -> Patch:
    before = draft_to_json(last or draft)
    about = replace(facts(), schema=schema, members=Members.ALL)
    return RepairPatch(draft, [before], actual, about, SCOPE, keep).patch()


def fields(**values: Value) -> dict[str, Value]:
    return {**ACTUAL.fields, **values}


def test_what_is_as_it_should_be_is_not_written() -> None:
    assert patch(ACTUAL).empty
    assert patch(ACTUAL, keep=False).empty


def test_everything_that_was_changed_is_written() -> None:
    changed = replace(
        ACTUAL,
        filename="b.jpg",
        status="archived",
        fields={"title": Localized({"en": "Lake"}), "subject": ()},
        placements=frozenset(),
        tags=frozenset(),
        rights=Rights(),
    )
    found = patch(changed)
    assert found.fields == DRAFT.fields
    assert (found.filename, found.status, found.rights) == ("a.jpg", "published", DRAFT.rights)
    assert (found.tags_add, found.placements_add) == ({"sea"}, {OURS})
    assert repaired_paths(found, Patch(), Patch(), changed.rights) == [
        "fields.note",
        "fields.subject",
        "fields.title",
        "filename",
        "status",
        "tags",
        "placements",
        "rights",
    ]


def test_a_date_that_is_set_back_because_the_source_changed_other_rights_is_reported() -> None:
    groups = replace(DRAFT, rights=replace(DRAFT.rights, groups=frozenset({"staff", "press"})))
    moved = replace(ACTUAL, rights=replace(ACTUAL.rights, expires_at=LATER + timedelta(days=1)))
    base = patch_between(draft_to_json(DRAFT), groups)
    settled = replace(base, rights=replace(groups.rights, expires_at=moved.rights.expires_at))
    found = patch(moved, draft=groups, last=DRAFT)
    assert found.rights == groups.rights
    assert repaired_paths(found, base, settled, moved.rights) == ["rights"]
    assert repaired_paths(patch(ACTUAL, draft=groups, last=DRAFT), base, base, ACTUAL.rights) == []


def test_what_others_added_stays_unless_nobody_may_add() -> None:
    more = replace(
        ACTUAL,
        fields=fields(
            title=Localized({"en": "Sea", "fr": "Mer"}),
            subject=(Term("Sea", "1"), Term("Sky", "2")),
            sizes=(Row({"part": "by hand"}),),
        ),
        placements=frozenset({OURS, SPARE}),
        tags=frozenset({"sea", "handmade"}),
        rights=replace(ACTUAL.rights, groups=frozenset({"staff", "public"})),
    )
    assert patch(more).empty
    strict = patch(more, keep=False)
    assert strict.fields == {"title": "Sea", "subject": (Term("Sea", "1"),), "sizes": None}
    assert (strict.tags_remove, strict.placements_remove) == ({"handmade"}, {SPARE})
    assert strict.rights == DRAFT.rights


def test_what_others_added_stays_next_to_what_is_repaired() -> None:
    mixed = replace(
        ACTUAL,
        fields=fields(title=Localized({"en": "Lake", "fr": "Mer"}), subject=(Term("Sky", "2"),)),
        rights=Rights(NOW, None, frozenset({"public"})),
    )
    found = patch(mixed)
    assert found.fields["title"] == Localized({"en": "Sea", "fr": "Mer"})
    assert found.fields["subject"] == (Term("Sea", "1"), Term("Sky", "2"))
    assert found.rights == Rights(NOW, LATER, frozenset({"staff", "public"}))


def test_what_we_wrote_before_and_the_source_dropped_was_not_added_by_others() -> None:
    last = replace(
        DRAFT,
        fields={**DRAFT.fields, "title": Localized({"en": "Sea", "fr": "Mer"}), "subject": (Term("Sea"), Term("Sky"))},
        tags=frozenset({"sea", "old"}),
        rights=Rights(NOW, LATER, frozenset({"staff", "guests"})),
    )
    held = replace(
        ACTUAL,
        fields=fields(title=Localized({"en": "Sea", "fr": "Mer"}), subject=(Term("Sea", "1"), Term("Sky", "2"))),
        tags=frozenset({"sea", "old", "handmade"}),
        rights=Rights(NOW, LATER, frozenset({"staff", "guests", "public"})),
    )
    found = patch(held, last=last)
    assert found.fields == {"title": "Sea", "subject": (Term("Sea", "1"),)}
    assert found.tags_remove == {"old"}
    assert found.rights is not None
    assert found.rights.groups == {"staff", "public"}


def test_a_row_that_was_changed_is_no_addition() -> None:
    draft = replace(DRAFT, fields={**DRAFT.fields, "sizes": (Row({"part": "frame"}),)})
    changed = replace(ACTUAL, fields=fields(sizes=(Row({"part": "glass"}),)))
    assert patch(changed, draft=draft).fields == {"sizes": (Row({"part": "frame"}),)}


def test_where_an_asset_lies_in_one_container_it_is_moved_back() -> None:
    single = replace(SCHEMA, container_most={"folder": 1})
    found = patch(replace(ACTUAL, placements=frozenset({SPARE})), schema=single)
    assert (found.placements_add, found.placements_remove) == ({OURS}, {SPARE})


def test_dates_that_others_added_are_cleared_only_where_nobody_may_add() -> None:
    draft = replace(DRAFT, rights=Rights(groups=frozenset({"staff"})))
    assert patch(ACTUAL, draft=draft).empty
    assert patch(ACTUAL, draft=draft, keep=False).cleared == {"release", "expiry"}
    assert patch(ACTUAL, draft=draft, last=DRAFT).cleared == {"release", "expiry"}  # we wrote them


def test_status_and_rights_of_a_closed_asset_are_left_alone() -> None:
    closed = replace(DRAFT, closed=True)
    hidden = replace(ACTUAL, status="draft", rights=Rights(), tags=frozenset())
    found = patch(hidden, draft=closed)
    assert (found.status, found.rights, found.closed, found.tags_add) == (None, None, None, {"sea"})
    opened = patch(hidden, draft=DRAFT, last=closed)
    assert (opened.status, opened.rights, opened.closed) == ("published", DRAFT.rights, False)


@pytest.mark.parametrize(
    ("now", "then", "wider"),
    [
        (Audience(), Audience(), False),
        (Audience(hidden="archived"), Audience(), True),
        (Audience(hidden="archived"), Audience(hidden="draft"), False),
        (Audience(release_at=LATER), Audience(release_at=NOW), True),
        (Audience(release_at=NOW - timedelta(days=1)), Audience(), False),
        (Audience(expires_at=NOW), Audience(), True),
        (Audience(), Audience(expires_at=LATER), False),
        (Audience(groups=frozenset({"a"})), Audience(), True),
        (Audience(groups=frozenset({"a"})), Audience(groups=frozenset({"a", "b"})), True),
        (Audience(groups=frozenset({"a", "b"})), Audience(groups=frozenset({"b"})), False),
        (Audience(), Audience(groups=frozenset({"b"})), False),
    ],
)
def test_who_would_see_more(now: Audience, then: Audience, wider: bool) -> None:
    assert is_wider(now, then, NOW, timedelta(seconds=1)) == wider


def test_a_container_whose_name_the_target_would_not_accept_today_is_the_same() -> None:
    schema = replace(SCHEMA, naming=Naming(frozenset("/"), 80))
    wanted, there = Placement("folder", ("Sea ／ Shore",), "3"), Placement("folder", ("Sea / Shore",), "3")
    draft = replace(DRAFT, placements=frozenset({wanted}))
    assert patch(replace(ACTUAL, placements=frozenset({there})), draft=draft, schema=schema).empty


def test_a_container_that_the_asset_left_is_left_though_others_renamed_it() -> None:
    renamed = Placement("folder", ("Theirs",), OURS.id)
    found = patch(
        replace(ACTUAL, placements=frozenset({renamed})),
        draft=replace(DRAFT, placements=frozenset({SPARE})),
        last=DRAFT,
    )
    assert (found.placements_add, found.placements_remove) == ({SPARE}, {renamed})


def test_a_container_that_the_source_renamed_is_not_left() -> None:
    renamed = replace(DRAFT, placements=frozenset({Placement("folder", ("New",), OURS.id)}))
    assert patch(ACTUAL, draft=renamed, last=DRAFT).empty


@pytest.mark.parametrize("keep", [True, False])
def test_a_container_that_others_renamed_is_the_same(keep: bool) -> None:
    there = replace(ACTUAL, placements=frozenset({Placement("folder", ("Theirs",), OURS.id)}))
    assert patch(there, keep=keep).empty


def test_what_the_target_gave_by_itself_is_not_taken_away() -> None:
    """Nor does a verification report it."""
    draft = replace(DRAFT, fields={key: value for key, value in DRAFT.fields.items() if key != "note"})
    assert patch(replace(ACTUAL, fields=fields(note="a")), draft=draft, keep=False).empty
    assert patch(replace(ACTUAL, fields=fields(note="by hand")), draft=draft, keep=False).fields == {"note": None}


def test_what_we_wrote_is_taken_away_though_the_target_might_have_given_it() -> None:
    draft = replace(DRAFT, fields={key: value for key, value in DRAFT.fields.items() if key != "note"})
    named = replace(DRAFT, fields={**DRAFT.fields, "note": "a"})
    assert patch(replace(ACTUAL, fields=fields(note="a")), draft=draft, last=named).fields == {"note": None}


def test_a_tag_that_we_wrote_is_taken_away_in_the_form_in_which_the_target_has_it() -> None:
    last, there = (
        replace(side, tags=frozenset({"sea", tag}))
        for side, tag in ((DRAFT, "\u00e9t\u00e9"), (ACTUAL, "e\u0301te\u0301"))
    )
    assert patch(there, last=last).tags_remove == {"e\u0301te\u0301"}


def test_others_may_add_to_a_list_of_which_the_draft_has_one_value() -> None:
    draft = replace(DRAFT, fields={**DRAFT.fields, "subject": Term("Sea", "1")})
    more = replace(ACTUAL, fields=fields(subject=(Term("Sea", "1"), Term("Sky", "2"))))
    assert patch(more, draft=draft).empty
    other = replace(ACTUAL, fields=fields(subject=(Term("Sky", "2"),)))
    assert patch(other, draft=draft).fields == {"subject": (Term("Sea", "1"), Term("Sky", "2"))}


def test_a_term_of_the_same_label_that_others_added_stays() -> None:
    tree = {"places": Vocabulary("places", hierarchical=True)}
    field = replace(SCHEMA.fields["subject"], vocabulary="places")
    schema = replace(SCHEMA, fields={**SCHEMA.fields, "subject": field}, vocabularies=tree)
    other = Term("Sea", "9")
    found = patch(replace(ACTUAL, fields=fields(subject=(other,))), schema=schema)
    assert found.fields == {"subject": (Term("Sea", "1"), other)}


def test_a_box_that_somebody_ticked_is_unticked_if_the_source_says_no() -> None:
    schema = replace(SCHEMA, fields={**SCHEMA.fields, "flag": Field("flag", FieldKind.FLAG)})
    says_no = replace(DRAFT, fields={**DRAFT.fields, "flag": False})
    ticked = replace(ACTUAL, fields=fields(flag=True))
    assert patch(ticked, draft=says_no, schema=schema).fields == {"flag": False}
    assert patch(ticked, schema=schema).empty, "nothing is wanted here"


def test_groups_that_stood_in_place_of_everybody_do_not_stay_beside_everybody() -> None:
    everybody = replace(DRAFT, rights=replace(DRAFT.rights, groups=frozenset({"all"})))
    limited = replace(ACTUAL, rights=replace(ACTUAL.rights, groups=frozenset({"staff", "press"})))
    found = patch(limited, draft=everybody, last=DRAFT)
    assert found.rights == everybody.rights
    opened = replace(ACTUAL, rights=replace(ACTUAL.rights, groups=frozenset({"press"})))
    assert patch(opened, draft=DRAFT, last=everybody).rights == DRAFT.rights
    more = replace(ACTUAL, rights=replace(ACTUAL.rights, groups=frozenset({"all", "press"})))
    assert patch(more, draft=everybody).empty, "an addition"
    both = replace(everybody, rights=more.rights)
    assert patch(more, draft=everybody, last=both).rights == everybody.rights, "we wrote it"
    unnamed = replace(ACTUAL, rights=replace(ACTUAL.rights, groups=frozenset()))
    assert patch(unnamed, draft=everybody, last=everybody).empty, "read as one that names no group"
    assert patch(unnamed, draft=everybody, last=both).rights == everybody.rights


def test_an_asset_without_a_file_has_no_name_to_restore() -> None:
    assert patch(replace(ACTUAL, filename="invented", versions=())).empty
