"""kill -9 in the middle of a run, of the run and of the source's service, for pairs of services that share nothing.

All three are processes of their own. A killed target is not tried: an emulated one keeps what it holds in memory only.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dam_sync.api.emulation.sandbox import Emulated, write_job, write_suggested_mapping
from dam_sync.emulators import profile_of
from dam_sync.emulators.kit.profile import Profile
from dam_sync.model.journal_names import is_inner
from tests.conformance.catalogue import MARKER, SCHEMA, asset
from tests.support.forking import Forked, Forking
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.small_jobs import Ran
from tests.support.jobs.tenants import Tenant
from tests.support.programs import shared

PAIRS = [("b_documents", "c_brandlibrary"), ("c_brandlibrary", "d_templates"), ("d_templates", "b_documents")]
ASSETS = 8
SLOW = [{"match": "GET *", "do": "delay:0.03"}]  # so that there is a middle
AT_ONCE = 2
TICK, LONG = 0.05, 60.0  # seconds


@pytest.fixture(scope="module")
def forking() -> Iterator[Forking]:
    with shared().branch() as found:
        yield found


@dataclass(slots=True)
class Process:
    """An emulated service in a process of its own, which can be killed and comes back at the same URL."""

    forking: Forking
    kind: str
    catalogue: Path
    slow: Path
    forked: Forked | None = None
    url: str = ""

    def start(self) -> None:
        trial: Profile = profile_of(self.kind)
        options = {**trial.emulated, **trial.demo_emulated, "lag": 0.1, "rate": None}
        given = [word for key, value in options.items() for word in ("--option", f"{key}={json.dumps(value)}")]
        port = str(urlsplit(self.url).port or 0)
        told = (
            "emulate",
            self.kind,
            "--json",
            "--load",
            str(self.catalogue),
            "--port",
            port,
            "--faults",
            str(self.slow),
            *given,
        )
        self.forked = self.forking.start(*told, TMPDIR=str(self.catalogue.parent))  # one that is killed leaves a folder
        self.url = json.loads(self.forked.first_line)["url"]

    def end(self, how: int) -> None:
        if self.forked is not None:
            self.forked.end(how)
        self.forked = None

    @property
    def assets(self) -> list[dict[str, Any]]:
        return [row for row in Tenant(self.url).assets if row["status"] != "trash"]


@contextmanager
def emulating(forking: Forking, kind: str, rows: list[Any], path: Path) -> Iterator[Process]:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    slow = path.with_suffix(".faults")
    slow.write_text(json.dumps(SLOW), encoding="utf-8")
    process = Process(forking, kind, path, slow)
    process.start()
    try:
        yield process
    finally:
        process.end(signal.SIGINT)


@dataclass(slots=True)
class Job:
    """A job between two of them."""

    forking: Forking
    path: Path
    source: Process
    target: Process

    def command(self, verb: str, *options: str, code: int = 0) -> Ran:
        ran = self.forking.start(verb, str(self.path), "--no-progress", *options).wait()
        assert ran.code == code, ran.text
        assert "Traceback" not in ran.text
        return ran

    def run_until(self, reached: Callable[[], bool]) -> Forked:
        """A run at work, once something is reached."""
        forked = self.forking.start("run", str(self.path), "--no-progress")
        until = time.monotonic() + LONG
        while not reached():
            assert time.monotonic() < until
            time.sleep(TICK)
        return forked

    @property
    def journal(self) -> Counter[tuple[str, str]]:
        """How often each was recorded; parts of a create are sent again where it may have used them up."""
        with closing(sqlite3.connect(self.path.parent / "state" / "job.db")) as connection:
            rows = connection.execute("SELECT asset, operation FROM ledger").fetchall()
        return Counter(row for row in rows if not is_inner(row[1]))


@contextmanager
def joined(forking: Forking, folder: Path, source: str, target: str) -> Iterator[Job]:
    library = [*SCHEMA, *(_asset(number) for number in range(1, ASSETS + 1))]
    with (
        emulating(forking, source, library, folder / "source.jsonl") as first,
        emulating(forking, target, list(SCHEMA), folder / "target.jsonl") as second,
    ):
        ends = Emulated(source, first.url), Emulated(target, second.url)
        mapping = folder / "mapping.yaml"
        job = write_job(folder / "job.yaml", "pair", *ends, mapping, limits={"concurrency": AT_ONCE}, policy=ACCEPTED)
        asyncio.run(write_suggested_mapping(job, mapping, profile_of(target).prefix + MARKER))
        yield Job(forking, job, first, second)


def _asset(number: int) -> Any:
    row = asset(number)
    return {**row, "fields": {key: value for key, value in row["fields"].items() if key != MARKER}}


def digests(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(row["versions"][-1]["digests"]["sha256"] for row in rows)


def titles(rows: list[Mapping[str, Any]], prefix: str) -> dict[str, str]:
    """By the digest of the file."""
    return {row["versions"][-1]["digests"]["sha256"]: _text(row["fields"].get(f"{prefix}title")) for row in rows}


def _text(value: Any) -> str:
    return next(iter(value["texts"].values())) if isinstance(value, dict) else str(value)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{a[0]}-{b[0]}" for a, b in PAIRS])
def test_kills_in_the_middle_leave_no_trace(forking: Forking, tmp_path: Path, source: str, target: str) -> None:
    with joined(forking, tmp_path, source, target) as job:
        run = job.run_until(lambda: sum(Tenant(job.source.url).calls.values()) > 1)
        job.source.end(signal.SIGKILL)
        ended = run.wait()
        assert ended.code == 5, ended.text
        assert source in ended.err
        assert "hint: " in ended.err
        assert len(job.target.assets) < ASSETS
        job.source.start()
        run = job.run_until(lambda: len(job.target.assets) >= ASSETS // 2)
        assert run.end().code == -signal.SIGKILL
        job.command("run")
        sides = job.source.assets, job.target.assets
        assert len(sides[0]) == ASSETS
        assert digests(sides[0]) == digests(sides[1])
        assert titles(sides[0], profile_of(source).prefix) == titles(sides[1], profile_of(target).prefix)
        assert [step for step, number in job.journal.items() if number > 1] == []
