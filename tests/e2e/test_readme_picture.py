"""The README shows the plan of the demo as the command prints it."""

from __future__ import annotations

from pathlib import Path

from dam_sync.reference import PICTURE, README, picture, refreshed


async def test_the_plan_in_the_readme_is_that_of_the_demo(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    made = await picture(tmp_path / "demo")
    assert refreshed(text, {PICTURE: made}) == text, "run `make reference`"
    assert made in text
