"""Files that the target fetches from the source, in virtual time: in the end there is what there is when the bytes go
through us, also if the links are dead or lead to something else, and after a crash at any moment."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest
from starlette.types import ASGIApp

from dam_sync.api.check import check_job
from dam_sync.api.job_file import job_of
from dam_sync.api.jobs import plan_job, run_job
from dam_sync.api.stored_job import existing_store
from dam_sync.model.errors import DamSyncError, StopRequested
from dam_sync.model.run_options import RunOptions
from dam_sync.services.c_brandlibrary.facts import FIRST_LOOK
from tests.simulation.conftest import TRIED
from tests.support.sample.cases import only_in_full
from tests.support.virtual.crashes import POINTS, SEED, tried
from tests.support.virtual.moves import Move, Simulation, options_of
from tests.support.virtual.reply import Reply
from tests.support.virtual.state_location import ask
from tests.support.virtual.universe import Tenant, Universe
from tests.support.virtual.wire import Network

PULL = {"bytes": "pull"}
LOOKS = 1  # at what only a plan reports
EARLIER = 1  # call for links that live long enough, if a file was opened before the first one was asked for
SHORT = {"fetch_seconds": 120}
RUNS = 180.0  # seconds after which a run is to end
SOON = 60.0  # within which it does: what was begun is finished, but for what the target fetches
MOST_RUNS = 20
PAIRS = [("a_hypermedia", "c_brandlibrary"), ("d_templates", "e_profiles"), ("c_brandlibrary", "e_profiles")]
IDS = [f"{source[0]}-{target[0]}" for source, target in PAIRS]


class DeadLinks(Network):
    """Every link between services is refused."""

    async def fetch(self, url: str) -> AsyncIterator[bytes]:
        self.fetched.append((url, 403))
        raise ConnectionError("403")
        yield b""


class CutFiles(Network):
    """Every file that a service fetches lacks its last byte."""

    async def fetch(self, url: str) -> AsyncIterator[bytes]:
        yield b"".join([block async for block in super().fetch(url)])[:-1]


GIVEN = re.compile(rb'(?:name="url"[^\n]*\r\n\r\n|"url": ?")(http://127\.0\.0\.1:\d+/[^\r"]+)')


class RefusedLinks(Network):
    """Every call with a link to another service is refused, as if its key lacked the right."""

    status = 403

    def says(self, url: str) -> str:
        return "files of other hosts are not allowed"

    async def _served(self, app: ASGIApp, request: httpx.Request, body: Sequence[bytes]) -> Reply:
        found = GIVEN.search(b"".join(body))
        url = found[1].decode() if found is not None else ""
        if self.called(httpx.Request("GET", url)) in (None, app):  # no link at all, or one of its own storage
            return await super()._served(app, request, body)
        self.fetched.append((url, self.status))
        text = json.dumps({"message": self.says(url)})
        return Reply(self.status, [(b"content-type", b"application/json")], [text.encode()])


NETWORKS = [Network, DeadLinks, CutFiles, RefusedLinks]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kinds", PAIRS, ids=IDS)
def test_a_library_ends_as_if_its_bytes_had_gone_through_us(
    tmp_path: Path, kinds: tuple[str, str], network: type[Network]
) -> None:
    usual, _ = Simulation(tmp_path / "usual", kinds, SEED).reference()
    pulling = Simulation(tmp_path / "pull", kinds, SEED, policy=PULL, network=network, options=SHORT)
    with pulling.moving() as move:
        move.live()
        assert move.universe.network.fetched, "no file was fetched"
        assert steps_of_links(move) == {STEPS[kinds[1]][network]}
        state = move.state()
    assert [current(row) for row in state.assets] == [current(row) for row in usual.assets]
    replaced = kinds[1] == "c_brandlibrary" and network is CutFiles  # its file gets a second version (wire C 6.5)
    assert (state.assets == usual.assets) is not replaced
    assert state.links == usual.links
    assert state.left == usual.left


STEPS = {
    "c_brandlibrary": {
        Network: "pull, create",
        DeadLinks: "pull, create, file, sent instead",
        CutFiles: "pull, create, file, sent instead",
        RefusedLinks: "pull, file, create",
    },
    "e_profiles": {
        Network: "pull, upload",
        DeadLinks: "pull, given up, upload",
        CutFiles: "pull, upload, given up, upload",
        RefusedLinks: "pull, given up, upload",
    },
}


def steps_of_links(move: Move) -> set[str]:
    """In which order the ledger has the steps of assets whose file had a link."""
    steps: dict[str, list[str]] = {}
    for asset, step in ask(move.job, "SELECT asset, operation FROM ledger ORDER BY seq"):
        name = step.removeprefix("in create: ")
        if name in ("pull", "create", "file", "upload", "sent instead", "given up") and name != step:
            steps.setdefault(asset, []).append(name)
    return {", ".join(each) for each in steps.values() if "pull" in each}


def current(row: Any) -> Any:
    """An asset without the older versions of its file."""
    return {**row, "versions": row["versions"][-1:]}


class LateFetches(Network):
    """Services get to the files that they fetch after more than two hours."""

    async def fetch(self, url: str) -> AsyncIterator[bytes]:
        await self.clock.sleep(8_000)
        async for block in super().fetch(url):
            yield block


class SlowFetches(Network):
    """What a service fetches takes longer than anybody waits for a response."""

    async def fetch(self, url: str) -> AsyncIterator[bytes]:
        await self.clock.sleep(400)
        async for block in super().fetch(url):
            yield block


@pytest.mark.parametrize("kinds", PAIRS, ids=IDS)
def test_a_fetch_that_takes_longer_than_a_call_doubles_nothing(tmp_path: Path, kinds: tuple[str, str]) -> None:
    usual, _ = Simulation(tmp_path / "usual", kinds, SEED).reference()
    slow = Simulation(tmp_path / "pull", kinds, SEED, policy=PULL, network=SlowFetches)
    with slow.moving() as move:
        move.live()
        fetched = len(move.universe.network.fetched)
        state = move.state()
    assert fetched
    assert state.assets == usual.assets
    assert (state.links, state.left) == (usual.links, usual.left)


class LongFetches(Network):
    """What a service fetches takes nearly as long as is waited for it, whatever it waits for."""

    async def fetch(self, url: str) -> AsyncIterator[bytes]:
        await self.clock.sleep(550)
        async for block in super().fetch(url):
            yield block


async def ended(move: Move, ending: str) -> float:
    """A run that is to end after three minutes; how many seconds it took."""
    clock = move.universe.clock
    options = move.universe.options(**({} if ending == "stop" else {"max_duration": f"{RUNS}s"}))
    began = clock.monotonic()
    run = asyncio.ensure_future(run_job(move.job, options))
    if ending == "stop":
        await asyncio.wait({run, asyncio.ensure_future(clock.sleep(RUNS))}, return_when=asyncio.FIRST_COMPLETED)
        options.stop()
    with suppress(StopRequested):
        await run
    return clock.monotonic() - began


@pytest.mark.parametrize("pause", [0, 1_000], ids=["at-once", "later"])
@pytest.mark.parametrize("ending", ["stop", "deadline"])
@pytest.mark.parametrize("kinds", PAIRS, ids=IDS)
def test_a_stop_does_not_wait_for_what_the_target_fetches(
    tmp_path: Path, kinds: tuple[str, str], ending: str, pause: float
) -> None:
    """What the target has fetched by the next run is found there, and what it fetches still is waited for."""
    usual, _ = Simulation(tmp_path / "usual", kinds, SEED).reference()
    slow = Simulation(tmp_path / "pull", kinds, SEED, policy=PULL, network=LongFetches)
    with slow.moving() as move:
        do, network = move.universe.do, move.universe.network
        assert RUNS <= do(ended(move, ending)) <= RUNS + SOON
        do(move.universe.clock.sleep(pause))
        move.live()
        fetched = [url for url, _ in network.fetched]
        state = move.state()
    assert fetched
    assert len(fetched) == len(set(fetched)), "fetched twice"
    assert state.assets == usual.assets
    assert (state.links, state.left) == (usual.links, usual.left)


@pytest.mark.parametrize("kinds", PAIRS, ids=IDS)
def test_runs_that_end_before_a_fetch_is_given_up_come_to_an_end(tmp_path: Path, kinds: tuple[str, str]) -> None:
    """What an earlier run waited counts."""
    usual, _ = Simulation(tmp_path / "usual", kinds, SEED).reference()
    dead = Simulation(tmp_path / "pull", kinds, SEED, policy=PULL, network=DeadLinks, options={"fetch_seconds": 900})
    with dead.moving() as move:
        runs = 0
        while move.universe.do(ended(move, "deadline")) >= RUNS:
            runs += 1
            assert runs < MOST_RUNS
        move.live()
        state = move.state()
    assert (state.assets, state.links, state.left) == (usual.assets, usual.links, usual.left)


class ShortLinks(Simulation):
    """Links of the source end shortly after two hours."""

    def _tenant(self, universe: Universe, role: str, kind: str, rows: Sequence[Any]) -> Tenant:
        more = {"file_link": 7_300} if role == "from" else {}
        return universe.tenant(kind, rows, **{**options_of(kind), **more})


@only_in_full
def test_links_that_end_too_early_lose_nothing(tmp_path: Path) -> None:
    kinds, waits = ("c_brandlibrary", "c_brandlibrary"), {"fetch_seconds": 9_000}
    usual, _ = Simulation(tmp_path / "usual", kinds, SEED).reference()
    late = ShortLinks(tmp_path / "pull", kinds, SEED, policy=PULL, options=waits, network=LateFetches)
    with late.moving() as move:
        move.live()
        refused = [status for _, status in move.universe.network.fetched]
        state = move.state()
    assert refused
    assert set(refused) == {403}
    assert (state.assets, state.links, state.left) == (usual.assets, usual.links, usual.left)


@pytest.mark.parametrize("kinds", PAIRS, ids=IDS)
def test_a_plan_says_what_a_run_fetches_and_estimates_its_calls(tmp_path: Path, kinds: tuple[str, str]) -> None:
    patient = {"first_look": FIRST_LOOK} if kinds[1] == "c_brandlibrary" else {}
    with Simulation(tmp_path, kinds, SEED, policy=PULL, options=patient).moving() as move:
        do, options = move.universe.do, move.universe.options
        plan, run = do(plan_job(move.job, options())), do(run_job(move.job, options()))
        fetched = move.target.app.world.fetches
    (foreseen,) = [note for note in plan.notes if "fetched by the target itself" in note]
    (told,) = [note for note in run.notes if "fetched by the target itself" in note]
    assert foreseen.split()[0] == told.split()[0] == str(fetched)
    assert re.findall(r"\([\d,]+ bytes\)", foreseen) == re.findall(r"\([\d,]+ bytes\)", told)
    assert plan.bytes == run.bytes
    assert 0 <= run.source.total_calls - plan.source.total_calls <= EARLIER
    assert 0 <= plan.target.total_calls - run.target.total_calls <= LOOKS
    assert not [text for text in (str(plan.as_json()), str(run.as_json())) if "Signature" in text]


@pytest.mark.parametrize(
    ("kinds", "why"),
    [
        (("c_brandlibrary", "e_profiles"), ""),
        (("b_documents", "e_profiles"), "the source gives no links that others can open"),
        (("c_brandlibrary", "d_templates"), "the target does not fetch files"),
    ],
    ids=["possible", "source", "target"],
)
def test_check_and_plan_say_why_nothing_can_be_fetched(tmp_path: Path, kinds: tuple[str, str], why: str) -> None:
    wanted = [f"`policy: {{bytes: pull}}` has no effect: {why}"] if why else []
    with Simulation(tmp_path, kinds, SEED, policy=PULL).moving() as move:
        do, options = move.universe.do, move.universe.options
        found = [one for one in do(check_job(move.job, options())) if "bytes: pull" in one.message]
        assert [one.message for one in found] == wanted
        assert [(one.mark, bool(one.hint)) for one in found] == [("WARN", True)] * len(wanted)
        assert [note for note in do(plan_job(move.job, options())).notes if "has no effect" in note] == wanted


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("kinds", PAIRS, ids=IDS)
def test_no_crash_leaves_a_trace(
    tmp_path: Path, kinds: tuple[str, str], network: type[Network], record_property: Callable[[str, object], None]
) -> None:
    share = -(-POINTS // (len(PAIRS) * len(NETWORKS)))
    came = tried(Simulation(tmp_path, kinds, SEED, policy=PULL, network=network, options=SHORT), share, changing=0)
    record_property(TRIED, str(came))
    assert came.faults == [], f"seed {came.seed}"
    assert came.crashes >= share


class Telling(RefusedLinks):
    """A service that is given a link repeats it whenever it has a reason to complain, and it always has."""

    status = 503

    def says(self, url: str) -> str:
        return f"temporarily unable to fetch {url}, and {quote(url, safe='')}"


@pytest.mark.parametrize("kinds", PAIRS, ids=IDS)
def test_what_the_target_says_of_a_link_is_not_repeated(
    tmp_path: Path, kinds: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    simulation = Simulation(tmp_path, kinds, SEED, policy=PULL, network=Telling, options=SHORT)
    with simulation.moving() as move:
        do, options = move.universe.do, move.universe.options
        try:
            told = str(do(run_job(move.job, options())).as_json())
        except DamSyncError as error:
            told = f"{error} {error.hint}"
        told += "".join(capsys.readouterr())
        given = [url for url, _ in move.universe.network.fetched]
        told += str(do(parked_of(move.job, options())))
    assert given
    assert "temporarily unable to fetch" in told
    for url in given:
        path = urlsplit(url).path
        assert path not in told
        assert quote(path, safe="") not in told


async def parked_of(path: Path, options: RunOptions) -> list[Any]:
    """What the state says of each asset that was set aside, or is tried again."""
    job = job_of(path, options.connectors)
    async with existing_store(job, options.clock, storage=options.storage) as store:
        return list(await store.parked(limit=100))
