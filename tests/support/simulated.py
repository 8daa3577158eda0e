"""One tiny library that uses everything the pair of services can hold, moved in this process, again and again."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from dam_sync.app import connecting
from dam_sync.app.jobs import run_job
from dam_sync.app.wish import Wish
from dam_sync.emulation.app import Application
from dam_sync.emulation.catalogue import catalogue_of
from dam_sync.emulation.faults import Faults
from dam_sync.emulation.library import schema_records, target_records
from dam_sync.emulation.object_store import ObjectStore
from dam_sync.emulation.serve import serve_in_thread
from dam_sync.emulation.world import World
from dam_sync.engine import run
from dam_sync.mapping.document import load_mapping
from dam_sync.model.errors import DamSyncError
from dam_sync.model.limits import PartBounds
from dam_sync.services import discover
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.emulator.options import Options
from dam_sync.store import runs
from tests.support import small
from tests.support.fuse import Fuse, Point
from tests.support.small import MAPPING, Record, photo
from tests.support.tenants import JOB, Pair, Tenant, emulated

EVERY: Final = int(os.environ.get("DAM_SYNC_SIM", "40"))  # of so many points one is tried
FORM_BYTES: Final = 4_000  # larger files travel in chunks here
CHUNK_BYTES: Final = 1_500
LARGE: Final = 5_000
PACE: Final = 100.0  # how much faster than ours the clock of a simulated run goes
LAG: Final = 0.01
OPTIONS: Final = "version_policy: file_only, index_lag: 4"
LIVES: Final = 4  # runs in which a library must be moved
SEEN_THERE: Final = re.compile("^term:|^container:|chunks:part:")  # the target is asked what it has of these
WRITES: Final = ("POST", "PUT", "DELETE")
LEFT: Final = (
    ("run", "state <> 'done'"),
    ("work", "state <> 'settled' OR action = 'parked'"),
    ("step", "true"),
    ("placement", "true"),
    ("shard", "NOT done"),
)


def library() -> list[Record]:
    """A new term, a nested container, two versions, a file in chunks, two files of one name, tags, groups."""
    first, second, third, fourth, fifth = (photo(number) for number in range(1, 6))
    first["fields"] |= {"keywords": [{"id": "3", "label": "Sea"}], "credit": "<p>Gift &amp; friends</p>"}
    first["placements"] = [_folder("Library", "Press", "2024"), {"kind": "label", "path": ["Highlight"]}]
    second["versions"] = [{"name": "photo-2.jpg", "generate": {"size": 700 + n, "seed": 20 + n}} for n in (1, 2)]
    third["versions"][0]["generate"]["size"] = LARGE
    third["fields"]["keywords"] = [{"id": "3", "label": "Sea"}, {"id": "4", "label": "River"}]
    for twin in (fourth, fifth):
        twin["filename"] = twin["versions"][0]["name"] = "harbour.jpg"
    fourth["placements"] = [_folder("Library", "Archive"), _folder("Library", "Press")]
    return [first, second, third, fourth, fifth]


def changed_library() -> list[Record]:
    """The same later: values, a new term, a label gone, another place, one version more."""
    rows = library()
    first, fourth, fifth = rows[0], rows[3], rows[4]
    first["fields"] |= {"title": {"texts": {"en": "Other words"}}, "keywords": [{"id": "5", "label": "Harbour"}]}
    first["placements"] = first["placements"][:1]
    fourth["placements"] = [_folder("Library", "Collections", "Sea & Shore"), _folder("Library", "Press")]
    fifth["versions"].append({"name": "harbour.jpg", "generate": {"size": 950, "seed": 50}})
    return rows


def _folder(*path: str) -> Record:
    return {"kind": "folder", "path": list(path)}


def mapping_text() -> str:
    """The demonstration's mapping, with tags and with a group that the upload profile does not give."""
    text = MAPPING.read_text(encoding="utf-8").replace("{const: [public]}", "{const: [public, staff]}")
    return text.replace("ignore: [", 'tags: {from: "labels[]"}\nignore: [')


