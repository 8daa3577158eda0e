"""The two libraries of a run: each service with its schema, the account of the job, and how its files are opened."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.model.asset import FileLink, FileRef
from dam_sync.model.ports import Content
from dam_sync.model.probed import Account
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.service_time import RunTime
from dam_sync.model.shared_target import UNSHARED, SharedTarget


class Contents(Protocol):
    """Opens files of one library."""

    def __call__(self, file: FileRef, name: str, link: FileLink | None = None) -> AbstractAsyncContextManager[Content]:
        """The bytes of a file under a new name, checked. link: where the target may fetch them itself; then they are
        opened only if it does not."""
        ...


@dataclass(slots=True)
class Source:
    """Where assets come from. scope: a digest of what the job lists there."""

    service: Service
    schema: Schema
    account: Account
    contents: Contents
    scope: str = ""

    @property
    def readers(self) -> int:
        """Assets read at once."""
        return self.service.limits.pace.most


@dataclass(slots=True)
class Target:
    """Where assets are written, and what there is to know of it wherever one of its assets is compared."""

    service: Service
    schema: Schema
    account: Account
    contents: Contents
    counterparts: Counterparts  # by what names terms and containers go now: without them nothing can be compared
    time: RunTime  # by which assets are shown and removed
    shared: SharedTarget = UNSHARED  # with other processes that write into it
    alike: bool = False  # its service is of the kind of that of the source
    looked_through: bool = False  # by this process: it has no asset of ours without a link, or it was accepted
