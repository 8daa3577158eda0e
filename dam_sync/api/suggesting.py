"""A first mapping for a job, from the live schemas of both sides and a few assets of the source."""

from __future__ import annotations

from dam_sync.api.bootstrap import connect
from dam_sync.api.sampling import sample_of
from dam_sync.config.job import JobConfig
from dam_sync.mapping.suggest import suggest
from dam_sync.mapping.suggestion import Suggestion
from dam_sync.model.run_options import RunOptions
from dam_sync.model.schema import Schema
from dam_sync.transfer.budget import MemoryBudget

NO_FILES = 1 << 20  # memory for file bytes if no files are moved


async def suggestion_of(job: JobConfig, options: RunOptions, marker: str = "") -> Suggestion:
    """A mapping suggested for a job, whose mapping file is not read. marker: key of the field for the marker, if it is
    known. Neither side is written to."""
    budget = MemoryBudget(NO_FILES)
    schemas: list[Schema] = []
    letters, sample = 0, None
    for role in ("source", "target"):
        options.progress.begin(f"reading the schema of the {role}")
        service = connect(job, role, options, budget, read_only=True)
        try:
            await service.probe()
            if schemas:
                await service.adopt_schema(schemas[0])
            schemas.append(await service.schema())
            letters = service.limits.filename
            sample = sample or await sample_of(service)
        finally:
            await service.close()
    return suggest(*schemas, marker=marker, filename=letters, sample=sample)