@dataclass
class State:
    """What can be seen of both sides and of the state file once a library is moved.

    links: what every source asset became; journal: the steps of every source asset; left: what nobody settled.
    """

    source: Any
    assets: Any
    terms: Any
    categories: Any
    links: Any
    journal: Counter[tuple[str, str]]
    left: dict[str, int]
    writes: Counter[str]


@dataclass
class Moved(Pair):
    """A fresh target, a fresh state file, and the source all simulations share."""

    lives: int = 0
    full: bool = False
    told: list[str] = field(default_factory=list)

    def change(self) -> None:
        """The source is another from now on, and every asset is looked at."""
        self.full = True
        _changing(self.source).changed = True

    def live(self, point: Point | None = None) -> Fuse:
        """One run, killed at `point`; its fuse. Raises what stopped the run otherwise."""
        self.lives += 1
        fuse = Fuse(self.target.url, point)
        with pytest.MonkeyPatch.context() as patch:
            fuse.install(patch)
            try:
                asyncio.run(run_job(self.job, Wish(full=self.full)))
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:
                if not fuse.blown:
                    raise
            else:
                assert not fuse.blown, f"a crash {point} was survived"
        return fuse

    def live_to_the_end(self) -> None:
        """Runs until one goes through, so many more at most."""
        for _ in range(LIVES):
            try:
                self.live()
            except DamSyncError as error:
                self.told.append(f"{error.cause}: {error.message}")
            else:
                return
        raise AssertionError(f"not moved in {LIVES} runs: {self.told}")

    def state(self) -> State:
        """Both sides as they are now."""
        assert self.target.served is not None
        tenant = self.target.served.app.state.tenant
        assets = self.target.assets
        markers = {asset["id"]: asset["fields"]["srckey"] for asset in assets}
        with closing(sqlite3.connect(self.folder / "state" / "job.db")) as connection:
            ask = connection.execute
            links = ask("SELECT source, target, filename, versions, evidence FROM link ORDER BY source").fetchall()
            journal = ask("SELECT asset, operation FROM ledger").fetchall()
            left = {table: ask(f"SELECT count(*) FROM {table} WHERE {rows}").fetchone()[0] for table, rows in LEFT}
        return State(
            source=self.source.assets,
            assets=sorted((seen(asset) for asset in assets), key=repr),
            terms={key: sorted(each.words.values) for key, each in tenant.metadata.fields.items() if each.words},
            categories=sorted(tenant.taxonomy.path(each) for each in tenant.taxonomy.categories),
            links=[(source, markers.get(target), *more) for source, target, *more in links],
            journal=Counter((asset, _nameless(name)) for asset, name in journal),
            left=left,
            writes=Counter({call: number for call, number in self.target.calls.items() if call.startswith(WRITES)}),
        )


def _nameless(step: str) -> str:
    """A step without the ids of containers, and the digests made of them, which differ from target to target."""
    return step.rpartition(":")[0] if step.startswith(("place:", "update:")) else step


def seen(asset: Mapping[str, Any]) -> tuple[Any, ...]:
    """Everything of an asset in the target but its ids and instants; the marker is among its fields."""
    return (
        asset["fields"].get("srckey"),
        asset["filename"],
        asset["status"],
        asset["type"],
        asset["fields"],
        [(version["name"], version["size"], version["sha256"]) for version in asset["versions"]],
        [(row["kind"], row["path"]) for row in asset["placements"]],
        asset["tags"],
        asset["rights"]["groups"],
    )


def _changing(source: Tenant) -> Changing:
    assert source.served is not None
    return cast("Changing", source.served.app)


