"""`explain`: the whole story of one asset on one page, from the state, and with its records at both services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.asset import Patch
from dam_sync.model.values import Localized
from tests.support.jobs.library_edits import change_source
from tests.support.jobs.small_jobs import MAPPING, Small, hurry, photo, photos, small

LONG = "y" * 2_000
HOSTILE = "<script>alert(1)</script>\x1b[31m"


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Small]:
    """Two assets were moved, one twice; a third is parked."""
    hurry(monkeypatch)
    with small(tmp_path, [*photos(2), photo(3, credit=LONG)]) as made:
        made.run(code=4)
        yield made


def story_of(job: Small, *options: str) -> Any:
    return job.ran("explain", *options, "--json", "--no-progress", code=0).data


def ids_of(job: Small, number: int) -> tuple[str, str]:
    name = f"photo-{number}.jpg"
    (source,) = [row["id"] for row in job.pair.source.assets if row["filename"] == name]
    (target,) = [row["id"] for row in job.pair.target.assets if row["filename"] == name]
    return source, target


def test_every_write_and_value_of_an_asset_is_on_the_page(job: Small, tmp_path: Path) -> None:
    source, target = ids_of(job, 1)
    change_source(job.pair.job, source, Patch(fields={"title": Localized({"en": HOSTILE})}))
    job.run("--full", code=4)
    story = story_of(job, source)
    assert story == story_of(job, target) == story_of(job, "photo-1.jpg")
    assert story["asset"] == {
        **{"source_id": source, "target_id": target, "filename": "photo-1.jpg"},
        **{"source": "a_hypermedia", "target": "e_profiles"},
    }
    assert (story["now"]["outcome"], story["now"]["in run"]) == ("updated", 2)
    values = {row["value"]: row for row in story["values"]}
    assert values["fields.title"]["written"] == HOSTILE
    rule = values["fields.title"]["rule"]
    mapping, number, line = rule.split(":", 2)
    assert "title: {from: [fields.title.en" in line, "as in the mapping file"
    written = MAPPING.read_text("utf-8").splitlines()[int(number) - 1]
    assert (mapping, written.split(":")[0].strip()) == ("mapping.yaml", "title")
    titles = [
        (row["run"], change["before"], change["after"])
        for row in story["writes"]
        for change in row["changes"]
        if change["value"] == "fields.title"
    ]
    assert titles == [(1, "", "Picture 1"), (2, "Picture 1", HOSTILE)]
    create = next(row for row in story["writes"] if row["operation"] == "create")
    assert (create["bytes"], create["target"]) == (900, target)
    assert create["digest"]
    assert sum(story["calls"].values()) == sum(sum(row["calls"].values()) for row in story["writes"])
    assert [row["run"] for row in story["runs"]] == [2, 1]
    page = tmp_path / "asset.html"
    shown = job.ran("explain", source, "--html", str(page), code=0)
    shown.says("Asset photo-1.jpg", "Values before and after", "API calls that wrote it", "--live")
    text = page.read_text("utf-8")
    assert "Values before and after" in text
    assert "<script>" not in text
    assert "\x1b" not in text + shown.out


def test_what_is_parked_is_explained_with_its_cause(job: Small) -> None:
    (row,) = job.parked()
    story = story_of(job, row["asset"])
    assert (story["asset"]["target_id"], story["values"], story["writes"]) == ("", [], [])
    assert story["now"]["cause"] == "mapping fields.credit: too long"
    assert story["now"]["message"] == row["message"]
    job.ran("explain", row["asset"], code=0).says("not at the target", row["cause"], "next: dam-sync errors")


def test_with_both_services_every_rule_and_difference_is_shown(job: Small, tmp_path: Path) -> None:
    source, _ = ids_of(job, 2)
    change_source(job.pair.job, source, Patch(fields={"title": Localized({"en": "Later"})}))
    live = story_of(job, source, "--live")["live"]
    assert live["source"]["fields"]["title"] == {"texts": {"en": "Later"}}
    (rule,) = [row for row in live["rules"] if row["rule"] == "fields.title"]
    assert {"path": "fields.title.en", "value": "Later", "outcome": "written"} in rule["read"]
    assert rule["made"] == ["Later"]
    assert [(row["path"], row["expected"], row["found"]) for row in live["differences"]] == [
        ("fields.title", "Later", "Picture 2")
    ]
    page = tmp_path / "live.html"
    job.ran("explain", source, "--live", "--html", str(page), code=0).says("Rules, applied now", "Differences, now")
    assert "Record at the source, now" in page.read_text("utf-8")
    parked = story_of(job, job.parked()[0]["asset"], "--live")["live"]
    (rejected,) = [row["rejected"] for row in parked["rules"] if row["rejected"]]
    assert "too long" in rejected[0]
    assert (parked["target"], parked["differences"]) == (None, [])


def test_several_assets_of_one_name_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    rows = [photo(1, name="same.jpg", credit=LONG), photo(2, name="same.jpg", credit=LONG)]
    with small(tmp_path, rows) as job:
        job.run(code=4)
        found = job.ran("explain", "same.jpg", "--json", code=2).data["candidates"]
        assert len({row["source"] for row in found}) == 2
        job.ran("explain", "same.jpg", code=2).says("Assets called same.jpg", "error: 2 assets are called so")
        one = found[0]["source"]
        assert story_of(job, one, "--by", "source")["asset"]["source_id"] == one
        job.ran("explain", one, "--by", "target", code=2).says("the state knows no asset called")
        job.ran("explain", one, "--by", "id", code=2).says("--by expects one of source,", "value, not id")


def test_assets_that_share_a_name_at_the_source_only_are_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    with small(tmp_path, [photo(1, name="same.jpg"), photo(2, name="same.jpg")]) as job:
        job.run()
        sources = {row["id"] for row in job.pair.source.assets}
        for _ in range(2):
            found = job.ran("explain", "same.jpg", "--json", code=2).data["candidates"]
            assert {row["source"] for row in found} == sources
            assert {row["name"] for row in found} == {"same.jpg"}
            assert len({row["filename"] for row in found}) == 2, "the target takes a name once"
            job.run("--full")  # an asset that did not change keeps the name that it is known by


def test_a_bulk_membership_counts_its_assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)
    with small(tmp_path, photos(2), mapping=[("as: category", "as: collection")]) as job:
        job.run()
        source, _ = ids_of(job, 1)
        writes = [row for row in story_of(job, source)["writes"] if row["operation"].startswith("place:")]
    assert [change["after"] for row in writes for change in row["changes"]] == ["2 assets put in"]


def test_an_asset_is_found_by_its_title_or_number(job: Small) -> None:
    source, _ = ids_of(job, 1)
    for text, value in (
        ("Picture 1", "fields.title: Picture 1"),
        ("picture 1", "fields.title: Picture 1"),
        ("MU.00001", "fields.inventory: MU.00001"),
        ("U.00001", "fields.inventory: MU.00001"),
    ):
        story = story_of(job, text)
        assert (story["asset"]["source_id"], story["asset"]["found by"]) == (source, value)
    change_source(job.pair.job, source, Patch(fields={"title": Localized({"en": "Renamed since"})}))
    job.run("--full", code=4)
    assert story_of(job, "Picture 1")["asset"]["source_id"] == source, "the ledger has the former value"
    job.ran("explain", "Renamed since", code=0).says("found by fields.title: Renamed since")
    (parked,) = job.parked()
    assert story_of(job, "Picture 3")["asset"]["source_id"] == parked["asset"], "it was never written"


def test_several_assets_with_a_value_are_listed(job: Small) -> None:
    found = job.ran("explain", "Picture", "--json", code=2).data["candidates"]
    assert {row["value"] for row in found} >= {"fields.title: Picture 1", "fields.title: Picture 2"}
    job.ran("explain", "Picture", code=2).says("Assets called Picture", "fields.title: Picture 1", "--by source")
    job.ran("explain", "Picture 1", "--by", "filename", code=2).says("the state knows no asset called")
    job.ran("explain", "%", code=2).says("the state knows no asset called", "its title or its number")
    assert story_of(job, "Picture 2", "--by", "value")["asset"]["found by"] == "fields.title: Picture 2"


def test_the_evidence_of_an_asset_is_that_of_its_weakest_file_also_after_an_update(job: Small) -> None:
    source, _ = ids_of(job, 1)
    job.ran("verify", "--level", "digest", "--no-progress", code=0)
    before = story_of(job, source)
    assert before["now"]["evidence"] == min(row["evidence"] for row in before["files"]) > "V1"
    change_source(job.pair.job, source, Patch(fields={"title": Localized({"en": "Later"})}))
    job.run("--full", code=4)
    after = story_of(job, source)
    assert after["now"]["outcome"] == "updated"
    assert (after["now"]["evidence"], after["files"]) == (before["now"]["evidence"], before["files"])
