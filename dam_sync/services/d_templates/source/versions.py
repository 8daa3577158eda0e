"""Which records form an asset, and which of their ids is current; cached within bounds, looked up on a miss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dam_sync.aio.just_read import JustRead
from dam_sync.aio.lru import LruCache
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import NotFound, Transient
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.api import TemplatesApi
from dam_sync.services.d_templates.codec.wire import Record, VersionGroup, record_of, records_of


class VersionsUnknown(Transient):
    """The current version of an asset is not known for now."""


@dataclass(frozen=True, slots=True)
class VersionGroupIds:
    """Ids of the current record of an asset, and the files of all versions."""

    object: str
    file: str
    template: str
    files: tuple[str, ...]


@dataclass(slots=True)
class VersionGroups:
    """Lookups by asset, record and file."""

    api: TemplatesApi
    ids: LruCache[str, VersionGroupIds] = field(default_factory=lambda: LruCache(facts.FAMILIES_KEPT))
    owners: LruCache[str, tuple[str, bool]] = field(default_factory=lambda: LruCache(facts.FAMILIES_KEPT))
    fresh: LruCache[str, float] = field(default_factory=lambda: LruCache(facts.FAMILIES_KEPT))  # when made

    just_read: JustRead[VersionGroup] | None = None  # of a target, for the version that follows

    files: dict[str, str] = field(default_factory=dict)  # families by file, of what was listed
    binned: list[Record] | None = None  # all of the recycle bin, if a scan of everything was read to its end
    trash: Mapping[AssetId, str] | None = None  # what the last listing saw in the recycle bin, if it read all of it
    whole: bool = False  # `files` has every file of the library
    files_kept: int = facts.FILES_KEPT
    many: bool = False  # there were more than are remembered, so none is

    async def load(self, asset: str) -> VersionGroup:
        """All versions, read from the database and not from the search index; one call. Raises NotFound, and
        VersionsUnknown rather than taking an older version for the whole asset."""
        try:
            request = self.api.request(facts.VERSIONS, asset, asset=asset, accept=frozenset({400, 404}))
            reply = await self.api.send(request)
            records = records_of(reply.json()) if reply.status == 200 else []
        except NotFound:
            records = []
        if not records:
            records = [await self.record(asset, asset=asset)]
            if records[0].superseded:
                raise VersionsUnknown("the service lists no versions of an asset that has newer ones", asset=asset)
        family = VersionGroup.of(records)
        self.remember(family)
        return family

    async def record(self, identity: str, *, asset: str = "") -> Record:
        """One record by its own id or that of its file. Raises NotFound."""
        request = self.api.request(facts.ASSET, identity, asset=asset, accept=frozenset({400, 404}))
        reply = await self.api.send(request)
        if reply.status != 200:
            raise NotFound("there is no such asset, or this credential may not see it", asset=asset or identity)
        return record_of(reply.json())

    async def known(self, asset: str) -> VersionGroupIds:
        """The ids of an asset, looked up if they are not cached. Raises NotFound."""
        found = self.ids.get(asset)
        if found is None:
            await self.load(asset)
            found = self.ids.get(asset)
        if found is None:
            raise NotFound("there is no such asset, or this credential may not see it", asset=asset)
        return found

    def remember(self, family: VersionGroup) -> None:
        """Cache what was just read."""
        current = family.current
        files = tuple(record.file for record in family.records)
        self.ids.put(family.id, VersionGroupIds(current.object, current.file, current.template, files))
        for record in family.records:
            self.owners.put(record.object, (family.id, family.deleted))

    def listed(self, family: VersionGroup) -> None:
        """Cache an asset of a full listing."""
        if not self.many:
            self.files.update(dict.fromkeys((record.file for record in family.records), family.id))
        if len(self.files) >= self.files_kept:
            self.files, self.many = {}, True

    def ended(self) -> None:
        """A full listing was read from start to end."""
        self.whole = not self.many

    def made(self, asset: str, identity: str, file: str, template: str) -> None:
        """Cache what was just created."""
        before = self.ids.get(asset)
        self.fresh.put(asset, self.api.clock.monotonic())
        self.ids.put(asset, VersionGroupIds(identity, file, template, (*(before.files if before else ()), file)))
        self.owners.put(identity, (asset, False))

    def is_fresh(self, asset: str) -> bool:
        """Whether a record of it was created so recently that its file is probably not processed yet."""
        made = self.fresh.get(asset)
        return made is not None and self.api.clock.monotonic() - made < facts.PROCESS_WAITS[0]

    async def owner(self, identity: str) -> tuple[AssetId, bool]:
        """The asset that a record or file belongs to, and whether it is in the recycle bin. Raises NotFound."""
        found = self.owners.get(identity)
        if found is None:
            record = await self.record(identity, asset=identity)
            found = (record.family, record.deleted)
            self.owners.put(identity, found)
        return AssetId(found[0]), found[1]
