"""Partial creates of a killed run whose assets left the source since: unmarked, trashed, and reported."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest

from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.context.run_context import RunContext, Tallies
from dam_sync.engine.write.partial_creates import (
    abort_orphaned_uploads,
    trash_partial_create,
)
from dam_sync.model.asset import Asset, AssetId, Draft, Marker, Patch, Revision
from dam_sync.model.audience import Audience
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.errors import NotFound
from dam_sync.model.limits import Limits
from dam_sync.model.ports import IsReferenced, Journal
from dam_sync.model.schema import Schema
from dam_sync.store.rows import Work
from tests.support.run_double import run_double
from tests.support.state.memory_journal import Crash, MemoryJournal

ABLE = Capabilities(frozenset({Operation.FIND, Operation.UPDATE, Operation.REMOVE}))


@dataclass
class Target:
    """Holds one half-made asset, or none."""

    half: str = ""
    capabilities: Capabilities = ABLE
    limits: Limits = field(default_factory=Limits)
    story: list[str] = field(default_factory=list)
    open: int = 0

    async def find_partial(self, marker: Marker, journal: Journal, *, unmarked: bool = False) -> AssetId | None:
        self.story.append("look")
        return AssetId(self.half) if self.half else None

    def audience(self, draft: Draft) -> Audience:
        return Audience()

    async def fetch(self, asset: AssetId) -> Asset:
        return Asset(asset, Revision("1"))

    async def update(self, asset: AssetId, patch: Patch) -> None:
        self.story.append(f"unmark {asset} {dict(patch.fields)}")

    async def remove(self, asset: AssetId) -> None:
        self.story.append(f"bin {asset}")

    async def sweep(self, recorded: IsReferenced) -> int:
        return self.open


def session_of(target: Target, journal: MemoryJournal, *, linked: bool = False, dry: bool = False) -> RunContext:
    async def links(assets: list[str]) -> dict[str, str]:
        return dict.fromkeys(assets, "t-1") if linked else {}

    async def trashed(assets: list[str]) -> dict[str, str]:
        return {}

    async def none_of(assets: list[str]) -> dict[str, str]:
        return {}

    store = SimpleNamespace(
        journal=lambda work, run: journal, links=links, trashed=trashed, is_recorded=None, members_of=none_of
    )
    plan = SimpleNamespace(fields={}, placements=(), tags=None, groups=None, release=None, expiry=None)
    made = run_double(
        target=target,
        store=store,
        tallies=Tallies(),
        workers=None,
        options=SimpleNamespace(only=frozenset()),
        run=SimpleNamespace(id=1),
        source_account=SimpleNamespace(tenant="here"),
        crosswalk=SimpleNamespace(marker="key", plan=plan),
        dry=dry,
        target_schema=Schema({}),
        counterparts=Counterparts(),
        time=SimpleNamespace(earliest=lambda: datetime(2026, 1, 5, tzinfo=UTC)),
    )
    return cast("RunContext", made)


def work(*, begun: bool = True) -> Work:
    return Work(1, AssetId("s-1"), "", None, True, 1, begun)


async def test_a_partial_create_loses_its_marker_and_goes_to_the_trash() -> None:
    target, journal = Target("t-1"), MemoryJournal()
    journal.done["in create: file"] = ("handle", journal.now)
    session = session_of(target, journal)
    await trash_partial_create(session, work())
    assert target.story == ["look", "unmark t-1 {'key': None}", "bin t-1"]
    assert not journal.done
    assert session.tallies.partial_creates_trashed == 1


async def test_a_partial_create_is_known_by_its_journal_entry() -> None:
    target, journal = Target(), MemoryJournal()
    journal.done["create"] = ("t-2", journal.now)
    await trash_partial_create(session_of(target, journal), work())
    assert target.story == ["unmark t-2 {'key': None}", "bin t-2"]


async def test_what_is_in_the_trash_already_is_no_error() -> None:
    target, journal = Target("t-1"), MemoryJournal()

    async def gone(asset: AssetId, patch: Patch | None = None) -> None:
        raise NotFound("gone")

    target.update = target.remove = gone  # type: ignore[method-assign]
    await trash_partial_create(session_of(target, journal), work())


@pytest.mark.parametrize("why", ["not begun", "linked", "planned", "unable"])
async def test_work_that_left_no_partial_create_is_not_searched_for(why: str) -> None:
    target, journal = Target("t-1"), MemoryJournal()
    if why == "unable":
        target.capabilities = Capabilities(frozenset({Operation.FIND}))
    session = session_of(target, journal, linked=why == "linked", dry=why == "planned")
    await trash_partial_create(session, work(begun=why != "not begun"))
    assert (target.story, session.tallies.partial_creates_trashed) == ([], 0)


@pytest.mark.parametrize("blow_at", range(1, 4))
async def test_a_crash_in_between_leaves_no_asset_without_a_marker(blow_at: int) -> None:
    target, journal = Target("t-1"), MemoryJournal(blow_at)
    session = session_of(target, journal)
    with pytest.raises(Crash):
        await trash_partial_create(session, work())
    journal.blow_at = None
    await trash_partial_create(session, work())
    assert target.story[-1] == "bin t-1"


async def test_aborted_upload_sessions_are_counted() -> None:
    session = session_of(Target(open=2), MemoryJournal())
    await abort_orphaned_uploads(
        session.target, session.state.store, session.task.options, session.tallies, session.workers
    )
    assert session.tallies.orphans_aborted == 2


async def test_a_run_of_chosen_assets_leaves_upload_sessions_of_other_work_open() -> None:
    session = session_of(Target(open=2), MemoryJournal())
    session.task.options.only = frozenset({"s-1"})  # type: ignore[misc]
    await abort_orphaned_uploads(
        session.target, session.state.store, session.task.options, session.tallies, session.workers
    )
    assert session.tallies.orphans_aborted == 0
