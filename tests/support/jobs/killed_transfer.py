"""A run that is killed while it sends a large file, and resumed: what both e2e tests and benchmarks look at."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dam_sync.api.emulation.sandbox import Emulated, write_job, write_suggested_mapping
from dam_sync.emulators import profile_of
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.bulk_jobs import Bulk, write_bulk
from tests.support.jobs.tenants import Pair, Tenant
from tests.support.processes import Measured, emulating, processes

CHUNK = "POST /v2/uploads/chunks/upload"
START = "POST /v2/uploads/chunks/start"
POLL = 0.05
PATIENCE = 600.0
RECORDING = 0.3  # seconds for the responses already received to be recorded


@dataclass(frozen=True, slots=True)
class Resumed:
    """What came of it. peak in bytes; chunks: calls that sent one, before the kill and in all."""

    peak: int
    before: int
    chunks: int
    sessions: int
    source: Sequence[str]
    target: Sequence[str]
    seconds: float


def kill_and_resume(
    folder: Path,
    size: int,
    kill_at: int,
    *,
    options: str = "version_policy: file_only",
    more: str = "",
    faults: Sequence[Mapping[str, Any]] = (),
) -> Resumed:
    """One file of `size` bytes; the run is killed when the target saw `kill_at` chunks, and started again."""
    written = write_bulk(folder, Bulk(1, size=size))
    with processes(folder, written, options=options, more=more) as pair:
        pair.target.add_faults(*faults)
        done = _killed_and_resumed(pair, kill_at, lambda: pair.target.calls.get(CHUNK, 0))
        assert pair.target.calls[START] == done.sessions
        return done


def kill_and_resume_at(folder: Path, source: str, target: str, size: int, kill_at: int, part: str) -> Resumed:
    """The same between any two services; `part` is the call that brings a part, `storage` where storage takes them."""
    with _one_file(folder, source, target, size) as pair:

        def sent() -> int:
            counters = pair.target.ask("/_emulator/calls")
            found = counters["storage"] if part == "storage" else counters["api"].get(part, 0)
            return int(found)

        return _killed_and_resumed(pair, kill_at, sent)


@contextmanager
def _one_file(folder: Path, source: str, target: str, size: int) -> Iterator[Pair]:
    """A library of one file, generated as it is read."""
    file = {"name": "film.jpg", "generate": {"size": size, "seed": 1}}
    at = dict.fromkeys(("created_at", "imported_at", "changed_at"), "2024-03-01T12:00:00Z")
    asset = {"record": "asset", "id": "1", "filename": "film.jpg", "status": "published", "type": "Film", **at}
    rights = {"groups": ["public"]}
    libraries = {
        source: [*_schema(), {**asset, "fields": {"title": "A long film"}, "rights": rights, "versions": [file]}],
        target: list(_schema()),
    }
    with _emulated(folder, source, libraries[source]) as first, _emulated(folder, target, libraries[target]) as second:
        mapping, quick = folder / "mapping.yaml", {"first_look": 0.5} if target == "c_brandlibrary" else {}
        sides = Emulated(source, first.url), Emulated(target, second.url, quick)
        job = write_job(folder / "job.yaml", "large", *sides, mapping, policy=ACCEPTED)
        asyncio.run(write_suggested_mapping(job, mapping, f"{profile_of(target).prefix}srckey"))
        yield Pair(first, second, job, folder)


@contextmanager
def _emulated(folder: Path, kind: str, records: Sequence[Mapping[str, Any]]) -> Iterator[Tenant]:
    catalogue = folder / f"{kind}.jsonl"
    catalogue.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    trial = profile_of(kind)
    with emulating(kind, catalogue, None, **{**trial.emulated, "lag": 0.2, "rate": None}) as tenant:
        yield tenant


def _schema() -> Iterator[Mapping[str, Any]]:
    yield {"record": "type", "name": "Film", "media": ["PICTURE"]}
    yield {"record": "group", "name": "public"}
    for key in ("srckey", "title"):
        yield {"record": "field", "key": key, "label": key, "kind": "text", "types": ["Film"], "max_length": 250}


def _killed_and_resumed(pair: Pair, kill_at: int, sent: Callable[[], int]) -> Resumed:
    began = time.monotonic()
    command = ("run", str(pair.job), "--json", "--no-progress")
    with Measured(*command) as first:
        until(sent, kill_at, first)
        time.sleep(RECORDING)
        assert first.running, "the upload was over before the kill"
        first.kill()
    before = sent()
    with Measured(*command) as second:
        second.wait()
    return Resumed(
        peak=max(first.peak, second.peak),
        before=before,
        chunks=sent(),
        sessions=pair.target.calls.get(START, 0),
        source=digests(pair.source),
        target=digests(pair.target),
        seconds=time.monotonic() - began,
    )


def until(sent: Callable[[], int], parts: int, run: Measured) -> None:
    """Wait until so many parts were sent."""
    deadline = time.monotonic() + PATIENCE
    while sent() < parts:
        assert run.running, "the run ended too early"
        assert time.monotonic() < deadline, "no chunk came"
        time.sleep(POLL)


def digests(tenant: Tenant) -> list[str]:
    """sha256 of every file version there, as the emulator itself has it."""
    return [file["digests"]["sha256"] for asset in tenant.assets for file in asset["versions"]]
