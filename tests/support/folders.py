"""Folders as source and target of jobs with emulated services."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dam_sync.api.sandbox import Emulated, write_job, write_suggested_mapping
from tests.support.exposure import ACCEPTED


@dataclass(frozen=True)
class InFolder:
    """A folder as one side of a job; goes where `Emulated` goes."""

    path: Path
    options: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "folder"

    def as_job(self) -> dict[str, Any]:
        return {"kind": self.kind, "options": {"path": str(self.path), **self.options}}

    @property
    def assets(self) -> list[dict[str, Any]]:
        """Records of assets, the last of each."""
        lines = (self.path / "data" / "catalogue.jsonl").read_text(encoding="utf-8").splitlines()
        found = [json.loads(line) for line in lines]
        return list({row["id"]: row for row in found if row["record"] == "asset"}.values())

    def bytes_of(self, file: Mapping[str, Any]) -> bytes:
        return (self.path / "data" / "files" / file["file"]).read_bytes()


Side = Emulated | InFolder


def job_between(folder: Path, source: Side, target: Side, marker: str = "", **more: Any) -> Path:
    """A job file with a suggested mapping."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = folder / "mapping.yaml"
    job = write_job(folder / "job.yaml", folder.name, source, target, mapping, **{"policy": ACCEPTED, **more})
    asyncio.run(write_suggested_mapping(job, mapping, marker))
    return job
