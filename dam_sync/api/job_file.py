"""A job file, checked against the installed services; the first thing that most commands do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dam_sync.config.job import JobConfig, load_job, missing_mapping
from dam_sync.model.connector import Connector
from dam_sync.model.errors import ConfigError
from dam_sync.services import discover


def kinds() -> list[str]:
    """The kinds of services that a job file may name, without loading any."""
    return list(discover())


def job_of(job: Path | JobConfig, connectors: Mapping[str, Connector] | None = None) -> JobConfig:
    """The job of a file, checked against the installed services. Raises ConfigError with every diagnostic."""
    if isinstance(job, JobConfig):
        return job
    try:
        loaded = load_job(job, connectors or discover())
    except ConfigError as error:
        if not error.diagnostics:
            raise
        raise ConfigError.of([*error.diagnostics, *missing_mapping(job)]) from None
    if loaded.waves:
        from dam_sync.mapping.wave_selection import WaveReading

        WaveReading(loaded.written, loaded.folder).refuse_faulty()
    return loaded
