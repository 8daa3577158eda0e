"""Service A, a hypermedia DAM: which part answers which question."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta, tzinfo
from typing import ClassVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dam_sync.http.client import Client
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Marker, Patch, Placement, Relation
from dam_sync.model.audience import Audience
from dam_sync.model.errors import ConfigError
from dam_sync.model.limits import Limits, MeasuredPace
from dam_sync.model.ports import Content, Journal, Stream
from dam_sync.model.schema import Schema
from dam_sync.model.service import Account, Batch, Calls, Context, Cursor, Membership, Operation, Service, Shard, Window
from dam_sync.model.values import Term
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.baskets import Baskets
from dam_sync.services.a_hypermedia.costs import Costs
from dam_sync.services.a_hypermedia.crawling import Crawling
from dam_sync.services.a_hypermedia.creating import Creating, audience_of
from dam_sync.services.a_hypermedia.finding import Finding
from dam_sync.services.a_hypermedia.hal import Words
from dam_sync.services.a_hypermedia.knowledge import Knowledge, Spoken
from dam_sync.services.a_hypermedia.opening import Opening
from dam_sync.services.a_hypermedia.proving import Proofs
from dam_sync.services.a_hypermedia.reading import Reading
from dam_sync.services.a_hypermedia.relating import Relating
from dam_sync.services.a_hypermedia.rich import Rich
from dam_sync.services.a_hypermedia.searching import Searching
from dam_sync.services.a_hypermedia.taxonomy import Taxonomy
from dam_sync.services.a_hypermedia.tenant import Tenant
from dam_sync.services.a_hypermedia.uploading import Uploading
from dam_sync.services.a_hypermedia.writing import Writing


@dataclass(frozen=True, slots=True)
class Options:
    """The kind's own settings, read and checked."""

    words: Words
    spoken: Spoken
    staging: str
    keyset: bool
    public_links: bool
    bulk: bool
    baskets: bool
    lag: timedelta
    link_types: Mapping[str, str] = field(default_factory=dict)  # ids by title


