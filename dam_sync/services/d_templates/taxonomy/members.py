"""Memberships: collections hold files of any version, whose assets are found out (wire D 2.6, 11.1).

A page of 50 collections may name 250,000 files, and a library has millions. The files of a page are kept as bytes until
it is their turn, and a scan of everything is remembered in a few bytes for each file.
"""

from __future__ import annotations

import marshal
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.crawl.pagers import Offset, Page, Params
from dam_sync.crawl.pagination import paginate
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.errors import ContractBroken, NotFound, Rejected
from dam_sync.model.service import Shard
from dam_sync.model.values import Json
from dam_sync.model.waits import AGAIN, sleep_for
from dam_sync.model.writes import Membership
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.wire import (
    Record,
    hits,
    is_asset,
    is_binned,
    member_files,
    owner_of,
    record_of,
    total_of,
)
from dam_sync.services.d_templates.source.crawl import BIN, ByCursor, Scan
from dam_sync.services.d_templates.taxonomy.owners import FileHashes, FileOwners
from dam_sync.services.d_templates.tenant import TemplatesPart

KIND = "collection"
_MARSHAL = 2  # the format that keeps no table of what it wrote


@dataclass(frozen=True, slots=True)
class ListedCollection:
    """A collection of a page. packed: its files, in less than half the room of a list of texts."""

    placement: Placement
    number: int = 0
    packed: bytes = b""

    @classmethod
    def named(cls, row: Json) -> ListedCollection:
        """Without its files."""
        return cls(placement_of(row))

    @classmethod
    def filled(cls, row: Json) -> ListedCollection:
        """With its files."""
        files = files_of(row)
        return cls(placement_of(row), len(files), marshal.dumps(files, _MARSHAL))

    def files(self) -> list[str]:
        """The files in it, in their order."""
        return list(marshal.loads(self.packed))


class _Pages(Offset):
    """Pages of collections; a row without an id is none and stays as it came."""

    __slots__ = ()

    def identity(self, row: Json) -> Json:
        return row.placement.id if isinstance(row, ListedCollection) else row


