"""Two jobs from different sources into one target, with their states in one database."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dam_sync.api.emulation.sandbox import Emulated, write_job, write_suggested_mapping
from dam_sync.model.capabilities import Operation
from dam_sync.model.run_options import RunOptions
from dam_sync.services import discover
from tests.conformance.catalogue import SCHEMA, asset
from tests.support import programs
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.any_pair import tenant_of
from tests.support.jobs.open_service import opened_service
from tests.support.jobs.tenants import Pair, Tenant
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.services.profiles import marker_in, profile_of
from tests.support.state.postgres import OwnServer, execute

Row = Mapping[str, Any]
PARTS = 4  # terms and containers that both sources have and the target lacks
NEW = tuple(f"Theme {number}" for number in range(1, PARTS + 1))
FLAT = [row for row in SCHEMA if row["record"] not in ("term", "container") or row.get("id", "") in ("4", "11", "12")]
CREATES = ("POST *", "PUT *", "PATCH *")  # calls that the service takes its time for
WORDS = ("tree", "vocabulary", "collection", "category", "directory", "section", "custom_field_keys/{id}", "path/{id}")
SLOW = 0.15  # seconds


@dataclass(frozen=True)
class Merged:
    """The jobs, and the target of this kind that both write into."""

    kind: str
    first: Pair
    second: Pair
    target: Tenant
    server: OwnServer

    @property
    def jobs(self) -> tuple[Pair, Pair]:
        return self.first, self.second

    def run_together(self) -> list[int]:
        """Both at once, each in a process of its own; their exit codes."""
        return [process.wait() for process in [each.start("run", str(each.job), "--no-progress") for each in self.jobs]]

    @property
    def creates(self) -> int:
        """Calls that create terms and containers, as far as their endpoints show, which the target has received."""
        calls = self.target.calls.items()
        return sum(number for call, number in calls if not call.startswith("GET ") and any(w in call for w in WORDS))

    def slow_down(self) -> None:
        """Let every write take so long that jobs which do not wait for each other write at once."""
        self.target.add_faults(*({"match": match, "do": f"delay:{SLOW}"} for match in CREATES))

    def terms(self) -> Counter[tuple[str, ...]]:
        """The terms of the open vocabularies, by what the target itself lists."""
        return Counter(asyncio.run(self._taxonomy())[0])

    def containers(self) -> Counter[tuple[str, ...]]:
        """The containers, with their kinds."""
        return Counter(asyncio.run(self._taxonomy())[1])

    def names(self) -> Counter[str]:
        """The file names of the assets."""
        return Counter(row["filename"].casefold() for row in self.target.assets if row["status"] != "trash")

    def duplicates(self) -> list[Any]:
        """Terms and containers that are there more than once."""
        return [each for found in (self.terms(), self.containers()) for each, number in found.items() if number > 1]

    async def _taxonomy(self) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
        async with opened_service(self.first.job, "target", RunOptions(), read_only=True) as service:
            schema = await service.schema()
            terms = [
                (name, *term.path)
                for name, known in schema.vocabularies.items()
                if not known.closed and Operation.TERMS in service.capabilities
                async for term in service.terms(name)
            ]
            return terms, [(place.kind, *place.path) async for place in service.containers()]


def library(first: int, names: Sequence[str] = NEW, tags: Sequence[str] = ()) -> list[Row]:
    """A source with an asset for each of these names: a term, a container and a file are called so. first: the number
    of its first asset; tags: of every asset."""
    rows: list[Row] = [*FLAT]
    for number, name in enumerate(names, first):
        rows.append({"record": "term", "vocabulary": "subjects", "id": str(100 + number), "labels": {"en": name}})
        rows.append({"record": "container", "kind": "folder", "path": [name]})
    for number, name in enumerate(names, first):
        fields = {
            "title": {"texts": {"en": f"Picture {number}"}},
            "subject": [{"id": str(100 + number), "label": name}],
        }
        versions = [{"name": f"{name}.jpg", "generate": {"size": 900 + number, "seed": number}}]
        places = [{"kind": "folder", "path": [name]}]
        more = {"filename": f"{name}.jpg", "versions": versions, "placements": places, "tags": list(tags)}
        rows.append(asset(number, fields=fields, **more))
    return rows


@contextmanager
def merged(
    folder: Path, sources: tuple[str, str], target: str, server: OwnServer, libraries: Sequence[Sequence[Row]] = ()
) -> Iterator[Merged]:
    """Both jobs, for as long as the block runs."""
    libraries = libraries or (library(1), library(1 + PARTS))
    with ExitStack() as stack:
        into = stack.enter_context(tenant_of(target, FLAT))
        made = []
        for kind, rows, name in zip(sources, libraries, ("first", "second"), strict=True):
            tenant = stack.enter_context(tenant_of(kind, rows))
            made.append(_job(folder / name, name, (_side(kind, tenant), _side(target, into)), (tenant, into), server))
        for each in made:
            schema = f"dam_sync_{each.job.stem}"
            stack.callback(execute, server.state, f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
        yield Merged(target, made[0], made[1], into, server)


def _side(kind: str, tenant: Tenant) -> Emulated:
    options = dict(profile_of(kind).parted)
    if "index_lag" in discover()[kind].options.model_fields:
        options["index_lag"] = 1
    return Emulated(kind, tenant.url, options)


def _job(
    folder: Path, name: str, sides: tuple[Emulated, Emulated], tenants: tuple[Tenant, Tenant], server: OwnServer
) -> Pair:
    folder.mkdir(parents=True)
    mapping = folder / "mapping.yaml"
    job = write_job(folder / f"{name}.yaml", name, *sides, mapping, policy=ACCEPTED, state=server.url)
    asyncio.run(write_suggested_mapping(job, mapping, marker_in(sides[1].kind, OWN_MARKS)))
    return replace(Pair(*tenants, job, folder), command=programs.run)
