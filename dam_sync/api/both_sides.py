"""What a mapping is made from and checked against: the schemas of both services of a job."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from dam_sync.api.bootstrap import connect
from dam_sync.config.job import JobConfig
from dam_sync.model.probed import Undecided, undecided
from dam_sync.model.run_options import RunOptions
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.transfer.budget import MemoryBudget

NO_FILES = 1 << 20  # memory for file bytes if no files are moved


@dataclass(frozen=True, slots=True)
class BothSides:
    """Both services, opened for reading, and their schemas. undecided: by role, what is left behind until an option of
    the job says what becomes of it."""

    source: Service
    target: Service
    source_schema: Schema
    target_schema: Schema
    undecided: Mapping[str, tuple[Undecided, ...]] = field(default_factory=dict)


@asynccontextmanager
async def both_sides(job: JobConfig, options: RunOptions) -> AsyncIterator[BothSides]:
    """Open both services of a job and read their schemas. Neither is written to. Raises what they raise."""
    budget = MemoryBudget(NO_FILES)
    options.progress.begin("reading the schemas")
    source = connect(job, "source", options, budget, read_only=True)
    try:
        target = connect(job, "target", options, budget, read_only=True)
        try:
            accounts = await source.probe(), await target.probe()
            schema = await source.schema()
            await target.adopt_schema(schema)
            left = undecided(*accounts, source.capabilities, job.policy.versions)
            yield BothSides(source, target, schema, await target.schema(), left)
        finally:
            await target.close()
    finally:
        await source.close()
