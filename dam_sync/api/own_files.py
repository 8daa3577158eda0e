"""The files that a job consists of, which nothing that a command writes may replace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from dam_sync.api.job_file import job_of
from dam_sync.config.job import JobConfig
from dam_sync.mapping.document import mapping_of_file
from dam_sync.model.connector import Connector
from dam_sync.model.errors import ConfigError, DamSyncError
from dam_sync.store.file.database import HELPERS

TABLES = ("pins", "synonyms", "csv")  # keys of a mapping that name a file


def refuse_own_files(
    jobs: Sequence[Path], written: Sequence[Path], connectors: Mapping[str, Connector] | None = None
) -> None:
    """Raise ConfigError if a file to be written is one that a job consists of: the job file, its mapping with the
    tables that it names, or its state. A job file with errors is left to the command."""
    present = [path for path in written if path.is_file()]
    for job in jobs if present else ():
        for what, own in _own_files(job, connectors):
            for path in present:
                if own.exists() and path.samefile(own):
                    raise ConfigError(
                        f"{path} is {what} of this job, and would be replaced; nothing was done",
                        hint="name another file",
                    )


def _own_files(job: Path, connectors: Mapping[str, Connector] | None) -> Iterator[tuple[str, Path]]:
    yield "the job file", job
    with suppress(DamSyncError):
        config = job_of(job, connectors)
        yield "the mapping", config.mapping_path
        for suffix in ("", *HELPERS):
            yield "the state", config.state_path.with_name(f"{config.state_path.name}{suffix}")
        yield from (("a table of the mapping", path) for path in _tables(config))


def _tables(config: JobConfig) -> Iterator[Path]:
    for name in _named(mapping_of_file(config.mapping_path).data):
        yield config.mapping_path.parent / name


def _named(data: Any) -> Iterator[str]:
    """The file names in a mapping, whatever else is wrong with it."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if key in TABLES and isinstance(value, str):
                yield value
            yield from _named(value)
    elif isinstance(data, list):
        for each in data:
            yield from _named(each)
