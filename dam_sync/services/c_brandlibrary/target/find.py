"""Finds our assets: by the token in their description, by the value of their marker (wire C 6.9), and those that a
shared call created without a token by their names."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from dam_sync.aio.lru import LruCache
from dam_sync.aio.polling import poll_until
from dam_sync.aio.single_flight import KeyedLock
from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.asset import AssetId, Marker
from dam_sync.model.connector import Context
from dam_sync.model.errors import Conflict, NotFound
from dam_sync.model.ports import Journal
from dam_sync.model.values import Json
from dam_sync.model.waits import INDEX
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.api import BrandLibraryApi, newest_first
from dam_sync.services.c_brandlibrary.codec import marks, wire
from dam_sync.services.c_brandlibrary.target.shared import CALL, SharedCall
from dam_sync.services.c_brandlibrary.tenant import BrandLibraryBase

COMPARED = (("include", "attachments,custom_fields"), ("fields", "created_at"))  # by which an asset is recognized


class BrandLibraryFinder(BrandLibraryBase):
    """Searches first where reads are immediate, then in the index; a hit is read by id before it counts."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._newest = NewestAssets(self._api)
        self._claims = LruCache[str, str](facts.CLAIMS_KEPT)  # markers by the asset that was created for them

    async def find(
        self, marker: Marker, *, section: str = "", since: datetime | None = None, patient: bool = True
    ) -> AssetId | None:
        """The asset with this marker; None only after the index lag has passed. Safe to repeat.

        section, since: where and when it was created, if it was; patient: False looks once. Raises InvalidValue if it
        cannot be searched.
        """
        marks.by_value(marker)
        begun = since if since is not None else self._api.clock.now() - facts.RECENT

        async def look() -> Json:
            return await self._recent(marker, section, begun - facts.EARLIER) or await self._searched(marker)

        seconds = self._api.options.index_lag if patient else 0.0
        found = await poll_until(self._api.clock, look, seconds, facts.LAG_WAITS, INDEX)
        return None if found is None else AssetId(found)

    async def look_for(self, marker: Marker) -> AssetId | None:
        """The same without waiting; the token of an asset that is not complete yet shows among the newest only."""
        since = self._api.clock.now() - facts.RECENT - facts.EARLIER
        text = marks.by_value(marker)
        found = await self._recent(marker, "", since) or await self._hit(text, marker)
        return None if found is None else AssetId(found)

    def token_of(self, marker: Marker) -> str:
        """In the description, until the asset is complete."""
        return marks.token_of(marker)

    async def find_partial(self, marker: Marker, journal: Journal, *, unmarked: bool = False) -> AssetId | None:
        """The asset that an interrupted `create` left; without a token only the journal tells what it is like."""
        made, call = await journal.get("create"), SharedCall.of(await journal.get(CALL))
        if isinstance(made, str):
            return AssetId(made)
        return await (self.find(marker) if call is None else self.find_shared(marker, call))

    async def find_shared(
        self, marker: Marker, call: SharedCall, *, patient: bool = True, renamed: bool = True
    ) -> AssetId | None:
        """The asset that a shared call created without a token, or None. Safe to repeat.

        patient: as long as the index may take; renamed: also under another name, which people may have given it since.
        Raises Conflict if several assets may be this one.
        """
        fitting: list[str] = []

        async def look() -> Json:
            fitting[:], certain = await self._fitting(marker, call, renamed)
            return fitting[0] if certain and len(fitting) == 1 else None

        seconds = self._api.options.index_lag if patient else 0.0
        found = await poll_until(self._api.clock, look, seconds, facts.LAG_WAITS, INDEX)
        if found is None and patient:
            found = await self._searched(marker)
        if found is None and len(fitting) > 1:
            raise Conflict(
                f"the response to its create was lost, and {len(fitting)} assets may be it: {', '.join(fitting[:5])}",
                code="same names",
                hint="delete those of them that nobody needs, then `errors JOB --retry`",
            )
        found = found or next(iter(fitting), None)
        if found is not None:
            self._claims.put(found, marker.value)
        return None if found is None else AssetId(found)

    async def _fitting(self, marker: Marker, call: SharedCall, renamed: bool) -> tuple[list[str], bool]:
        """The assets that may be this one, and whether the call is known to have created assets."""
        lead = await self._lead(Marker(marker.field, call.lead), call)
        since = call.at if lead is None else parse_timestamp(lead["attributes"].get("created_at")) or call.at
        rows = await self._newest.since(call.section, min(since, call.at) - facts.EARLIER)
        ours = [row["id"] for row in rows if is_ours(row, marker)]
        if ours:
            return ours[-1:], True
        found = [row for row in rows if call.fits(row, marker.field, lead)]
        found = [row for row in found if self._claims.get(row["id"]) in (None, marker.value)]
        named = [row for row in found if call.is_named(row)]
        if renamed and not named and lead is not None and call.file and call.only:
            named = found
        return [row["id"] for row in named if await self._still_fits(row["id"], marker, call, lead)], lead is not None

    async def _lead(self, marker: Marker, call: SharedCall) -> Json:
        """The asset with the token of the call, or with the marker that replaced it."""
        for row in await self._newest.since(call.section, call.at - facts.EARLIER):
            if is_ours(row, marker):
                return row
        return None

    async def _still_fits(self, identity: str, marker: Marker, call: SharedCall, lead: Json) -> bool:
        """Lists may be behind, or without values."""
        try:
            row = await self._api.one(facts.ASSET, (identity,), COMPARED, asset=identity)
        except NotFound:
            return False
        return call.fits(row, marker.field, lead)

    async def _recent(self, marker: Marker, section: str, since: datetime) -> str | None:
        """Search the newest assets, which needs no index."""
        operation, ids = facts.LIBRARY_ASSETS, (await self._tenant.id(),)
        if section:
            operation, ids = facts.SECTION_ASSETS, (section,)
        for number in range(1, facts.RECENT_PAGES + 1):
            wanted = (("include", "custom_fields"), ("fields", "created_at"))
            asked = (*newest_first(number, facts.RECENT_PAGE), *wanted)
            document = await self._api.listed(operation, ids, asked)
            ours = [row["id"] for row in document.rows if is_ours(row, marker)]
            if ours:
                return str(ours[-1])  # the oldest, should there be two
            made = [parse_timestamp(row["attributes"].get("created_at")) for row in document.rows]
            if not made or document.more is False or (made[-1] is not None and made[-1] < since):
                return None
            if not document.more and number * facts.RECENT_PAGE >= (document.total or 0):
                return None
        return None

    async def _searched(self, marker: Marker) -> str | None:
        """By token and by value; the index may return deleted or changed assets, so the asset itself decides."""
        by_token = await self._hit(marks.by_token(marker), marker)
        return by_token or await self._hit(marks.by_value(marker), marker)

    async def _hit(self, text: str, marker: Marker) -> str | None:
        for identity in await self._hits(text):
            if await self._is_ours(identity, marker):
                return identity
        return None

    async def _hits(self, search: str) -> list[str]:
        """404 means that there is no such key or value (wire C 2.4)."""
        asked = (
            *(("search", search), ("page", "1"), ("per", str(facts.RECENT_PAGE))),
            *(("sort_by", "created_at"), ("order", "ASC")),
        )
        try:
            document = await self._api.listed(facts.LIBRARY_ASSETS, (await self._tenant.id(),), asked)
        except NotFound:
            return []
        return [row["id"] for row in document.rows]

    async def _is_ours(self, identity: str, marker: Marker) -> bool:
        try:
            row = await self._api.one(facts.ASSET, (identity,), (("include", "custom_fields"),), asset=identity)
        except NotFound:
            return False  # deleted, by somebody or as a duplicate, while the index still shows it
        return is_ours(row, marker)


