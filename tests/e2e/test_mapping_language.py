"""Expressions, selection, shared files, lookups and suggested terms in a whole run, as the report and `errors`
show them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.jobs.small_jobs import hurry, photo, small

SHARED = """\
version: 1
lookups: {rights: {values: {free: Free to use}, unmatched: drop}}
fields:
  credit: {from: fields.inventory, pipe: [lower, {lookup: rights}]}
"""
FRANCE = {"record": "term", "vocabulary": "countries", "id": "c9", "labels": {"en": "Frence"}}
COUNTRY = "country: {source: country, target: country, match: [exact, casefold], unmatched: park}"
WHERE = '!asset.filename.startsWith("photo-2")'
CHANGED = [
    (
        "version: 1\n",
        f"version: 1\ninclude: shared.yaml\nselect: {{status: [published], where: '{WHERE}'}}\n",
    ),
    (COUNTRY, COUNTRY.replace("casefold]", "casefold, {fuzzy: 0.99}]").replace("park", "suggest")),
    ("  credit: {from: fields.credit, pipe: [strip_html, trim]}\n", ""),
    ("inventory: {from: fields.inventory}", "inventory: {cel: '\"No. \" + asset.fields.inventory'}"),
]


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


def test_a_run_with_the_whole_language(tmp_path: Path) -> None:
    (tmp_path / "shared.yaml").write_text(SHARED, encoding="utf-8")
    library = [
        photo(1, inventory="FREE"),
        photo(2, inventory="2"),
        photo(3, inventory="3", country={"id": "c9", "label": "Frence"}),
        {**photo(4), "status": "draft"},
    ]
    with small(tmp_path, library, source=[FRANCE], mapping=CHANGED) as job:
        plan = job.ran("plan", "--json", "--no-progress", code=0).data
        assert plan["left_out"] == {"status": 1, "where": 1}
        report = job.run(code=4).data
        assert report["left_out"] == plan["left_out"]
        assert any("2 assets are not selected" in note for note in report["notes"])
        (moved,) = job.pair.target.assets
        fields = moved["fields"]
        assert (fields["inventory"], fields["credit"]) == ("No. FREE", "Free to use")
        (parked,) = job.parked()
        assert "no term “Frence” in country; the nearest are “France”" in parked["message"]
