"""`inspect` over sockets: as tables, JSON, CSV and HTML; nothing is written, and nothing secret is shown."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.jobs.small_jobs import SOURCE, Small, hurry, photo, photos, small

HOSTILE = "\x1b[31m<script>alert(1)</script>"


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    with small(tmp_path_factory.mktemp("desk"), [*photos(), photo(42, title=HOSTILE)]) as made:
        yield made
        assert made.pair.target.writes == 0


def test_inspected_source_and_target_agree_with_the_tenants(desk: Small) -> None:
    data = desk.ran("inspect", "--json", "--no-progress", code=0).data
    source, target = data["sides"]
    living = [row for row in desk.pair.source.assets if row["status"] != "trash"]
    assert (source["role"], source["read"], source["whole"]) == ("source", len(living), True)
    assert {name: one["assets"] for name, one in source["by_status"].items()} == Counter(r["status"] for r in living)
    assert (target["role"], target["total"]) == ("target", 0)
    assert any(known["filled"] == len(living) for known in source["fields"])


def test_tables_are_written_and_shown_escaped(desk: Small, tmp_path: Path) -> None:
    page, folder = tmp_path / "inventory.html", tmp_path / "tables"
    ran = desk.ran("inspect", "--side", "source", "--html", str(page), "--csv", str(folder), code=0)
    ran.says("all", "assets were read", "Fields", "What will not be moved", "next: dam-sync check")
    html = page.read_text(encoding="utf-8")
    assert "<script>" not in html
    assert "\x1b" not in html + ran.text
    with (folder / "source-fields.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert "title" in {row["key"] for row in rows}
    assert not any("\x1b" in cell for row in rows for cell in row.values())
    assert (folder / "source-not-moved.csv").exists()
    assert not list(folder.glob("target-*"))


def test_the_summary_comes_first(tmp_path: Path) -> None:
    page = tmp_path / "inventory.html"
    with small(tmp_path, photos(2), options="index_lag: 1") as job:
        ran = job.ran("inspect", "--html", str(page), code=0)
    ran.says("in short", "2 assets in the source and 0 assets in the target", "not moved", "version_policy")
    assert ran.out.index("Summary") == 0
    text = page.read_text(encoding="utf-8")
    parts = ('aria-label="Verdict"', "2 assets in the source", "<nav ", "<main>", "in short", "Rights and expiry")
    positions = [text.index(part) for part in parts]
    assert positions == sorted(positions)
    assert '<a href="#source">Source</a>' in text
    assert 'id="source"' in text
    assert text.count("<td ") == text.count(' data-label="'), "each cell is named where tables are stacked"


def test_a_sample_says_how_it_was_chosen(desk: Small) -> None:
    desk.ran("inspect", "--side", "source", "--sample", "2", code=0).says("the first 2 of", "no random sample")
    data = desk.ran("inspect", "--side", "source", "--sample", "50%", "--json", code=0).data
    (source,) = data["sides"]
    assert not source["whole"]
    assert source["read"] < source["total"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sample", "some"), ("--sample expects a percentage or a number", "write 2%")),
        (("--side", "left"), ("--side expects source or target",)),
    ],
)
def test_wrong_arguments_are_refused(desk: Small, options: tuple[str, ...], words: tuple[str, ...]) -> None:
    desk.ran("inspect", *options, code=2).says(*words)


def test_the_mapping_need_not_exist(desk: Small) -> None:
    mapping = desk.pair.folder / "mapping.yaml"
    text = mapping.read_text(encoding="utf-8")
    mapping.unlink()
    try:
        desk.ran("inspect", "--side", "target", code=0).says("target: e_profiles")
    finally:
        mapping.write_text(text, encoding="utf-8")


def test_a_refused_credential_is_access_denied(tmp_path: Path) -> None:
    with small(tmp_path) as job:
        job.credential(SOURCE, "wrong-hush-hush")
        job.ran("inspect", code=7).says("error:")


def test_a_call_that_the_service_refuses_has_nothing_to_do_with_the_mapping(tmp_path: Path) -> None:
    with small(tmp_path) as job:
        job.faulty({"match": "GET /v2/*", "do": "status:400"}, side="target")
        shown = job.ran("inspect", "--side", "target", code=1)
        shown.says("400", "hint: nothing was written; check the options of the target")
        assert "line in the mapping" not in shown.text