class TemplatesMembers(TemplatesPart):
    """Reads collections and whose their files are."""

    members_a_time = facts.MEMBERS_A_TIME

    async def members(self) -> AsyncIterator[Membership]:
        """All memberships, resolved in bounded groups."""
        group: list[ListedCollection] = []
        scanned = FileOwners()
        async with aclosing(self.listed_collections(ListedCollection.filled)) as pages:
            async for page, last in pages:
                group += page
                if last or sum(each.number for each in group) >= self.members_a_time:
                    await self._scan_if_cheaper(group, scanned, last=last)
                    for some in _parts(group, self.members_a_time):
                        for membership in await self._memberships(some, scanned):
                            yield membership
                    group = []

    async def members_of(self, assets: Collection[AssetId]) -> AsyncIterator[Membership]:
        """The collections that hold a file of any version of these assets."""
        files: dict[str, AssetId] = {}
        ordered = sorted(assets)
        for start in range(0, len(ordered), self.limits.page):
            some = ordered[start : start + self.limits.page]
            found = await gather_or_raise([self.versions_of(asset, Rejected) for asset in some])
            files |= {file: asset for asset, its in zip(some, found, strict=True) for file in its}
        async with aclosing(self.listed_collections(ListedCollection.filled)) as pages:
            async for page, _ in pages:
                for each in page:
                    members = tuple(dict.fromkeys(files[file] for file in each.files() if file in files))
                    if members:
                        yield Membership(each.placement, members)

    async def versions_of(self, asset: AssetId, none: type[Rejected] = NotFound) -> tuple[str, ...]:
        """The files of all its versions; none if reading it raises `none`: what is done with it next reports that."""
        try:
            return (await self.version_groups.known(asset)).files
        except none:
            return ()

    async def listed_collections(
        self, read: Callable[[Json], ListedCollection]
    ) -> AsyncGenerator[tuple[list[ListedCollection], bool], None]:
        """Pages of every visible collection, and whether one is the last; `read` makes rows smaller before the next
        page is asked for."""

        async def fetch(params: Params) -> Page:
            return Page(*await self._rows(read, params["offset"], params["size"]))

        async with aclosing(paginate(fetch, _Pages(facts.COLLECTION_PAGE, facts.SEARCH_REACH))) as pages:
            async for page, behind in pages:
                yield [row for row in page.rows if isinstance(row, ListedCollection)], behind is None

    async def _memberships(self, group: Sequence[ListedCollection], scanned: FileOwners) -> list[Membership]:
        read = [(each.placement, each.files()) for each in group]
        owners = await self._owners({file for _, files in read for file in files}, scanned)
        found = [
            (placement, dict.fromkeys(owners[file] for file in files if file in owners)) for placement, files in read
        ]
        return [Membership(placement, tuple(assets)) for placement, assets in found if assets]

    async def _owners(self, files: set[str], scanned: FileOwners) -> dict[str, AssetId]:
        """The assets of member files, which may be files of any version: as far as they are known, then by a lookup for
        each. Files missing from a listing may have been added since."""
        found = self._remembered(files, scanned)
        missing = sorted(files - found.keys())
        for start in range(0, len(missing), self.limits.page):
            some = missing[start : start + self.limits.page]
            owners = await gather_or_raise([self._owner(file) for file in some])
            found |= {file: owner for file, owner in zip(some, owners, strict=True) if owner}
        return found

    def _remembered(self, files: set[str], scanned: FileOwners) -> dict[str, AssetId]:
        """From a full listing, then from the cache, then from a scan."""
        listed = self.version_groups.files if self.version_groups.whole else {}
        found = {file: AssetId(listed[file]) for file in files if file in listed}
        cached = {file: self.version_groups.owners.get(file) for file in files - found.keys()}
        found |= {file: AssetId(owner[0]) for file, owner in cached.items() if owner is not None}
        return found | scanned.of(files - found.keys())

    async def _owner(self, file: str) -> AssetId | None:
        try:
            return (await self.version_groups.owner(file))[0]
        except (NotFound, Rejected):
            return None  # a member this user does not see

    async def _scan_if_cheaper(self, group: Sequence[ListedCollection], scanned: FileOwners, *, last: bool) -> None:
        """Scan if that takes fewer calls than a lookup for each file that is not known; the scan also serves later
        groups, unless this is the last."""
        if scanned.whole:
            return
        missing = self._missing(group, scanned)
        if len(missing) <= facts.LOOKED_UP:
            return
        total = await self.tenant.counted()
        if total is not None and total < len(missing) * self.limits.page:
            await self._scan(missing, scanned, everything=not last)

    def _missing(self, group: Sequence[ListedCollection], scanned: FileOwners) -> FileHashes:
        missing = FileHashes()
        for each in group:
            files = set(each.files())
            missing.add(files - self._remembered(files, scanned).keys())
        missing.sort()
        return missing

    async def _scan(self, wanted: FileHashes, scanned: FileOwners, *, everything: bool) -> None:
        """To the end where the recycle bin has anything, which is then listed by the same scan, or where the assets of
        all files are asked for."""
        scan, binned, may_end = Scan(self.api, Shard("members", {"scan": BIN})), list[Record](), not everything
        async with aclosing(paginate(scan.fetch, ByCursor(self.limits.page))) as pages:
            async for page, behind in pages:
                rows = [row for row in page.rows if is_asset(row)]
                scanned.add([owner_of(row) for row in rows], wanted, everything=everything)
                if len(binned) <= facts.BINNED_KEPT:
                    binned += [record_of(row) for row in rows if is_binned(row)]
                if may_end and not wanted and behind is not None and not binned:
                    if await self.tenant.binned() == 0:
                        break
                    may_end = False
        scanned.end(everything=everything)
        self.version_groups.binned = binned if len(binned) <= facts.BINNED_KEPT else None

    async def _rows(
        self, read: Callable[[Json], ListedCollection], start: int, most: int
    ) -> tuple[list[ListedCollection | Json], int | None]:
        """Collections from `start` on. With many members they can be too large for the gateway, which is a 502: then
        they are asked for in halves (wire D 7)."""
        for data in await self._asked(start, most):
            return _read_rows(read, hits(data)), total_of(data)
        await sleep_for(self.api.clock, 1.0, AGAIN, "source")
        half = most // 2
        rows, total = await self._rows(read, start, half)
        if len(rows) < half:
            return rows, total
        rest, total = await self._rows(read, start + half, most - half)
        return [*rows, *rest], total

    async def _asked(self, start: int, most: int) -> tuple[Json, ...]:
        """The response, of which no bytes are kept; none if the gateway could not carry it."""
        body = {
            "from": start,
            "limit": most,
            "searchTerm": ["*"],
            "operation": "AND",
            "sortBy": [{"metadataDefinitionSearchField": "createdEpoch", "order": "asc"}],
        }
        accept = frozenset({502} if most > 1 else ())
        request = self.api.request(facts.COLLECTIONS, json=body, reads=True, repeatable=True, accept=accept)
        reply = await self.api.send(request)
        return () if reply.status == 502 else (reply.json(),)


def _parts(group: Sequence[ListedCollection], most: int) -> Iterator[list[ListedCollection]]:
    """Collections that follow each other, with `most` files or the last one more."""
    part: list[ListedCollection] = []
    number = 0
    for each in group:
        part.append(each)
        number += each.number
        if number >= most:
            yield part
            part, number = [], 0
    yield part


def _read_rows(read: Callable[[Json], ListedCollection], rows: Sequence[Json]) -> list[ListedCollection | Json]:
    if not all(isinstance(row, dict) for row in rows):
        raise ContractBroken("a list of collections has rows that are not objects", operation=facts.COLLECTIONS)
    return [read(row) if row.get("collectionId") else row for row in rows]


@interprets_response
def files_of(row: Json) -> list[str]:
    """The files in a collection, in their order."""
    return [one for one in member_files(row) if one != facts.NIL]


@interprets_response
def placement_of(row: Json) -> Placement:
    """A collection as a container; one without a name is named by its id."""
    identity = member_text(row, "collectionId")
    return Placement(KIND, (name_of(row) or identity,), identity)


@interprets_response
def name_of(row: Json) -> str:
    """The name of a collection, empty if it has none."""
    return member_text(row, "name", "collectionName")
