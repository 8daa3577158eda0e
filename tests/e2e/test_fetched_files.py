"""Files that the target fetches from the source over sockets: their bytes do not pass through us, and arrive; where a
link is refused, or leads to another size, they are sent instead."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dam_sync.api.emulation.rehearsal import Rehearsal, rehearse_job
from dam_sync.api.jobs import verify_job
from dam_sync.emulators.kit.fetching import fetched
from dam_sync.engine.context.pulls import MOST_IN_VAIN
from tests.conformance.catalogue import SCHEMA, asset
from tests.support import programs
from tests.support.jobs import small_jobs
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.any_pair import hurried, joined, living, planned, ran, receiver_of, tenant_of
from tests.support.jobs.folder_jobs import side_of
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.pairs import ids
from tests.support.services.profiles import profile_of
from tests.support.services.small_limits import limited, small_parts
from tests.support.state.postgres import OwnServer, execute

LARGE, SMALL = 3_000_000, 700  # the large ones would go in parts
MANY = 40  # more than are written at once
SIZES = (LARGE, LARGE + 1, SMALL)
PAIRS = [("a_hypermedia", "c_brandlibrary"), ("c_brandlibrary", "e_profiles")]
FETCHED, SENT = "fetched by the target itself", "sent through this process"


def library(sizes: Sequence[int]) -> list[dict[str, Any]]:
    """An asset for each of the sizes."""
    names = [f"file {number}.jpg" for number, _ in enumerate(sizes, 1)]
    return [
        asset(number, filename=name, versions=[{"name": name, "generate": {"size": size, "seed": number}}])
        for number, (name, size) in enumerate(zip(names, sizes, strict=True), 1)
    ]


@contextmanager
def pulling(
    folder: Path, source: str, target: str, sizes: Sequence[int] = SIZES, seconds: float = 600, **more: Any
) -> Iterator[Pair]:
    """A pair whose job lets the target fetch files, and gives up after so many seconds, here of a faster clock."""
    policy, records = {**ACCEPTED, "bytes": "pull"}, [*SCHEMA, *library(sizes)]
    with hurried(), tenant_of(source, records) as first, receiver_of(target, SCHEMA) as second:
        into = side_of(target, second, {**profile_of(target).parted, "fetch_seconds": seconds})
        pair = joined(folder, side_of(source, first, {}), into, (first, second), OWN_MARKS, policy=policy, **more)
        pair.connectors = limited({target: small_parts(target)})
        yield pair


def check_arrived(pair: Pair) -> None:
    """Every file is at the target, once."""
    there, here = ([row["versions"][-1] for row in living(one).values()] for one in (pair.source, pair.target))
    assert sorted(file["digests"]["md5"] for file in here) == sorted(file["digests"]["md5"] for file in there)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ids(PAIRS))
def test_large_files_do_not_pass_through_us(tmp_path: Path, source: str, target: str) -> None:
    with pulling(tmp_path, source, target) as pair:
        plan = planned(pair)
        report = ran(pair)
        check_arrived(pair)
        assert plan["bytes"] == report["bytes"] == 0
        assert [note for note in report["notes"] if FETCHED in note] == [
            f"3 files were fetched by the target itself ({sum(SIZES):,} bytes), compared by size only"
        ]
        assert pair.target.ask("/_emulator/calls")["fetches"] == len(SIZES)
        assert not [call for call in pair.target.calls if "chunks" in call or "upload_requests" in call]
        state = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
        assert b"Signature" not in state
        assert pair.source.served is not None
        assert pair.source.served.storage_url.encode() not in state
        assert proven(pair, "fields") == {"V2": len(SIZES)}
        assert proven(pair, "digest") == {"V3": len(SIZES)}


def proven(pair: Pair, level: str) -> dict[str, int]:
    """How surely the files are known to be at the target, by a verification of this level that finds no difference."""
    verdict = asyncio.run(
        verify_job(pair.job, small_jobs.options(connectors=pair.connectors), level, "100%")
    ).as_json()["verdict"]
    assert verdict["differences"] == []
    return {name: number for name, number in verdict["evidence"].items() if number}


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ids(PAIRS))
def test_what_is_not_fetched_as_announced_is_sent(tmp_path: Path, source: str, target: str) -> None:
    with pulling(tmp_path, source, target) as pair:
        assert pair.target.served is not None
        served: dict[str, int] = {}

        async def fetch(url: str) -> AsyncIterator[bytes]:
            """The source refuses the first link; of the second file the end is missing."""
            number = served.setdefault(url, len(served))
            wrong = urlsplit(url)._replace(path="/no/such/file").geturl()
            blocks = [block async for block in fetched(wrong if number == 0 else url)]
            yield b"".join(blocks)[: -1 if number == 1 else None]

        pair.target.served.app.world.fetch = fetch
        report = ran(pair)
        check_arrived(pair)
        (sent,) = [note for note in report["notes"] if SENT in note]
        assert sent.startswith("2 files were not fetched")
        assert 0 < report["bytes"] < sum(SIZES)
        assert proven(pair, "digest") == {"V3": len(SIZES)}


def test_a_rehearsal_hands_no_link_to_anybody(tmp_path: Path) -> None:
    """With generated files in place of the source's, which are not read, whoever would read them."""
    with pulling(tmp_path, "c_brandlibrary", "e_profiles") as pair:
        before = pair.source.ask("/_emulator/calls")["storage"]
        found = asyncio.run(rehearse_job(pair.job, small_jobs.options(), Rehearsal(placeholders=True)))
        assert pair.source.ask("/_emulator/calls")["storage"] == before
        assert found.run.counts["created"] == len(SIZES)
        assert not [note for note in found.run.notes if FETCHED in note]
        assert found.verification.clean


