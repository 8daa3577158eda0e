"""A library of any size on its way into service E, in virtual time, with all of the product at work but the sockets."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Engine

from dam_sync.api.job_file import job_of
from dam_sync.api.jobs import plan_job, run_job
from dam_sync.config.job import JobConfig
from dam_sync.emulators import profile_of
from dam_sync.model.run_options import RunOptions
from dam_sync.report.report import Report
from dam_sync.services import discover
from tests.support.virtual.group_commit_writer import GroupedWriter
from tests.support.virtual.scale.generated_source import NAME, kind_of
from tests.support.virtual.scale.thin_target import RATE, ThinTarget, ThinTransport
from tests.support.virtual.universe import Universe

T = TypeVar("T")
TARGET = "e_profiles"
LOOK = 60.0  # virtual seconds between two looks at the memory
MAPPING = """\
version: 1
locales: [en]
profile: {default: images}
fields:
  srckey: {marker: true}
  title: {from: [fields.title, filename], required: true}
  note: {from: fields.note}
tags: {from: "fields.keywords[]"}
placements: {from: "placements.folder[].path", pipe: [{strip_prefix: /Library}], as: category}
security:
  groups: {const: [public]}
unmapped: report
"""
RECEIVING: Sequence[Mapping[str, Any]] = [
    {"record": "type", "name": "Images"},
    {"record": "group", "name": "public"},
    {"record": "profile", "name": "images", "type": "Images", "groups": ["public"], "version_policy": "file_only"},
    {"record": "field", "key": "srckey", "label": "srckey", "kind": "text", "types": ["Images"], "max_length": 255},
    {"record": "field", "key": "title", "label": "title", "kind": "text", "types": ["Images"], "required": True},
    {"record": "field", "key": "note", "label": "note", "kind": "long_text", "types": ["Images"]},
]
MARKS = (0.1, 0.5, 1.0)  # parts of a run at which memory is looked at
STATM_PAGE = resource.getpagesize()


@dataclass(slots=True)
class Seen:
    """What one verb came to, in seconds of real time, of this process and of the virtual world. memory: bytes of the
    process when so much of the library was done."""

    report: Report
    real: float
    cpu: float
    virtual: float
    memory: dict[float, int] = field(default_factory=dict)


@dataclass(slots=True)
class LargeMove:
    """One library, an empty target, a job between them."""

    universe: Universe
    target: ThinTarget
    job: Path
    size: int
    writer: Callable[[Engine, Path], GroupedWriter] = GroupedWriter

    def plan(self) -> Seen:
        """`plan`."""
        return self._seen(plan_job)

    def run(self) -> Seen:
        """`run`."""
        return self._seen(run_job)

    def _seen(self, verb: Callable[[JobConfig, RunOptions], Coroutine[Any, Any, Report]]) -> Seen:
        options = RunOptions(
            clock=self.universe.clock,
            transport=ThinTransport(self.target),
            connectors={**discover(), NAME: kind_of(self.size)},
            storage=replace(self.universe.storage, writer=self.writer),
        )
        job = job_of(self.job, options.connectors)
        real, cpu, virtual = time.monotonic(), time.process_time(), self.universe.clock.monotonic()
        memory: dict[float, int] = {}
        report = self.universe.do(self._watched(verb(job, options), options, memory))
        now = time.monotonic(), time.process_time(), self.universe.clock.monotonic()
        memory[1.0] = resident()
        return Seen(report, now[0] - real, now[1] - cpu, now[2] - virtual, memory)

    async def _watched(self, work: Coroutine[Any, Any, T], options: RunOptions, memory: dict[float, int]) -> T:
        task = asyncio.ensure_future(work)
        while not task.done():
            await asyncio.wait([task], timeout=LOOK)
            for mark in MARKS:
                if mark not in memory and options.progress.done >= mark * self.size:
                    memory[mark] = resident()
        return task.result()


@contextmanager
def large(folder: Path, size: int) -> Iterator[LargeMove]:
    """A universe with a library of `size` assets in it."""
    with Universe() as universe:
        tenant = universe.tenant(TARGET, RECEIVING, rate=None)  # the stand-in holds calls to it
        target = ThinTarget(universe, tenant, size, lambda mark: int(mark.rpartition("-")[2]))
        yield LargeMove(universe, target, write(folder, tenant.url), size)


def write(folder: Path, url: str) -> Path:
    """The job file and the mapping."""
    mapping = folder / "mapping.yaml"
    mapping.write_text(MAPPING, encoding="utf-8")
    auth = {key: text.format(url=url) for key, text in profile_of(TARGET).auth[0].items()}
    (folder / "token").write_text(auth["token"], encoding="utf-8")
    auth["token"] = "${file:token}"
    target = {"kind": TARGET, "base_url": url, "tenant_url": url, "auth": auth}
    source = {"kind": NAME, "base_url": "http://127.0.0.1:9", "auth": {"flow": "token", "token": "${file:token}"}}
    body = {"version": 1, "name": "large", "source": source, "target": target, "mapping": str(mapping)}
    body |= {"state": str(folder / "state" / "job.db"), "limits": {"calls_per_second": RATE}}
    job = folder / "job.yaml"
    job.write_text(json.dumps(body), encoding="utf-8")  # JSON is YAML
    return job


def resident() -> int:
    """Bytes of memory this process has now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * STATM_PAGE