@dataclass
class Simulation:
    """Moves the library as often as asked, each time into a new target."""

    folder: Path
    source: Tenant
    at_once: int = 1
    number: int = 0

    @contextmanager
    def moving(self) -> Iterator[Moved]:
        """One library to be moved."""
        self.number += 1
        _changing(self.source).changed = False
        folder = self.folder / str(self.number)
        folder.mkdir()
        mapping = self.folder / "mapping.yaml"
        mapping.write_text(mapping_text(), encoding="utf-8")
        target = emulated("e_profiles", list(target_records()), lag=LAG, processing=0.0, rate=None)
        try:
            job = folder / "job.yaml"
            text = JOB.format(
                source=self.source.url,
                target=target.url,
                password=small.PASSWORD,
                options=OPTIONS,
                mapping=mapping,
                state=folder / "state" / "job.db",
                more=f"limits: {{concurrency: {self.at_once}}}",
            )
            job.write_text(text, encoding="utf-8")
            yield Moved(self.source, target, job, folder)
        finally:
            if target.served is not None:
                target.served.stop()

    def reference(self, *, later: bool = False) -> tuple[State, Fuse]:
        """How it ends, and how much happens, when nothing goes wrong: with the move, or `later` with the changes."""
        with self.moving() as moved:
            fuse = moved.live()
            if later:
                moved.change()
                fuse = moved.live()
            return moved.state(), fuse


def hurried(patch: pytest.MonkeyPatch) -> None:
    """A run takes a moment: a fast clock, small chunks, and a process that is gone as soon as it crashed."""
    small.hurry(patch)
    patch.setattr(small, "FASTER", PACE)
    patch.setattr(run, "HEARTBEAT_SECONDS", 3600.0)
    patch.setattr(runs, "process_lives", lambda pid: False)
    patch.setattr(facts, "SINGLE_BYTES", FORM_BYTES)
    bounds = PartBounds(preferred=CHUNK_BYTES, least=1_000, most=CHUNK_BYTES, count=100, at_once=1)
    patch.setattr(facts, "LIMITS", replace(facts.LIMITS, single_bytes=FORM_BYTES, parts=bounds))
    patch.setattr(Options, "chunk_least", 1_000)
    patch.setattr(connecting, "load_mapping", cache(load_mapping))
    patch.setattr(httpx, "create_ssl_context", cache(httpx.create_ssl_context))


def differences(got: State, want: State, *, in_doubt: int) -> Iterator[str]:
    """What is not as in the reference. in_doubt: calls that may have been made once more, their answers being lost."""
    for name in ("source", "assets", "terms", "categories", "links", "left"):
        mine, other = getattr(got, name), getattr(want, name)
        if mine != other:
            yield f"{name}: {mine} instead of {other}"
    if got.journal - want.journal:
        yield f"steps recorded again: {dict(got.journal - want.journal)}"
    lost = want.journal - got.journal
    if lost.total() > in_doubt or any(not SEEN_THERE.search(step) for _, step in lost):
        yield f"steps not recorded: {dict(lost)}"
    if (got.writes - want.writes).total() > in_doubt:
        yield f"calls made again: {dict(got.writes - want.writes)}"
    if want.writes - got.writes:
        yield f"calls not made: {dict(want.writes - got.writes)}"


def sampled(points: Sequence[Any], offset: int = 0) -> Sequence[Any]:
    """Every EVERY-th, one at least."""
    return points[offset % min(EVERY, len(points)) :: EVERY]


class Changing:
    """The source as an application, before and after it was changed, at one address."""

    def __init__(self) -> None:
        self.states = [_application(library()), _application(changed_library())]
        self.world, self.objects = self.states[0].world, self.states[0].objects
        self.changed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """To the state of the moment."""
        world = self.states[self.changed].world
        world.api_origin, world.storage_origin = self.world.api_origin, self.world.storage_origin
        await self.states[self.changed](scope, receive, send)


def _application(assets: Sequence[Record]) -> Application:
    world = World(seed=1)
    app: Application = discover()["a_hypermedia"].emulator(world, Faults(), ObjectStore(world), {"lag": 0.0})
    app.state.load(catalogue_of([*schema_records(), *assets]), None)
    return app


def source_tenant() -> Tenant:
    """The library, served."""
    served = serve_in_thread(lambda: cast("Application", Changing()))
    return Tenant(served.url, served)
