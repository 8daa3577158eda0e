"""`map check` and `map test`: the mapping of a job against both schemas, and its own examples."""

from __future__ import annotations

from pathlib import Path

from dam_sync.api.bootstrap import both_sides, reading_of_job
from dam_sync.api.job_file import job_of
from dam_sync.config.job import JobConfig
from dam_sync.mapping.compile import compile_reading
from dam_sync.mapping.crosswalk import Crosswalk, run_tests
from dam_sync.mapping.document import MappingDocument, refuse_faulty
from dam_sync.model.errors import MappingError
from dam_sync.model.run_options import RunOptions


async def check_mapping(path: Path | JobConfig, options: RunOptions) -> tuple[str, ...]:
    """Compile the mapping of a job against both schemas. Returns its notes. Raises MappingError with every fault, its
    file and line."""
    _, crosswalk = await _compiled(path, options)
    return (*crosswalk.warnings, *(note for note in crosswalk.notes if note not in crosswalk.warnings))


async def test_mapping(path: Path | JobConfig, options: RunOptions) -> int:
    """Run the examples of the mapping file. Returns how many passed. Raises MappingError with those that fail and their
    lines."""
    document, crosswalk = await _compiled(path, options)
    failures = run_tests(document, crosswalk)
    if failures:
        raise MappingError.of(failures)
    return len(document.body.tests)


async def _compiled(path: Path | JobConfig, options: RunOptions) -> tuple[MappingDocument, Crosswalk]:
    job = job_of(path, options.connectors)
    reading = reading_of_job(job)
    refuse_faulty(reading)  # faults that need no schema cost no call
    async with both_sides(job, options) as sides:
        return compile_reading(reading, sides.source_schema, sides.target_schema)
