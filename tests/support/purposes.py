"""What each purpose of the engine makes of one asset: a removal, a rollback, an update, a resumed create, a repair, a
verification and an adoption, by their own code, with a target and a store that are doubles."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, TypeVar, cast

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.file_keys import version_key
from dam_sync.engine.compare.files import file_facts
from dam_sync.engine.compare.parts import VALUES
from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.decide.conflicts import Settlement
from dam_sync.engine.decide.patches import changes_of_patch, may_overwrite, merge_patches
from dam_sync.engine.decide.prepared import Remainder
from dam_sync.engine.decide.three_way import Files
from dam_sync.engine.decide.undo import Undo, undo_of
from dam_sync.engine.decide.update import possible
from dam_sync.engine.read.asset_facts import AssetFacts
from dam_sync.engine.read.compared import with_everybody
from dam_sync.engine.read.expected import expected_files
from dam_sync.engine.read.facts import differing
from dam_sync.engine.read.intents import ATTACHED, FILES
from dam_sync.engine.rollback.asset import AssetUndoer
from dam_sync.engine.write.conflict_settler import Attempt, Settler, three_way_of
from dam_sync.engine.write.repair import Repairer
from dam_sync.engine.write.resumed_creates import ResumedCreate
from dam_sync.engine.write.trash import TargetTrash
from dam_sync.model import journal_names
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Patch, Revision, Rights
from dam_sync.model.codec import draft_from_json, draft_to_json
from dam_sync.model.conflict import ConflictPolicy, ConflictRules
from dam_sync.model.journal import note_fact
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.limits import Limits
from dam_sync.model.link import LinkRow
from dam_sync.model.policy import Policy
from dam_sync.model.shared_target import UNSHARED
from dam_sync.model.values import Json
from dam_sync.model.written import Obstacle, WrittenAsset
from tests.support.comparisons import FILE, LONG_AGO, NOW
from tests.support.random_states import DATES, SENT, State
from tests.support.run_double import run_double
from tests.support.state.memory_journal import MemoryJournal

T = TypeVar("T")


def result_of(call: Coroutine[Any, Any, T]) -> T:
    """The result of a call that waits for nothing."""
    try:
        call.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    raise AssertionError("it waits")


class _Journal(MemoryJournal):
    async def names(self, prefix: str) -> Sequence[str]:
        return ()

    async def is_begun(self, name: str) -> bool:
        return False


async def _none(*_: object, **__: object) -> dict[Any, Any]:
    return {}


async def _nothing_queued(*_: object) -> tuple[frozenset[Any], frozenset[Any]]:
    return frozenset(), frozenset()


@dataclass(frozen=True)
class Purposes:
    """All purposes in one state. seen: the asset at the target, by default that of the state; policy: of conflicts."""

    state: State
    policy: ConflictPolicy = ConflictPolicy.PARK

    @cached_property
    def context(self) -> RunContext:
        """Of a run whose target has this asset."""
        return cast(RunContext, run_double(**self.facts))

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What this context has."""
        target, seen = self.state.target, self.state.seen
        counterparts, schema, scope = Counterparts(), target.schema, target.scope
        counterparts.learn(target.counterparts())

        async def fetch(_: AssetId) -> Asset:
            return seen

        plan = SimpleNamespace(
            fields=dict.fromkeys(scope.fields),
            placements=[("", kind) for kind in sorted(scope.containers)],
            tags=True,
            groups=True,
            release=True,
            expiry=True,
        )
        account = SimpleNamespace(clock_skew=NOW - NOW)
        service = SimpleNamespace(capabilities=target.able, limits=Limits(), audience=target.audience, fetch=fetch)
        journal = _Journal()
        store = SimpleNamespace(
            conflicts_of=_nothing_at_all,
            members_of=_none,
            queued_placements=_nothing_queued,
            begun_assets=_none,
            journal=lambda *_, **__: journal,
            undo_journal=lambda *_, **__: journal,
        )
        return {
            "target": service,
            "source": service,
            "target_schema": schema,
            "shared": UNSHARED,
            "crosswalk": SimpleNamespace(plan=plan),
            "counterparts": counterparts,
            "time": SimpleNamespace(earliest=lambda: NOW),
            "policy": Policy(conflicts=ConflictRules(self.policy)),
            "store": store,
            "run": SimpleNamespace(id=1),
            "source_account": account,
            "target_account": account,
        }

    # -- what the state has -------------------------------------------------------------------------------------------

    @cached_property
    def drafts(self) -> list[Json]:
        """Those of which the target may hold any, by the names that they have at the target."""
        schema = self.state.target.schema
        return [self.context.target.counterparts.present(draft_to_json(draft), schema) for draft in self.state.before]

    @cached_property
    def wanted(self) -> Draft:
        """What is wanted, by the names that it has at the target."""
        return self.named(self.state.wanted)

    def named(self, draft: Draft) -> Draft:
        """A draft by the names that terms and containers have at the target."""
        present = self.context.target.counterparts.present(draft_to_json(draft), self.state.target.schema)
        return draft_from_json(present)

    @cached_property
    def meant(self) -> list[Json]:
        """The intents of interrupted attempts, each with the files that it sends."""
        sent = [file_facts(SENT)] if self.state.fresh else []
        return [{**draft, FILES: sent, ATTACHED: []} for draft in self.drafts[1:]]

    @cached_property
    def link(self) -> LinkRow:
        """The link before the attempts that were interrupted."""
        return _link(self.drafts[0], (FILE,))

    @cached_property
    def source(self) -> Asset:
        """The asset of the source."""
        files = (FILE, SENT) if self.state.fresh else (FILE,)
        return Asset(AssetId("S"), Revision("1"), versions=files, changed_at=NOW)

    @property
    def files(self) -> Files:
        """Those of the update."""
        expected = expected_files(self.link, self.meant, self.source.versions)
        return Files(self.link, self.source.file, self.state.fresh, expected)

    # -- the purposes -------------------------------------------------------------------------------------------------

    def removal(self) -> list[str]:
        """What keeps the asset from going to the trash."""
        return result_of(TargetTrash(self.context).changed(self.link, self.state.seen, intents=self.meant))

    def update(self) -> Settlement:
        """What an update, or one that is resumed, writes, without what no call changes."""
        state, schema = self.state, self.state.target.schema
        patch, _ = possible(merge_patches(self.drafts, self.wanted), schema, "")
        if not may_overwrite(patch, state.fresh, schema):
            return Settlement(patch)
        actual = self.context.target.counterparts.as_known(state.seen, schema, self.wanted)
        three = three_way_of(self.context.target, self.wanted, patch, self.drafts, actual, self.files)
        attempt = Attempt(cast(Any, MemoryJournal()), state.begun)
        return result_of(
            Settler(
                self.context.source, self.context.target, self.context.state.store, self.context.task.policy
            ).settlement(three, self.source, attempt)
        )

    def resumed_create(self) -> Settlement:
        """What is left to write of an asset that interrupted attempts created, the last of which others changed."""
        journal = _Journal()
        result_of(note_fact(journal, journal_names.CREATE, "X"))
        meant = [{**self.drafts[0], FILES: [file_facts(FILE)], ATTACHED: []}, *self.meant]
        create = ResumedCreate(
            self.context.source,
            self.context.target,
            self.context.state.store,
            self.context.task.policy,
            self._facts(journal, None, meant, begun=True),
            journal,
            entered=True,
        )
        return result_of(create.remainder()).settlement

    def repair(self) -> Remainder:
        """What a repair writes."""
        facts = self._facts(MemoryJournal(), self.link, self.meant, begun=self.state.begun)
        return result_of(Repairer.of(self.context).remainder(facts))

    def _facts(self, journal: MemoryJournal, link: LinkRow | None, meant: Sequence[Json], *, begun: bool) -> AssetFacts:
        """Of the asset before it is written."""
        drafted, work = SimpleNamespace(draft=self.wanted), SimpleNamespace(begun=begun)
        return AssetFacts(
            cast(Any, work),
            self.source,
            link,
            cast(Any, drafted),
            journal=cast(Any, journal),
            intents=meant,
            versions=self.source.versions,
        )

    def rollback(self) -> tuple[Undo, dict[str, Obstacle]]:
        """What the rollback of the last run writes, and what stays as others left it: of one that was completed, or of
        the attempts that were interrupted."""
        state, able = self.state, self.context.target.service.capabilities
        rows = list[LedgerRow]()
        before = draft_to_json(self.named(state.earlier))
        for number, draft in enumerate(state.before[1:] or state.before, 1):
            states = [before, *self.drafts[1:number]]
            changes = changes_of_patch(merge_patches(states, self.named(draft)), before, "values")
            rows.append(LedgerRow(number, 1, journal_names.update(number), "S", "X", None, "", changes=changes))
        written = WrittenAsset("X", "S", tuple(rows), begun=state.begun)
        undoer = AssetUndoer(self.context, cast(Any, SimpleNamespace(run=1)), again=False, missing=cast(Any, None))
        undo = undo_of(written, self.link, able, self.meant)
        return result_of(undoer._compared(undo, self.link, state.seen, self.meant, frozenset()))

    def verification(self, draft: Draft, seen: Asset) -> list[Difference]:
        """Where an asset is not as it should be."""
        known = self.context.target.counterparts.as_known(seen, self.state.target.schema)
        return differing(
            self.context.target,
            self.context.mapping.crosswalk,
            draft,
            with_everybody(self.context.target, known, draft, hidden=True),
        )

    def adoption(self, draft: Draft, seen: Asset) -> list[Difference]:
        """Where an asset to be adopted differs."""
        known = self.context.target.counterparts.as_known(seen, self.state.target.schema)
        return differing(
            self.context.target,
            self.context.mapping.crosswalk,
            draft,
            with_everybody(self.context.target, known, draft),
        )

    # -- the target ---------------------------------------------------------------------------------------------------

    def after(self, patch: Patch, asset: Asset, sent: Sequence[FileRef] = ()) -> Asset:
        """An asset of the target after an update."""
        fields = {key: value for key, value in {**asset.fields, **patch.fields}.items() if value is not None}
        gone = {(place.kind, place.id) for place in patch.placements_remove}
        homes = any(place.kind == "folder" for place in patch.placements_add)
        added = {(place.kind, place.id) for place in patch.placements_add}
        left = {
            place
            for place in asset.placements
            if (place.kind, place.id) not in gone | added and not (homes and place.kind == "folder")
        }
        rights = asset.rights
        if patch.rights is not None or patch.cleared:
            rights = self._rights(patch, rights)
        values = {part.name: getattr(patch, part.name) for part in VALUES}
        values = {name: value for name, value in values.items() if value is not None}
        if patch.closed:
            values["status"], rights = "closed", replace(rights, groups=frozenset())
        return replace(
            asset,
            fields=fields,
            **values,
            placements=frozenset(left) | patch.placements_add,
            tags=asset.tags - patch.tags_remove | patch.tags_add,
            rights=rights,
            versions=(*asset.versions, *sent),
        )

    def _rights(self, patch: Patch, now: Rights) -> Rights:
        wanted = patch.rights or now
        dates = {
            name: getattr(wanted, name) or (None if path in patch.cleared else getattr(now, name))
            for path, name in DATES.items()
        }
        groups = wanted.groups or now.groups
        if patch.rights is not None and not self.state.target.shown and "all" in groups:
            groups = frozenset()
        if self.state.target.released and dates["release_at"] is None:
            dates["release_at"] = LONG_AGO
        released = dates["release_at"] is not None
        return Rights(**dates, groups=groups, restrictions=frozenset() if released else now.restrictions)


async def _nothing_at_all(*_: object, **__: object) -> list[Any]:
    return []


def _link(draft: Json, files: Sequence[FileRef]) -> LinkRow:
    last = files[-1]
    return LinkRow(
        "S",
        "X",
        filename=draft["filename"],
        digests=dict(last.digests),
        size=last.size,
        versions=tuple(map(version_key, files)),
        draft=draft,
    )
