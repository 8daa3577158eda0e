"""File names that `safe_name` changes: plan and run count them and name an example, on the terminal and in the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.jobs.small_jobs import hurry, photo, small


def test_changed_file_names_are_named_losses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    names = ("CON.jpg", "two  spaces.jpg", "plain.jpg")
    with small(tmp_path, [photo(number, name=name) for number, name in enumerate(names, 1)]) as job:
        page = tmp_path / "plan.html"
        job.ran("plan", "--no-progress", "--html", str(page), code=0).says("filename safe_name 2 ", "“_CON.jpg”")
        assert "the file name: the name has something that some systems refuse" in page.read_text(encoding="utf-8")
        losses = job.run().data["losses"]
        (row,) = [loss for loss in losses if loss["rule"] == "safe_name"]
        assert (row["path"], row["assets"]) == ("filename", 2)
        assert sorted(detail for _, detail in row["examples"]) == [
            "“CON.jpg” is “_CON.jpg”",
            "“two  spaces.jpg” is “two spaces.jpg”",
        ]
        assert sorted(row["filename"] for row in job.pair.target.assets) == ["_CON.jpg", "plain.jpg", "two spaces.jpg"]
