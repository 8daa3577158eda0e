"""What the exposure guard set aside is tried again: for another policy or mapping, or a release date that has come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.guards.exposure import (
    as_seen,
    exposure_stop,
    listed_terms,
    remember_release,
    retry_exposed,
    seen_though_closed,
)
from dam_sync.model.asset import Asset, AssetId, Draft, Revision, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.capabilities import Capabilities
from dam_sync.model.exposure import NOTHING_WAIVED, ExposureRule, Waiver, Waivers
from dam_sync.model.exposure_advice import policy_line
from dam_sync.model.exposure_options import NO_EXPOSURE_OPTIONS, ExposureOption, ExposureOptions
from dam_sync.model.limits import Limits
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ExposureCause, MappingCause
from dam_sync.model.policy import Policy
from dam_sync.model.run_options import RunOptions
from dam_sync.model.schema import Schema
from dam_sync.model.service import Batch, Shard
from dam_sync.model.service_time import RunTime
from dam_sync.model.values import Term
from dam_sync.store.store import SqlStore
from tests.support.run_double import run_double
from tests.support.state.clock_and_rows import SetClock, entries
from tests.support.state.shared_engine import SHARED

LEASE = timedelta(minutes=5)
ARCHIVED = Outcome("parked", cause=ExposureCause((ExposureRule.ARCHIVED,)))
UNRELEASED = Outcome("parked", cause=ExposureCause((ExposureRule.UNRELEASED,)))
ACCEPT = Waivers({ExposureRule.ARCHIVED: Waiver.ACCEPT})


@dataclass
class Desk:
    """As much of a session as the guard looks at."""

    store: SqlStore
    clock: SetClock
    mapping: str = "1"
    everybody: frozenset[str] = frozenset()
    target: ExposureOptions = NO_EXPOSURE_OPTIONS
    options: RunOptions = field(default_factory=RunOptions)

    def session(self, exposure: Waivers = NOTHING_WAIVED) -> RunContext:
        made = run_double(
            store=self.store,
            clock=self.clock,
            time=RunTime(self.clock),
            policy=Policy(exposure=exposure),
            options=self.options,
            wave=None,
            crosswalk=SimpleNamespace(digest=self.mapping),
            target_schema=Schema({}),
            source=SimpleNamespace(exposure_options=lambda: ExposureOptions("everybody", self.everybody)),
            target=SimpleNamespace(capabilities=Capabilities(), exposure_options=lambda: self.target),
        )
        return cast("RunContext", made)

    async def retry(self) -> None:
        """Put back what the guard set aside, as a run with what is given now does."""
        now = self.session()
        await retry_exposed(now.source, now.target, now.mapping.crosswalk, now.state.store, now.task)

    async def parked(self) -> list[str]:
        return sorted(row.asset for row in await self.store.parked(limit=9))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """Three assets set aside, two of them by the guard."""
    clock = SetClock()
    store = await SqlStore.open(tmp_path / "job.db", clock, storage=SHARED)
    run = (await store.begin("job", "run")).id
    await store.record(run, Shard("all"), Batch(tuple(entries("a", "b", "c")), None), ())
    made = Desk(store, clock)
    await made.retry()
    for work, outcome in zip(await store.claim(run, 9, LEASE), (ARCHIVED, UNRELEASED, FAULT), strict=True):
        await store.complete(work, outcome)
    yield made
    await store.close()


FAULT = Outcome("parked", cause=MappingCause("fields.title", "too long"))


async def test_nothing_comes_round_as_long_as_nothing_changed(desk: Desk) -> None:
    await desk.retry()
    assert await desk.parked() == ["a", "b", "c"]


async def test_another_policy_retries_what_the_guard_set_aside_and_nothing_else(desk: Desk) -> None:
    desk.options = RunOptions(only=frozenset({"a"}))
    await retry_exposed(
        desk.session(ACCEPT).source,
        desk.session(ACCEPT).target,
        desk.session(ACCEPT).mapping.crosswalk,
        desk.session(ACCEPT).state.store,
        desk.session(ACCEPT).task,
    )
    assert await desk.parked() == ["a", "b", "c"], "a run of single assets leaves the others"
    desk.options = RunOptions()
    await retry_exposed(
        desk.session(ACCEPT).source,
        desk.session(ACCEPT).target,
        desk.session(ACCEPT).mapping.crosswalk,
        desk.session(ACCEPT).state.store,
        desk.session(ACCEPT).task,
    )
    assert await desk.parked() == ["c"]


async def test_another_mapping_does_so_as_well(desk: Desk) -> None:
    desk.mapping = "2"
    await desk.retry()
    assert await desk.parked() == ["c"]


async def test_other_options_that_decide_who_sees_assets_do_so_as_well(desk: Desk) -> None:
    desk.everybody = frozenset({"members"})
    await desk.retry()
    assert await desk.parked() == ["c"]


async def test_a_profile_that_closes_assets_does_so_as_well(desk: Desk) -> None:
    desk.target = ExposureOptions(closing=(ExposureOption("closed", "why", "what", "does"),))
    await desk.retry()
    assert await desk.parked() == ["c"]


async def test_assets_are_retried_once_when_their_release_date_has_come(desk: Desk) -> None:
    session = desk.session()
    for days in (3, 2, 4):
        release = desk.clock.now() + timedelta(days=days)
        await remember_release(
            session.target, session.state.store, Asset(AssetId("b"), Revision("r"), rights=Rights(release)), UNRELEASED
        )
    await remember_release(
        session.target,
        session.state.store,
        Asset(AssetId("a"), Revision("r"), rights=Rights(desk.clock.now())),
        UNRELEASED,
    )
    await remember_release(session.target, session.state.store, Asset(AssetId("a"), Revision("r")), ARCHIVED)
    desk.clock.skip(2 * 86400 - 60)
    await retry_exposed(session.source, session.target, session.mapping.crosswalk, session.state.store, session.task)
    assert await desk.parked() == ["a", "b", "c"]
    desk.clock.skip(120)
    await retry_exposed(session.source, session.target, session.mapping.crosswalk, session.state.store, session.task)
    assert await desk.parked() == ["c"]


def test_the_stop_names_rules_assets_and_the_waiver_after_what_keeps_them_closed() -> None:
    remedy = "all 1,200 assets have the group members: `options: {everybody: members}` of the source"
    rows = [
        {"rule": "groups_widened", "fate": "set aside", "assets": 1200, "examples": ["7", "9"], "remedies": [remedy]},
        {"rule": "expiry_dropped", "fate": "accepted", "assets": 3, "examples": ["1"], "remedies": []},
    ]
    stop = exposure_stop(rows)
    assert stop is not None
    assert stop.exit_code == 6
    assert "groups_widened 1,200 (7, 9…)" in stop.message
    assert "expiry_dropped" not in stop.message
    waiver = policy_line([ExposureRule.GROUPS], Waiver.ACCEPT)
    assert waiver == "policy: {exposure: {groups_widened: accept}}"
    assert -1 < stop.hint.index(remedy) < stop.hint.index("`select`") < stop.hint.index(waiver)
    assert exposure_stop(rows[1:]) is None


def test_a_stop_by_a_report_of_an_earlier_release_still_names_the_waiver() -> None:
    stop = exposure_stop([{"rule": "groups_widened", "fate": "set aside", "assets": 1, "examples": []}])
    assert stop is not None
    assert policy_line([ExposureRule.GROUPS], Waiver.ACCEPT) in stop.hint


NAMED = frozenset({"press"})


@pytest.mark.parametrize(
    ("left", "groups", "seen"),
    [
        (frozenset(), NAMED, True),
        (frozenset({"administrators"}), NAMED, True),
        (frozenset({"administrators"}), frozenset({"administrators"}), False),
        (None, NAMED, True),
        (None, frozenset(), True),
    ],
)
def test_an_asset_to_be_hidden_is_seen_by_the_groups_that_it_is_open_to(
    left: frozenset[str] | None, groups: frozenset[str], seen: bool
) -> None:
    """left: who sees a hidden one at this target."""
    target = SimpleNamespace(audience=lambda draft: Audience(hidden="closed", groups=left))
    context = cast("RunContext", run_double(target=target, time=RunTime(SetClock()), target_schema=Schema({})))
    actual = Asset(AssetId("a"), Revision("r"), status="published", rights=Rights(groups=groups))
    found = seen_though_closed(context.target, Draft(None, "a.jpg", closed=True), actual)
    assert [one.pattern for one in found] == ["not hidden"] * seen


@pytest.mark.parametrize(
    ("hides", "status", "restriction", "seen"),
    [
        (True, "archived", None, False),
        (False, "archived", None, True),
        (False, "published", RestrictionKind.UNRELEASED, False),
        (True, "published", RestrictionKind.SENSITIVE, True),
        (True, "published", RestrictionKind.DOWNLOAD, True),
        (True, "published", RestrictionKind.DENIED, True),
    ],
)
def test_an_asset_to_be_hidden_is_seen_unless_something_hides_it_at_this_target(
    hides: bool, status: str, restriction: RestrictionKind | None, seen: bool
) -> None:
    """A status may be a plain value there, and most restrictions leave the asset visible."""
    target = SimpleNamespace(audience=lambda draft: Audience(hidden="closed" if draft.closed else ""))
    schema = Schema({}, status_hides=hides)
    context = cast("RunContext", run_double(target=target, time=RunTime(SetClock()), target_schema=schema))
    some = frozenset({Restriction(restriction)} if restriction else ())
    actual = Asset(AssetId("a"), Revision("r"), status=status, rights=Rights(restrictions=some))
    draft = Draft(None, "a.jpg", closed=True)
    assert bool(seen_though_closed(context.target, draft, actual)) == seen
    assert as_seen(context.source, context.target, draft, actual).closed == (not seen)


@pytest.mark.parametrize(
    ("copy", "original", "seen"),
    [
        ("staff", "", ""),
        ("staff", "editors staff", "editors staff"),
        ("staff", "staff", "staff"),
        ("editors staff", "staff", "editors staff"),
        ("staff", "editors", "staff"),
        ("public", "", "public"),
        ("public", "public staff", "public"),
        ("", "staff", ""),
    ],
    ids=[
        "limited later",
        "limited to fewer",
        "the same",
        "open to more",
        "open to others",
        "by default",
        "by default to fewer",
        "none",
    ],
)
def test_groups_of_a_copy_limit_its_original_only_where_they_open_it_to_nobody(
    copy: str, original: str, seen: str
) -> None:
    """Groups that the service of the copy gave it by default, or does not hold, say nothing of the original."""
    source = SimpleNamespace(audience=lambda draft: Audience(groups=frozenset({"public"})), limits=Limits())
    target = SimpleNamespace(audience=ShownByGroups().audience, limits=Limits())
    held = SimpleNamespace(source=source, target=target, time=RunTime(SetClock()))
    context = cast("RunContext", run_double(**vars(held), source_schema=Schema({}), target_schema=Schema({})))
    ours, theirs, expected = (Rights(groups=frozenset(names.split())) for names in (copy, original, seen))
    asset, actual = (Asset(AssetId("a"), Revision("r"), status="published", rights=one) for one in (ours, theirs))
    assert as_seen(context.source, context.target, Draft(None, "a.jpg", rights=ours), actual, asset).rights == expected


@pytest.mark.parametrize(("days", "kept"), [(0.5, True), (2, False)])
def test_an_original_that_expires_later_by_less_than_its_copy_can_say_is_not_limited(days: float, kept: bool) -> None:
    source = SimpleNamespace(audience=ShownByGroups().audience, limits=Limits(precision=timedelta(days=1)))
    target = SimpleNamespace(audience=lambda draft: Audience(expires_at=draft.rights.expires_at), limits=Limits())
    held = SimpleNamespace(source=source, target=target, time=RunTime(SetClock()))
    context = cast("RunContext", run_double(**vars(held), source_schema=Schema({}), target_schema=Schema({})))
    end = datetime(2050, 1, 1, tzinfo=UTC)
    ours, theirs = Rights(expires_at=end), Rights(expires_at=end + timedelta(days=days))
    asset, actual = (Asset(AssetId("a"), Revision("r"), status="published", rights=one) for one in (ours, theirs))
    assert as_seen(context.source, context.target, Draft(None, "a.jpg", rights=ours), actual, asset).rights == (
        ours if kept else theirs
    )


STAFF = Rights(groups=frozenset(("staff",)))
NEW = [("subjects", Term(label, path=(label,))) for label in ("Secret", "Sea", "Sky", "Rose")]


class ShownByGroups:
    """A target that shows an asset to its groups, and nobody what is closed."""

    def __init__(self, hidden: str = "") -> None:
        self.hidden = hidden

    def audience(self, draft: Draft) -> Audience:
        return Audience(hidden="closed" if draft.closed else self.hidden, groups=draft.rights.groups or None)


def closed_draft(**given: Any) -> Draft:
    return replace(Draft(None, "a.jpg"), **given)


@pytest.mark.parametrize(
    ("asset", "draft", "new", "listed"),
    [
        ({"rights": STAFF}, {"rights": STAFF}, NEW[:1], "Secret in subjects"),
        ({"rights": STAFF}, {"closed": True}, NEW, "Secret in subjects; Sea in subjects; Sky in subjects; 1 more"),
        ({"status": "archived"}, {"closed": True}, NEW[:1], "Secret in subjects"),
        ({"rights": STAFF}, {"rights": STAFF}, [], ""),
        ({"rights": STAFF}, {}, NEW, ""),
        ({}, {"closed": True}, NEW, ""),
        ({}, {}, NEW, ""),
    ],
)
def test_new_terms_of_an_asset_that_not_everybody_sees_are_named(
    desk: Desk, asset: dict[str, Any], draft: dict[str, Any], new: list[tuple[str, Term]], listed: str
) -> None:
    context, given = desk.session(), replace(Asset(AssetId("1"), Revision("1"), status="published"), **asset)
    context.target.service = cast(Any, ShownByGroups())
    assert [loss.detail for loss in listed_terms(context.target, given, closed_draft(**draft), new)] == [listed] * bool(
        listed
    )
    context.target.service = cast(Any, ShownByGroups("it lies in a folder"))
    assert listed_terms(context.target, given, closed_draft(**draft), new) == ()
