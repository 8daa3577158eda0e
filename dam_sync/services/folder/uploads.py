"""Storing a file: under a scratch name, checked and synced, then renamed into place."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from datetime import datetime

from dam_sync.aio.threads import run_sync
from dam_sync.model.asset import AssetId, FileRef, digest_of
from dam_sync.model.errors import IntegrityError, InvalidValue, NotFound
from dam_sync.model.ports import Content
from dam_sync.services.folder import codec, facts
from dam_sync.services.folder.api.catalogue import SCRATCH
from dam_sync.services.folder.api.disk import explained
from dam_sync.services.folder.tenant import Tenant


@dataclass(slots=True)
class Uploader:
    """Stores the files of assets."""

    tenant: Tenant

    async def store(self, asset: AssetId, slot: str, content: Content, now: datetime) -> FileRef:
        """The file as stored at a place that follows from asset, slot and name, so that it is safe to repeat.

        Raises IntegrityError, DiskFull, Denied.
        """
        path = f"{home(asset)}/{slot}/{codec.safe_name(content.name)}"
        scratch = f"{SCRATCH}/{self.tenant.clock.token()}"
        handle = await run_sync(self._begin, scratch)
        try:
            digest = await self._copied(content, handle, path)
            await content.check()
            with explained(path):
                await run_sync(self.tenant.disk.system.sync, handle)
            await run_sync(self.tenant.disk.rename, scratch, self.tenant.files(path))
        except BaseException:
            self.tenant.disk.unlink(scratch)
            raise
        finally:
            os.close(handle)
        digests = {**content.digests, "sha256": digest}
        return FileRef(path, content.name, content.size, content.media_type, digests, now)

    def _begin(self, scratch: str) -> int:
        return self.tenant.disk.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL)

    async def _copied(self, content: Content, handle: int, path: str) -> str:
        """SHA-256 of what was written."""
        digest, size = hashlib.sha256(), 0
        async for block in content.blocks():
            digest.update(block)
            size += len(block)
            with explained(path):
                await run_sync(self.tenant.disk.write_all, handle, block)
        if size != content.size:
            raise IntegrityError(f"{content.name}: {size} bytes came instead of {content.size}")
        return digest.hexdigest()

    def sweep(self) -> int:
        """Remove files that a killed run left half written and that nobody writes any more."""
        disk = self.tenant.disk
        old = [path for name in disk.names(SCRATCH) if self._is_old(path := f"{SCRATCH}/{name}")]
        for path in old:
            disk.unlink(path)
        return len(old)

    def _is_old(self, path: str) -> bool:
        """Not of what is no file: somebody else put it there."""
        try:
            return self.tenant.disk.changed_at(path) < (self.tenant.clock.now() - facts.KEPT).timestamp()
        except (NotFound, InvalidValue):
            return False


def home(asset: AssetId) -> str:
    """The folder of an asset's files, below that of all files."""
    name = codec.safe_name(asset)
    if name != asset or name != name.casefold() or not name.isascii():  # one name for two assets on some disks
        name = f"{name[:40]}~{digest_of(asset)[:16]}"
    return f"{name[:2]}/{name}"
