"""What a rollback returns of one asset, what it leaves as it is and says so, and what the state knows of it then."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dam_sync.api.abandoned_rollbacks import finish_abandoned
from dam_sync.engine.compare.file_keys import version_key
from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.context.run_context import Tallies
from dam_sync.engine.decide.undo import NO_NAME, NO_OLDER, NO_RESTORE, WIDENS, undo_of
from dam_sync.engine.rollback.asset import KEPT, LOST, PURGED, RESTORED, RETURNED, AssetUndoer, UndoneAsset
from dam_sync.engine.rollback.rollback import Rollback
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Loss, Patch, Placement, Relation, Rights
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.clock import SystemClock
from dam_sync.model.codec import draft_to_json, placements_to_json, rights_to_json
from dam_sync.model.errors import InvalidValue, NotFound
from dam_sync.model.exposure import ExposureRule, Waiver, Waivers
from dam_sync.model.journal import call_again, note_fact
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.limits import Limits
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.policy import Policy
from dam_sync.model.run_options import RunOptions, StopToken
from dam_sync.model.service import TRASH, Batch, Shard
from dam_sync.model.shared_target import UnsharedTarget
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.model.written import WrittenAsset
from dam_sync.store.rows import Work
from dam_sync.store.store import SqlStore
from dam_sync.store.undo import IN_TRASH, Undone
from dam_sync.store.undo_list import UndoList
from tests.support.comparisons import ABLE, FILE, asset_of, category
from tests.support.purposes import Purposes
from tests.support.random_states import EVERYBODY, SENT, State, Target
from tests.support.run_double import run_double
from tests.support.state.clock_and_rows import entries
from tests.support.state.shared_engine import SHARED

DRAFT = Draft(None, "a.jpg", status="published", fields={"title": "T2"}, rights=Rights(groups=frozenset("g")))
LINK = LinkRow(
    "S",
    "X",
    filename="a.jpg",
    digests=FILE.digests,
    size=FILE.size,
    versions=(version_key(FILE),),
    draft=draft_to_json(DRAFT),
)
TITLE = {"fields.title": ["T1", "T2"]}


def row(operation: str, changes: Json = None, seq: int = 1, detail: Json = None) -> LedgerRow:
    return LedgerRow(seq, 1, operation, "S", "X", detail, "", changes=changes or {})


def written(*operations: str | LedgerRow) -> WrittenAsset:
    rows = [one if isinstance(one, LedgerRow) else row(one, seq=seq) for seq, one in enumerate(operations, 1)]
    return WrittenAsset("X", "S", tuple(rows))


UPDATED = written(row("update:1", TITLE))


# -- what is to be done ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moves", "trash", "restore"),
    [
        (["remove"], False, True),
        (["restore"], True, False),
        (["remove", "restore"], False, False),
        (["restore", "remove"], False, False),
        (["remove", "restore", "remove"], False, True),
        (["restore", "remove", "restore"], True, False),
        (["create", "remove"], True, False),
    ],
)
def test_only_the_first_and_the_last_move_of_a_run_count(moves: list[str], trash: bool, restore: bool) -> None:
    undo = undo_of(written(*moves), LINK, ABLE)
    assert (undo.trash, undo.restore) == (trash, restore)


def test_what_a_repair_wrote_returns_at_the_target_and_is_as_written_in_the_link() -> None:
    """The next run then finds what others had there before the repair."""
    repaired = row(journal_names.repair(1), {"fields.title": ["by hand", "T2"]}, seq=2)
    undo = undo_of(written(repaired), LINK, ABLE)
    assert undo.link is not None
    assert (undo.patch.fields, undo.link.draft["fields"]) == ({"title": "by hand"}, {"title": "T2"})
    both = undo_of(written(row("update:1", TITLE), repaired), LINK, ABLE)
    assert both.link is not None
    assert (both.patch.fields, both.link.draft["fields"]) == ({"title": "T1"}, {"title": "T1"})


def test_a_file_that_a_repair_wrote_again_is_known_by_its_key() -> None:
    rows = [
        row(journal_names.version("2 ab", 7), seq=1),
        row(journal_names.attachment("3 cd", 7), seq=2, detail={"name": "b.pdf", "size": 3, "digests": {}}),
    ]
    undo = undo_of(written(*rows), LINK, ABLE)
    assert (undo.versions, [*undo.detach]) == (("2 ab",), ["3 cd"])


def test_a_file_name_that_no_call_writes_stays_and_is_said() -> None:
    renamed = written(row("update:1", {"filename": ["old.jpg", "a.jpg"]}))
    assert undo_of(renamed, LINK, ABLE).patch.filename == "old.jpg"
    unable = Target(named=False).able
    undo = undo_of(renamed, LINK, unable)
    assert (undo.patch, undo.obstacles, undo.rows) == (Patch(), (NO_NAME,), ())


# -- who sees it -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "stays"),
    [
        ({"rights": Rights(groups=EVERYBODY)}, {}, True),
        ({"rights": Rights(groups=frozenset("gh"))}, {}, True),
        ({"rights": Rights(groups=frozenset("g"))}, {"rights": Rights(groups=frozenset("gh"))}, False),
        ({}, {"status": "draft"}, True),
        ({"status": "draft"}, {}, False),
        ({}, {"closed": True}, True),
    ],
    ids=["everybody", "one more group", "fewer groups", "published again", "a draft again", "not hidden again"],
)
def test_values_that_would_show_the_asset_to_more_people_stay_unless_the_job_accepts_that(
    before: dict[str, Any], after: dict[str, Any], stays: bool
) -> None:
    earlier, wrote = replace(DRAFT, fields={"title": "T1"}, **before), replace(DRAFT, **after)
    seen = asset_of(wrote)
    state = State(Target(), (wrote,), wrote, seen, seen, earlier)
    undo, _ = Purposes(state).rollback()
    assert undo.patch.fields == {"title": "T1"}
    returned = undo.patch.rights is not None, undo.patch.status is not None, undo.patch.closed is not None
    assert (WIDENS in undo.obstacles, any(returned), undo.shows) == (stays, not stays, False)
    assert undo.rows == (() if stays else (1,))
    accepting = Purposes(state)
    accepting.context.task.policy = Policy(exposure=Waivers({ExposureRule.RETURNED: Waiver.ACCEPT}))
    undo, _ = accepting.rollback()
    assert (WIDENS in undo.obstacles, undo.shows, undo.rows) == (False, stays, (1,))


# -- one asset, with a target and a state ------------------------------------------------------------------------------


@dataclass
class Service:
    """The target: one asset, gone if it is None. older: the asset as its version before has it."""

    asset: Asset | None
    older: Asset | None = None
    able: Capabilities = ABLE
    calls: list[str] = field(default_factory=list)
    kills: str = ""  # the call at which the process ends
    trash: frozenset[str] = frozenset()  # other assets

    @property
    def capabilities(self) -> Capabilities:
        return self.able

    async def fetch(self, asset: AssetId) -> Asset:
        if self.asset is None:
            raise NotFound("gone", asset=asset)
        return self.asset

    async def is_trashed(self, asset: AssetId) -> bool:
        return asset in self.trash or (asset == "X" and (await self.fetch(asset)).status == TRASH)

    async def update(self, asset: AssetId, patch: Patch) -> None:
        self._called("update")
        there = await self.fetch(asset)
        fields = {key: value for key, value in {**there.fields, **patch.fields}.items() if value is not None}
        self.asset = replace(there, fields=fields, tags=there.tags - patch.tags_remove | patch.tags_add)

    async def remove(self, asset: AssetId) -> None:
        self._called("remove")

    async def restore(self, asset: AssetId, draft: Draft) -> None:
        self._called("restore")
        await self.fetch(asset)

    async def restore_version(self, asset: AssetId, version: FileRef) -> None:
        self._called(f"version {version.id}")
        self.asset = self.older

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.kills and name.startswith(self.kills):
            self.kills = ""
            raise KeyboardInterrupt


@dataclass
class Scene:
    """The rollback of run 1 of a job whose target has one asset."""

    store: SqlStore
    listed: UndoList
    service: Service
    dry: bool = False

    async def undo(self, wrote: WrittenAsset) -> UndoneAsset:
        return await self.undoer.undo(wrote)

    @property
    def undoer(self) -> AssetUndoer:
        seen = self.service.asset or asset_of(DRAFT)
        facts = Purposes(State(Target(), (DRAFT,), DRAFT, seen, seen, DRAFT)).facts
        known, target = facts["target"], cast(Any, self.service)
        target.limits, target.audience = known.limits, known.audience
        context: Any = run_double(**{**facts, "target": target, "store": self.store, "dry": self.dry})

        async def looked() -> None:
            """The others are there."""

        return AssetUndoer(context, self.listed, again=True, missing=SimpleNamespace(from_target=looked))  # type: ignore[arg-type]

    async def link(self) -> LinkRow | None:
        return (await self.store.links([AssetId("S")])).get(AssetId("S"))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=SHARED)
    await opened.begin("job", "rollback 1")
    await opened.put_link(LINK)
    yield opened
    await opened.close()


@pytest.fixture
def listed(tmp_path: Path) -> Iterator[UndoList]:
    with closing(UndoList(tmp_path / "undo.db", 1)) as made:
        yield made


@pytest.fixture
def scene(store: SqlStore, listed: UndoList) -> Scene:
    return Scene(store, listed, Service(asset_of(DRAFT)))


async def test_an_asset_is_undone_once_and_read_again(scene: Scene) -> None:
    assert await scene.undo(UPDATED) == UndoneAsset(RETURNED)
    assert (scene.service.asset and scene.service.asset.fields) == {"title": "T1"}
    link = await scene.link()
    assert link is not None
    assert (link.draft["fields"], link.source_revision) == ({"title": "T1"}, "")


async def test_a_plan_says_that_more_people_would_see_an_asset_without_reading_it(scene: Scene) -> None:
    sides = [rights_to_json(rights) for rights in (Rights(groups=EVERYBODY), DRAFT.rights)]
    undo = await scene.undoer.planned(written(row("update:1", {"rights": sides})))
    assert (undo.obstacles, undo.empty) == ((WIDENS,), True)


@pytest.mark.parametrize("kept", ["linked", "in the trash"])
async def test_a_link_to_another_asset_of_the_target_says_nothing_of_this_one(scene: Scene, kept: str) -> None:
    """It was created again since."""
    other = replace(LINK, target="Y")
    await scene.store.put_link(other)
    if kept == "in the trash":
        await scene.store.undone(2, Undone("S", "Y", (), IN_TRASH, other))
    assert await scene.undoer.link_of(UPDATED) is None
    assert await scene.undo(UPDATED) == UndoneAsset("")
    assert scene.service.calls == []


async def test_why_nothing_is_done_to_a_missing_asset(scene: Scene) -> None:
    """One that the run removed is no loss."""
    scene.service.asset = None
    assert await scene.undo(UPDATED) == UndoneAsset(KEPT, (LOST,))
    removed = written("remove")
    assert await scene.undo(removed) == UndoneAsset(KEPT, (PURGED,))
    scene.service = Service(asset_of(replace(DRAFT, status=TRASH)), able=ABLE.without(Operation.RESTORE))
    assert await scene.undo(removed) == UndoneAsset(KEPT, (NO_RESTORE,))


async def test_a_dry_run_foretells_what_becomes_of_an_asset_in_the_trash(scene: Scene) -> None:
    """A run without calls takes nothing out of it."""
    scene.dry, scene.service = True, Service(asset_of(replace(DRAFT, status=TRASH)))
    removed = written(row("update:1", TITLE), row("remove", seq=2))
    assert await scene.undo(removed) == UndoneAsset(RESTORED)
    link = await scene.link()
    assert link is not None
    assert link.draft["fields"] == {"title": "T1"}
    scene.service = Service(None)
    assert await scene.undo(removed) == UndoneAsset(KEPT, (PURGED,))


TWO = replace(LINK, size=SENT.size, digests=SENT.digests, versions=(version_key(FILE), version_key(SENT)))
ADDED = written(row(journal_names.version(version_key(SENT))))
NOW = replace(asset_of(DRAFT, tags=frozenset({"sea"})), versions=(FILE, SENT))


@pytest.mark.parametrize("kills", ["", "update"], ids=["at once", "killed in between"])
async def test_values_that_an_older_version_brings_along_are_written_back(scene: Scene, kills: str) -> None:
    draft = draft_to_json(replace(DRAFT, tags=frozenset({"sea"})))
    await scene.store.put_link(replace(TWO, draft=draft))
    old = replace(NOW, versions=(FILE, SENT, replace(FILE, id="3")), fields={"title": "old"}, tags=frozenset({"wood"}))
    scene.service = Service(NOW, old, kills=kills)
    if kills:
        with pytest.raises(KeyboardInterrupt):
            await scene.undo(ADDED)
    done = await scene.undo(ADDED)
    assert (done.fate, scene.service.calls) == (RETURNED, ["version 1", "update", *(["update"] if kills else [])])
    there = scene.service.asset
    assert there is not None
    assert (there.fields, there.tags) == (NOW.fields, NOW.tags)


async def test_no_older_version_is_taken_where_some_are_not_returned(scene: Scene) -> None:
    """Another one than the one before might be."""
    await scene.store.put_link(TWO)
    scene.service = Service(replace(NOW, tags=frozenset(), losses=(Loss("versions", "unreadable"),)))
    done = await scene.undo(ADDED)
    assert (NO_OLDER in done.obstacles, scene.service.calls) == (True, [])


async def test_a_membership_that_waits_is_not_wanted_any_more(scene: Scene) -> None:
    """It would be written by a later run."""
    store, place, shard = scene.store, category("p"), Shard("s")
    await store.record(1, shard, Batch(entries("S"), None), ())
    (work,) = await store.claim(1, 1, timedelta(minutes=5))
    await store.complete(work, Outcome("updated", link=LINK, placements=((place, AssetId("X"), True),)))
    assert await store.open_placements(AssetId("X")) == {place}
    await scene.undo(written(row("update:1", {**TITLE, "placements": [[], placements_to_json([place])]})))
    assert await store.open_placements(AssetId("X")) == frozenset()


# -- a rollback that was given up --------------------------------------------------------------------------------------


async def given_up(scene: Scene) -> Sequence[str]:
    """What is known of the rollback of run 1 then. It had begun with an asset that the run changed, and with one that
    the run created."""
    store, context = scene.store, scene.undoer.context
    for number in (2, 3):
        await store.put_link(replace(LINK, source=f"S{number}", target=f"X{number}"))
    for source, target, name, changes in (("S", "X", "update:1", TITLE), ("S2", "X2", "create", {})):
        with recording(WriteRecord(target, changes)):
            await store.journal(Work(0, AssetId(source), "", begun=True), 1).run(name, call_again, idempotent=True)
        await note_fact(store.undo_journal(1, target, source), journal_names.silent("returning"), True)
    await store.undo_journal(1, "X2", "S2").begin([journal_names.undo("create")])
    await finish_abandoned(context)
    return [target for targets in (await store.begun_undos()).values() for target in targets]


@pytest.mark.parametrize("removed", [False, True], ids=["not removed yet", "removed"])
async def test_what_a_rollback_had_begun_is_completed_but_nothing_that_the_run_created_is_removed(
    scene: Scene, removed: bool
) -> None:
    scene.service.trash = frozenset({"X2"} if removed else ())
    assert await given_up(scene) == []
    assert (scene.service.calls, scene.service.asset and scene.service.asset.fields) == (["update"], {"title": "T1"})
    links = await scene.store.links([AssetId("S"), AssetId("S2")])
    assert links.keys() == {"S"} | (set() if removed else {"S2"})


async def test_a_rollback_that_was_given_up_is_forgotten_also_where_an_asset_stays(scene: Scene) -> None:
    scene.service.asset = None
    assert await given_up(scene) == []
    assert scene.service.calls == []


# -- memberships and relations -----------------------------------------------------------------------------------------


@dataclass
class Links:
    """A target that takes so many members at once, and some of them not at all; it shows nothing."""

    refused: frozenset[str] = frozenset()
    limits: Limits = field(default_factory=lambda: Limits(member_batch=2))
    capabilities: Capabilities = ABLE
    calls: list[str] = field(default_factory=list)

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        self._called(f"+{' '.join(add)} -{' '.join(remove)}", *add, *remove)

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        self._called(f"{asset} to {relation.target}", relation.target)

    async def unrelate(self, asset: AssetId, relation: Relation) -> None:
        self._called(f"{asset} not to {relation.target}", relation.target)

    def _called(self, text: str, *others: str) -> None:
        self.calls.append(text)
        if not self.refused.isdisjoint(others):
            raise InvalidValue("no", code="closed")


async def rolled_back(store: SqlStore, listed: UndoList, target: Links, *rows: LedgerRow) -> list[int]:
    """The rows of the ledger that a rollback undid."""

    async def entered(phase: str) -> None:
        """Nobody looks."""

    async def none_left(_: Any) -> int:
        return 0

    parts = {"store": store, "target": target, "counterparts": Counterparts(), "shared": UnsharedTarget()}
    about = {"stop": StopToken(), "options": RunOptions(), "tallies": Tallies(), "workers": None, "enter": entered}
    target.sweep = none_left  # type: ignore[attr-defined]
    context: Any = run_double(**parts, **about, target_schema=SimpleNamespace(naming=None))
    listed.add(rows)
    listed.complete()
    await Rollback(context, listed, whole=True).execute()
    every = await store.ledger(0, 99)
    return [seq for one in every if one.kind is journal_names.WriteKind.UNDONE for seq in one.detail["rows"]]


async def test_memberships_return_in_full_batches_and_a_row_is_undone_with_all_of_its_members(
    store: SqlStore, listed: UndoList
) -> None:
    """Nobody looks whether people moved the assets since: a set is merged."""
    for number in range(6):
        await store.put_link(replace(LINK, source=f"s{number}", target=f"t{number}"))
    rows = [
        replace(row(f"place:folder:/p:{seq}", {"members": members}, seq), target="c1", asset="")
        for seq, members in ((1, [[], ["t0", "t1", "t2"]]), (2, [["t3"], ["t4"]]), (3, [["t5"], []]))
    ]
    target = Links(frozenset({"t2"}))
    assert await rolled_back(store, listed, target, *rows) == [2, 3]
    assert target.calls == ["+ -t0 t1", "+ -t2 t4", "+ -t2", "+ -t4", "+t3 t5 -"]
    stays = [(one.what, asset) for one, _, asset in listed.obstacles()]
    assert stays == [("memberships", "t2")]


async def test_a_relation_whose_other_end_is_missing_went_with_it(store: SqlStore, listed: UndoList) -> None:
    """It is not written again, and one that is refused for that is no obstacle."""
    end = {"kind": "view", "target": "Y"}
    rows = [
        row(journal_names.relation("S", "view", "o"), {"relation": [None, end]}, 1),
        row(journal_names.relation("S", "copy", "o", adds=False), {"relation": [{**end, "kind": "copy"}, None]}, 2),
    ]
    target = Links(frozenset("Y"))
    assert await rolled_back(store, listed, target, *rows) == [2, 1]
    assert (target.calls, [*listed.obstacles()]) == (["X not to Y"], [])
