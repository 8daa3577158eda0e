"""Several assets of service C created by one call: each has its own journal and its own outcome, whatever becomes of
the call. In virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.emulation.sandbox import Emulated, write_job
from dam_sync.model.asset import AssetId, Draft, Marker, Patch
from dam_sync.model.errors import Denied, Rejected, Transient
from dam_sync.model.service import Calls, Service
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.target.shared import CallPlan, Creation, assigned
from tests.conformance.catalogue import MARKER, SCHEMA
from tests.support.pairs import EVERYTHING
from tests.support.services.connections import Bytes
from tests.support.state.memory_journal import Crash, MemoryJournal
from tests.support.virtual.network_faults import Trouble
from tests.support.virtual.universe import Tenant, Universe

KIND = "c_brandlibrary"
CREATE, VALUES = facts.ADD_TO_LIBRARY, facts.ADD_VALUES
LOST = ["mute", "lost", "play:fail_after", "play:some_created"]
ASSETS = 4
EVERY = 1 if EVERYTHING else 9  # moments of which one is tried
Outcome = AssetId | BaseException


@dataclass
class Killed:
    """What all journals of a process share: it ends at the n-th moment of any of them."""

    blow_at: int | None = None
    moments: int = 0


@dataclass
class ProcessJournal(MemoryJournal):
    process: Killed = field(default_factory=Killed)

    def _moment(self) -> None:
        self.process.moments += 1
        if self.process.blow_at is not None and self.process.moments >= self.process.blow_at:
            raise Crash


@dataclass
class Stage:
    """A library, and the assets that are written to it at the same time."""

    universe: Universe
    tenant: Tenant
    job: Path
    drafts: list[Draft]
    process: Killed = field(default_factory=Killed)
    journals: list[ProcessJournal] = field(init=False)
    calls: Calls = field(default_factory=dict)
    later: float = 0.0  # seconds after which each asset follows the one before it

    def __post_init__(self) -> None:
        self.journals = [ProcessJournal(process=self.process) for _ in self.drafts]

    def live(self, blow_at: int | None = None) -> list[Outcome]:
        """What comes of each in one process, which ends at that moment of its journals."""
        self.process.blow_at, self.process.moments = blow_at, 0
        return self.universe.do(self._live())

    async def _live(self) -> list[Outcome]:
        async with self.universe.service(self.job, "target") as service:
            await service.schema()
            works = enumerate(zip(self.drafts, self.journals, strict=True))
            pending = [asyncio.ensure_future(self._created(service, *work, number)) for number, work in works]
            await asyncio.wait(pending, return_when=asyncio.ALL_COMPLETED)
            self.calls = dict(service.calls)
        return [each.exception() or each.result() for each in pending]

    async def _created(self, service: Service, draft: Draft, journal: MemoryJournal, number: int) -> AssetId:
        await self.universe.clock.sleep(number * self.later)
        return await service.create(draft, bytes_of(draft), journal)

    def fail(self, call: str, do: str, **when: Any) -> None:
        """See `Trouble`."""
        self.universe.network.weather.lines.append(Trouble(self.tenant.app, call, do, **when))

    def rows(self) -> list[Mapping[str, Any]]:
        """What is there once all files were processed."""
        self.universe.do(self.universe.clock.sleep(100.0))
        return [row for row in self.tenant.assets if row["status"] != "trash"]

    def holds_each_once(self, made: Sequence[Outcome]) -> None:
        """Every asset is there once, with its own file, and says nothing of us."""
        rows = self.rows()
        assert len(rows) == len(self.drafts)
        for draft, identity in zip(self.drafts, made, strict=True):
            (row,) = [row for row in rows if row["id"] == identity]
            assert draft.marker is not None
            assert row["fields"][MARKER] == draft.marker.value
            assert row["fields"]["title"] == draft.fields["title"]
            assert row["filename"] == draft.filename
            assert row["versions"][-1]["size"] == bytes_of(draft).size
            assert "dam_sync" not in str(row["fields"].get("description"))


def bytes_of(draft: Draft) -> Bytes:
    return Bytes(draft.filename, f"file of {draft.marker}".encode() + b"." * len(draft.filename), known=True)


def draft(key: str, **more: Any) -> Draft:
    name = more.pop("filename", f"{key}.jpg")
    return Draft(Marker(MARKER, key), name, fields={"title": f"Title of {key}", MARKER: key}, **more)


def drafts(count: int = ASSETS) -> list[Draft]:
    return [draft(f"s-{number}") for number in range(count)]


@contextmanager
def stage(folder: Path, wanted: Sequence[Draft] | None = None, variant: str = "", **options: Any) -> Iterator[Stage]:
    with Universe() as universe:
        tenant = universe.tenant(KIND, SCHEMA, variant=variant, rate=None, lag=5, processing=2)
        options = {"readiness": "later", "first_look": 3.0, **options}
        sides = Emulated(KIND, tenant.url, {}), Emulated(KIND, tenant.url, options)
        job = write_job(folder / "job.yaml", "shared", *sides, folder / "mapping.yaml")
        yield Stage(universe, tenant, job, list(wanted or drafts()))


def test_assets_that_are_written_at_the_same_time_share_calls(tmp_path: Path) -> None:
    with stage(tmp_path, drafts(25)) as made:
        made.holds_each_once(made.live())
        assert made.calls[facts.ADD_TO_LIBRARY] == 2
        assert made.calls[facts.PUT_ASSET] == 2, "one token for each call"
        assert made.calls[facts.SECTION_ASSETS] == 1, "the first shared call is read back"
        assert made.calls[facts.ADD_VALUES] == 2, "one for each field"


@pytest.mark.parametrize(("seconds", "calls"), [(2.0, 1), (4.0, 2)])
def test_an_asset_waits_for_those_that_follow_it_for_a_part_of_the_wait_for_a_file(
    tmp_path: Path, seconds: float, calls: int
) -> None:
    """With the default of `first_look`. A group of its own for every asset that comes a moment later doubles the calls
    of a long run, and its time."""
    with stage(tmp_path, drafts(2), first_look=8.0) as made:
        made.later = seconds
        made.holds_each_once(made.live())
        assert made.calls[facts.ADD_TO_LIBRARY] == calls


def test_each_asset_is_created_alone_if_the_job_says_so(tmp_path: Path) -> None:
    with stage(tmp_path, tokens="asset") as made:
        made.holds_each_once(made.live())
        assert made.calls[facts.ADD_TO_LIBRARY] == made.calls[facts.PUT_ASSET] == ASSETS


@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("variant", ["", "lists_from_index", "section_files"])
def test_a_lost_response_costs_no_asset_and_doubles_none(tmp_path: Path, fault: str, variant: str) -> None:
    """Nothing says whether a call that fails created some of its assets."""
    with stage(tmp_path, variant=variant) as made:
        made.fail(CREATE, fault, nth=1)
        made.holds_each_once(made.live())
        assert not made.universe.network.weather.unhit()


@pytest.mark.parametrize("fault", ["status:403", "status:404", "odd:2", "empty", "status:429"])
def test_a_shared_create_that_cannot_be_read_back_doubles_no_asset(tmp_path: Path, fault: str) -> None:
    with stage(tmp_path) as made:
        made.fail(facts.SECTION_ASSETS, fault, nth=1)
        made.live()
        made.holds_each_once(made.live())
        assert not made.universe.network.weather.unhit()


@pytest.mark.parametrize("fault", ["status:403", "status:404", "odd:2"])
def test_assets_of_a_lost_create_that_cannot_be_looked_for_are_not_doubled(tmp_path: Path, fault: str) -> None:
    with stage(tmp_path) as made:
        made.fail(CREATE, "mute", nth=1)
        made.fail(facts.SECTION_ASSETS, fault, since=1)
        made.live()
        assert not made.universe.network.weather.unhit()
        made.universe.network.weather.clear()
        made.holds_each_once(made.live())


@pytest.mark.parametrize("fault", ["status:401", "status:403"])
def test_a_create_that_is_denied_says_nothing_of_others_sent_at_the_same_time(tmp_path: Path, fault: str) -> None:
    """Assets of one name are created by calls of their own."""
    with stage(tmp_path, [draft(f"twin-{number}", filename="same.jpg") for number in range(5)]) as made:
        made.fail(CREATE, fault, nth=2)
        assert len([each for each in made.live() if isinstance(each, Denied)]) == 1
        made.holds_each_once(made.live())


def test_only_the_asset_that_the_service_refuses_fails(tmp_path: Path) -> None:
    """One asset has a link that the service does not take, which refuses the whole call."""
    with stage(tmp_path, drafts(6)) as made:
        made.fail(CREATE, "status:422", nth=1)  # all together
        made.fail(CREATE, "status:422", nth=3)  # and one of those that are created alone
        found = made.live()
        (refused,) = [number for number, each in enumerate(found) if isinstance(each, Rejected)]
        assert len(made.rows()) == 5
        again = made.live()
        assert [each for number, each in enumerate(again) if number != refused] == [
            each for number, each in enumerate(found) if number != refused
        ]
        made.holds_each_once(again)


def test_a_service_that_takes_one_asset_in_a_call_gets_one(tmp_path: Path) -> None:
    with stage(tmp_path, drafts(45)) as made:
        for number in (1, 2):
            made.fail(CREATE, "status:422", nth=number)
        made.holds_each_once(made.live())
        assert made.calls[facts.ADD_TO_LIBRARY] == 2 + 45


@pytest.mark.parametrize("fault", ["mute", "lost", "status:422"])
def test_assets_of_one_name_stay_apart(tmp_path: Path, fault: str) -> None:
    same = [draft(f"twin-{number}", filename="same.jpg") for number in range(5)]
    with stage(tmp_path, same) as made:
        made.fail(CREATE, fault, nth=2)
        first = made.live()
        made.holds_each_once(made.live() if any(isinstance(each, BaseException) for each in first) else first)
        assert made.calls.get(facts.ADD_TO_LIBRARY, 5) <= 6


def test_a_value_that_the_service_refuses_stops_nobody_elses(tmp_path: Path) -> None:
    wanted = drafts(9)
    with stage(tmp_path, wanted) as made:
        for number in (2, 3, 5, 7):  # the halves that one asset is in
            made.fail(VALUES, "status:422", nth=number)
        assert len([each for each in made.live() if isinstance(each, Rejected)]) == 1
        made.holds_each_once(made.live())


@pytest.mark.parametrize("fault", ["mute", "lost"])
def test_values_whose_shared_response_was_lost_are_not_doubled(tmp_path: Path, fault: str) -> None:
    with stage(tmp_path) as made:
        made.fail(VALUES, fault, nth=2)
        made.holds_each_once(made.live())
        for asset in made.tenant.app.state.tenant.assets.values():
            assert len(asset.values) == 2


async def renamed(stage: Stage, identity: str) -> None:
    async with stage.universe.service(stage.job, "target") as editor:
        await editor.schema()
        await editor.update(AssetId(identity), Patch(fields={"name": "By hand"}))


def test_an_asset_that_people_renamed_in_between_is_still_found(tmp_path: Path) -> None:
    with stage(tmp_path) as made:
        made.fail(CREATE, "mute", nth=1)
        made.fail(facts.SECTION_ASSETS, "status:503", since=1)
        lost = [number for number, each in enumerate(made.live()) if number and isinstance(each, Transient)]
        made.universe.network.weather.clear()
        (row,) = [row for row in made.rows() if row["filename"] == f"s-{lost[0]}.jpg"]
        made.universe.do(renamed(made, row["id"]))
        made.live()
        assert len(made.rows()) == ASSETS
        assert {row["fields"][MARKER] for row in made.rows()} == {f"s-{number}" for number in range(ASSETS)}


def points(folder: Path) -> list[int]:
    with stage(folder) as made:
        made.live()
        return list(range(1, made.process.moments + 1, EVERY))


def test_a_kill_at_any_record_of_a_shared_create_leaves_no_trace(tmp_path: Path) -> None:
    for moment in points(tmp_path):
        with stage(tmp_path) as made:
            made.live(blow_at=moment)
            for journal in made.journals:
                journal.now = made.universe.clock.now()
            found = made.live()
            assert not [each for each in found if isinstance(each, BaseException)], moment
            made.holds_each_once(found)


def rows_named(*names: str) -> list[dict[str, Any]]:
    return [{"id": f"id-{name}", "attributes": {"name": name}, "related": {}} for name in names]


def test_assets_are_distinguished_by_name_whatever_their_order() -> None:
    assert assigned(["a", "b", "c"], rows_named("c", "a", "b")) == ["id-a", "id-b", "id-c"]
    assert assigned(["a", "b", "c"], rows_named("a", "c")) == ["id-a", None, "id-c"]
    assert assigned(["a", "bb", "c"], rows_named("a", "b", "c")) == ["id-a", "id-b", "id-c"], "cut, in their order"
    assert assigned(["a", "bb", "c"], rows_named("c", "b", "a")) == ["id-a", None, "id-c"]


def test_an_asset_without_a_name_is_recognized_by_the_one_that_it_gets() -> None:
    new = wire.NewAsset(Draft(Marker(MARKER, "nameless"), ""), None)
    creation = Creation(new, facts.ADD_TO_LIBRARY, "library", "section", None, MemoryJournal())
    (sent,) = wire.create_body([new], "section")["data"]["attributes"]
    assert creation.name == sent["name"] == "nameless"


def test_no_two_assets_of_one_name_share_a_call() -> None:
    plan = CallPlan()
    assert [plan.number("here", name)[0] for name in ("a", "b", "A", "c", "a")] == [0, 0, 1, 0, 2]
    assert plan.number("there", "a") == (0, 0)
