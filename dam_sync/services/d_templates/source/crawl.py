"""Lists the whole library with one scan, and changes as deltas: newest changes first, then the recycle bin.

The versions of an asset are separate records and may be far apart in a listing. A page is therefore not assumed to
contain all of them: if some may be missing, they are looked up. An asset is reported with its current record.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from dam_sync.aio.lru import LruCache
from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.crawl.pagers import Page, Params
from dam_sync.crawl.pagination import paginate
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import AssetId, Entry, digest_of
from dam_sync.model.errors import ContractBroken, Denied, NotFound, OversizedResponse, Rejected, Transient
from dam_sync.model.service import Batch, Cursor, Shard, Window
from dam_sync.model.values import Json
from dam_sync.model.waits import AGAIN, sleep_for
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.api import TemplatesApi
from dam_sync.services.d_templates.codec.wire import (
    Record,
    VersionGroup,
    hits,
    is_asset,
    milliseconds,
    moment,
    number_of,
    record_of,
    total_of,
)
from dam_sync.services.d_templates.source.fetch import TemplatesFetch
from dam_sync.services.d_templates.source.open import TemplatesOpen
from dam_sync.services.d_templates.tenant import scan_body

ALL, CHANGED, BIN = "all", "changed", "bin"
THIN = "thin"  # whether entries need no assets
_BOTH = {"includeDeleted": True, "includeVersions": True}
_LEAST = 1  # records a page, when pages are too large for the gateway
_GROWS = 10  # pages that the gateway carried, after which twice as many records are asked for again


@dataclass(frozen=True, slots=True)
class ByCursor:
    """The cursor of the scan; ends with an empty page, without a cursor, or when the total is reached (wire D 2.1).
    last: creation time of the last row, from which a scan resumes if its cursor is refused. most: the largest total so
    far; one that shrank counts records out that were read already, so that it is reached before the last ones."""

    size: int
    reach: int | None = None
    remaining: bool = False
    shifting: bool = False

    def first(self) -> Cursor:
        return {"cursor": None, "rows": 0, "last": 0, "most": 0}

    def params(self, cursor: Cursor) -> Params:
        """`cursor`, `size`, `last`, `rows`."""
        return {"cursor": cursor["cursor"], "size": self.size, "last": cursor["last"], "rows": cursor["rows"]}

    def after(self, cursor: Cursor, page: Page) -> Cursor | None:
        rows = int(cursor["rows"]) + len(page.rows)
        most = max(page.total or 0, int(cursor.get("most", 0)))
        if not page.rows or not page.next or (page.total is not None and rows >= most):
            return None
        last = number_of(page.rows[-1].get("createdEpoch"))
        return {"cursor": page.next, "rows": rows, "last": last, "most": most}

    def identity(self, row: Json) -> Json:
        return row["objectId"] if isinstance(row, dict) and "objectId" in row else row


class TemplatesCrawl(TemplatesFetch, TemplatesOpen):
    """Shard parameters: `scan` is all, changed or bin; `since` and `until` are in ms."""

    def in_trash(self) -> Mapping[AssetId, str] | None:
        """By a listing that was read in one go (wire D 2.5: nothing dates what leaves the recycle bin). Versions are
        there one by one."""
        return self.version_groups.trash

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        self.version_groups.trash = None
        if window.since is None and window.until is None:
            total = await self.tenant.counted()
            thin = {THIN: True} if window.ids_only else {}
            yield Shard(ALL, {"scan": ALL, "total": await self._walked() if total is None else total, **thin})
            return
        since = milliseconds(window.since - facts.OVERLAP) if window.since else 0
        until = milliseconds(window.until) if window.until else 0
        bounds = {"since": since, "until": until}
        yield Shard(f"changed {since} {until}", {"scan": CHANGED, **bounds})
        counted = milliseconds(self.api.clock.now() - facts.OVERLAP)
        known = self.version_groups.binned
        binned = await self.tenant.binned() if known is None else len(known)
        if binned == 0:
            self.version_groups.trash = {}
        else:
            yield Shard(f"bin {since} {until}", {"scan": BIN, "binned": binned, "counted": counted, **bounds})

    async def _walked(self) -> int:
        """Count all records with a scan of their own, if nothing reports a total (wire D 15)."""
        scan = Scan(self.api, Shard("count", {"scan": BIN}))
        number = 0
        async with aclosing(paginate(scan.fetch, ByCursor(self.limits.page))) as pages:
            async for page, _ in pages:
                number += len(page.rows)
        return number

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        scan = Scan(self.api, shard)
        telling = _ListingState(self, shard)
        if shard.params["scan"] == BIN and cursor is None and self.version_groups.binned is not None:
            entries = tuple(await telling.entries(self.version_groups.binned))
            self.version_groups.trash = telling.trash
            yield Batch(entries, None)
            return
        async with aclosing(paginate(scan.fetch, ByCursor(self.limits.page), cursor)) as pages:
            async for page, behind in pages:
                records = [record_of(row) for row in page.rows if is_asset(row)]
                behind = None if telling.ends(records) else behind
                entries = tuple(await telling.entries(records, lean=scan.lean))
                if behind is None and cursor is None:
                    self._ended(telling)
                yield Batch(entries, behind)
                if behind is None:
                    return

    def _ended(self, telling: _ListingState) -> None:
        """A listing was read from start to end."""
        scan = telling.shard.params["scan"]
        if scan == ALL:
            self.version_groups.ended()
        if scan != CHANGED:
            self.version_groups.trash = telling.trash


@dataclass(slots=True)
class Scan:
    """Sends the requests of one shard."""

    api: TemplatesApi
    shard: Shard
    lean: bool = False  # whether the last page has a record without its values
    _behind: int = 0  # created before this: listed already, by a scan whose cursor was refused
    _rows: int = 0  # records a page, since the gateway could not carry more
    _carried: int = 0  # pages since then

    async def fetch(self, params: Params) -> Page:
        """One page; with fewer rows if the gateway cannot carry it (wire D 7), or it is too large to be read."""
        body, self.lean = self._body(), False
        if params["cursor"]:
            body["cursor"] = params["cursor"]
        reply = await self._sent(body, resumed=bool(params["cursor"]))
        if reply is None:
            self._behind = int(params["last"])
            reply = await self._skipped()
        rows, total = hits(reply), total_of(reply) or self.shard.params.get("total")
        if self._behind or not self._is_proof(total, int(params["rows"]) + len(rows)):
            total = None
        return Page(rows, total, member_text(reply, "cursor"))

    def _is_proof(self, total: int | None, rows: int) -> bool:
        """Whether rows are missing if there are fewer than the total. Not of a listing with the latest change first:
        what is changed meanwhile comes to its front, and is left to the next delta (wire D 2.1)."""
        return self.shard.params["scan"] != CHANGED or (total is not None and rows >= total)

    def _body(self) -> dict[str, Any]:
        scan = self.shard.params["scan"]
        body = scan_body(self.api.limits.page, _BOTH)
        if scan == CHANGED:
            body["sortBy"] = [{"metadataDefinitionSearchField": "lastUpdatedEpoch", "order": "desc"}]
        if scan == BIN:
            body["excludes"] = list(facts.THIN_EXCLUDES)
        return body

    async def _sent(self, body: dict[str, Any], *, resumed: bool) -> Json:
        """The response; None if the cursor was refused."""
        accept = frozenset({502, 400} if resumed else {502})
        body["limit"] = self._rows or body["limit"]
        while body["limit"] > _LEAST:
            request = self.api.request(facts.SCAN, json=body, reads=True, repeatable=True, accept=accept)
            try:
                reply = await self.api.send(request)
            except OversizedResponse:
                self._shrink(body)
                continue
            if reply.status == 400:
                return None
            if reply.status != 502:
                self._grow()
                return reply.json()
            self._shrink(body)
            await sleep_for(self.api.clock, 1.0, AGAIN, "source")
        self._grow()
        return await self._single(body)

    async def _single(self, body: dict[str, Any]) -> Json:
        """The response for one record; without its values if it is too large to be read."""
        try:
            return await self.api.ask(facts.SCAN, json=body)
        except OversizedResponse:
            self.lean = True
            return await self.api.ask(facts.SCAN, json={**body, "excludes": list(facts.THIN_EXCLUDES)})

    def _shrink(self, body: dict[str, Any]) -> None:
        self._rows = body["limit"] = body["limit"] // 2
        self._carried = 0

    def _grow(self) -> None:
        """Ask for larger pages again after some that came through: only a few records may have been large."""
        self._carried += 1
        if self._carried % _GROWS == 0:
            self._rows = 2 * self._rows if 2 * self._rows < self.api.limits.page else 0

    async def _skipped(self) -> Json:
        """Scan from the start up to the first page with rows that were not listed yet (assumption 6)."""
        body = self._body()
        while True:
            reply = await self._sent(body, resumed=False)
            rows = hits(reply)
            fresh = [row for row in rows if self._is_fresh(row)]
            cursor = member_text(reply, "cursor")
            if fresh or not rows or not cursor:
                return {**reply, "result": fresh}
            if body.get("cursor") == cursor:
                raise ContractBroken("the scan returned the same cursor twice", operation=facts.SCAN)
            body = {**self._body(), "cursor": cursor}

    @interprets_response
    def _is_fresh(self, row: Json) -> bool:
        if self.shard.params["scan"] == CHANGED:
            return True
        return number_of(row.get("createdEpoch")) >= self._behind


@dataclass(slots=True)
class _ListingState:
    """Reports each asset of one listing once."""

    crawler: TemplatesCrawl
    shard: Shard
    _reported: LruCache[str, int] = field(default_factory=lambda: LruCache(facts.LISTED_KEPT))  # how many records of it
    _unread: LruCache[str, bool] = field(default_factory=lambda: LruCache(facts.LISTED_KEPT))
    _refused: LruCache[str, bool] = field(default_factory=lambda: LruCache(facts.LISTED_KEPT))  # whether for now
    _whole: LruCache[str, VersionGroup] = field(default_factory=lambda: LruCache(facts.VERSIONED_KEPT))
    _in_bin: dict[AssetId, set[str]] = field(default_factory=dict)
    _binned: int = 0
    _reached: int = -1  # the latest creation of the pages before

    @property
    def _scan(self) -> str:
        return str(self.shard.params["scan"])

    @property
    def trash(self) -> Mapping[AssetId, str] | None:
        """Assets with records in the recycle bin, of those that were listed, and a digest of these; None if they are
        too many."""
        if len(self._in_bin) > facts.BINNED_KEPT:
            return None
        return {asset: digest_of(sorted(records)) for asset, records in self._in_bin.items()}

    def ends(self, records: Sequence[Record]) -> bool:
        """Whether the listing can stop here: the rows are older than the window, or all of the recycle bin was seen."""
        if self._scan == CHANGED:
            return bool(records) and records[-1].changed < int(self.shard.params["since"])
        if self._scan == BIN:
            self._count(records)
            binned = self.shard.params.get("binned")
            return binned is not None and self._binned >= int(binned)
        return False

    def _count(self, records: Sequence[Record]) -> None:
        """Count rows that the earlier count certainly included: in the bin since before it, and seen for the first
        time. Rows that arrived later must not stand in for rows still to come."""
        counted = int(self.shard.params.get("counted") or 0)
        fresh = [record for record in records if record.created > self._reached]
        self._binned += sum(record.deleted and 0 < record.deleted_at < counted for record in fresh)
        self._reached = max((record.created for record in fresh), default=self._reached)

    async def entries(self, records: Sequence[Record], *, lean: bool = False) -> list[Entry]:
        """The entries for one page. lean: the records came without their values."""
        for record in records:
            if record.deleted and len(self._in_bin) <= facts.BINNED_KEPT:
                self._in_bin.setdefault(AssetId(record.family), set()).add(record.object)
        if self._scan == ALL:
            families = await self._families(_grouped(records), lean=lean)
        else:
            fits = self._changed if self._scan == CHANGED else self._thrown
            wanted = list(dict.fromkeys(record.family for record in records if fits(record)))
            rows = _grouped(records)
            families = await gather_or_raise(
                [self._load(one, rows[one]) for one in wanted if not self._reported.get(one)]
            )
            families = [one for one in families if self._scan == CHANGED or one.deleted or self._is_older(one)]
        for family in families:
            self._reported.put(family.id, len(family.records))
            if self._scan == ALL:
                self.crawler.version_groups.listed(family)
        return await self._entries(families)

    def _changed(self, record: Record) -> bool:
        return self._within(record.changed) and not record.deleted

    def _thrown(self, record: Record) -> bool:
        return record.deleted and self._within(record.deleted_at or record.changed)

    def _is_older(self, family: VersionGroup) -> bool:
        """Whether an older version is the current one, because the one after it was put into the recycle bin."""
        return any(self._thrown(record) and record.place > family.current.place for record in family.records)

    def _within(self, at: int) -> bool:
        since, until = int(self.shard.params["since"]), int(self.shard.params["until"])
        return since <= at and (not until or at < until)

    async def _families(self, groups: dict[str, list[Record]], *, lean: bool) -> list[VersionGroup]:
        """Assets whose current record is on this page, and those reported before with too few versions."""
        found = await gather_or_raise([self._family(key, group, lean=lean) for key, group in groups.items()])
        return [family for family in found if self._is_due(family, groups[family.id])]

    def _is_due(self, family: VersionGroup, here: list[Record]) -> bool:
        reported = self._reported.get(family.id)
        if reported == len(family.records) or (reported and self._unread.get(family.id)):
            return False
        current = family.current
        return current.object in {record.object for record in here} or current.place < here[0].place

    async def _family(self, key: str, here: list[Record], *, lean: bool) -> VersionGroup:
        """From the given rows if they are complete, from the first version to the current one with its file; otherwise
        looked up: the search index may be behind (wire D 6.9)."""
        family = VersionGroup.of(here)
        whole = here[0].is_first and (here[0].deleted or any(one.current for one in here)) and here[-1].current
        if lean or not whole or family.awaits_file:
            known = self._whole.get(key)
            objects = {record.object for record in known.records} if known else set()
            if known is not None and {record.object for record in here} <= objects:
                return known
            family = await self._load(key, here)
            if self._unread.get(key):
                return family
            self._whole.put(key, _lean(family))
        self.crawler.version_groups.remember(family)
        return family

    async def _load(self, key: str, here: Sequence[Record]) -> VersionGroup:
        """All versions; only the given rows if the asset is gone, may not be read, or makes the service fail, which
        then is the trouble of its id (wire D 7). Fetching it later raises the error, and the listing continues."""
        try:
            return await self.crawler.version_groups.load(key)
        except (Denied, OversizedResponse, Rejected, Transient) as error:
            if self._scan == BIN and isinstance(error, Denied):
                raise
            if not isinstance(error, NotFound):
                self._refused.put(key, isinstance(error, Transient))
            self._unread.put(key, True)
            return VersionGroup.of(here)

    async def _entries(self, families: list[VersionGroup]) -> list[Entry]:
        living = [family for family in families if not (family.deleted or self._unread.get(family.id))]
        living = [] if self.shard.params.get(THIN) else living
        self.crawler.expect_opens(living)
        assets = {asset.id: asset for asset in await self.crawler.assets_of(living)}
        return [
            Entry(
                family.id,
                family.revision,
                moment(family.current.changed),
                assets.get(family.id),
                deleted=family.deleted and self._is_sure(family),
            )
            for family in families
        ]

    def _is_sure(self, family: VersionGroup) -> bool:
        """Whether an asset of which rows are in the recycle bin may count as gone: others may not be known."""
        passing = self._refused.get(family.id)
        return passing is None if self._scan == BIN else not passing


def _grouped(records: Sequence[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record.family, []).append(record)
    for group in groups.values():
        group.sort(key=lambda record: record.place)
    return groups


def _lean(family: VersionGroup) -> VersionGroup:
    """Without the metadata of older versions, to save memory."""
    current = family.current.object
    return VersionGroup(
        tuple(one if one.object == current else replace(one, entries=(), shown={}) for one in family.records)
    )
