"""Guards: what counts as changed, as missing and as too much, over a store and services that are made up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.guards.drift import refuse_lost_terms
from dam_sync.engine.guards.finding import GuardFinding, refuse
from dam_sync.engine.guards.identity import changed_identity
from dam_sync.engine.guards.mass_deletion import (
    FEW,
    Disappearance,
    emptied_target,
    refuse_incredible_listing,
    unseen_source,
)
from dam_sync.engine.guards.missing import MissingMonitor
from dam_sync.engine.guards.preflight import refuse_in_between
from dam_sync.engine.guards.schema_usage import changes_between, used_of
from dam_sync.engine.read.members import TARGET as AT_TARGET
from dam_sync.engine.run.removals import Confirmation, remove_deleted
from dam_sync.engine.run.unlisted import refuse_lost_memberships
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset, AssetId, Entry, Placement
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.clock import SystemClock
from dam_sync.model.deletion_policy import DeletionPolicy
from dam_sync.model.errors import NotFound, SafetyStop, Transient
from dam_sync.model.limits import Limits, Pace
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.policy import Policy
from dam_sync.model.probed import Account
from dam_sync.model.run_options import Progress, RunOptions
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.model.service import Batch, Shard
from dam_sync.model.values import Term
from dam_sync.model.waits import current_waits
from dam_sync.model.writes import Membership
from dam_sync.store.note_keys import tenant_key
from dam_sync.store.rows import IN_TRASH, Deletion, RunRow
from dam_sync.store.store import SqlStore
from tests.support.mapping.tenant_schemas import SOURCE, TARGET, compiled, with_lines
from tests.support.run_double import run_double
from tests.support.state.shared_engine import SHARED

ONE = Shard("one")
LEASE = timedelta(minutes=5)
RUN = RunRow(1, "run", datetime(2026, 1, 1, tzinfo=UTC), None, "running", None)
LIMITS = Limits(100, Pace(), lag=timedelta(seconds=30))


@dataclass
class Side:
    """A service that has some assets, some of them in its trash, and counts how often it is asked."""

    there: set[str] = field(default_factory=set)
    trash: set[str] = field(default_factory=set)
    asked: int = 0
    capabilities: Capabilities = field(default_factory=Capabilities)
    limits: Limits = LIMITS
    late: frozenset[str] = frozenset()  # what its index shows only after a while

    async def fetch(self, asset: AssetId) -> Asset:
        self.asked += 1
        if asset not in self.there:
            raise NotFound("not there", asset=asset)
        return Asset(asset, "1", status="trash" if asset in self.trash else "published")

    async def is_trashed(self, asset: AssetId) -> bool:
        return (await self.fetch(asset)).status == "trash"


@dataclass
class Desk:
    """As much of a session as guards look at."""

    store: SqlStore
    source: Side = field(default_factory=Side)
    target: Side = field(default_factory=Side)
    source_account: Account = field(default_factory=lambda: Account("s"))
    target_account: Account = field(default_factory=lambda: Account("t"))
    target_schema: Schema = TARGET
    options: RunOptions = field(default_factory=RunOptions)
    run: RunRow = RUN
    accepted: list[str] = field(default_factory=list)
    waited: float = 0.0
    said: str = ""  # what was shown during the first wait
    on_server: bool = False  # the state

    @property
    def clock(self) -> Desk:
        return self

    @property
    def progress(self) -> Progress:
        return self.options.progress

    def monotonic(self) -> float:
        return self.waited

    async def sleep(self, seconds: float) -> None:
        if not self.said:
            wait = current_waits().longest(self.waited, least=0)
            self.said = wait.text(self.waited) if wait is not None else "nothing"
        self.waited += seconds
        self.target.there |= self.target.late

    def refuse_stopped(self) -> None:
        assert not self.options.stop_token.reason

    @property
    def session(self) -> RunContext:
        methods = {name: getattr(self, name) for name in ("clock", "progress", "refuse_stopped")}
        facts = {name: fact for name, fact in vars(self).items() if name != "accepted"}
        made = cast(RunContext, run_double(**facts, **methods))
        made.accepted.findings = self.accepted
        return made


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqlStore]:
    opened = await SqlStore.open(tmp_path / "job.db", SystemClock(), storage=SHARED)
    yield opened
    await opened.close()


@pytest.fixture
def desk(store: SqlStore) -> Desk:
    return Desk(store)


async def linked(store: SqlStore, number: int) -> None:
    for each in range(number):
        await store.put_link(LinkRow(f"s{each:03}", f"t{each:03}"))


async def found(guard: Any) -> list[GuardFinding]:
    return [finding async for finding in guard]


# -- one stop for everything -------------------------------------------------------------------------------------------

MEANS, RIGHTS = (
    GuardFinding("it means something else", "use a flag", full=True),
    GuardFinding("it is gone", "look", full=False),
)


@pytest.mark.parametrize(
    ("findings", "options", "stops"),
    [
        ([], RunOptions(), False),
        ([MEANS], RunOptions(), True),
        ([MEANS], RunOptions(full=True), False),
        ([RIGHTS], RunOptions(full=True), True),
        ([MEANS, RIGHTS], RunOptions(full=True), True),
        ([MEANS, RIGHTS], RunOptions(accept_changes=True), False),
    ],
)
def test_which_flag_goes_on(findings: list[GuardFinding], options: RunOptions, stops: bool) -> None:
    if not stops:
        assert refuse(findings, options) == tuple(each.message for each in findings)
        return
    with pytest.raises(SafetyStop) as caught:
        refuse(findings, options)
    assert all(each.message in caught.value.message and each.hint in caught.value.hint for each in findings)


def test_several_reasons_have_a_line_each_and_hints_say_which_they_are_about() -> None:
    other = GuardFinding("the target is\nanother", RIGHTS.hint)
    with pytest.raises(SafetyStop) as caught:
        refuse([RIGHTS, MEANS, other], RunOptions())
    assert caught.value.message.splitlines() == [
        "3 reasons not to continue:",
        f"1. {RIGHTS.message}",
        f"2. {MEANS.message}",
        "3. the target is\\nanother",
    ]
    assert caught.value.hint.splitlines() == [
        "what to do about each:",
        f"1 and 3: {RIGHTS.hint}",
        f"2: {MEANS.hint}",
    ]
    with pytest.raises(SafetyStop) as caught:
        refuse([RIGHTS, other], RunOptions())
    assert caught.value.hint == RIGHTS.hint


# -- how much is too much ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "gone", "before", "massive"),
    [
        (100, 0, 0, False),
        (100, 20, 0, False),
        (100, 21, 0, True),
        (30, FEW, 0, False),  # a few may always go
        (30, FEW + 1, 0, True),
        (4, 2, 0, False),
        (4, 3, 0, True),
        (100, 60, 50, False),  # known to have left the source
        (100, 61, 50, True),
        (100, 40, 50, False),  # some came back
        (100, 40, None, False),  # nobody knows since when
        (100, 51, None, True),
        (0, 0, None, False),
    ],
)
def test_how_many_may_go_at_once(known: int, gone: int, before: int | None, massive: bool) -> None:
    assert Disappearance(known, gone, before).massive is massive


@pytest.mark.parametrize(
    ("total", "links", "gone", "words"),
    [
        (0, 0, 0, "returns no assets"),
        (1, 0, 0, ""),
        (5, 10, 0, ""),
        (4, 10, 0, "the source has 4 assets, but 10 were moved"),
        (4, 10, 6, ""),
    ],
)
async def test_what_the_source_counts(desk: Desk, total: int, links: int, gone: int, words: str) -> None:
    await linked(desk.store, links)
    await desk.store.set_meta("gone", gone)
    desk.source_account = Account("s", total=total)
    told = await found(unseen_source(desk.session.source, desk.session.state.store, desk.session.task.options))
    assert [words in each.message for each in told] == ([True] if words else [])
    assert desk.source.asked == 0


async def test_a_count_of_thousands_of_digits_is_compared_like_any_other(desk: Desk) -> None:
    huge = int("9" * 4_000)
    await linked(desk.store, 3)
    desk.source_account = desk.target_account = Account("s", total=huge)
    assert not await found(unseen_source(desk.session.source, desk.session.state.store, desk.session.task.options))
    assert not await found(emptied_target(desk.session.target, desk.session.state, desk.session.stopping))
    with pytest.raises(SafetyStop, match="its listing has 3"):
        await refuse_incredible_listing(desk.session.source, desk.session.state, desk.session.accepted, 3)


async def test_a_source_that_counts_nothing_is_asked_for_some_assets(desk: Desk) -> None:
    assert not await found(unseen_source(desk.session.source, desk.session.state.store, desk.session.task.options))
    await linked(desk.store, 20)
    assert (
        len(await found(unseen_source(desk.session.source, desk.session.state.store, desk.session.task.options))) == 1
    )
    assert desk.source.asked == 5
    desk.source.there = {f"s{each:03}" for each in range(20)}
    assert not await found(unseen_source(desk.session.source, desk.session.state.store, desk.session.task.options))
    desk.source.there, desk.options = set(), RunOptions(only=frozenset({"s001"}))
    assert not await found(unseen_source(desk.session.source, desk.session.state.store, desk.session.task.options))


async def test_a_target_is_empty_only_when_the_requested_assets_are_missing(desk: Desk) -> None:
    await linked(desk.store, 20)
    desk.target_account = Account("t", total=10)
    assert not await found(emptied_target(desk.session.target, desk.session.state, desk.session.stopping))
    assert desk.target.asked == 0
    desk.target_account = Account("t", total=9)
    desk.target.there = {f"t{each:03}" for each in range(20)}  # its index is behind
    assert not await found(emptied_target(desk.session.target, desk.session.state, desk.session.stopping))
    desk.target.there, desk.target.late = set(), frozenset(desk.target.there)
    assert not await found(emptied_target(desk.session.target, desk.session.state, desk.session.stopping))
    assert desk.waited == 30
    assert desk.said == (
        "target: waiting for its search index, in which 5 of 5 assets that were moved to it are missing, since 0 s, "
        "at most 30 s"
    )
    desk.target.trash = desk.target.there
    (told,) = await found(emptied_target(desk.session.target, desk.session.state, desk.session.stopping))
    assert "give the job a new `state:` file" in told.hint
    desk.on_server = True
    (told,) = await found(emptied_target(desk.session.target, desk.session.state, desk.session.stopping))
    assert "give the job another `name:`, or an empty database in `state:`" in told.hint
    assert "has 9 assets, 20 were moved to it" in told.message
    desk.target_account, desk.target.there, desk.target.late = Account("t"), set(), frozenset()
    assert len(await found(emptied_target(desk.session.target, desk.session.state, desk.session.stopping))) == 1


async def test_another_tenant_needs_another_state_of_the_same_sort(desk: Desk) -> None:
    await linked(desk.store, 1)
    await desk.store.set_meta(tenant_key("source"), "before")
    (told,) = await found(changed_identity(desk.session.source, desk.session.target, desk.session.state))
    assert told.hint.startswith("give the job a new `state:` file; if")
    desk.on_server = True
    (told,) = await found(changed_identity(desk.session.source, desk.session.target, desk.session.state))
    assert told.hint.startswith("give the job another `name:`, or an empty database in `state:`; if")


# -- what goes missing on the way --------------------------------------------------------------------------------------


async def test_some_assets_vanish_and_then_too_many(desk: Desk) -> None:
    missing = MissingMonitor(
        desk.session.source, desk.session.target, desk.session.state, desk.session.stopping, desk.session.accepted
    )
    for number in range(FEW):
        assert missing.from_source(AssetId(str(number))).cause == "gone"
    assert not missing.tripped
    with pytest.raises(SafetyStop, match=f"{FEW + 1} of {FEW + 1} assets that the source listed"):
        missing.from_source(AssetId("one more"))
    assert missing.tripped


async def test_as_many_may_vanish_as_a_part_of_what_was_read(desk: Desk) -> None:
    missing = MissingMonitor(
        desk.session.source,
        desk.session.target,
        desk.session.state,
        desk.session.stopping,
        desk.session.accepted,
        read=100,
    )
    for number in range(25):
        missing.from_source(AssetId(str(number)))
    with pytest.raises(SafetyStop):
        missing.from_source(AssetId("one more"))


async def test_what_one_process_of_a_run_accepted_the_next_one_reports(desk: Desk) -> None:
    await desk.session.accepted.accept(["the mapping changed"])
    await desk.session.accepted.accept(["the mapping changed", "the source lost most assets"])
    resumed = Desk(desk.store)
    await resumed.session.accepted.recall()
    assert resumed.accepted == ["the mapping changed", "the source lost most assets"]
    other = Desk(desk.store, run=replace(RUN, id=2))
    await other.session.accepted.recall()
    assert other.accepted == []


async def test_what_a_verification_continues_over_is_no_note_of_a_run(desk: Desk) -> None:
    desk.run = replace(RUN, command="verify")
    await desk.session.accepted.accept(["the mapping changed"])
    assert desk.accepted == ["the mapping changed"]
    await (again := Desk(desk.store)).session.accepted.recall()
    assert again.accepted == []


async def test_who_accepted_it_sees_each_set_aside(desk: Desk) -> None:
    desk.options = RunOptions(accept_changes=True)
    missing = MissingMonitor(
        desk.session.source, desk.session.target, desk.session.state, desk.session.stopping, desk.session.accepted
    )
    for number in range(3 * FEW):
        missing.from_source(AssetId(str(number)))
    assert not missing.tripped
    assert desk.accepted


async def test_the_reason_of_what_was_not_found(desk: Desk) -> None:
    await linked(desk.store, 9)
    (link,) = (await desk.store.links(["s003"])).values()
    desk.target.there = {f"t{each:03}" for each in range(9)} - {"t003"}
    missing, error = (
        MissingMonitor(
            desk.session.source, desk.session.target, desk.session.state, desk.session.stopping, desk.session.accepted
        ),
        NotFound("no such folder"),
    )
    told = await missing.while_writing(error, AssetId("s003"), link)
    assert "t003 is no longer at the target" in told.message
    desk.target.there.add("t003")
    told = await missing.while_writing(error, AssetId("s003"), link)
    assert told.message == "gone between listing and reading"
    desk.source.there.add("s003")
    assert await missing.while_writing(error, AssetId("s003"), link) is error
    desk.target.there.clear()
    for _ in range(FEW - 2):  # others are not looked at each time
        await missing.while_writing(error, AssetId("s003"), link)
    with pytest.raises(SafetyStop, match="the assets moved to the target before are gone from it"):
        await missing.while_writing(error, AssetId("s003"), link)


# -- schemas -----------------------------------------------------------------------------------------------------------

LINES = (
    "titleFr: {from: fields.title.fr}",
    "note: {from: fields.inventory, pipe: [{truncate: {max: 20, on_cut: note}}]}",
    "country: {from: fields.country}",
)
MORE = """\
tags: {from: "fields.photographer[]"}
placements: [{from: "placements.folder[].path", as: category}]
security: {groups: {const: public}}
"""


def with_field(schema: Schema, key: str, **facts: Any) -> Schema:
    return replace(schema, fields={**schema.fields, key: replace(schema.fields[key], **facts)})


def with_vocabulary(schema: Schema, key: str, **facts: Any) -> Schema:
    known = schema.vocabularies
    return replace(schema, vocabularies={**known, key: replace(known[key], **facts)})


CHANGES: Mapping[str, tuple[Schema, Schema, list[str]]] = {
    "type of a source field": (
        with_field(SOURCE, "inventory", kind=FieldKind.LONG_TEXT),
        TARGET,
        ["source field inventory is long_text, previously text"],
    ),
    "languages of a source field": (
        with_field(SOURCE, "title", localized=False),
        TARGET,
        ["source field title has one language, previously several"],
    ),
    "a language that is read": (replace(SOURCE, locales=("en",)), TARGET, ["the source lost languages: fr"]),
    "a language that nobody reads": (replace(SOURCE, locales=("fr",)), TARGET, []),
    "a source field that nobody reads": (with_field(SOURCE, "cleared", kind=FieldKind.TEXT), TARGET, []),
    "required": (SOURCE, with_field(TARGET, "note", required=True), ["target field note became required"]),
    "shorter": (
        SOURCE,
        with_field(TARGET, "note", max_length=19),
        ["target field note accepts 19 characters, previously 20"],
    ),
    "longer": (SOURCE, with_field(TARGET, "note", max_length=21), []),
    "a length where there was none": (
        SOURCE,
        with_vocabulary(TARGET, "country", max_length=9),
        ["target vocabulary country accepts 9 characters, previously any number"],
    ),
    "types that have a field": (
        SOURCE,
        with_field(TARGET, "note", types=frozenset({"Images"})),
        ["target field note is gone from Documents"],
    ),
    "a target field that nobody writes": (SOURCE, with_field(TARGET, "shotDate", required=True), []),
    "groups": (
        SOURCE,
        replace(TARGET, groups=frozenset({"public"})),
        ["the target lost groups: staff"],
    ),
    "several": (
        with_field(SOURCE, "inventory", kind=FieldKind.LONG_TEXT),
        with_field(TARGET, "note", required=True),
        ["source field inventory is long_text, previously text", "target field note became required"],
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changes_of_a_schema_that_the_mapping_uses(tmp_path: Path, change: str) -> None:
    source, target, words = CHANGES[change]
    text = with_lines(*LINES) + MORE
    crosswalk = compiled(tmp_path, text)
    before = used_of(crosswalk, SOURCE, TARGET)
    assert list(changes_between(before, used_of(crosswalk, source, target))) == words
    assert list(changes_between(used_of(crosswalk, source, target), used_of(crosswalk, source, target))) == []


def test_a_field_rule_that_was_added_or_removed_is_no_change_of_a_schema(tmp_path: Path) -> None:
    few, many = compiled(tmp_path, with_lines(LINES[0])), compiled(tmp_path, with_lines(*LINES) + MORE)
    one, two = used_of(few, SOURCE, TARGET), used_of(many, SOURCE, TARGET)
    assert list(changes_between(two, one, lists=False)) == []
    assert list(changes_between(one, two, lists=False)) == []
    assert list(changes_between({}, two)) == []


def index_of(*labels: str) -> TermIndex:
    index = TermIndex()
    for label in labels:
        index.add(Term(label, label))
    return index


async def test_a_closed_list_that_lost_terms(desk: Desk) -> None:
    """`country` takes no new terms; in `subject` what is missing is made."""
    await refuse_lost_terms(
        desk.session.target,
        desk.session.state.store,
        desk.session.accepted,
        {"country": index_of("Italy", "Spain"), "subject": index_of("Sea")},
    )
    await refuse_lost_terms(
        desk.session.target,
        desk.session.state.store,
        desk.session.accepted,
        {"country": index_of("Italy"), "subject": index_of("Sea")},
    )
    await linked(desk.store, 1)
    await refuse_lost_terms(
        desk.session.target,
        desk.session.state.store,
        desk.session.accepted,
        {"country": index_of("Italy", "Spain"), "subject": index_of()},
    )
    for _ in range(2):
        with pytest.raises(SafetyStop, match=r"list country lost 1 of its values \(Italy\)"):
            await refuse_lost_terms(
                desk.session.target, desk.session.state.store, desk.session.accepted, {"country": index_of("Spain")}
            )
    desk.options = RunOptions(full=True)
    await refuse_lost_terms(
        desk.session.target, desk.session.state.store, desk.session.accepted, {"country": index_of("Spain")}
    )
    desk.options = RunOptions()
    await refuse_lost_terms(
        desk.session.target, desk.session.state.store, desk.session.accepted, {"country": index_of("Spain")}
    )


# -- the store's part --------------------------------------------------------------------------------------------------


async def test_samples_are_spread_over_all_links(store: SqlStore) -> None:
    assert await store.sample_links(5) == []
    await linked(store, 10)
    assert [row.source for row in await store.sample_links(5)] == ["s000", "s002", "s004", "s006", "s008"]
    assert len(await store.sample_links(50)) == 10


async def test_what_is_in_the_trash_has_left_the_source(store: SqlStore) -> None:
    await linked(store, 3)
    run = (await store.begin("museum", "run")).id
    thrown = Entry(AssetId("s001"), "2", deleted=True)
    await store.record(run, ONE, Batch((thrown, Entry(AssetId("s000"), "2")), None), ())
    assert await store.gone(0, 9) == (1, ["s001"])
    assert await store.gone(run, 9) == (2, ["s001", "s002"])


async def test_a_run_that_starts_its_listing_again_reads_everything_again(store: SqlStore) -> None:
    assert await store.is_blank()
    run = (await store.begin("museum", "run")).id
    batch = Batch((Entry(AssetId("a"), "1"), Entry(AssetId("b"), "1")), None)
    await store.record(run, ONE, batch, ())
    for work in await store.claim(run, 9, LEASE):
        await store.complete(work, Outcome("created", link=LinkRow(work.asset, f"t-{work.asset}")))
    await store.record(run, ONE, batch, ())
    assert (await store.tally(run))["open"] == 0
    await store.restart_listing(run)
    assert not await store.shards_complete(run)
    await store.record(run, ONE, batch, ())
    tally = await store.tally(run)
    assert (tally["listed"], tally["open"], tally["created"]) == (2, 2, 0)
    assert not await store.is_blank()


# -- what a listing may not take away ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "now", "command", "stops"),
    [
        (20, 9, "run", True),
        (20, 10, "run", False),
        (40, 19, "run", True),
        (40, 21, "run", False),
        (FEW, 0, "run", False),
        (FEW + 1, 0, "run", True),
        (20, 0, "verify", False),
    ],
)
async def test_a_run_stops_when_most_memberships_vanished(
    desk: Desk, before: int, now: int, command: str, stops: bool
) -> None:
    """Every asset would leave its containers."""
    press = Placement("folder", ("Press",), "c1")
    for run, number in ((1, before), (2, now)):
        await desk.store.begin_members(run)
        there = tuple(AssetId(f"s{each}") for each in range(number))
        await desk.store.add_members([Membership(press, (*there, AssetId(f"{AT_TARGET}t")))])
        await desk.store.end_members()
        if run == 1:
            await desk.store.keep_members(without=AT_TARGET)
    desk.run = replace(RUN, command=command)
    if not stops:
        return await refuse_lost_memberships(desk.session.state, desk.session.accepted)
    with pytest.raises(SafetyStop, match=f"returns {now} membership.*, and returned {before} in the last run"):
        await refuse_lost_memberships(desk.session.state, desk.session.accepted)
    desk.options = RunOptions(accept_changes=True)
    return await refuse_lost_memberships(desk.session.state, desk.session.accepted)


async def test_single_assets_are_refused_while_a_whole_run_is_unfinished(desk: Desk) -> None:
    """Two listings would be in one journal."""
    some, run = frozenset({"a"}), await desk.store.begin("job", "run")
    await refuse_in_between(desk.store, frozenset())
    with pytest.raises(SafetyStop, match=f"run {run.id} is not finished, so --only cannot be used"):
        await refuse_in_between(desk.store, some)
    await desk.store.finish(run.id, {})
    await refuse_in_between(desk.store, some)


@pytest.mark.parametrize(
    ("account", "lost", "message"),
    [
        (Account("s", "ann"), set(), ""),
        (Account("s", "bob"), set(), "another tenant or another user"),
        (Account("z", "ann"), set(), "another tenant or another user"),
        (Account("s", "ann"), {"k1"}, ""),
        (Account("s", "ann"), {"k1", "k2"}, "2 of 3 assets that exist"),
    ],
    ids=["the same", "another user", "another tenant", "one asset is not found", "most are not found"],
)
async def test_each_confirmation_asks_again_who_reads_the_source_and_what_it_sees(
    desk: Desk, account: Account, lost: set[str], message: str
) -> None:
    """The token may be another one meanwhile."""

    class Source(Side):
        async def probe(self) -> Account:
            return account

        async def missing(self, assets: Sequence[AssetId], since: datetime) -> frozenset[AssetId]:
            return frozenset(each for each in assets if each in lost | {"gone"})

    desk.source, desk.source_account = Source(), Account("s", "ann")
    desk.now = lambda: datetime(2026, 1, 5, tzinfo=UTC)  # type: ignore[attr-defined]
    due = [Deletion(name, "t", IN_TRASH, RUN.started_at, 0, 1, "all") for name in ("gone", "there")]
    confirmation = Confirmation(desk.session, tuple(map(AssetId, ("k1", "k2", "k3"))), strict=False)
    if not message:
        assert [each.source for each in await confirmation.confirmed(due)] == ["gone"]
        return
    with pytest.raises(SafetyStop, match=message):
        await confirmation.confirmed(due)


@pytest.mark.parametrize(
    "options",
    [RunOptions(only=frozenset({"a"})), RunOptions(limit=1)],
    ids=["some assets", "a limit"],
)
async def test_a_run_of_some_assets_removes_nothing(desk: Desk, options: RunOptions) -> None:
    about: Any = desk
    about.policy = Policy(deletions=DeletionPolicy(timedelta(0)))
    about.due_by = datetime(2027, 1, 1, tzinfo=UTC)

    async def enter(phase: str) -> None:
        raise Transient(phase)

    about.enter, about.wave = enter, None
    desk.target.capabilities = Capabilities(frozenset({Operation.REMOVE}))
    await linked(desk.store, 2)
    await desk.store.keep_deletions([Deletion("s000", "t000", IN_TRASH, RUN.started_at, 0, 1, "all")], [])
    worker: Any = None
    with pytest.raises(Transient, match="confirming"):
        await remove_deleted(desk.session, worker)
    desk.options = options
    await remove_deleted(desk.session, worker)
