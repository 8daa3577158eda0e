"""Guards a job whose source and target are one library, or of which one lies in the other: a run would write into what
it only reads. Asked of both connections together, because each of them alone is as it should be."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass

from dam_sync.model.errors import SafetyStop
from dam_sync.model.library import Library, Overlap, overlap_of, reached_alike
from dam_sync.model.service import Service
from dam_sync.model.url_forms import host_of

HINT = (
    "correct the source or the target in the job file (`base_url`, `auth`, and `options` such as `path` or `root`): a "
    "run would copy assets into the library that they are read from, and read the copies again; no option lifts this"
)
POSSIBLE_HINT = (
    "compare `base_url` and `auth` of the source with those of the target, and correct the job if both lead to one "
    "library"
)
LOOKUP_SECONDS = 5.0  # for the IP addresses of a host


@dataclass(frozen=True, slots=True)
class FoundOverlap:
    """What a source and a target have in common."""

    overlap: Overlap
    source: Library
    target: Library

    @property
    def message(self) -> str:
        """In words, with what was compared."""
        shown = dict.fromkeys((self.source.shown, self.target.shown))
        return self.overlap.value.format(" and ".join(shown))


async def refuse_one_library(source: Service, target: Service, *, lookup: bool = False) -> None:
    """Raises SafetyStop if both are one library, as far as that is known by now. lookup: hosts whose names differ are
    looked up if nothing else tells the libraries from each other."""
    found = await overlap_between(source, target)
    if found is not None and not found.overlap.is_certain and lookup:
        found = await overlap_by_ip_address(source, target) or found
    if found is not None and found.overlap.is_certain:
        raise SafetyStop(found.message, hint=HINT)


async def overlap_between(source: Service, target: Service) -> FoundOverlap | None:
    """What they have in common by their URLs, paths, and names; None if nothing, and while it is not known."""
    first, second = await source.library(), await target.library()
    found = overlap_of(first, second) if first is not None and second is not None else None
    return FoundOverlap(found, first, second) if found and first and second else None


async def overlap_by_ip_address(source: Service, target: Service) -> FoundOverlap | None:
    """The same by the IP addresses of their hosts, if the names differ."""
    first, second = await source.library(), await target.library()
    if first is None or second is None or first.kind != second.kind or (first.is_local and second.is_local):
        return None
    hosts = sorted({one.host for each in (first, second) for one in each.addresses})
    numbers = dict(zip(hosts, await asyncio.gather(*map(_ip_addresses, hosts)), strict=True))
    found = reached_alike(first, second, numbers.__getitem__)
    return FoundOverlap(found, first, second) if found else None


async def _ip_addresses(host: str) -> frozenset[str]:
    """Those of a host, and its name; the name alone if nobody knows it."""
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        found = []
    return frozenset([host, *(host_of(str(one[4][0])) for one in found)])
