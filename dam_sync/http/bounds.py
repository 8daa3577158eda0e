"""Limits on what a service may send: sizes, rates and times beyond which a response is not read any further; and the
schemes that are spoken, with their ports."""

from __future__ import annotations

from typing import Final

from dam_sync.model.limits import MIB

KIB: Final = 1024

PORTS: Final = {"http": 80, "https": 443}
BLOCK: Final = 256 * KIB  # bytes that are decoded, or passed to a socket, at a time
LARGEST_REPLY: Final = 32 * MIB
"""Decoded bytes of a response read as a whole. The largest listings are pages of 1,000 assets and vocabularies
without pages: 100,000 terms of 200 bytes take 20 MiB."""
MOST_VALUES: Final = 2_000_000
"""Values in one JSON response, each of up to 100 bytes of memory; 100,000 terms of 15 values take 1.5 million."""
LARGEST_ERROR: Final = 64 * KIB  # decoded bytes of the body of a refusal; the rest is not read
EXPLAINED: Final = 4 * KIB  # bytes of such a body that are searched for its message and code
LONGEST_URL: Final = 16 * KIB  # characters; signed links have up to 4,000

CONNECT_SECONDS: Final = 10.0
READ_SECONDS: Final = 60.0  # until the head of a response is complete, and again until its body is
WRITE_SECONDS: Final = 60.0  # for one block of a request body
INTERIM: Final = 100  # responses of 1xx before one that counts; RFC 9110, 15.2, allows any number
SLOWEST: Final = 1 * KIB  # bytes per second of a download, averaged over READ_SECONDS
