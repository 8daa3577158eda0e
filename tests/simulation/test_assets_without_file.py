"""Assets without a file: the first one that they get later, and the name without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.jobs import run_job
from dam_sync.model.asset import AssetId
from tests.support.libraries.every_feature import fileless
from tests.support.services.connections import Bytes
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.universe import LAGS, job_of

NAME, DATA = "fresh.jpg", b"fresh" * 200


class WithoutFile(Simulation):
    """One asset of the source has no file."""

    def filled(self) -> list[Any]:
        return [*super().filled(), {**fileless(90), "filename": NAME}]


async def given(move: Move, asset: AssetId, *data: bytes) -> None:
    """Somebody gives it its file, or several versions of one."""
    async with move.service("source") as service:
        await service.schema()
        for each in data:
            await service.replace(asset, Bytes(NAME, each, known=True), MemoryJournal())
            await move.universe.clock.sleep(LAGS)


def seconds(move: Move, pause: float) -> float:
    """Of the run that brings the file, so long after the one that made the asset."""
    clock, move.full = move.universe.clock, True
    move.live()
    asset = next(AssetId(row["id"]) for row in move.source.assets if not row["versions"])
    move.universe.do(clock.sleep(pause))
    move.universe.do(given(move, asset, DATA))
    began = clock.monotonic()
    move.live()
    assert len([row for row in move.target.assets if row["filename"] == NAME and len(row["versions"]) == 1]) == 1
    return clock.monotonic() - began


def test_a_first_file_that_comes_soon_takes_no_longer_than_one_that_comes_late(tmp_path: Path) -> None:
    """The target waits for a file of an asset that was made just before, unless it is known that none is under way."""
    simulation, taken = WithoutFile(tmp_path, ("b_documents", "d_templates")), []
    for pause in (2 * LAGS, 0.0):
        with simulation.moving() as move:
            taken.append(seconds(move, pause))
    assert taken[1] < 2 * taken[0]


@pytest.mark.parametrize(("target", "title", "lost"), [("b_documents", "dc:title", 1), ("d_templates", "", 0)])
def test_the_name_of_an_asset_without_a_file_is_carried_or_a_named_loss(
    tmp_path: Path, target: str, title: str, lost: int
) -> None:
    """Where a document without a file is called by its title, a title of the source takes the place of the name."""
    with WithoutFile(tmp_path, ("d_templates", target)).moving() as move:
        mapping = move.job.with_name("mapping.yaml")
        text = mapping.read_text(encoding="utf-8")
        mapping.write_text(
            text.replace("fields:\n", f'fields:\n  "{title}": {{from: fields.title}}\n') if title else text
        )
        report = move.universe.do(run_job(job_of(move.job), move.universe.options()))
        assert (NAME in {row["filename"] for row in move.target.assets}) == (not lost)
    assert [each["rule"] for each in report.losses if each["path"] == "filename"] == ["no file"] * lost
    account = next(row for row in report.accounts if row.path == "filename")
    assert (account.lost, account.written) == (lost, account.read - lost)


@pytest.mark.parametrize(
    "kinds",
    [("b_documents", "a_hypermedia"), ("b_documents", "d_templates"), ("d_templates", "a_hypermedia")],
    ids=lambda kinds: f"{kinds[0][0]}-{kinds[1][0]}",
)
def test_all_versions_that_it_gets_at_once_arrive(tmp_path: Path, kinds: tuple[str, str]) -> None:
    """None of them is behind a current one: the target has none. Also where listings are behind."""
    newer = b"newer" * 300
    with WithoutFile(tmp_path, kinds).moving() as move:
        move.full = True
        move.live()
        asset = next(AssetId(row["id"]) for row in move.source.assets if not row["versions"])
        move.universe.do(given(move, asset, DATA, newer))
        report = move.universe.do(run_job(job_of(move.job), move.universe.options(full=True)))
        assert [loss for loss in report.losses if loss["path"] == "versions"] == []
        sizes = [[each["size"] for each in row["versions"]] for row in move.target.assets if row["filename"] == NAME]
        assert sizes == [[len(DATA), len(newer)]]
