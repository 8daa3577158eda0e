"""Files that the target fetches from the source itself: which, by which link, and how many there were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import structlog

from dam_sync.engine.compare.file_keys import version_key
from dam_sync.model.asset import FileLink, FileRef, digest_of
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import Denied, Rejected, Transient
from dam_sync.model.estimator import Estimator
from dam_sync.model.service import Service

log = structlog.get_logger(__name__)
PULL = "pull"  # the policy under which a target fetches files itself
NO_LINK = "https://"  # stands for the link in a plan, which gets none
MOST_IN_VAIN = 3  # links in a row that brought nothing, before no more are given: each may cost hours


@dataclass(frozen=True, slots=True)
class Fetched:
    """What became of links. files: that the target fetched; size: their bytes; sent: files that were sent, because the
    target did not fetch them."""

    files: int = 0
    size: int = 0
    sent: int = 0

    def __add__(self, other: Fetched) -> Fetched:
        return Fetched(self.files + other.files, self.size + other.size, self.sent + other.sent)

    def __sub__(self, other: Fetched) -> Fetched:
        return Fetched(self.files - other.files, self.size - other.size, self.sent - other.sent)


NOTHING_FETCHED = Fetched()


@dataclass(slots=True)
class Pulls:
    """The links that a job hands to its target, if its policy says so.

    near: whether the target can reach the network of the source; opens: whether it can reach the host of a URL;
    in_vain: links in a row that brought nothing, of all processes of the run; reported: in a worker process, whether
    they were enough, as its coordinator says.
    """

    source: Service
    target: Service
    policy: str
    dry: bool = False
    near: bool = True
    opens: Callable[[str], bool] = lambda _: True
    fetched: Fetched = NOTHING_FETCHED
    in_vain: int = 0
    reported: bool | None = None

    @property
    def obstacle(self) -> str:
        """Why the policy has no effect; empty if it has, or nothing is to be fetched."""
        if self.policy != PULL:
            return ""
        if self.target.capabilities.fetches is None:
            return "the target does not fetch files"
        if Operation.DOWNLOAD_LINK not in self.source.capabilities:
            return "the source gives no links that others can open"
        return "" if self.near else "the source is in a private network that the target is not in"

    @property
    def exhausted(self) -> bool:
        """Whether no more links are given, because those before brought nothing."""
        return self.in_vain >= MOST_IN_VAIN if self.reported is None else self.reported

    async def link(self, file: FileRef) -> FileLink | None:
        """The link to the only file of a new asset; None if its bytes go through us. Raises what ends a run."""
        lasts = self._lasts(file)
        if lasts is None:
            return None
        identity = digest_of([version_key(file), file.size, dict(file.digests)])
        if self.dry:
            return None if Estimator(self.source).link(file) is None else FileLink(NO_LINK, identity)
        try:
            url = await self.source.download_link(file, lasts)
        except (Rejected, Denied, Transient) as error:  # if it is not one of the link alone, the download says so too
            log.info("file.no_link", asset=error.asset, cause=str(error.cause))
            return None
        return FileLink(url, identity) if url and self.opens(url) else None

    def note(self, file: FileRef, *, opened: bool) -> None:
        """Count a file of which the target was given a link. opened: its bytes went through us all the same."""
        self.add(Fetched(sent=1) if opened else Fetched(1, file.size or 0))

    def add(self, more: Fetched) -> None:
        """Count what became of links, here or in another process."""
        before, self.fetched = self.exhausted, self.fetched + more
        self.in_vain = 0 if more.files else self.in_vain + more.sent
        if self.exhausted and not before:
            log.warning("file.no_more_links", in_vain=self.in_vain)

    def _lasts(self, file: FileRef) -> timedelta | None:
        """How long a link to this file must open; None if the target does not fetch it."""
        largest = self.target.limits.largest_bytes
        if self.policy != PULL or self.obstacle or self.exhausted:
            return None
        if not file.size or (largest is not None and file.size > largest):
            return None  # without its size there is nothing to compare what arrived with
        return self.target.capabilities.fetches
