"""The comparison of an asset: what is wanted, what the target may hold, what others did."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.engine.compare.atoms import WHOLE
from dam_sync.engine.compare.comparison import Delta, compare, relations_compared
from dam_sync.engine.compare.expected import ExpectedFiles, ExpectedRelations, Stage
from dam_sync.engine.compare.facts import without_given
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Loss, Marker, Placement, Relation, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.capabilities import Feature, MembershipWrite, Support
from dam_sync.model.values import Localized
from tests.support.comparisons import (
    ABLE,
    FILE,
    LONG_AGO,
    NOW,
    SCOPE,
    asset_of,
    category,
    drafts,
    edited,
    expected,
    facts,
    folder,
    mixtures,
)

PLAIN = Draft(None, "a.jpg", status="published", fields={"title": "T"}, rights=Rights(groups=frozenset({"g"})))
OPEN = replace(PLAIN, rights=Rights(groups=frozenset({"all"})))
UNRELEASED = frozenset({Restriction(RestrictionKind.UNRELEASED)})


def foreign(seen: Asset, *states: Draft, changes: Any = (), **about: Any) -> list[str]:
    return compare(expected(*states, **about), seen, facts(**dict(changes)), SCOPE).foreign


def test_without_any_state_nothing_counts_as_changed() -> None:
    files = ExpectedFiles(known=False)
    assert compare(expected(files=files), asset_of(PLAIN), facts(), SCOPE).foreign == []


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"fields": {"title": "U"}}, "fields.title"),
        ({"fields": {"title": "T", "number": 3}}, "fields.number"),
        ({"fields": {}}, "fields.title"),
        ({"fields": {"title": "T", "day": LONG_AGO + timedelta(hours=1)}}, "fields.day"),
        ({"tags": frozenset({"sea"})}, "tags"),
        ({"placements": frozenset({category("p")})}, "placements.category"),
        ({"status": "archived"}, "status"),
        ({"filename": "b.jpg"}, "filename"),
        ({"rights": Rights(groups=frozenset({"g", "h"}))}, "groups"),
        ({"rights": Rights()}, "groups"),
        ({"rights": Rights(groups=frozenset({"g"}), expires_at=NOW)}, "expiry"),
        ({"versions": ()}, "file"),
        ({"versions": (FILE, FILE)}, "versions"),
        ({"attachments": (FILE,)}, "attachments"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_no_state_has_was_done_by_others(part: dict[str, Any], path: str) -> None:
    assert foreign(asset_of(PLAIN), PLAIN) == []
    assert foreign(replace(asset_of(PLAIN), **part), PLAIN) == [path]


@pytest.mark.parametrize(
    "part",
    [
        {"substatus": "Published"},
        {"status": "PUBLISHED"},
        {"fields": {"title": "T", "flag": False}},
        {"fields": {"title": "T", "caption": Localized({"en": "a", "de": "a.jpg"})}},
        {"rights": Rights(release_at=LONG_AGO, groups=frozenset({"g"}))},
        {"fields": {"title": "T", "day": LONG_AGO + timedelta(minutes=59)}},
        {"fields": {"title": "T", "day": LONG_AGO - timedelta(minutes=59)}},
    ],
    ids=[
        "tenant's own status",
        "case of a status",
        "unticked box",
        "title from the file name",
        "date of arrival",
        "field dated after the arrival",
        "field dated before the arrival",
    ],
)
def test_what_the_target_gives_by_itself_is_nobodys_change(part: dict[str, Any]) -> None:
    assert foreign(replace(asset_of(PLAIN), **part), PLAIN) == []


def test_an_asset_without_a_file_has_no_name() -> None:
    files = ExpectedFiles(versions=0, attachments=0)
    assert foreign(asset_of(PLAIN, versions=(), filename="invented"), PLAIN, files=files) == []


def test_the_first_attachment_may_come_back_as_the_file() -> None:
    files = ExpectedFiles(versions=0, attachments=1, attached=(FILE,))
    assert foreign(asset_of(PLAIN), PLAIN, files=files) == []
    other = asset_of(PLAIN, versions=(replace(FILE, size=3, digests={}),))
    assert foreign(other, PLAIN, files=files) == ["file", "versions"]


def test_a_file_that_a_verification_refuted_is_not_ours() -> None:
    files, unread = ExpectedFiles((FILE,), versions=1, attachments=0, refuted=True), replace(FILE, digests={})
    assert foreign(asset_of(PLAIN, versions=(unread,)), PLAIN, files=files) == ["file"]
    assert foreign(asset_of(PLAIN), PLAIN, files=files) == []  # a digest says that ours is there again


def test_files_of_which_the_state_says_nothing_cannot_be_compared() -> None:
    seen = asset_of(PLAIN, versions=(FILE, FileRef("2", "c.jpg", 99)))
    assert foreign(seen, PLAIN, files=ExpectedFiles((FILE,), known=False)) == []


def test_status_and_rights_of_a_hidden_asset_are_not_compared() -> None:
    seen = asset_of(PLAIN, status="draft", rights=Rights(groups=frozenset({"other"})), tags=frozenset({"x"}))
    assert foreign(seen, replace(PLAIN, closed=True)) == ["tags"]


def test_everybody_is_one_value_and_no_set_of_groups() -> None:
    """With plain members two groups beside everybody would count as an addition, and be kept."""
    few = asset_of(PLAIN, rights=Rights(groups=frozenset({"g", "h"})))
    assert foreign(few, OPEN) == ["groups"]
    assert foreign(asset_of(OPEN, rights=Rights()), OPEN) == []
    assert foreign(asset_of(OPEN, rights=Rights(restrictions=UNRELEASED)), OPEN) == ["groups"]
    assert foreign(asset_of(OPEN, rights=Rights()), PLAIN, OPEN) == []
    assert foreign(asset_of(OPEN, rights=Rights()), PLAIN) == ["groups"]


def test_groups_that_a_profile_gives_are_nobodys_change_while_an_asset_is_created() -> None:
    """The asset has those of its profile until its own are written."""
    draft = replace(PLAIN, profile="press", rights=Rights(groups=frozenset({"g"})))

    def audience(one: Draft) -> Audience:
        given = frozenset({"public"}) if one.profile == "press" else frozenset[str]()
        return Audience(groups=(one.rights.groups or given) or None)

    of_service = replace(facts(), audience=audience)
    seen = asset_of(draft, rights=Rights(groups=frozenset({"public"})))
    states = (draft, Draft(None, PLAIN.filename))
    assert compare(expected(*states), seen, of_service, SCOPE).foreign == []
    assert compare(expected(draft, stage=Stage.CREATING), seen, of_service, SCOPE).foreign == []
    assert compare(expected(draft), seen, of_service, SCOPE).foreign == ["groups"]


def test_groups_that_an_attempt_took_away_before_it_gave_others_are_nobodys_change() -> None:
    """Some services take readers away first: then nobody but those who always see it is left."""
    of_service = facts(group_staging=frozenset({"administrators"}))
    one, other = (replace(PLAIN, rights=Rights(groups=frozenset({name}))) for name in ("g", "h"))
    seen = asset_of(one, rights=Rights(groups=frozenset({"administrators"})))

    def changed(*states: Draft) -> list[str]:
        return compare(expected(*states), seen, of_service, SCOPE).foreign

    assert changed(one, other) == []
    assert changed(one) == ["groups"]
    others = asset_of(one, rights=Rights(groups=frozenset({"k"})))
    assert compare(expected(one, other), others, of_service, SCOPE).foreign == ["groups"]


def test_an_asset_that_others_opened_to_everybody_is_between_no_two_states() -> None:
    """One without groups lacks those of either state, which no attempt of ours leaves: everybody sees it."""
    other = replace(PLAIN, rights=Rights(groups=frozenset({"h"})))
    for groups in (frozenset[str](), frozenset({"all"}), frozenset({"all", "g"})):
        seen = asset_of(PLAIN, rights=Rights(groups=groups))
        assert foreign(seen, PLAIN, other) == ["groups"]
        found = compare(expected(PLAIN), seen, facts(), SCOPE, wanted=other).parts["groups"]
        assert (found.same, found.allowed, found.due) == (False, False, True)
    unsaid = replace(PLAIN, rights=Rights())
    assert foreign(asset_of(PLAIN, rights=Rights()), unsaid) == []
    assert foreign(asset_of(PLAIN, rights=Rights(groups=frozenset({"all"}))), unsaid) == ["groups"]


def test_a_release_date_that_an_attempt_took_away_is_nobodys_change() -> None:
    before = replace(OPEN, rights=replace(OPEN.rights, release_at=LONG_AGO))
    after = replace(before, rights=replace(before.rights, expires_at=NOW))
    hidden = asset_of(before, rights=Rights(restrictions=UNRELEASED))
    released = {"always_released": True}.items()
    assert foreign(hidden, before, after, changes=released) == []
    assert foreign(hidden, before, changes=released) == ["groups", "release"]


def test_while_an_asset_is_created_anything_may_be_missing_and_nothing_added() -> None:
    whole = replace(PLAIN, tags=frozenset({"sea"}), placements=frozenset({folder("f")}))
    bare = asset_of(whole, fields={}, tags=frozenset(), placements=frozenset(), rights=Rights(), status="new")
    assert foreign(bare, whole, stage=Stage.CREATING) == []
    assert foreign(bare, whole) == ["fields.title", "groups", "placements.folder", "status", "tags"]
    assert foreign(replace(bare, tags=frozenset({"by hand"})), whole, stage=Stage.CREATING) == ["tags"]


def test_the_field_of_the_marker_is_not_compared_until_an_asset_is_complete() -> None:
    marked = replace(PLAIN, marker=Marker("title", "T"))
    for fields in ({}, {"title": "marked in another way"}):
        seen = asset_of(PLAIN, fields=fields)
        assert foreign(seen, marked, stage=Stage.CREATING) == []
        assert foreign(seen, marked) == ["fields.title"]


def test_a_file_name_counts_once_an_asset_is_complete_and_only_where_a_call_writes_it() -> None:
    """Until then the target names it after the file; and a file that was sent brings its name along."""
    other = asset_of(PLAIN, filename="other.jpg")
    assert foreign(other, PLAIN) == ["filename"]
    assert foreign(other, PLAIN, stage=Stage.CREATING) == []
    assert foreign(other, PLAIN, names=frozenset({"other.jpg"})) == []
    unable = replace(facts(), capabilities=replace(ABLE, features={**ABLE.features, Feature.FILENAME: Support("no")}))
    assert compare(expected(PLAIN), other, unable, SCOPE).foreign == []


def test_where_an_asset_was_created_it_stays_and_nobody_moved_it() -> None:
    moved = asset_of(PLAIN, placements=frozenset({category("q")}))
    placed = replace(PLAIN, placements=frozenset({category("p")}))
    assert foreign(moved, placed) == ["placements.category"]
    memberships = {"category": MembershipWrite.AT_CREATION}
    fixed = replace(facts(), capabilities=replace(ABLE, memberships=memberships))
    assert compare(expected(placed), moved, fixed, SCOPE).foreign == []


def test_the_type_of_a_file_is_not_compared() -> None:
    """Some services correct it."""
    assert foreign(asset_of(PLAIN, versions=(replace(FILE, media_type="image/x-other"),)), PLAIN) == []


def test_a_container_is_the_same_by_its_id() -> None:
    kept = replace(folder("f"), path=("former name",))
    assert (
        foreign(asset_of(PLAIN, placements=frozenset({kept})), replace(PLAIN, placements=frozenset({folder("f")})))
        == []
    )


@pytest.mark.parametrize(("fold", "found"), [(True, []), (False, ["tags"])])
def test_a_target_that_folds_tags_has_them_in_either_case(fold: bool, found: list[str]) -> None:
    seen = asset_of(PLAIN, tags=frozenset({"Sea"}))
    assert foreign(seen, replace(PLAIN, tags=frozenset({"sea"})), changes={"folds_tags": fold}.items()) == found


def test_dates_are_equal_within_the_precision_of_the_target() -> None:
    wrote = replace(PLAIN, rights=replace(PLAIN.rights, expires_at=NOW))
    about = replace(facts(), precision=timedelta(minutes=1))
    for seconds, found in ((59, []), (60, ["expiry"])):
        moved = asset_of(wrote, rights=replace(wrote.rights, expires_at=NOW + timedelta(seconds=seconds)))
        assert compare(expected(wrote), moved, about, SCOPE).foreign == found


@given(drafts())
def test_an_asset_as_it_was_written_is_the_same_and_nobodys_change(draft: Draft) -> None:
    found = compare(expected(draft), asset_of(draft), facts(), SCOPE, wanted=draft)
    assert found.foreign == []
    assert [path for path, part in found.parts.items() if part.due] == []
    assert [
        path for path in found.parts if path not in ("file", "versions", "attachments") and not found.is_same(path)
    ] == []


@given(st.data(), drafts(), drafts())
def test_whatever_a_killed_update_left_is_nobodys_change(data: st.DataObject, one: Draft, other: Draft) -> None:
    seen = data.draw(mixtures(one, other))
    assert compare(expected(one, other), seen, facts(), SCOPE).foreign == []


@given(st.data(), drafts(), drafts())
def test_one_edit_of_others_is_found_and_nothing_else(data: st.DataObject, one: Draft, other: Draft) -> None:
    path, seen = data.draw(edited(data.draw(mixtures(one, other))))
    names = {"placements.folder": {"placements.folder", "placements.category"}}.get(path, {path})
    found = set(compare(expected(one, other), seen, facts(), SCOPE).foreign)
    assert path in found
    assert found <= names


@given(st.data(), drafts(), drafts())
def test_what_is_wanted_and_there_is_the_same_whoever_wrote_it(
    data: st.DataObject, wrote: Draft, wanted: Draft
) -> None:
    found = compare(expected(wrote), asset_of(wanted), facts(), SCOPE, wanted=wanted)
    parts = {path: part for path, part in found.parts.items() if path not in ("file", "versions", "attachments")}
    assert all(part.same for part in parts.values())
    assert all(part.due or part.allowed for part in parts.values())


def test_what_the_target_gave_by_itself_is_left_out_where_a_state_has_nothing() -> None:
    """What an attempt wrote is not left out, though the target might have given the same."""
    plain = replace(PLAIN, fields={})
    caption = {"en": "by hand", "de": "a.jpg"}
    seen = asset_of(PLAIN, fields={"title": "a", "caption": Localized(caption), "day": LONG_AGO, "words": ("a", "b")})
    seen = replace(seen, rights=replace(PLAIN.rights, release_at=LONG_AGO))
    left = without_given(seen, [PLAIN, plain], facts())
    assert left.fields == {"caption": Localized({"en": "by hand"}), "words": ("a", "b")}
    assert left.rights == PLAIN.rights
    wrote = replace(PLAIN, fields=seen.fields, rights=seen.rights)
    assert without_given(seen, [wrote], facts()) == seen
    assert without_given(seen, [wrote, plain], facts()) == left


def test_how_an_asset_is_not_as_wanted_is_said_by_atoms() -> None:
    last = replace(PLAIN, fields={"title": "T", "words": ("a", "b")}, tags=frozenset({"old"}))
    wanted = replace(PLAIN, fields={"title": "U", "words": ("a", "c")}, tags=frozenset({"new"}))
    seen = asset_of(last, fields={"title": "T", "words": ("a", "b", "by hand")}, tags=frozenset({"old", "handmade"}))
    parts = compare(expected(last), seen, facts(), SCOPE, wanted).parts
    assert parts["fields.title"].change == Delta(other=frozenset({WHOLE}))
    assert parts["fields.words"].change == Delta(frozenset("c"), frozenset({"b", "by hand"}))
    assert parts["fields.words"].ours == {"b"}
    assert parts["tags"].change == Delta(frozenset({"new"}), frozenset({"old", "handmade"}))
    assert parts["tags"].ours == {"old"}


def test_groups_are_said_by_member_also_beside_everybody() -> None:
    seen = asset_of(replace(PLAIN, rights=Rights(groups=frozenset({"g", "h"}))))
    found = compare(expected(PLAIN), seen, facts(), SCOPE, OPEN).parts["groups"]
    assert (found.same, found.allowed) == (False, False)
    assert (found.change, found.ours) == (Delta(frozenset({"all"}), frozenset({"g", "h"})), {"g"})
    opened = compare(expected(OPEN), asset_of(OPEN, rights=Rights()), facts(), SCOPE, PLAIN).parts["groups"]
    assert (opened.allowed, opened.change, opened.ours) == (True, Delta(frozenset("g"), frozenset({"all"})), {"all"})


@pytest.mark.parametrize("there", [[], [category("p")], [category("q")], [category("p"), category("q")]])
def test_containers_whose_change_is_pending_may_be_there_or_not(there: list[Placement]) -> None:
    """One is still to be joined, the other still to be left."""
    wrote, wanted = (replace(PLAIN, placements=frozenset({category(name)})) for name in "qp")
    seen, pending = asset_of(PLAIN, placements=frozenset(there)), frozenset({category("p"), category("q")})
    part = compare(expected(wrote, pending=pending), seen, facts(), SCOPE, wanted).parts["placements.category"]
    assert (part.allowed, part.waits) == (True, not part.same)
    others = replace(seen, placements=seen.placements | {category("by hand")})
    part = compare(expected(wrote, pending=pending), others, facts(), SCOPE, wanted).parts["placements.category"]
    assert (part.foreign.added, part.waits) == ({("by hand",)}, False)


def test_relations_that_this_job_did_not_write_were_added_by_others() -> None:
    two = frozenset(Relation("view", AssetId(name)) for name in "ab")
    for written, found in (({("view", "a")}, ["relations"]), ({("view", "a"), ("view", "b"), ("view", "c")}, [])):
        known = ExpectedRelations(frozenset(written))
        assert foreign(asset_of(PLAIN, relations=two), PLAIN, relations=known) == found
    assert foreign(asset_of(PLAIN, relations=two), PLAIN) == []


def test_relations_that_the_target_hides_are_not_missing() -> None:
    known = ExpectedRelations(wanted=frozenset({("view", "a"), ("view", "b")}), pending=frozenset({("view", "b")}))
    assert relations_compared(known, asset_of(PLAIN)).change == Delta(known.wanted or frozenset())
    hidden = asset_of(PLAIN, losses=(Loss("relations", "not returned"),))
    assert relations_compared(known, hidden).change.empty
    one = asset_of(PLAIN, relations=frozenset({Relation("view", AssetId("a"))}))
    assert relations_compared(known, one).waits
