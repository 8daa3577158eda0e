"""Connections that lead only where they may. The address is judged that the socket is connected to, whatever the name
was, how often it was looked up, and which of its addresses was tried first."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from dam_sync.http.reach import ANYWHERE, Networks, Reach, reach_of


class RefusedAddress(OSError):
    """A connection would lead into a network where it must not. networks: where it may lead."""

    def __init__(self, networks: Networks) -> None:
        super().__init__("the address is in a network to which this connection may not lead")
        self.networks = networks


@dataclass(slots=True)
class HostNames:
    """Where names lead. farthest: the reach of each name that was looked up, by the farthest of its addresses: who has
    one outside is not private."""

    inner: AbstractResolver
    farthest: dict[str, Reach] = field(default_factory=dict)

    async def look_up(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name. Raises OSError."""
        found = await self.inner.resolve(host, port, family)
        farthest = min((reach_of(each["host"]) for each in found), default=Reach.PUBLIC)
        self.farthest[host] = min(farthest, self.farthest.get(host, Reach.OWN))
        return found


class _JudgingResolver(AbstractResolver):
    """Refuses a name if one of its addresses is in another network."""

    def __init__(self, names: HostNames, networks: Networks) -> None:
        self._names, self._networks = names, networks

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name. Raises RefusedAddress."""
        found = await self._names.look_up(host, port, family)
        if not all(self._networks.has(reach_of(each["host"])) for each in found):
            raise RefusedAddress(self._networks)
        return found

    async def close(self) -> None:
        """Nothing: They may be used by others."""


def connector_into(networks: Networks, names: HostNames, **options: Any) -> aiohttp.TCPConnector:
    """A connector with connections of its own, all of which lead into these networks."""

    def judged(address: aiohttp.AddrInfoType) -> socket.socket:
        """A socket for this address, which comes from the resolver or is written in the URL. Raises RefusedAddress."""
        family, kind, protocol, _, where = address
        if not networks.has(reach_of(str(where[0]))):
            raise RefusedAddress(networks)
        return socket.socket(family, kind, protocol)

    factory = None if networks == ANYWHERE else judged
    return aiohttp.TCPConnector(resolver=_JudgingResolver(names, networks), socket_factory=factory, **options)
