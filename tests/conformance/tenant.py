"""An emulated tenant, connections to it, and the truth the emulator keeps."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from dam_sync.emulators import application_of
from dam_sync.emulators.kit.catalogue import catalogue_of
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.serve import serve_in_thread
from dam_sync.model.asset import AssetId, FileRef
from dam_sync.model.clock import Clock
from dam_sync.model.connector import Connector, Context
from dam_sync.model.ports import Content
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.model.service import Service
from dam_sync.model.values import GeoPoint, Json, Localized, Person, Row, Term, Value, instant_text, value_from_json
from dam_sync.services import discover
from dam_sync.services.folder.tenant import ABOUT, FORMAT
from dam_sync.transfer.content import MemoryBudget, content_of
from tests.conformance.catalogue import LINK, MARKER, library
from tests.conformance.wiring import WIRED, Wired
from tests.support.jobs.folder_jobs import InFolder
from tests.support.services import background_stop
from tests.support.services.connections import Emulated, HastyClock, alike
from tests.support.services.profiles import FOLDER
from tests.support.state.credential_store import MemoryCredentialStore
from tests.support.transfer.byte_source import Source, generated

BUDGET = 64 << 20
LOCALES = ("en", "fr")


@dataclass
class Tenant(Emulated):
    """One served tenant of one kind and variant."""

    kind: Connector
    wired: Wired
    spool: Path
    variant: str = ""

    def connect(self, auth: Mapping[str, str] | None = None, clock: Clock | None = None, **more: Any) -> Service:
        """A new connection; `options` are added to those of the table, the rest goes into the Context."""
        given = self.wired.auth[0] if auth is None else auth
        second = self.wired.second if self.variant and self.variant not in self.wired.readings else {}
        context = Context(
            self.served.url,
            {key: text.format(url=self.served.url) for key, text in given.items()},
            {**self.wired.options, **second, **more.pop("options", {})},
            tenant_url=self.served.url if self.kind.needs_tenant_url else "",
            clock=clock or HastyClock(self.world),
            credentials=more.pop("credentials", None) or MemoryCredentialStore(),
            budget=MemoryBudget(BUDGET),
            **more,
        )
        return self.open(self.kind, context)

    @property
    def absent(self) -> frozenset[str]:
        """Capabilities that the service is known not to have, in the words of `abilities`."""
        listed = (Path(__file__).parent / "absent" / f"{self.kind.name}.txt").read_text(encoding="utf-8")
        return frozenset(listed.split())

    @property
    def relation(self) -> str:
        """A kind of relation that this service has."""
        return self.wired.relation or LINK

    def shown(self) -> dict[AssetId, Json]:
        """The assets that the service shows: what is in the trash only where that can be seen."""
        hidden = "read:trash" in self.absent
        return {key: row for key, row in self.truth().items() if not hidden or row["status"] != "trash"}

    def key(self, name: str) -> str:
        """How this service spells a field of the catalogue."""
        return self.wired.prefix + name

    def as_read(self, fields: Mapping[str, Json]) -> dict[str, Json]:
        """Plain fields for a comparison of what was read: several values are sorted, if the service publishes no order
        of them."""
        ordered = "order" not in self.wired.quiet
        return {
            key: value if ordered or not isinstance(value, list) else sorted(value, key=repr)
            for key, value in fields.items()
        }

    def value(self, identity: AssetId, name: str) -> Json:
        """A field of an asset as the emulator keeps it."""
        return self.truth()[identity]["fields"][self.key(name)]

    def marked(self, marker: str) -> list[Json]:
        """The assets that carry this marker."""
        return [row for row in self.truth().values() if row["fields"].get(self.key(MARKER)) == marker]

    def advance(self, seconds: float) -> None:
        """Move the emulated world's clock, as anybody can from outside."""
        data = json.dumps({"advance": seconds}).encode()
        with urlopen(Request(f"{self.served.url}/_emulator/clock", data)) as reply:
            assert reply.status == 200

    def fail(self, *lines: Json) -> None:
        """Script faults; at the end of the test each must have struck."""
        self.faults.add(lines)

    @contextmanager
    def costs(self) -> Iterator[Counter[str]]:
        """API calls made inside, as the emulator counts them, with the slots of their paths made alike."""
        spent = Counter[str]()
        with super().costs() as counted:
            yield spent
        spent.update(alike(counted))


class OnDisk:
    """A folder where a served tenant is expected: it is its own emulator."""

    def __init__(self, path: Path, records: Iterable[Json]) -> None:
        self.app = self.state = self
        self._side = InFolder(path)
        self._side.fill(list(records), digests=True)
        about = {"format": FORMAT, "id": path.name, "locales": list(LOCALES)}
        (path / ABOUT).write_text(json.dumps(about), encoding="utf-8")
        self.url, self.storage_url = path.as_uri(), f"{path.as_uri()}#"

    def dump(self) -> Iterator[Json]:
        """Every asset, as the disk has it."""
        return iter(self._side.rows())

    def stop(self) -> None:
        """Nothing runs."""