@dataclass(slots=True)
class NewestAssets:
    """The newest assets of sections, read once for all who ask meanwhile."""

    api: BrandLibraryApi
    _turns: KeyedLock = field(default_factory=KeyedLock)
    _kept: dict[str, _SectionReading] = field(default_factory=dict)
    _moment: int = 0

    async def since(self, section: str, moment: datetime) -> tuple[Json, ...]:
        """Those created since, newest first, as far as the list reaches."""
        asked = self._tick()
        async with self._turns.of(section):
            kept = self._kept.get(section)
            if kept is None or kept.begun < asked or kept.since > moment:
                begun = self._tick()
                kept = self._kept[section] = _SectionReading(begun, moment, await self._read(section, moment))
        return kept.rows

    def _tick(self) -> int:
        self._moment += 1
        return self._moment

    async def _read(self, section: str, moment: datetime) -> tuple[Json, ...]:
        found: dict[str, Json] = {}
        size = self.api.limits.page
        for number in range(1, facts.REACH // size + 1):
            document = await self.api.listed(facts.SECTION_ASSETS, (section,), (*newest_first(number, size), *COMPARED))
            before = len(found)
            found |= {row["id"]: row for row in document.rows}
            if document.ends(before, len(found)) or is_older(document.rows[-1], moment):
                break
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class _SectionReading:
    """begun: after everything that happened before this moment, counted."""

    begun: int
    since: datetime
    rows: tuple[Json, ...]


@interprets_response
def is_older(row: Json, moment: datetime) -> bool:
    """Whether it was created before; False if its list does not report when."""
    created = parse_timestamp(row["attributes"].get("created_at"))
    return created is not None and created < moment


@interprets_response
def is_ours(row: Json, marker: Marker) -> bool:
    """Whether the asset has this token or value."""
    if marks.token_in(row["attributes"].get("description")) == marks.token_of(marker):
        return True
    return marker.value in wire.values_of(row).get(marker.field, {}).values()
