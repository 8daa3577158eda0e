"""Whose connections an emulated service accepts: on Linux, those of the user who started it. Its credentials are known
to everybody, and a rehearsal puts real files into it."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import TypeAlias

from uvicorn.protocols.http.auto import AutoHTTPProtocol

CONNECTIONS = Path("/proc/net/tcp")
ESTABLISHED, LISTENING = "01", "0A"
Address: TypeAlias = tuple[str, int]


class OwnConnections(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """The HTTP protocol of the server; connections of other users are aborted."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        peer, own = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if not (peer and own and is_own(peer, own)):
            transport.abort()


def is_own(client: Address, server: Address, table: Path = CONNECTIONS, user: int | None = None) -> bool:
    """Whether the client is a process of this user or of root. True where the system has no table of connections."""
    found, allowed = _listed(table), {0, os.geteuid() if user is None else user}
    here, there = _written(server), _written(client)
    if not any(local == here and state == LISTENING for local, _, state, _ in found):
        return True
    rows = [(state, whose) for local, remote, state, whose in found if (local, remote) == (there, here)]
    return any(state == ESTABLISHED and whose in allowed for state, whose in rows)


def _listed(table: Path) -> list[tuple[str, str, str, int]]:
    """Both addresses, the state and the user of each connection of this computer."""
    try:
        lines = table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:
        return []
    rows = (line.split() for line in lines)
    return [(row[1], row[2], row[3], int(row[7])) for row in rows]


def _written(address: Address) -> str:
    """As the kernel writes an address: in hexadecimal, the host in the byte order of this computer."""
    host = int.from_bytes(socket.inet_aton(address[0]), sys.byteorder)
    return f"{host:08X}:{address[1]:04X}"
