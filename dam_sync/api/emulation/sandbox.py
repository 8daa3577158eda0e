"""A job between two emulated services, with the credentials that their emulators accept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ruamel.yaml import YAML

from dam_sync.api.atomic_io import atomic_write
from dam_sync.api.job_file import job_of
from dam_sync.api.mapping_tools.suggest import suggestion_of
from dam_sync.config.secrets import is_secret
from dam_sync.emulators import profile_of
from dam_sync.emulators.kit.profile import Profile
from dam_sync.model.run_options import RunOptions
from dam_sync.services import discover


class JobSection(Protocol):
    """What can be the source or the target of a job."""

    def as_job(self) -> dict[str, Any]:
        """Its section of a job file."""
        ...


@dataclass(frozen=True, slots=True)
class Emulated:
    """One emulated tenant. options: of the connector, besides those its profile needs."""

    kind: str
    url: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def as_job(self) -> dict[str, Any]:
        """Its section of a job file."""
        trial: Profile = profile_of(self.kind)
        found: dict[str, Any] = {"kind": self.kind, "base_url": self.url}
        if discover()[self.kind].needs_tenant_url:
            found["tenant_url"] = self.url
        found["auth"] = {key: text.format(url=self.url) for key, text in trial.auth[0].items()}
        options = {**trial.options, **trial.demo, **self.options}
        return {**found, "options": options} if options else found


def write_job(path: Path, name: str, source: JobSection, target: JobSection, mapping: Path, **more: Any) -> Path:
    """Write a job file for the pair; its state is in the folder `state` next to it unless `more` names another.
    Each secret goes to a file in the folder `NAME.secrets` next to the job file."""
    sides = {
        role: _with_references(path, role, side.as_job()) for role, side in (("source", source), ("target", target))
    }
    body: dict[str, Any] = {"version": 1, "name": name, **sides}
    body |= {"mapping": str(mapping), "state": str(path.parent / "state" / "job.db"), **more}
    yaml = YAML()
    yaml.default_flow_style = False
    with path.open("w", encoding="utf-8") as out:
        out.write("# Written by dam-sync: moves a library from one emulated tenant to another.\n")
        yaml.dump(body, out)
    return path


def _with_references(job: Path, role: str, side: dict[str, Any]) -> dict[str, Any]:
    """A section of a job file with its secrets moved to files readable by their owner only."""
    auth = dict(side.get("auth", {}))
    for key in filter(is_secret, side.get("auth", {})):
        file = Path(f"{job.stem}.secrets") / f"{role}_{key}"
        with atomic_write(job.parent / file, "the secret") as out:
            out.write(auth[key])
        auth[key] = f"${{file:{file}}}"
    return {**side, "auth": auth} if auth else side


async def write_suggested_mapping(
    job_path: Path, mapping: Path, marker: str = "", options: RunOptions | None = None
) -> None:
    """Write a mapping suggested from the two schemas, for a job without a mapping file."""
    found = await suggestion_of(job_of(job_path), options or RunOptions(), marker)
    mapping.write_text(found.text(), encoding="utf-8")
