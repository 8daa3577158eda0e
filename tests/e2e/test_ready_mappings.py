"""The mappings that ship with dam-sync: each compiles, passes its own examples, and moves a museum's library whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.check import check_job
from dam_sync.api.emulation.emulate import MAPPINGS
from dam_sync.api.emulation.sandbox import write_job
from dam_sync.emulators.kit.library import write_empty_tenant, write_library
from dam_sync.services import discover
from tests.support.jobs import small_jobs
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.any_pair import hurried, moved, ran, receiver_of, tenant_of, verified
from tests.support.jobs.folder_jobs import side_of
from tests.support.jobs.tenants import Pair
from tests.support.pairs import EVERYTHING

READY = next(folder for folder in MAPPINGS if folder.is_dir())
KINDS = {kind[0]: kind for kind in discover() if kind != "folder"} | {"folder": "folder"}
ALL = sorted(path.stem for path in READY.glob("*-to-*.yaml") if not path.stem.startswith("demo"))
TRIED = ALL if EVERYTHING else ["folder-to-d", "museum-a-to-b"]
ASSETS = 12


@contextmanager
def ready_pair(folder: Path, name: str) -> Iterator[Pair]:
    """Both tenants of a ready-made mapping, with a job between them."""
    ends = name.removeprefix("museum-").split("-to-")
    source, target = (KINDS[end] for end in ends)
    library, empty = rows(write_library(folder, ASSETS)), rows(write_empty_tenant(folder, like_the_source=True))
    with hurried(), tenant_of(source, library) as first, receiver_of(target, empty) as second:
        sides = side_of(source, first, {}), side_of(target, second, {})
        job = write_job(folder / "job.yaml", "ready", *sides, READY / f"{name}.yaml", policy=ACCEPTED)
        yield Pair(first, second, job, folder)


def rows(path: Path) -> list[dict[str, Any]]:
    """The records of a catalogue, with generated files."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for number, record in enumerate(found):
        for part in ("versions", "attachments"):
            for place, file in enumerate(record.get(part, ())):
                file.pop("file", None)
                file["generate"] = {"size": 500 + number, "seed": 10 * number + place}
    return found


def test_there_is_one_for_every_common_pair() -> None:
    assert {f"museum-{pair}" for pair in ("a-to-b", "a-to-e", "b-to-d", "c-to-e", "d-to-c", "e-to-a")} <= set(ALL)
    assert {f"folder-to-{kind}" for kind in "abcde"} <= set(ALL)


@pytest.mark.parametrize("name", TRIED)
def test_a_ready_mapping_moves_a_library(tmp_path: Path, name: str) -> None:
    with ready_pair(tmp_path, name) as pair:
        findings = asyncio.run(check_job(pair.job, small_jobs.options(connectors=pair.connectors)))
        assert [str(one) for one in findings if one.exit_code] == []
        report = ran(pair)
        state = moved(pair)
        assert state.parked == {}
        assert report["counts"]["created"] == len(state.twins) >= ASSETS
        assert verified(pair)["clean"]