@dataclass
class FolderTenant(Tenant):
    """A folder: nobody else keeps its clock."""

    def advance(self, seconds: float) -> None:
        """See `Tenant.advance`."""
        self.world.advance(seconds)


def started(kind: str, records: Iterable[Json], spool: Path, **options: Json) -> Tenant:
    """Serve a tenant of this kind; stop it by `tenant.served.stop()`."""
    wired, world, faults = WIRED[kind], Environment(seed=7), Faults()
    found = discover()[kind]
    if kind == FOLDER:
        served: Any = OnDisk(Path(tempfile.mkdtemp(dir=spool)), records)
        return FolderTenant(served, world, faults, found, wired, spool)
    app = application_of(kind)(world, faults, ObjectStore(world), {**wired.emulated, **options})
    app.state.load(catalogue_of([related(row, wired.relation or LINK) for row in records]), None)
    variant = str(options.get("variant") or "")
    return Tenant(serve_in_thread(lambda: app), world, faults, found, wired, spool, variant)


Start = Callable[..., Tenant]


@asynccontextmanager
async def starting(kind: str, spool: Path) -> AsyncIterator[Start]:
    """Starts tenants of one test, with the library of the catalogue or `records`; they stop at its end, and every
    scripted fault must have struck."""
    running: list[Tenant] = []

    def begin(records: Iterable[Json] | None = None, **options: Json) -> Tenant:
        running.append(started(kind, library() if records is None else records, spool, **options))
        return running[-1]

    yield begin
    for tenant in running:
        await tenant.disconnect()
        background_stop.stop(tenant.served)
        assert not tenant.faults.unhit()


def related(row: Json, kind: str) -> Json:
    """A record of the catalogue with the kind of relation that this service has."""
    if row["record"] == "relation_kind":
        return {**row, "name": kind}
    relations = [{**each, "kind": kind} for each in row.get("relations", ())]
    return {**row, "relations": relations} if relations else row


@asynccontextmanager
async def content(
    tenant: Tenant, name: str = "new.jpg", size: int = 700, *, seed: str = ""
) -> AsyncIterator[tuple[Content, str]]:
    """Content as a run would have it, and the MD5 of its bytes; `seed` makes equal sizes differ."""
    source = generated(size) if not seed else shifted(size, seed)
    single = next((s.limits.single_bytes for s in tenant.connected), None) or 20_000_000
    file = FileRef("1", name, size, "image/jpeg", {"md5": source.digest("md5")})
    async with content_of(
        source.open, file, spool=tenant.spool, budget=MemoryBudget(BUDGET), single_bytes=single, wanted=frozenset()
    ) as made:
        yield made, file.digests["md5"]


def shifted(size: int, seed: str) -> Source:
    """Bytes that begin with the seed."""
    plain, head = generated(size), hashlib.sha256(seed.encode()).digest()[: min(size, 32)]
    return Source(
        size, lambda start, stop: (head[start:stop] + plain.read(max(start, len(head)), stop))[: stop - start]
    )


def plain(value: Value | None) -> Json:
    """A value without what services may choose: ids, paths, further languages of terms."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    return next((shape(value) for kind, shape in SHAPES.items() if isinstance(value, kind)), str(value))


SHAPES: Mapping[type, Callable[[Any], Json]] = {
    Localized: lambda value: {locale: text for locale, text in sorted(value.texts.items()) if text},
    Term: lambda value: value.label,
    Person: lambda value: value.name,
    GeoPoint: lambda value: (value.latitude, value.longitude, value.address),
    Row: lambda value: {key: plain(cell) for key, cell in value.cells.items()},
    datetime: instant_text,
    int: float,
    float: float,
}


def true_fields(row: Json, schema: Schema) -> dict[str, Json]:
    """The fields of a row of the truth, plain; a flag that is down is no field."""
    found = {}
    for key, value in row["fields"].items():
        flag = key in schema.fields and schema.fields[key].kind is FieldKind.FLAG
        found[key] = bool(value) if flag else plain(value_from_json(value))
    return {key: value for key, value in found.items() if value not in (None, "", [], {}, False)}


def own_fields(fields: Mapping[str, Value | None]) -> dict[str, Json]:
    """The fields of an asset, draft or patch, in the same form."""
    found = {key: plain(value) for key, value in fields.items()}
    return {key: value for key, value in found.items() if value not in (None, "", [], {}, False)}
