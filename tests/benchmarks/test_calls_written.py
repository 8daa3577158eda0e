"""API calls that it takes to write a library, for each target: ten fields, four of them with values that many assets
share, tags, two containers, and a second version of every tenth file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.emulation.sandbox import Emulated, write_job
from dam_sync.emulators import profile_of
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.bulk_jobs import START, Record
from tests.support.measuring.printed_table import show
from tests.support.processes import emulating, measured

ASSETS = 1_000
DISTINCT = ("title", "note", "place", "inventory", "caption", "keywords")
SHARED = ("credit", "department", "medium", "period")  # a few values in the whole library
FOLDERS = 7
TAGS = "labels"  # the field for tags, where the target has none of its own
EVERY = 10  # assets, of which one has two versions
MARK = "srckey"
QUICK = {"lag": 0.2, "rate": None}


@dataclass(frozen=True, slots=True)
class Target:
    """A target. held: what its assets get instead of the two folders of the source; most: calls per 1,000 assets;
    before: those of the release that wrote each asset with calls of its own; exact: by how much the plan may be off."""

    kind: str
    held: tuple[str, str]
    before: int
    most: int
    options: dict[str, Any] = field(default_factory=dict)
    emulated: dict[str, Any] = field(default_factory=dict)
    profile: str = ""
    groups: bool = False
    tags: bool = True
    exact: float = 0.01


TARGETS = (
    Target("a_hypermedia", ("folder", "folder"), 9_248, 6_260, profile="Images", tags=False),
    Target("b_documents", ("folder", "collection"), 4_640, 2_923, {"relations": ""}, {"direct": False}, "Images"),
    Target(
        "c_brandlibrary",
        ("section", "collection"),
        4_947,
        2_720,  # 0.55 of those before
        {"readiness": "later", "first_look": 1.0},
        {"processing": 0.2},
        exact=0.04,  # a call goes once nobody joined it for 0.1 s: a busy computer shares fewer than the plan says
    ),
    Target("d_templates", ("collection", "collection"), 1_240, 1_240, profile="Images", groups=True, tags=False),
    Target(
        "e_profiles",
        ("category", "category"),
        2_355,
        3_360,  # each asset is read back, whatever the policy (wire E 13)
        {"version_policy": "none"},
        profile="images",
        groups=True,
    ),
)


@pytest.mark.bench
@pytest.mark.parametrize("target", TARGETS, ids=[target.kind for target in TARGETS])
def test_writing_a_library_takes_no_more_calls_than_it_should(tmp_path: Path, target: Target) -> None:
    """The plan forecasts them, too."""
    source = "a_hypermedia" if target.kind == "b_documents" else "b_documents"
    with emulating(source, written(tmp_path / "source.jsonl", library(source)), None, **emulated(source)) as origin:
        given = written(tmp_path / "target.jsonl", schema())
        with emulating(target.kind, given, None, **emulated(target.kind) | target.emulated) as tenant:
            mapping = tmp_path / "mapping.yaml"
            mapping.write_text(mapping_of(source, target), encoding="utf-8")
            sides = Emulated(source, origin.url, lean(source)), Emulated(target.kind, tenant.url, target.options)
            limits = {"concurrency": 16}
            job = write_job(tmp_path / "job.yaml", "written", *sides, mapping, policy=ACCEPTED, limits=limits)
            planned = Counter(measured("plan", str(job), "--json", "--no-progress").report["target"]["calls"])
            tenant.forget_calls()
            done = measured("run", str(job), "--json", "--no-progress").report
            sent = Counter(tenant.calls)
            assert not tenant.refused
    assert done["counts"]["created"] == ASSETS, done["counts"]
    total, told = sent.total(), planned.total()
    table = [(call, planned[call], sent[call]) for call in sorted(planned | sent)]
    table += [("all", told, total), ("of those before", told / target.before, total / target.before)]
    show(f"{target.kind}, {ASSETS:,} assets written", ("call", "planned", "sent"), table)
    assert abs(told - total) <= target.exact * total
    assert total <= target.most


def emulated(kind: str) -> dict[str, Any]:
    return {**profile_of(kind).emulated, **QUICK}


def lean(kind: str) -> dict[str, Any]:
    return {"relations": ""} if kind == "b_documents" else {}


def mapping_of(source: str, target: Target) -> str:
    """Every field to its namesake, the first folder and the second one to what holds assets at the target."""
    here, there = profile_of(source).prefix, profile_of(target.kind).prefix
    fields = [f'  "{there}{key}": {{from: "fields.{here}{key}"}}\n' for key in (*DISTINCT, *SHARED)]
    held = zip(kinds_of(source), target.held, strict=True)
    placements = [f'  - {{from: "placements.{kind}[].path", as: {as_kind}}}\n' for kind, as_kind in held]
    return "".join(
        (
            "version: 1\nlocales: [en]\n",
            f"profile: {{default: {target.profile}}}\n" if target.profile else "",
            f'fields:\n  "{there}{MARK}": {{marker: true}}\n',
            *fields,
            f'  "{there}{TAGS}": {{from: "tags[]", pipe: [{{join: {{with: " "}}}}]}}\n' if not target.tags else "",
            'tags: {from: "tags[]"}\n' if target.tags else "",
            "placements:\n",
            *placements,
            "security: {groups: {const: [public]}}\n" if target.groups else "",
            "unmapped: report\n",
        )
    )


def kinds_of(source: str) -> tuple[str, str]:
    return ("folder", "label") if source == "a_hypermedia" else ("folder", "collection")


def schema() -> Iterator[Record]:
    yield {"record": "type", "name": "Images", "media": ["PICTURE"]}
    yield {"record": "group", "name": "public"}
    yield {"record": "profile", "name": "images", "type": "Images", "groups": ["public"], "version_policy": "file_only"}
    for key in (MARK, *DISTINCT, *SHARED, TAGS):
        yield {"record": "field", "key": key, "label": key, "kind": "text", "types": ["Images"], "max_length": 250}


def library(source: str) -> Iterator[Record]:
    yield from schema()
    for kind in kinds_of(source):
        for number in range(FOLDERS):
            yield {"record": "container", "kind": kind, "path": [f"{kind} {number}"]}
    for number in range(1, ASSETS + 1):
        yield asset(source, number)


def asset(source: str, number: int) -> Record:
    name, versions = f"picture-{number:06d}.jpg", 2 if number % EVERY == 0 else 1
    at = START.replace(second=number % 60, minute=number // 60 % 60).isoformat().replace("+00:00", "Z")
    fields = {key: f"{key} of number {number}" for key in DISTINCT}
    fields |= {key: f"{key} {number % (2 + index)}" for index, key in enumerate(SHARED)}
    return {
        "record": "asset",
        "id": str(number),
        "type": "Images",
        "filename": name,
        "status": "published",
        "fields": fields,
        "tags": ["bulk", f"tag {number % 5}"],
        "versions": [{"name": name, "generate": {"size": 300, "seed": 10 * number + n}} for n in range(versions)],
        "placements": [{"kind": kind, "path": [f"{kind} {number % FOLDERS}"]} for kind in kinds_of(source)],
        "rights": {"groups": ["public"]},
        **dict.fromkeys(("created_at", "imported_at", "changed_at"), at),
    }


def written(path: Path, records: Iterator[Record]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path
