"""Files that the target fetches from the source itself: which, by which link, and how many there were."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import structlog

from dam_sync.engine.part_removals import version_key
from dam_sync.model.asset import FileLink, FileRef, digest_of
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import Denied, Rejected, Transient
from dam_sync.model.service import Service

log = structlog.get_logger(__name__)
PULL = "pull"  # the policy under which a target fetches files itself
NO_LINK = "https://"  # stands for the link in a plan, which gets none


@dataclass(slots=True)
class Pulls:
    """The links that a job hands to its target, if its policy says so.

    fetched: files that the target fetched, size: their bytes; sent: files for which it was given a link in vain.
    """

    source: Service
    target: Service
    policy: str
    dry: bool = False
    fetched: int = 0
    size: int = 0
    sent: int = 0

    async def link(self, file: FileRef) -> FileLink | None:
        """The link to the only file of a new asset; None if its bytes go through us. Raises what ends a run."""
        lasts = self._lasts(file)
        if lasts is None:
            return None
        identity = digest_of([version_key(file), file.size, dict(file.digests)])
        if self.dry:
            return None if self.source.estimate_link(file) is None else FileLink(NO_LINK, identity)
        try:
            url = await self.source.download_link(file, lasts)
        except (Rejected, Denied, Transient) as error:  # if it is not one of the link alone, the download says so too
            log.info("file.no_link", asset=error.asset, cause=error.cause)
            return None
        return FileLink(url, identity) if url else None

    def note(self, file: FileRef, *, opened: bool) -> None:
        """Count a file of which the target was given a link. opened: its bytes went through us all the same."""
        self.sent += opened
        self.fetched += not opened
        self.size += 0 if opened else file.size or 0

    def _lasts(self, file: FileRef) -> timedelta | None:
        """How long a link to this file must open; None if the target does not fetch it."""
        fetches, largest = self.target.capabilities.fetches, self.target.limits.largest_bytes
        offered = self.policy == PULL and Operation.DOWNLOAD_LINK in self.source.capabilities
        if not offered or not file.size or (largest is not None and file.size > largest):
            return None  # without its size there is nothing to compare what arrived with
        return fetches