class HypermediaService(Service):
    """One instance of service A."""

    kind: ClassVar[str] = facts.NAME

    def __init__(self, client: Client, context: Context) -> None:
        options = options_of(context.options)
        self._client = client
        self._host = urlsplit(context.base_url).netloc
        self.limits: Limits = replace(facts.LIMITS, lag=options.lag)
        self._tenant = tenant = Tenant(
            client, context.base_url, options.words, context.clock, signed=context.auth.get("flow") == "signed_token"
        )
        self._knowledge = knowledge = Knowledge(tenant, options.spoken, options.link_types)
        self._reading = Reading(tenant, knowledge, options.public_links)
        self._searching = Searching(tenant)
        rich = Rich(tenant, knowledge, self._reading, self._searching)
        self._crawling = Crawling(tenant, knowledge, self._searching, rich, options.keyset)
        self._opening = Opening(tenant, self._reading)
        proofs = Proofs(context.clock, options.bulk)
        self._taxonomy = Taxonomy(tenant, knowledge, proofs)
        uploading = Uploading(tenant, context.budget)
        self._writing = Writing(tenant, knowledge, uploading, proofs)
        self._finding = Finding(tenant, knowledge, options.staging, options.lag)
        self._creating = Creating(tenant, knowledge, uploading, self._writing, proofs)
        self._relating = Relating(tenant, self._reading, options.link_types, proofs)
        self._baskets = Baskets(tenant)
        self._read_only, self._reads_baskets = context.read_only, options.baskets
        if not options.baskets:
            self.operations = self.operations - {Operation.MEMBERS}
        self._costs = Costs(tenant, knowledge, self._finding, proofs)

    @property
    def calls(self) -> Calls:
        """See `Service.calls`."""
        return self._client.calls

    @property
    def measured_pace(self) -> MeasuredPace:
        """See `Service.measured_pace`."""
        return self._client.measured_pace

    async def probe(self) -> Account:
        """Both entry points, the own user and a count; 401 is Denied (spec 000, Authentication 2)."""
        gate = await self._tenant.gate.get()
        user, notes = await self._tenant.user()
        if not gate.has(facts.CHUNKS):
            most = facts.ONE_REQUEST_BYTES
            self.limits = replace(self.limits, parts=None, single_bytes=most, largest_bytes=most)
            notes = (*notes, "this release is older than 4.31.0 and takes no chunks: files above 50 MB are parked")
        if self._read_only and not self._reads_baskets:
            notes = (*notes, *await self._baskets.notes())
        return Account(
            tenant=self._host,
            user=user,
            release=".".join(map(str, gate.release)),
            total=await self._searching.count([]),
            clock_skew=gate.skew,
            notes=notes,
        )

    async def schema(self) -> Schema:
        """See `Service.schema`."""
        return await self._knowledge.schema()

    def shards(self, window: Window) -> AsyncIterator[Shard]:
        """See `Service.shards`; wire A 2.4, 2.6."""
        return self._crawling.shards(window)

    def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """See `Service.crawl`."""
        return self._crawling.crawl(shard, cursor)

    async def open(self, file: FileRef, offset: int = 0) -> Stream:
        """See `Service.open`."""
        return await self._opening.open(file, offset)

    async def close(self) -> None:
        """See `Service.close`."""
        await self._client.close()

    async def fetch(self, asset: AssetId) -> Asset:
        """See `Service.fetch`."""
        return await self._reading.fetch(asset)

    async def find(self, marker: Marker) -> AssetId | None:
        """See `Service.find`."""
        return await self._finding.find(marker)

    async def find_partial(self, marker: Marker, journal: Journal) -> AssetId | None:
        """See `Service.find_partial`; between its create and its mark nothing but the step tells of it."""
        made = await journal.get("create")
        return AssetId(str(made["id"])) if made is not None else await self.find(marker)

    def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        """See `Service.terms`."""
        return self._taxonomy.terms(vocabulary)

    def members(self) -> AsyncIterator[Membership]:
        """See `Service.members`: baskets, where the job asks for them."""
        return self._baskets.members()

    async def containers(self) -> AsyncIterator[Placement]:
        """See `Service.containers`: folders, then labels."""
        for place in await self._knowledge.containers():
            yield place

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """See `Service.create`."""
        return await self._creating.create(draft, content, journal, self._finding)

    def audience(self, draft: Draft) -> Audience:
        """See `Service.audience`. Rights of folders are not told (wire A 5.1), so the status is all there is."""
        return audience_of(draft, self._knowledge.statuses.now or {})

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """See `Service.update`."""
        await self._writing.update(asset, patch)

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """See `Service.replace`."""
        await self._writing.replace(asset, content, journal)

    async def remove(self, asset: AssetId) -> None:
        """See `Service.remove`."""
        await self._writing.remove(asset)

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        """See `Service.ensure_term`."""
        return await self._taxonomy.ensure_term(vocabulary, term)

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """See `Service.ensure_container`."""
        return await self._taxonomy.ensure_container(kind, path, parent)

    async def attach(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """See `Service.attach`."""
        await self._relating.attach(asset, content, journal)

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        """See `Service.relate`."""
        await self._relating.relate(asset, relation)

    def forecast(
        self, change: Draft | Patch | FileRef | Term | Placement | Membership | Relation, size: int = 0
    ) -> Calls:
        """See `Service.forecast`; needs `schema()` to have been read."""
        return self._costs.forecast(change, size)


def options_of(given: Mapping[str, object]) -> Options:
    """The settings of a job file. Raises ConfigError."""
    return Options(
        words=Words(str(given.get("relation_prefix", "svc")), str(given.get("header_prefix", "X-SVC-"))),
        spoken=Spoken(_locales(given.get("locales", ())), _zone(str(given.get("timezone", "") or "UTC"))),
        staging=str(given.get("staging_folder", "") or "dam-sync staging"),
        keyset=_unless_off(given, "keyset"),
        public_links=_switch(given, "public_links"),
        bulk=_unless_off(given, "bulk"),
        baskets=_switch(given, "baskets"),
        lag=_seconds(given.get("index_lag", facts.LAG.total_seconds())),
        link_types=_link_types(given.get("link_types") or {}),
    )


def _link_types(given: object) -> dict[str, str]:
    if not isinstance(given, dict) or not all(str(value).isdigit() for value in given.values()):
        hint = "write the title and the number of each type: `link_types: {Views of the object: 7}`"
        raise ConfigError(
            f"option link_types takes titles with their ids, not {given!r}", service=facts.NAME, hint=hint
        )
    return {str(title): str(identity) for title, identity in given.items()}


def _unless_off(given: Mapping[str, object], name: str) -> bool:
    value = str(given.get(name, "auto")).lower()
    if value not in ("auto", "off", "false"):
        raise ConfigError(f"option {name} is auto or off, not {value!r}", service=facts.NAME)
    return value == "auto"


def _switch(given: Mapping[str, object], name: str) -> bool:
    value = given.get(name, False)
    if value not in (True, False, "on", "off"):
        raise ConfigError(f"option {name} is on or off, not {value!r}", service=facts.NAME)
    return value in (True, "on")


def _locales(given: object) -> tuple[str, ...]:
    parts = given.split(",") if isinstance(given, str) else given if isinstance(given, (list, tuple)) else []
    return tuple(str(part).strip().lower().replace("_", "-") for part in parts if str(part).strip())


def _zone(name: str) -> tzinfo:
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        hint = "use a name of the time zone database, for example Europe/Paris"
        raise ConfigError(f"option timezone: there is no zone {name!r}", service=facts.NAME, hint=hint) from None


def _seconds(given: object) -> timedelta:
    try:
        return timedelta(seconds=float(str(given)))
    except ValueError:
        raise ConfigError(f"option index_lag takes seconds, not {given!r}", service=facts.NAME) from None
