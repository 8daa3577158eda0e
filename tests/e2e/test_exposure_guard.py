"""What more people would see is listed by the plan, set aside by the run, and written once the job accepts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import Draft, Patch
from dam_sync.model.audience import Audience
from dam_sync.model.capabilities import Feature
from dam_sync.model.schema import Schema
from dam_sync.model.values import Localized
from dam_sync.services import discover
from dam_sync.services.e_profiles.service import ProfilesService
from tests.support.jobs.audience import Seen
from tests.support.jobs.library_edits import change_source
from tests.support.jobs.small_jobs import TOKEN, Small, photo, photos, small

ARCHIVED = "archived_as_published"
CAUSE = f"exposure: {ARCHIVED}"
ACCEPT = f"{ARCHIVED}: accept"
JOB_LINE = f"policy: {{exposure: {{{ACCEPT}}}}}"
ELSEWHERE = [{"kind": "folder", "path": ["Library", "Archive"]}]


class Visible(ProfilesService):
    """Shows everybody what it is given, for ever."""

    async def schema(self) -> Schema:
        self.remove_capabilities(writes=[Feature.CLOSED])
        return await super().schema()

    def audience(self, draft: Draft) -> Audience:
        return Audience()


VISIBLE = {**discover(), "e_profiles": replace(discover()["e_profiles"], service=lambda: Visible)}


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Small]:
    with small(tmp_path, [*photos(2), archived(3)]) as made:
        made.connectors = VISIBLE
        yield made


def archived(number: int) -> dict[str, Any]:
    """In a folder of its own, with a term of its own."""
    sea = [{"id": "3", "label": "Sea"}]
    return {**photo(number, keywords=sea), "status": "archived", "placements": ELSEWHERE}


def exposed(report: Mapping[str, Any]) -> list[tuple[str, str, int]]:
    return [(row["rule"], row["fate"], row["assets"]) for row in report["exposure"]]


def source_id(job: Small, number: int) -> str:
    (found,) = [row["id"] for row in job.pair.source.assets if row["filename"] == f"photo-{number}.jpg"]
    return str(found)


def test_what_would_widen_is_set_aside_before_any_write_for_it_and_the_rest_arrives(job: Small) -> None:
    plan = job.ran("plan", "--json", "--no-progress", code=0).data
    assert exposed(plan) == [(ARCHIVED, "set aside", 1)]
    ran = job.run(code=6)
    assert ran.data["exposure"] == plan["exposure"]
    assert [row["examples"] for row in plan["exposure"]] == [[source_id(job, 3)]]
    assert ran.data["operations"] == plan["operations"] == {"container": 1, "create": 2, "place": 1}
    assert ran.data["counts"]["parked"] == 1
    assert "error: more people would see" in ran.err
    assert ARCHIVED in ran.err
    assert JOB_LINE in ran.err
    assert sorted(row["filename"] for row in job.pair.target.assets) == ["photo-1.jpg", "photo-2.jpg"]
    (parked,) = job.parked()
    assert parked["cause"] == CAUSE
    assert "archived at the source" in parked["message"]
    assert JOB_LINE in parked["hint"]


def test_as_long_as_it_is_not_accepted_every_run_ends_so_and_asks_nothing_of_the_asset(job: Small) -> None:
    job.run(code=6)
    job.pair.source.forget_calls()
    again = job.run(code=6)
    assert again.data["operations"] == {}
    assert exposed(again.data) == [(ARCHIVED, "set aside", 1)]


def test_an_accepted_rule_lets_the_next_run_write_it_by_itself_and_is_counted(job: Small) -> None:
    job.run(code=6)
    job.accept(ACCEPT)
    plan = job.ran("plan", "--json", "--no-progress", code=0).data
    report = job.run().data
    assert exposed(plan) == exposed(report) == [(ARCHIVED, "accepted", 1)]
    assert "exposure" not in {row["path"] for row in plan["losses"] + report["losses"]}, "who sees an asset is no loss"
    assert report["counts"]["created"] == 1
    assert len(job.pair.target.assets) == 3
    assert job.parked() == []
    assert job.run().data["exposure"] == []


def test_the_terminal_and_the_page_list_the_rules(job: Small) -> None:
    page = job.pair.folder / "plan.html"
    told = job.ran("plan", "--no-progress", "--html", str(page), code=0)
    told.says(
        "Held back, because more people would see them", ARCHIVED, "archived at the source, visible at the target"
    )
    assert ARCHIVED in page.read_text(encoding="utf-8")


def test_an_asset_that_is_archived_later_is_reported_and_not_overwritten(job: Small) -> None:
    job.accept(ACCEPT)
    job.run()
    job.edit(JOB_LINE, "policy: {}")
    change_source(job.pair.job, source_id(job, 1), Patch(status="archived"))
    ran = job.run(code=6)
    assert [row["examples"] for row in ran.data["exposure"]] == [[source_id(job, 1)]]
    (parked,) = job.parked()
    assert "it was moved before" in parked["message"]
    assert "hide it at the target by hand" in parked["hint"]


# -- assets that were moved before, in a target that can hide them ----------------------------------------------------


CLOSING = [
    {"record": "profile", "name": f"closed {name}", "type": name, "release_date": "2099-01-01T00:00:00Z"}
    for name in ("Images", "Documents")
]


@contextmanager
def moved(folder: Path, **more: Any) -> Iterator[Small]:
    """Two assets that everybody sees at source and target."""
    with small(folder, photos(2), target=CLOSING, **more) as made:
        made.run()
        assert len(Seen.of(made.pair.target).now) == 2
        yield made


def test_the_names_that_a_closed_asset_brings_into_lists_of_the_target_are_reported(tmp_path: Path) -> None:
    with small(tmp_path, [*photos(2), archived(3)], target=CLOSING) as job:
        job.accept(f"{ARCHIVED}: close")
        plan = job.ran("plan", "--json", "--no-progress", code=0).data
        (note,) = [note for note in plan["notes"] if "new terms" in note]
        assert note.startswith("1 asset that not everybody may see has new terms, and everybody who sees the lists")
        assert "(Sea in " in note
        assert "names of terms" not in {loss["path"] for loss in plan["losses"]}
        assert note in job.run().data["notes"]
        assert not [note for note in job.run().data["notes"] if "new terms" in note]


def seen(job: Small) -> list[str]:
    """Names of the files that anybody sees at the target."""
    now = Seen.of(job.pair.target).now
    return sorted(row["filename"] for row in job.pair.target.assets if now.get(row["id"]))


def archive(job: Small) -> None:
    change_source(job.pair.job, source_id(job, 1), Patch(status="archived"))


def test_what_is_archived_later_is_hidden_where_the_target_can_do_that(tmp_path: Path) -> None:
    with moved(tmp_path) as job:
        archive(job)
        plan = job.ran("plan", "--json", "--no-progress", code=0).data
        report = job.run().data
        assert exposed(plan) == exposed(report) == [(ARCHIVED, "closed", 1)]
        (row,), (point,) = plan["exposure"], [one for one in plan["headline"]["points"] if "asset will be" in one]
        assert row["meaning"] == "hidden at the target, because archived at the source"
        assert point == f"1 asset will be {row['meaning']}"
        assert "exposure" not in {loss["path"] for loss in plan["losses"] + report["losses"]}
        assert report["operations"] == plan["operations"]
        assert seen(job) == ["photo-2.jpg"]
        assert job.run().data["operations"] == {}
        change_source(job.pair.job, source_id(job, 1), Patch(status="published"))
        job.run()
        assert seen(job) == ["photo-1.jpg", "photo-2.jpg"]


def test_an_asset_that_is_not_selected_any_more_is_hidden(tmp_path: Path) -> None:
    with moved(tmp_path, mapping=[("locales: [en, fr]", "locales: [en, fr]\nselect: {status: [published]}")]) as job:
        archive(job)
        report = job.run().data
        assert report["counts"]["skipped"] == 1
        assert report["operations"] == {"hide": 1}
        assert seen(job) == ["photo-2.jpg"]
        assert job.run().data["operations"] == {}


def test_an_asset_whose_values_park_it_is_hidden_first(tmp_path: Path) -> None:
    fault = ("inventory: {from: fields.inventory}", "inventory: {from: fields.inventory, pipe: [{truncate: {max: 8}}]}")
    with moved(tmp_path, mapping=[fault]) as job:
        change_source(job.pair.job, source_id(job, 1), Patch(fields={"inventory": "MU.0000000001"}, status="archived"))
        job.run(code=4)
        (parked,) = job.parked()
        assert parked["cause"].startswith("mapping fields.inventory")
        assert seen(job) == ["photo-2.jpg"]


def test_an_asset_that_somebody_edited_at_the_target_is_hidden_before_it_is_parked(tmp_path: Path) -> None:
    with moved(tmp_path) as job:
        (twin,) = [row["id"] for row in job.pair.target.assets if row["filename"] == "photo-1.jpg"]
        edit = {"fields": {"title": ["By hand"]}}
        url = f"{job.pair.target.url}/v2/assets/{twin}/metadata?patch=title"
        done = httpx.put(url, json=edit, headers={"Authorization": f"Bearer {TOKEN}"}, verify=False)
        assert done.status_code < 300, done.text
        title = {"title": Localized({"en": "From the source"})}
        change_source(job.pair.job, source_id(job, 1), Patch(fields=title, status="archived"))
        job.run(code=4)
        (parked,) = job.parked()
        assert parked["cause"] == "conflict"
        assert seen(job) == ["photo-2.jpg"]


def test_what_a_refused_create_left_visible_goes_into_the_trash(tmp_path: Path) -> None:
    """The second file version is refused, so the asset stays a partial create; then it is archived at the source."""
    versions = [{"name": "photo-1.jpg", "generate": {"size": 900 + number, "seed": number}} for number in range(2)]
    with small(tmp_path, [{**photo(1), "versions": versions}]) as job:
        job.faulty({"match": "POST /v2/uploads", "do": "status:400", "nth": 2}, side="target")
        job.run(code=4)
        assert seen(job) == ["photo-1.jpg"]
        archive(job)
        job.run(code=6)
        assert seen(job) == []
