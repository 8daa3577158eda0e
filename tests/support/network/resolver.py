"""A name server of a test's own."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult


class Resolver(AbstractResolver):
    """Says where names lead: by `names`, otherwise to `addresses`; a name without either is not known. `asked` are the
    names in the order in which they were looked up."""

    def __init__(self, *addresses: str, names: Mapping[str, Sequence[str]] | None = None) -> None:
        self.addresses, self.names = addresses, names or {}
        self.asked: list[str] = []

    async def resolve(self, host: str, port: int = 0, *args: Any, **options: Any) -> list[ResolveResult]:
        """The addresses of a name."""
        self.asked.append(host)
        found = self.names.get(host.removesuffix("."), self.addresses)
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [
            ResolveResult(
                hostname=host,
                host=each,
                port=port,
                family=socket.AF_INET6 if ":" in each else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for each in found
        ]

    async def close(self) -> None:
        """Nothing."""
