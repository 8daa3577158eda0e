"""The job of a virtual world on a second computer, with a copy of its state; and a state that is put back as it was."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dam_sync.api.adopt import Adoption, adopt_job
from dam_sync.model.state_server import StateServer
from tests.conformance.catalogue import asset
from tests.support.jobs.folder_jobs import InFolder
from tests.support.state.postgres import execute
from tests.support.virtual.removals import Removals
from tests.support.virtual.state_location import CHOSEN, beside, copy_state, job_in, place_of, state_for


def copied(world: Removals, folder: Path, *, beside_it: bool = True) -> Removals:
    """The same job elsewhere, with the state as it is now. beside_it: with all that is kept next to a state file; a
    state on a server is a database that was made from a copy of the other."""
    job = job_in(folder)
    text = world.job.read_text(encoding="utf-8")
    here, place = str(_named(world.job)), place_of(world.job)
    if isinstance(place, Path):
        beside(job).mkdir()
        for file in sorted(place.parent.glob("job.db*" if beside_it else "job.db")):
            shutil.copyfile(file, beside(job) / file.name)
    else:
        world.universe.end_connections()
        there = state_for(job)
        execute(place, f'DROP DATABASE "{CHOSEN.databases[job]}"')
        execute(place, f'CREATE DATABASE "{CHOSEN.databases[job]}" TEMPLATE "{place.database}"')
        here, text = place.database, text.replace(f"/{place.database}?", f"/{CHOSEN.databases[job]}?")
        assert f"/{CHOSEN.databases[job]}?" in there
    job.write_text(text.replace(here, str(_named(job))) if isinstance(place, Path) else text, encoding="utf-8")
    for beside_job in world.job.parent.iterdir():
        if beside_job.is_dir():
            shutil.copytree(beside_job, job.with_name(beside_job.name))
        elif beside_job != world.job:
            shutil.copyfile(beside_job, job.with_name(beside_job.name))
    return replace(world, job=job)


def _named(job: Path) -> Path:
    return beside(job) / "job.db"


class KeptState:
    """The state of a job at rest, to be put back after something changed it; it is not restored for its job."""

    def __init__(self, world: Removals, folder: Path) -> None:
        self._world, self._place = world, place_of(world.job)
        self._copies = folder / "kept"
        self._copies.mkdir()
        if isinstance(self._place, Path):
            for file in sorted(self._place.parent.glob("job.db*")):
                shutil.copyfile(file, self._copies / file.name)
        else:
            self._other = replace(self._place, database=f"{self._place.database}_kept")
            copy_state(self._place, self._other)

    def put_back(self) -> None:
        """As it was."""
        if isinstance(self._place, StateServer):
            self._world.universe.end_connections()
            copy_state(self._other, self._place)
            return
        for file in sorted(self._copies.iterdir()):
            shutil.copyfile(file, self._place.with_name(file.name))
        for file in sorted(self._place.parent.glob("job.db-*")):
            if not (self._copies / file.name).exists():
                file.unlink()

    def forget(self) -> None:
        """Drop what was kept on a server."""
        if isinstance(self._place, StateServer):
            execute(self._place, f'DROP DATABASE IF EXISTS "{self._other.database}" WITH (FORCE)')


def add(world: Removals, numbers: Iterable[int]) -> Sequence[str]:
    """New assets in the folder that is the source; their ids."""
    rows = [asset(number) for number in numbers]
    InFolder(world.source.folder).fill(rows)
    return [str(row["id"]) for row in rows]


def adopt(world: Removals, **options: Any) -> Any:
    """The report of an adoption by markers."""
    return world.universe.do(adopt_job(world.job, world.options(**options), Adoption()))
