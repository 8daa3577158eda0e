"""Reading a folder: one shard, assets in order of their ids."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace

from dam_sync.aio.threads import run_sync
from dam_sync.model.asset import Asset, AssetId, Entry, FileRef, Loss, Revision, digest_of
from dam_sync.model.errors import ContractBroken, Denied, InvalidValue, NotFound, OtherVersion
from dam_sync.model.limits import MIB
from dam_sync.model.parking import ParkReason
from dam_sync.model.service import TRASH, Batch, Cursor, Shard, Window
from dam_sync.model.validator import Validator
from dam_sync.model.weights import BATCH_BYTES, weight_of
from dam_sync.model.wording import path_hint
from dam_sync.services.folder import codec, facts
from dam_sync.services.folder.tenant import Tenant

EVERYTHING = "all"
_RECORD = "correct its record in the catalogue; `dam-sync help catalogue` has the JSON Schema of a record"

_FILE = (
    "put it there, or correct its path in the catalogue, where paths are those below `files`; then `errors JOB --retry`"
)

_BAG_FILE = "a manifest of the bag names it: restore it from another copy of the bag, then `errors JOB --retry`"

_PERMISSION = "let this user read the file, then `errors JOB --retry` and `run JOB`"


@dataclass(slots=True)
class Reader:
    """Reads assets, so many a page, and files."""

    tenant: Tenant
    page: int
    everybody: frozenset[str] = frozenset()  # groups that stand for all users

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        """See `Service.shards`. Every window holds everything: people and programs that put files into a folder or edit
        a catalogue keep old dates, and what they remove leaves no trace."""
        yield Shard(EVERYTHING, expected=len(await run_sync(self.tenant.listing.asset_ids)))

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        ids = await run_sync(self.tenant.listing.asset_ids)
        at = bisect_right(ids, cursor["after"]) if cursor is not None else 0
        while True:
            page, at = ids[at : at + self.page], at + self.page
            entries = await run_sync(self._entries, page)
            yield Batch(entries, {"after": page[-1]} if at < len(ids) else None)
            if at >= len(ids):
                return

    def _entries(self, ids: list[str]) -> tuple[Entry, ...]:
        """Those that together are too large for one batch are listed by their ids alone."""
        entries, room = [], BATCH_BYTES
        for identity in ids:
            try:
                asset = self.asset(AssetId(identity))
            except NotFound:  # a file that was there when the folder was listed
                continue
            except InvalidValue:  # reading it alone tells what is wrong
                entries.append(Entry(AssetId(identity), Revision("unreadable")))
                continue
            room -= weight_of(asset)
            kept = asset if room > 0 else None
            entries.append(Entry(asset.id, asset.revision, asset.changed_at, kept, deleted=asset.status == TRASH))
        return tuple(entries)

    async def fetch(self, asset: AssetId) -> Asset:
        return await run_sync(self.asset, asset)

    def asset(self, identity: AssetId) -> Asset:
        """The asset with the sizes of its files. Raises NotFound, InvalidValue; blocks."""
        try:
            record = self.tenant.listing.asset(identity)
            codec.refuse_unknown_keys(record)
            asset = codec.asset_of(record)
        except ContractBroken as broken:  # one record, written by hand or by another program
            raise InvalidValue(broken.message, asset=identity, hint=_RECORD) from None
        versions, attachments = (
            tuple(map(self._sized, listed_once(files))) for files in (asset.versions, asset.attachments)
        )
        losses = () if self.tenant.tree is not None else tuple(dict.fromkeys(self.tenant.unplaced.losses(asset)))
        created = {facts.CREATED: asset.created_at} if asset.created_at is not None else {}
        fields = {**created, **asset.fields}
        losses = (*asset.losses, *losses, *_listed_twice(asset, (*versions, *attachments)))
        revision = asset.revision
        if self.tenant.bag is not None:
            revision = Revision(digest_of([revision, [dict(file.digests) for file in (*versions, *attachments)]]))
        rights = replace(asset.rights, groups=frozenset()) if asset.rights.groups & self.everybody else asset.rights
        asset = replace(asset, revision=revision, fields=fields, losses=losses, rights=rights)
        return replace(asset, versions=versions, attachments=attachments)

    def _sized(self, file: FileRef) -> FileRef:
        """With its size, and with what a bag says of it: what the catalogue says counts more."""
        if not file.id or (file.size is not None and self.tenant.bag is None):
            return file
        place, size = self.tenant.files(file.id), file.size
        with suppress(NotFound, InvalidValue):
            place = self.tenant.place_of(file.id)
            size = size if size is not None else self.tenant.disk.size(place)
        return replace(file, size=size, digests={**self.tenant.digests_of(place), **file.digests})

    async def open(self, file: FileRef, offset: int) -> FileStream:
        return await run_sync(self._open, file, offset)

    def expect(self, file: FileRef) -> None:
        """Raises NotFound for a file that `open` would not find, InvalidValue for one that it would refuse; blocks."""
        os.close(self._handle(file))

    def _open(self, file: FileRef, offset: int) -> FileStream:
        return FileStream(self._handle(file), offset)

    def _handle(self, file: FileRef) -> int:
        tenant = self.tenant
        if not file.id:
            raise NotFound(f"the catalogue names no file for {file.name!r}", hint="give it a `file` in the catalogue")
        place = tenant.files(file.id)
        try:
            return tenant.disk.open(tenant.place_of(file.id))
        except Denied as denied:  # of one file: the others are moved
            raise NotFound(denied.message, hint=_PERMISSION) from None
        except NotFound:
            with suppress(NotFound):
                return tenant.disk.open(tenant.trash(file.id))
        hint = _FILE if tenant.bag is None else _BAG_FILE
        raise NotFound(f"the file {place} is not there", hint=path_hint(file.id, hint))


class FileStream:
    """Implements `model.ports.Stream` for a file on disk. Raises OtherVersion if it changes while it is read."""

    def __init__(self, handle: int, start: int) -> None:
        self._handle: int | None = handle
        self._stamp = _stamp(handle)
        self.total = self._stamp.size
        self.validator = self._stamp.validator
        self.start = start
        if start > self.total:
            os.close(handle)
            raise OtherVersion(
                f"byte {start} requested of a file that has {self.total} bytes now", code=ParkReason.LENGTH
            )

    async def __aiter__(self) -> AsyncIterator[bytes]:
        at = self.start
        while self._handle is not None and (block := await run_sync(os.pread, self._handle, MIB, at)):
            at += len(block)
            if _stamp(self._handle) != self._stamp:
                raise OtherVersion("the file was changed while it was read", hint="run again when nobody writes it")
            yield block

    async def aclose(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


@dataclass(frozen=True, slots=True)
class _Stamp:
    """What changes when a file is written or replaced. changed: of its inode, which also moves where somebody sets the
    date back afterwards."""

    inode: int
    size: int
    modified: int
    changed: int

    @property
    def validator(self) -> Validator:
        return Validator(tag=f"{self.inode:x}-{self.size:x}-{self.modified:x}-{self.changed:x}")


def _stamp(handle: int) -> _Stamp:
    found = os.fstat(handle)
    return _Stamp(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def listed_once(files: tuple[FileRef, ...]) -> tuple[FileRef, ...]:
    """A path is one file: of several entries of one list with the same, the last."""
    last = {file.id: number for number, file in enumerate(files)}
    return tuple(file for number, file in enumerate(files) if not file.id or last[file.id] == number)


def _listed_twice(asset: Asset, kept: tuple[FileRef, ...]) -> tuple[Loss, ...]:
    more = len(asset.versions) + len(asset.attachments) - len(kept)
    return (Loss("files", "listed twice", f"{more} of its files: a path is one file"),) if more else ()
