"""A target that was filled by hand and lacks terms and containers of the source: adopted, then repaired."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.adopt import Adoption, adopt_job
from dam_sync.api.jobs import plan_job, run_job
from tests.support.jobs import small_jobs
from tests.support.jobs.folder_jobs import InFolder

Row = Mapping[str, Any]
FIELDS: tuple[Row, ...] = (
    {"record": "vocabulary", "key": "places"},
    {"record": "field", "key": "title", "kind": "text"},
    {"record": "field", "key": "key", "kind": "text"},
    {"record": "field", "key": "ours", "kind": "text"},
    {"record": "field", "key": "place", "kind": "term", "vocabulary": "places"},
    {"record": "field", "key": "seen", "kind": "term", "vocabulary": "places", "multiple": True},
)
TERMS: tuple[Row, ...] = tuple(
    {"record": "term", "vocabulary": "places", "id": label.lower(), "labels": {"en": label}}
    for label in ("Rome", "Oslo", "Bern")
)
THERE: Row = {"title": "Sea", "key": "s1"}
WANTED: Row = {"title": "Sea", "key": "s1", "place": "Oslo", "seen": ["Rome", "Bern"]}
MAPPING = """version: 1
locales: [en]
vocabularies: {places: {source: places, target: places, match: [exact], unmatched: create}}
fields:
  ours: {marker: true}
  title: {from: fields.title}
  key: {from: fields.key}
  place: {from: fields.place, pipe: [{vocabulary: places}]}
  seen: {from: "fields.seen[]", pipe: [{vocabulary: places}]}
placements: {from: "placements[].path", as: folder}
unmapped: ignore
"""


def folder(path: Path, *records: Row) -> InFolder:
    (path / "data").mkdir(parents=True)
    (path / "data" / "catalogue.jsonl").write_text(
        "".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8"
    )
    return InFolder(path)


def asset(identity: str, fields: Row, **more: Any) -> Row:
    return {"record": "asset", "id": identity, "filename": "sea.jpg", "fields": fields, **more}


@pytest.fixture
def target(tmp_path: Path) -> InFolder:
    """One that has the asset and one of the terms, and no container. The job lies next to it."""
    values = {
        "place": {"id": "oslo", "label": "Oslo"},
        "seen": [{"id": one.lower(), "label": one} for one in WANTED["seen"]],
    }
    placed = {"placements": [{"kind": "folder", "path": ["Press"]}]}
    folder(tmp_path / "from", *FIELDS, *TERMS, asset("s1", {**THERE, **values}, **placed))
    there = folder(tmp_path / "to", *FIELDS, TERMS[0], asset("t1", THERE))
    (tmp_path / "m.yaml").write_text(MAPPING, encoding="utf-8")
    sides = "".join(
        f"{side}: {{kind: folder, options: {{path: {path}}}}}\n"
        for side, path in (("source", "from"), ("target", "to"))
    )
    (tmp_path / "job.yaml").write_text(
        f"version: 1\nname: adopted\n{sides}mapping: m.yaml\nstate: job.db\n", encoding="utf-8"
    )
    adopted = asyncio.run(adopt_job(tmp_path / "job.yaml", small_jobs.options(), Adoption(by_field="key"))).as_json()
    assert adopted["counts"]["linked by field"] == 1
    return there


def labels(row: Row) -> dict[str, Any]:
    plain = row["fields"] | {"place": row["fields"]["place"]["label"]}
    return plain | {"seen": [term["label"] for term in row["fields"]["seen"]]}


def test_a_repair_changes_an_adopted_asset_as_the_plan_says(tmp_path: Path, target: InFolder) -> None:
    job, options = tmp_path / "job.yaml", small_jobs.options(repair=True)
    plan = asyncio.run(plan_job(job, options)).as_json()
    report = asyncio.run(run_job(job, options)).as_json()
    assert (report["parked"], report["conflicts"], report["counts"]["updated"]) == ([], [], 1)
    assert (report["counts"], report["operations"]) == (plan["counts"], plan["operations"])
    (row,) = target.assets
    assert labels(row).items() >= WANTED.items()
    assert [placement["path"] for placement in row["placements"]] == [["Press"]]


def test_what_an_adopted_asset_lacked_is_no_conflict_once_it_changes_at_the_source(
    tmp_path: Path, target: InFolder
) -> None:
    file = tmp_path / "from" / "data" / "catalogue.jsonl"
    file.write_text(file.read_text(encoding="utf-8").replace('"Sea"', '"Sea at night"'), encoding="utf-8")
    report = asyncio.run(run_job(tmp_path / "job.yaml", small_jobs.options())).as_json()
    assert (report["parked"], report["conflicts"], report["counts"]["updated"]) == ([], [], 1)
    (row,) = target.assets
    assert labels(row).items() >= {**WANTED, "title": "Sea at night"}.items()
