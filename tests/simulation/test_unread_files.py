"""A file that its service had not read when it was moved is not sent again as a version once its size is known, and its
size as it was sent distinguishes it from a file of somebody else at the target."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.api.conflicts import job_conflicts
from dam_sync.model.asset import AssetId, Patch
from tests.conformance.drafts import plain_draft
from tests.support.services.connections import Bytes
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.universe import LAGS

NAME = "fresh.jpg"
DATA = b"fresh" * 200
READING = 600.0  # seconds that the source takes to read a file


async def uploaded(move: Move) -> AssetId:
    """Somebody puts a file into the source by hand."""
    async with move.service("source") as service:
        draft = replace(await plain_draft(service, "source"), filename=NAME)
        return await service.create(draft, Bytes(NAME, DATA, known=True), MemoryJournal())


async def replaced(move: Move, role: str, name: str) -> None:
    """Somebody replaces the file of this name."""
    asset = next(str(row["id"]) for row in getattr(move, role).assets if row["filename"] == name)
    async with move.service(role) as service:
        await service.schema()
        data = role.encode() * {"source": 300, "target": 400}[role]
        await service.replace(AssetId(asset), Bytes(name, data, known=True), MemoryJournal())


async def renamed(move: Move, asset: AssetId) -> None:
    """Somebody gives it another name there."""
    async with move.service("source") as service:
        await service.schema()
        await service.update(asset, Patch(filename="other.jpg"))


def begin(move: Move) -> AssetId:
    """Moved while the source is still reading one file, which is known at the end."""
    tenant = move.source.app.state.tenant
    tenant.options = replace(tenant.options, processing=READING)
    identity = move.universe.do(uploaded(move))
    wait(move, READING / 4)
    move.full = True
    move.live()
    wait(move, LAGS)
    tenant.options = replace(tenant.options, processing=1.0)
    return identity


def wait(move: Move, seconds: float) -> None:
    """Time passes."""
    move.universe.do(move.universe.clock.sleep(seconds))


@pytest.mark.parametrize(("target", "name"), [("c_brandlibrary", "other.jpg"), ("d_templates", NAME)])
def test_a_file_that_its_service_read_after_the_move_is_one_version(tmp_path: Path, target: str, name: str) -> None:
    """name: what the file is called afterwards; no call of d_templates changes it."""
    with Simulation(tmp_path, ("e_profiles", target)).moving() as move:
        identity = begin(move)
        before = versions(move)
        assert before[NAME] == [len(DATA)]
        move.universe.do(renamed(move, identity))
        wait(move, LAGS)
        move.live()
        others = {each: before[each] for each in before if each != NAME}
        assert versions(move) == {**others, name: [len(DATA)]}


def versions(move: Move) -> dict[str, list[int]]:
    """Sizes of all versions at the target, by file name."""
    return {row["filename"]: [each["size"] for each in row["versions"]] for row in move.target.assets}


def test_a_file_of_somebody_else_at_the_target_is_a_conflict(tmp_path: Path) -> None:
    """The target returns no digests, and does not return versions."""
    with Simulation(tmp_path, ("e_profiles", "c_brandlibrary")).moving() as move:
        begin(move)
        for role in ("source", "target"):
            move.universe.do(replaced(move, role, NAME))
        wait(move, LAGS)
        before = versions(move)
        move.live()
        assert versions(move) == before
        found = move.universe.do(job_conflicts(move.job, None, move.universe.clock, move.universe.storage))
        assert [row["value"] for row in found["conflicts"]] == ["file"]


async def swapped(move: Move, size: int) -> None:
    """Somebody replaces a file of the target by another of the same size."""
    asset = next(str(row["id"]) for row in move.target.assets if row["filename"] == NAME)
    async with move.service("target") as service:
        await service.schema()
        await service.replace(AssetId(asset), Bytes(NAME, b"x" * size, known=True), MemoryJournal())


def test_a_file_of_the_same_size_comes_back_by_its_digest_as_it_was_sent(tmp_path: Path) -> None:
    """Only the target returns digests, of the kind that is computed on the way."""
    with Simulation(tmp_path, ("e_profiles", "b_documents")).moving() as move:
        repository = move.target.app.state.server.repository
        repository.options = replace(repository.options, digest="SHA-256")
        begin(move)
        move.universe.do(swapped(move, len(DATA)))
        assert move.universe.do(current_digest(move)) != hashlib.sha256(DATA).hexdigest()
        wait(move, LAGS)
        move.universe.live(move.job, repair=True)
        wait(move, LAGS)
        assert move.universe.do(current_digest(move)) == hashlib.sha256(DATA).hexdigest()


async def current_digest(move: Move) -> str:
    """Of the file at the target."""
    asset = next(str(row["id"]) for row in move.target.assets if row["filename"] == NAME)
    async with move.service("target") as service:
        await service.schema()
        found = await service.fetch(AssetId(asset))
    assert found.file is not None
    return next(iter(found.file.digests.values()))
