"""TLS contexts for connections between Dask's processes, which end without a closing message.

Since OpenSSL 3.4 such an end is recorded as an error of the system. Python's `ssl` reports it, and does not remove it:
every other connection of the same thread then fails with "Broken pipe" at its next read. Seen in Python 3.13.5 with
OpenSSL 3.5.9, and in 3.14.8 with 3.6.5.
"""

from __future__ import annotations

import ssl
from typing import Any

from distributed.security import Security


class ClusterSecurity(Security):
    """Certificates and settings as of `Security`. A connection that ends without a closing message has ended, and is no
    error. Dask writes the length of a message before it, so it notices one that was cut off."""

    def get_connection_args(self, role: str) -> dict[str, Any]:
        """Arguments for a connection from a process of this role: client, scheduler or worker."""
        return _ending_quietly(super().get_connection_args(role))  # type: ignore[no-untyped-call]

    def get_listen_args(self, role: str) -> dict[str, Any]:
        """Arguments for connections to a process of this role."""
        return _ending_quietly(super().get_listen_args(role))  # type: ignore[no-untyped-call]


def _ending_quietly(arguments: dict[str, Any]) -> dict[str, Any]:
    if (context := arguments["ssl_context"]) is not None:
        context.options |= ssl.OP_IGNORE_UNEXPECTED_EOF
    return arguments
