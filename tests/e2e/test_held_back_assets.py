"""An asset that more people would see is held back: what the operator reads, and the ways to decide permanently."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.jobs.small_jobs import Small, hurry, photos, small

RULE = "archived_as_published: accept"


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Small]:
    """Three assets, of which one is archived at the source and would be published at the target."""
    rows = photos(3)
    rows[1]["status"] = "archived"
    with small(tmp_path, rows) as made:
        yield made


def test_every_run_says_how_to_decide_permanently(desk: Small) -> None:
    for _ in range(2):
        ran = desk.ran("run", "--no-progress", code=6)
        ran.says(
            "archived_as_published 1 (",
            "every run ends with exit code 6 until you decide",
            f"`policy: {{exposure: {{{RULE}}}}}`",
            "`select`",
        )
    assert len(desk.pair.target.assets) == 2


def test_accepted_by_rule(desk: Small) -> None:
    desk.run(code=6)
    desk.accept(RULE)
    desk.run()
    assert desk.run().data["exposure"] == []
    assert len(desk.pair.target.assets) == 3


def test_left_out_by_the_mapping(desk: Small) -> None:
    desk.run(code=6)
    mapping = desk.pair.folder / "mapping.yaml"
    text = mapping.read_text(encoding="utf-8")
    select = "select: {where: 'asset.status != \"archived\"'}"
    mapping.write_text(text.replace("version: 1\n", f"version: 1\n{select}\n"), encoding="utf-8")
    desk.run("--full")
    assert desk.run().data["exposure"] == []
    assert len(desk.pair.target.assets) == 2
