"""Parts that leave an asset of the source leave the target, or are reported as a loss; no file is deleted."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from dam_sync.api.emulation.sandbox import Emulated
from dam_sync.api.jobs import plan_job, run_job
from dam_sync.model.values import Json
from tests.conformance.catalogue import LINK, MARKER, SCHEMA, asset
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import hurried, living, receiver_of
from tests.support.jobs.folder_jobs import InFolder, job_between
from tests.support.libraries.every_feature import OWN_MARKS, receiving, titled
from tests.support.services.profiles import marker_in

C = "c_brandlibrary"
PARTS = asset(
    1,
    fields=titled(1) | {"note": "to be removed"},
    versions=[{"name": "photo 1.jpg", "generate": {"size": 900 + n, "seed": 100 + n}} for n in range(2)],
    attachments=[{"name": name, "generate": {"size": 300, "seed": n}} for n, name in enumerate(("a.pdf", "b.pdf"))],
    placements=[{"kind": "folder", "path": [name]} for name in ("Press", "Archive")],
    tags=["sea", "harbour"],
    relations=[{"kind": LINK, "target": "2"}],
)
LIBRARY = [*SCHEMA, PARTS, asset(2, fields=titled(2))]
STAYS = "left the source, stays at the target"


def without_parts(row: Json) -> Json:
    """The record without one part of each kind."""
    fields = {key: value for key, value in row["fields"].items() if key != "note"}
    few = {"placements": row["placements"][:1], "tags": ["harbour"], "relations": []}
    return {**row, **few, "fields": fields, "versions": row["versions"][1:], "attachments": row["attachments"][1:]}


def append(source: InFolder, row: Json) -> None:
    with (source.path / "data" / "catalogue.jsonl").open("a", encoding="utf-8") as out:
        out.write(json.dumps(row) + "\n")


def planned_and_ran(job: Path) -> Any:
    """The report of a full run, which did what the plan said."""
    plan = asyncio.run(plan_job(job, small_jobs.options(full=True))).as_json()
    report = asyncio.run(run_job(job, small_jobs.options(full=True))).as_json()
    assert (report["operations"], report["losses"]) == (plan["operations"], plan["losses"])
    assert report["parked"] == []
    return report


def kept_at_target(report: Json) -> set[str]:
    """The parts that the report says left the source and stay."""
    return {loss["path"] for loss in report["losses"] if loss["rule"] == STAYS}


def removed(job: Path) -> list[Any]:
    """What the ledger says was removed, by part."""
    with closing(sqlite3.connect(job.parent / "state" / "job.db")) as state:
        rows = [json.loads(row[0]) for row in state.execute("SELECT changes FROM ledger ORDER BY seq")]
    return [
        (part, row[part][0]) for row in rows for part in ("attachment", "relation") if row.get(part, [0, 0])[1] is None
    ]


def parts_of(row: Json) -> Any:
    names = [file["name"] for file in row["attachments"]]
    return names, sorted(row["tags"]), row["relations"], len(row["placements"]), "note" in row["fields"]


def test_a_folder_keeps_what_is_removed_in_its_trash(tmp_path: Path) -> None:
    source, target = InFolder(tmp_path / "source"), InFolder(tmp_path / "target", {"bag": "off"})
    source.fill(LIBRARY)
    (whole,) = (row for row in source.assets if row["id"] == "1")
    with hurried():
        job = job_between(tmp_path / "job", source, target, MARKER)
        planned_and_ran(job)
        first = next(row for row in target.rows() if row["attachments"])
        append(source, without_parts(whole))
        report = planned_and_ran(job)
        assert report["operations"] == {"update": 1, "detach": 1, "unrelate": 1}
        assert kept_at_target(report) == {"versions"}
        row = next(row for row in target.rows() if row["id"] == first["id"])
        assert parts_of(row) == (["b.pdf"], ["harbour"], [], 1, False)
        assert len(row["versions"]) == len(first["versions"])
        assert removed(job) == [
            ("attachment", "a.pdf"),
            ("relation", {"kind": LINK, "target": first["relations"][0]["target"]}),
        ]
        (kept,) = (target.path / "data" / "trash" / "detached").rglob("a.pdf")
        assert hashlib.sha256(kept.read_bytes()).hexdigest() == first["attachments"][0]["digests"]["sha256"]
        assert planned_and_ran(job)["operations"] == {}
        append(source, whole)
        planned_and_ran(job)
        row = next(row for row in target.rows() if row["id"] == first["id"])
        names, *rest = parts_of(row)
        assert (sorted(names), rest) == (["a.pdf", "b.pdf"], list(parts_of(first)[1:]))


def test_a_service_without_a_trash_for_attachments_keeps_them(tmp_path: Path) -> None:
    source = InFolder(tmp_path / "source")
    source.fill(LIBRARY)
    (whole,) = (row for row in source.assets if row["id"] == "1")
    with hurried(), receiver_of(C, receiving()) as target:
        job = job_between(tmp_path / "job", source, Emulated(C, target.url), marker_in(C, OWN_MARKS))
        planned_and_ran(job)
        append(source, without_parts(whole))
        report = planned_and_ran(job)
        assert report["operations"] == {"update": 1}
        assert "attachments" in kept_at_target(report)
        names = sorted(each["name"] for row in living(target).values() for each in row["attachments"])
        assert names == ["a.pdf", "b.pdf"]
        append(source, whole)
        assert planned_and_ran(job)["operations"] == {"update": 1}
        assert sorted(each["name"] for row in living(target).values() for each in row["attachments"]) == names
        assert planned_and_ran(job)["operations"] == {}
