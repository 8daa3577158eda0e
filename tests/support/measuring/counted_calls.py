"""A library that any service holds, between any two of them, with the API calls to source and target beside the
least."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from dam_sync.api.emulation.sandbox import Emulated, write_job
from dam_sync.emulators import profile_of
from dam_sync.emulators.kit.profile import Profile
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.bulk_jobs import Bulk, Record
from tests.support.jobs.tenants import Pair, Tenant
from tests.support.measuring.printed_table import show
from tests.support.processes import emulating, measured

START = datetime(2020, 1, 1, tzinfo=UTC)
ASSETS = 1_000
MOST = 1.10
EXACT = 0.01  # by how much an estimate may be off, as a part of what was sent
TEXTS = ("title", "note", "place", "credit")  # fields beside the marker, one value each
TAGS = ("bulk", "north", "south")
MARK = "srckey"
QUICK = {"lag": 0.2, "rate": None}
Calls = Counter[str]
Report = Mapping[str, Any]
MAPPING = """\
version: 1
locales: [en]
{profile}fields:
  {marker}: {{marker: true}}
{fields}{tags}placements: {{from: "placements.{held}[].path", as: {holds}}}
{security}unmapped: report
"""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two services. options, emulated: of the adapter and of its emulator, besides those of its trial.
    container: what holds assets there; profile, groups: of the assets it is given."""

    kind: str
    container: str
    options: Mapping[str, Any] = field(default_factory=dict)
    emulated: Mapping[str, Any] = field(default_factory=dict)
    profile: str = ""
    groups: bool = False

    @property
    def prefix(self) -> str:
        """What stands before a catalogue's field keys there."""
        return profile_of(self.kind).prefix


@dataclass(slots=True)
class Counted:
    """Two tenants and a job between them; every comparison is printed."""

    pair: Pair

    def plan(self) -> Report:
        """What a run would do and cost."""
        return self._measured("plan")

    def run(self) -> Report:
        """A run, the only one that the counters know of afterwards."""
        return self._measured("run")

    def compare(self, side: str, title: str, planned: Report, least: Calls) -> Calls:
        """What one service was sent, beside the least and the estimate. Fails where it is above `MOST` times the least,
        where the estimate is off by more than `EXACT`, or where a call was refused."""
        tenant: Tenant = getattr(self.pair, side)
        sent = Counter(tenant.calls)
        told = sum(planned[side]["calls"].values())
        total, bound = sent.total(), least.total()
        rows = [(call, sent[call], least[call], sent[call] - least[call]) for call in sorted(sent | least)]
        table = [*rows, ("all", total, bound, total - bound), ("ratio", total / bound, "", ""), ("told", told, "", "")]
        show(f"{title}, {ASSETS:,} assets", ("call", "sent", "least", "more"), table)
        assert total <= MOST * bound, title
        assert abs(told - total) <= EXACT * total, f"{title}: {told} calls were told and {total} sent"
        assert not tenant.refused, title
        return sent

    def _measured(self, verb: str) -> Report:
        for tenant in (self.pair.source, self.pair.target):
            tenant.forget_calls()
        report: Report = measured(verb, str(self.pair.job), "--json", "--no-progress").report
        return report


@contextmanager
def counted(
    folder: Path, source: Side, target: Side, bulk: Bulk, files: Path | None = None, **more: Any
) -> Iterator[Counted]:
    """Both services in processes of their own for as long as the block runs. files: where stored ones are."""
    mapping = folder / "mapping.yaml"
    mapping.write_text(mapping_of(source, target, bulk), encoding="utf-8")
    with ExitStack() as stack:
        tenants: list[Tenant] = []
        for side, rows in ((source, library_of(source, bulk)), (target, schema_of())):
            catalogue = _written(folder / f"{len(tenants)}.jsonl", rows)
            trial: Profile = profile_of(side.kind)
            options = {**trial.emulated, **QUICK, **side.emulated}
            tenants.append(stack.enter_context(emulating(side.kind, catalogue, files, **options)))
        here, there = (Emulated(s.kind, t.url, s.options) for s, t in zip((source, target), tenants, strict=True))
        job = write_job(folder / "job.yaml", "counted", here, there, mapping, **{"policy": ACCEPTED, **more})
        yield Counted(Pair(tenants[0], tenants[1], job, folder))


def mapping_of(source: Side, target: Side, bulk: Bulk) -> str:
    """Each field to its namesake, tags where there are any, the folder to what holds assets at the target."""
    lines = [f'  "{target.prefix}{key}": {{from: "fields.{source.prefix}{key}"}}\n' for key in TEXTS]
    return MAPPING.format(
        profile=f"profile: {{default: {target.profile}}}\n" if target.profile else "",
        marker=f'"{target.prefix}{MARK}"',
        fields="".join(lines),
        tags='tags: {from: "tags[]"}\n' if bulk.tagged else "",
        held=source.container,
        holds=target.container,
        security="security: {groups: {const: [public]}}\n" if target.groups else "",
    )


def schema_of() -> Iterator[Record]:
    """A type, a group and the fields that `mapping_of` writes."""
    yield {"record": "type", "name": "Images", "media": ["PICTURE"]}
    yield {"record": "group", "name": "public"}
    for key in (MARK, *TEXTS):
        kind = "long_text" if key == "note" else "text"
        yield {"record": "field", "key": key, "label": key, "kind": kind, "types": ["Images"], "max_length": 250}


def library_of(side: Side, bulk: Bulk) -> Iterator[Record]:
    """The source's catalogue: every asset with a text in each field, in one of the folders."""
    yield from schema_of()
    for number in range(bulk.folders):
        yield {"record": "container", "kind": side.container, "path": [f"Folder {number}"]}
    for number in range(1, bulk.assets + 1):
        yield _asset(side, bulk, number)


def name_of(number: int) -> str:
    """The file name of an asset."""
    return f"picture-{number:06d}.jpg"


def _asset(side: Side, bulk: Bulk, number: int) -> Record:
    name = name_of(number)
    at = (START + timedelta(seconds=31 * number)).isoformat().replace("+00:00", "Z")
    files: list[Record] = [
        {"name": name, "generate": {"size": 300, "seed": 10 * number + n}} for n in range(bulk.kept_versions(number))
    ]
    if bulk.stored:
        files = [{"name": name, "file": name}]
    fields = {key: f"{key} of number {number}" for key in TEXTS}
    path = [f"Folder {(number - 1) % bulk.folders}"] if bulk.folders else []
    return {
        "record": "asset",
        "id": str(number),
        "type": "Images",
        "filename": name,
        "status": "published",
        "fields": fields,
        "tags": ["bulk", TAGS[1 + number % 2]] if bulk.has_tags(number) else [],
        "versions": files,
        "placements": [{"kind": side.container, "path": path}] if path else [],
        "rights": {"groups": ["public"]},
        **dict.fromkeys(("created_at", "imported_at", "changed_at"), at),
    }


def _written(path: Path, records: Iterator[Record]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path
