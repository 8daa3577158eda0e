"""Where the state of a job is kept on a database server."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

SCHEMA_BYTES = 63  # longest name of PostgreSQL


@dataclass(frozen=True, slots=True)
class StateServer:
    """One schema of a database. options: parameters of libpq, such as `sslmode`. Its text never contains the
    password."""

    host: str
    port: int | None
    database: str
    user: str
    password: str = field(repr=False)
    schema: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        port = f":{self.port}" if self.port else ""
        return f"postgresql+psycopg://{user}{self.host}{port}/{self.database} (schema {self.schema})"

    def lock_key(self, purpose: str) -> int:
        """The key of an advisory lock, which are numbers: one for each purpose and schema of a database."""
        digest = hashlib.sha256(f"dam-sync {purpose} {self.schema}".encode()).digest()
        return int.from_bytes(digest[:8], "big", signed=True)

    @property
    def place_key(self) -> int:
        """The first half of the keys of advisory locks by which workers hold numbered places; the second is a place."""
        return self.lock_key("places") & 0x7FFFFFFF


def schema_of(job: str) -> str:
    """The schema of a job. Job names differ in their case too, so they are kept as they are."""
    name = f"dam_sync_{job}"
    if len(name.encode()) <= SCHEMA_BYTES:
        return name
    return f"{name[: SCHEMA_BYTES - 17]}_{hashlib.sha256(job.encode()).hexdigest()[:16]}"
