"""What has to happen to an asset: decided from what we know, and never more than has to."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.engine.compare.file_keys import kept_versions, version_key
from dam_sync.engine.decide.change import AssetChange, AssetCreate
from dam_sync.engine.decide.patches import patch_between
from dam_sync.engine.decide.update import Park, Skip, Write, decide, fixed_among, fixed_values
from dam_sync.engine.run.fitness import Fitness
from dam_sync.engine.write.filenames import with_suffix
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Patch, Placement, Relation, Revision, Rights
from dam_sync.model.capabilities import Feature, MembershipWrite, Operation
from dam_sync.model.codec import draft_to_json
from dam_sync.model.journal_names import CREATE, inside
from dam_sync.model.limits import Limits
from dam_sync.model.link import LinkRow
from dam_sync.model.parking import ParkReason
from dam_sync.model.policy import Policy
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema
from dam_sync.report.report import count_operations
from tests.support.mapping.tenant_schemas import able

ABLE = Schema({}, capabilities=able("filename"))
WITH_FILES = replace(ABLE, capabilities=ABLE.capabilities.without(writes=[Feature.FILELESS]))
DAY = datetime(2024, 5, 1, tzinfo=UTC)
FILES = tuple(FileRef(f"f{n}", "a.jpg", n, digests={"md5": f"{n:032x}"}) for n in (1, 2, 3))
DRAFT = Draft(None, "a.jpg", fields={"title": "Sea"})


def asset(*files: FileRef) -> Asset:
    return Asset(AssetId("7"), Revision("r"), versions=files or FILES[:1])


def link(draft: Draft = DRAFT, *files: FileRef) -> LinkRow:
    versions = tuple(version_key(file) for file in files or FILES[:1])
    return LinkRow("7", "t7", versions=versions, draft=draft_to_json(draft))


def writes(**parts: Any) -> Write:
    return Write(AssetChange(**parts))


def test_an_unknown_asset_is_created_with_all_its_versions() -> None:
    assert decide(asset(*FILES), DRAFT, None, ABLE, Policy()) == writes(
        create=AssetCreate(DRAFT, FILES[0]), versions=FILES[1:]
    )


def test_the_policy_or_the_target_may_leave_the_current_version_alone() -> None:
    assert decide(asset(*FILES), DRAFT, None, ABLE, Policy(versions="current")) == writes(
        create=AssetCreate(DRAFT, FILES[-1])
    )
    assert kept_versions(asset(*FILES), ABLE.capabilities.without(Operation.REPLACE), Policy()) == FILES[-1:]


def test_an_equal_asset_is_left_alone() -> None:
    assert decide(asset(), DRAFT, link(), ABLE, Policy()) == Skip()


def test_a_changed_value_is_patched_and_nothing_else() -> None:
    action = decide(asset(), replace(DRAFT, fields={"title": "Lake"}), link(), ABLE, Policy())
    assert action == writes(patch=Patch(fields={"title": "Lake"}))


def test_a_field_that_the_target_no_longer_has_is_not_cleared() -> None:
    """The target lost the field, or the type of the asset did, and the mapping its line."""
    wider = replace(DRAFT, profile="Images", fields={"title": "Sea", "credit": "Ann"})
    now = replace(wider, fields={"title": "Lake"})
    title = Field("title", FieldKind.TEXT)
    credit = Field("credit", FieldKind.TEXT, types=frozenset({"Images"}))
    kinds = (AssetType("Images", "Images"), AssetType("Documents", "Documents"))
    there = replace(ABLE, fields={"title": title, "credit": credit}, types=kinds)
    lost = replace(there, fields={"title": title})
    elsewhere = replace(there, fields={"title": title, "credit": replace(credit, types=frozenset({"Documents"}))})
    for target, patch in ((there, {"title": "Lake", "credit": None}), (lost, {"title": "Lake"})):
        assert decide(asset(), now, link(wider), target, Policy()) == writes(patch=Patch(fields=patch))
    assert decide(asset(), now, link(wider), elsewhere, Policy()) == writes(patch=Patch(fields={"title": "Lake"}))
    assert decide(asset(), replace(now, fields=DRAFT.fields), link(wider), lost, Policy()) == writes()


def test_a_profile_that_changed_at_the_source_is_a_loss_once() -> None:
    """No call gives an asset that exists another one."""
    before, now = replace(DRAFT, profile="Images"), replace(DRAFT, profile="Documents")
    action = decide(asset(), now, link(before), ABLE, Policy())
    assert isinstance(action, Write)
    assert action.change.empty
    assert [(loss.path, loss.rule) for loss in action.losses] == [("profile", "fixed")]
    kept = fixed_values(link(before), now, ABLE, replaced=False)
    assert kept == {"profile": "Images"}
    assert fixed_among(kept, ABLE) == {"profile"}
    told = replace(link(now), kept=kept)
    assert decide(asset(), now, told, ABLE, Policy()) == Skip()
    titled = decide(asset(), replace(now, fields={"title": "Lake"}), told, ABLE, Policy())
    assert titled == writes(patch=Patch(fields={"title": "Lake"}))
    assert fixed_values(told, now, ABLE, replaced=False) == kept
    assert fixed_values(told, before, ABLE, replaced=False) == {}
    assert decide(asset(), DRAFT, link(before), ABLE, Policy()) == Skip()  # the mapping names none any more


def test_fields_of_the_profile_that_an_asset_has_are_cleared() -> None:
    before = replace(DRAFT, profile="Images", fields={"title": "Sea", "credit": "Ann"})
    credit = Field("credit", FieldKind.TEXT, types=frozenset({"Images"}))
    target = replace(ABLE, fields={"credit": credit}, types=(AssetType("Images", "Images"), AssetType("Text", "Text")))
    action = decide(asset(), replace(DRAFT, profile="Text"), link(before), target, Policy())
    assert isinstance(action, Write)
    assert action.change.patch.fields == {"credit": None}


def test_a_new_version_brings_its_name_to_a_target_that_cannot_rename() -> None:
    unable = replace(ABLE, capabilities=ABLE.capabilities.without(writes=[Feature.FILENAME]))
    draft = replace(DRAFT, filename="b.jpg")
    fresh = decide(asset(*FILES[:2]), draft, link(), unable, Policy())
    assert fresh == writes(versions=FILES[1:2])
    same = decide(asset(), draft, link(), unable, Policy())
    assert isinstance(same, Write)
    assert [loss.path for loss in same.losses] == ["filename"]


def test_an_asset_that_lost_its_file_keeps_the_name_of_the_file_that_stays() -> None:
    bare = replace(asset(), versions=())
    assert patch_between(draft_to_json(DRAFT), replace(DRAFT, filename="")).empty
    action = decide(bare, replace(DRAFT, filename=""), link(), ABLE, Policy())
    assert action == Skip() or (isinstance(action, Write) and action.change.patch.filename is None)


def test_versions_after_the_last_one_written_are_added() -> None:
    assert decide(asset(*FILES), DRAFT, link(DRAFT, FILES[0]), ABLE, Policy()) == writes(versions=FILES[1:])


def test_when_the_last_version_written_is_missing_only_the_current_one_is_added() -> None:
    known = link(DRAFT, FileRef("gone", "a.jpg", 99))
    action = decide(asset(*FILES), DRAFT, known, ABLE, Policy())
    assert isinstance(action, Write)
    assert (action.change.patch, action.change.versions) == (Patch(), FILES[-1:])
    assert [(loss.path, loss.detail.partition(":")[0]) for loss in action.losses] == [("versions", "2")]


def test_an_asset_without_a_file_gets_all_versions_that_came_since() -> None:
    """None of them is behind a current one. Those that were reported as not carried stay behind."""
    bare = replace(link(), versions=())
    assert decide(asset(*FILES), DRAFT, bare, ABLE, Policy()) == writes(versions=FILES)
    assert decide(asset(*FILES), DRAFT, bare, ABLE, Policy(versions="current")) == writes(versions=FILES[-1:])
    known = replace(bare, kept={"versions": [version_key(FILES[0])]})
    assert decide(asset(*FILES), DRAFT, known, ABLE, Policy()) == writes(versions=FILES[1:])


def test_a_version_before_one_that_was_written_is_reported_once() -> None:
    action = decide(asset(*FILES), DRAFT, link(DRAFT, FILES[0], FILES[2]), ABLE, Policy())
    assert isinstance(action, Write)
    assert (action.change.versions, [loss.path for loss in action.losses]) == ((), ["versions"])
    known = replace(link(DRAFT, FILES[0], FILES[2]), kept={"versions": [version_key(FILES[1])]})
    assert decide(asset(*FILES), DRAFT, known, ABLE, Policy()) == Skip()


@pytest.mark.parametrize(
    ("known", "draft", "missing"),
    [
        (None, DRAFT, Operation.CREATE),
        (link(DRAFT, FileRef("old", "a.jpg", 9)), DRAFT, Operation.REPLACE),
        (link(), replace(DRAFT, filename="b.jpg"), Operation.UPDATE),
    ],
)
def test_what_the_target_cannot_do_is_parked(known: LinkRow | None, draft: Draft, missing: Operation) -> None:
    action = decide(asset(), draft, known, replace(ABLE, capabilities=ABLE.capabilities.without(missing)), Policy())
    assert isinstance(action, Park)
    assert action.outcome.cause == "Unsupported"


def test_an_asset_without_a_file_is_parked_where_the_target_takes_none() -> None:
    """Decided before anything is sent, so that a plan says it too."""
    bare = replace(asset(), versions=())
    action = decide(bare, DRAFT, None, WITH_FILES, Policy())
    assert isinstance(action, Park)
    assert action.outcome.cause == "Unsupported"
    assert decide(bare, DRAFT, None, ABLE, Policy()) == writes(create=AssetCreate(DRAFT))
    assert isinstance(decide(asset(*FILES), DRAFT, None, WITH_FILES, Policy()), Write)


places = st.sets(st.sampled_from("abc").map(lambda name: Placement("category", (name,)))).map(frozenset)
drafts = st.builds(
    Draft,
    st.none(),
    st.sampled_from(["a.jpg", "b.jpg"]),
    st.just("images"),
    st.sampled_from(["", "published"]),
    st.dictionaries(st.sampled_from(["title", "note"]), st.sampled_from(["x", "y", ("x", "y")]), max_size=2),
    places,
    st.sets(st.sampled_from("xyz")).map(frozenset),
    st.builds(
        Rights,
        st.sampled_from([None, DAY]),
        st.sampled_from([None, DAY]),
        st.sets(st.sampled_from(["public", "staff"])).map(frozenset),
    ),
    st.booleans(),
)


@given(drafts, drafts)
def test_a_patch_turns_one_draft_into_the_other(before: Draft, after: Draft) -> None:
    patch = patch_between(draft_to_json(before), after)
    fields = {key: value for key, value in {**before.fields, **patch.fields}.items() if value is not None}
    assert fields == after.fields
    assert (before.placements - patch.placements_remove) | patch.placements_add == after.placements
    assert (before.tags - patch.tags_remove) | patch.tags_add == after.tags
    assert patch.filename in (None, after.filename)
    assert patch.closed == (None if before.closed == after.closed else after.closed)
    if before.closed and after.closed:
        assert (patch.status, patch.rights, patch.cleared) == (None, None, frozenset())
        return
    assert (patch.rights or before.rights) == after.rights
    assert patch.empty == (draft_to_json(before) == draft_to_json(after)) or (before.status and not after.status)
    assert ("expiry" in patch.cleared) == bool(before.rights.expires_at and not after.rights.expires_at)


@given(st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=300), st.integers(40, 255))
def test_a_suffix_keeps_the_extension_and_the_length(name: str, most: int) -> None:
    made = with_suffix(name, "a1b2c3-77", most)
    assert "_a1b2c3-77" in made
    stem, dot, extension = name.rpartition(".")
    assert len(made) <= most
    if dot and stem and 0 < len(extension) <= 16:
        assert made.endswith(f".{extension}")


@given(drafts)
def test_nothing_changed_is_an_empty_patch(draft: Draft) -> None:
    assert patch_between(draft_to_json(draft), draft).empty


def test_status_and_rights_of_an_asset_that_stays_closed_are_not_written() -> None:
    """They would open it; opening gives them whole."""
    dated = Rights(release_at=datetime(2026, 1, 1, tzinfo=UTC))
    before = draft_to_json(Draft(None, "a.jpg", status="draft", rights=dated, closed=True))
    after = Draft(None, "a.jpg", status="published", rights=Rights(groups=frozenset({"staff"})), closed=True)
    assert patch_between(before, after).empty


def test_opening_a_closed_asset_sets_its_whole_status_and_rights() -> None:
    rights = Rights(release_at=DAY, groups=frozenset({"staff"}))
    draft = replace(DRAFT, status="published", rights=rights)
    closed = draft_to_json(replace(draft, closed=True))
    assert patch_between(closed, draft) == Patch(status="published", rights=rights, closed=False)
    assert patch_between(draft_to_json(draft), replace(draft, closed=True)) == Patch(closed=True)


def test_a_report_counts_writes_by_kind() -> None:
    names = Counter({"create": 3, "term:subject:Sea": 1, inside(CREATE) + "upload": 3, "container:category:/A/B": 2})
    assert count_operations(names) == {"container": 2, "create": 3, "term": 1}


def test_attachments_and_relations_that_came_later_are_brought_over() -> None:
    paper, plan = FileRef("p", "paper.pdf", 5), FileRef("q", "plan.pdf", 6)
    known = replace(link(), attachments=(version_key(paper),), relations=(("view", "8"),))
    views = frozenset({Relation("view", AssetId("8")), Relation("view", AssetId("9"))})
    now = replace(asset(), attachments=(paper, plan), relations=views)
    expected = writes(attachments=(plan,), relations=frozenset({Relation("view", AssetId("9"))}))
    assert decide(now, DRAFT, known, ABLE, Policy()) == expected
    without = replace(ABLE, capabilities=ABLE.capabilities.without(Operation.ATTACH, Operation.RELATE))
    assert decide(now, DRAFT, known, without, Policy()) == Skip()


def test_what_cannot_be_written_to_an_existing_asset_is_a_loss_and_no_call() -> None:
    there, here = Placement("section", ("A",), "1"), Placement("section", ("B",), "2")
    known = link(replace(DRAFT, placements=frozenset({there})))
    draft = replace(DRAFT, filename="b.jpg", placements=frozenset({here}))
    stays = replace(able(), memberships={"section": MembershipWrite.AT_CREATION})
    action = decide(asset(), draft, known, Schema({}, capabilities=stays), Policy())
    assert isinstance(action, Write)
    assert action.change.patch.empty
    assert [(loss.path, loss.rule) for loss in action.losses] == [
        ("placements.section", "fixed"),
        ("filename", "fixed"),
    ]


LARGE, SMALL, UNKNOWN = (FileRef(f"l{size}", "film.mov", size) for size in (11, 10, None))


@pytest.mark.parametrize(
    ("files", "attachments", "known", "parked"),
    [
        ((LARGE,), (), False, True),
        ((SMALL,), (), False, False),
        ((UNKNOWN,), (), False, False),
        ((LARGE, SMALL), (), False, True),
        ((SMALL,), (LARGE,), False, True),
        ((SMALL,), (UNKNOWN,), False, False),
        ((SMALL, LARGE), (), True, True),
        ((SMALL,), (LARGE,), True, True),
        ((SMALL,), (), True, False),
    ],
)
def test_an_asset_with_a_file_above_the_limit_of_the_target_is_parked(
    files: tuple[FileRef, ...], attachments: tuple[FileRef, ...], known: bool, parked: bool
) -> None:
    capabilities = replace(ABLE.capabilities, limits=Limits(largest_bytes=10))
    target = Fitness(replace(ABLE, capabilities=capabilities), Policy())
    found = target.unfit(replace(asset(*files), attachments=attachments), DRAFT, link(DRAFT, SMALL) if known else None)
    assert (found is not None and found.cause is ParkReason.TOO_LARGE) is parked