@pytest.fixture
def state(server: OwnServer) -> Iterator[str]:
    """Where the state of the job is, on a server."""
    yield server.url
    execute(server.state, 'DROP SCHEMA IF EXISTS "dam_sync_pair" CASCADE')


def test_workers_say_what_the_target_fetched(tmp_path: Path, state: str) -> None:
    """With its state on a server; its commands live by their own clock, as its workers do."""
    with pulling(tmp_path, "c_brandlibrary", "e_profiles", state=state) as pair:
        report = replace(pair, command=programs.run).json("run", str(pair.job), "--workers", "2")
        check_arrived(pair)
        assert report["bytes"] == 0
        assert [note for note in report["notes"] if FETCHED in note] == [
            f"3 files were fetched by the target itself ({sum(SIZES):,} bytes), compared by size only"
        ]


def test_workers_say_once_that_links_brought_nothing(tmp_path: Path, state: str) -> None:
    async def fetch(url: str) -> AsyncIterator[bytes]:
        raise ConnectionError("403")
        yield b""

    with pulling(tmp_path, "c_brandlibrary", "e_profiles", [SMALL] * MANY, 1, state=state) as pair:
        assert pair.target.served is not None
        pair.target.served.app.world.fetch = fetch
        notes = replace(pair, command=programs.run).json("run", str(pair.job), "--workers", "2")["notes"]
        check_arrived(pair)
        sent = pair.target.ask("/_emulator/calls")["fetches"]
        assert MOST_IN_VAIN <= sent < MANY
        assert [note for note in notes if SENT in note] == [
            f"{sent} files were not fetched by the target as announced, and sent through this process instead"
        ]
        assert len([note for note in notes if "several links in a row brought nothing" in note]) == 1


def test_an_interrupted_run_leaves_fetches_to_the_next_one(tmp_path: Path, state: str) -> None:
    """Its workers wait for files that the target fetches as long as this test likes."""
    began, released = threading.Event(), threading.Event()

    async def fetch(url: str) -> AsyncIterator[bytes]:
        began.set()
        await asyncio.to_thread(released.wait)
        async for block in fetched(url):
            yield block

    with pulling(tmp_path, "a_hypermedia", "c_brandlibrary", state=state) as pair:
        assert pair.target.served is not None
        pair.target.served.app.world.fetch, pair.command = fetch, programs.run
        process = pair.start("run", str(pair.job), "--workers", "2")
        try:
            assert began.wait(120)
            process.send_signal(signal.SIGINT)
            assert process.wait(120) == 5
        finally:
            released.set()
            process.kill()
            process.wait()
        report = pair.json("run", str(pair.job))
        check_arrived(pair)
        assert not [note for note in report["notes"] if SENT in note]
