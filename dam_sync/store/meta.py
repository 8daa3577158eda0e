"""Key-value facts about the job, and an overview of the state."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, bindparam, exists, func, select
from sqlmodel import SQLModel

from dam_sync.model.values import Json
from dam_sync.store.base import Repository, from_text
from dam_sync.store.migrations import version_of
from dam_sync.store.note_keys import WATERMARK
from dam_sync.store.notes import put_note
from dam_sync.store.runs import open_rows
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.tables import LINK, MEMBER, META, NAME, RUN, SHARD, WORK

_GET = PreparedStatement(select(META.c.value).where(META.c.key == bindparam("of")))


class Meta(Repository):
    """Facts by key, and the overview."""

    async def set_meta(self, key: str, value: Json) -> None:
        """Store a fact, replacing the previous value."""
        await self._write(lambda c: put_note(c, key, value))

    async def get_meta(self, key: str) -> Json:
        """The fact, or None."""
        found: str | None = await self._read(lambda c: _GET.value(c, of=key))
        return None if found is None else from_text(found)

    async def is_blank(self) -> bool:
        """Whether nothing was listed, linked or read into this state yet."""
        kept = (WORK, LINK, NAME, SHARD, MEMBER)
        return await self._read(lambda c: not any(c.execute(select(exists(select(table)))).scalar() for table in kept))

    async def show(self) -> Json:
        """For `state JOB show`: format, size on disk in bytes, rows per table, open rows, the last run, watermark."""

        def job(c: Connection) -> Json:
            return {
                "file": str(self._database.place),
                "format": self._version(c),
                "bytes": self._bytes(c),
                "rows": {name: _count(c, name) for name in sorted(SQLModel.metadata.tables)},
                "open": open_rows(c),
                "last_run": _last_run(c),
                "notes": {row.key: from_text(row.value) for row in c.execute(select(META).limit(100))},
            }

        shown: dict[str, Any] = await self._read(job)
        return shown | {"watermark": shown["notes"].get(WATERMARK)}

    async def size(self) -> int:
        """Bytes of the state, and of what is not merged into its file yet."""
        return await self._read(self._bytes)

    def _version(self, c: Connection) -> int:
        server = self._database.server
        if server is None:
            return version_of(c)
        from dam_sync.store.server import schema as server_schema  # loads the driver

        return server_schema.version_of(c, server)

    def _bytes(self, c: Connection) -> int:
        if self._database.server is not None:
            from dam_sync.store.server.schema import size_of  # loads the driver

            return size_of(c, self._database.server)
        parts = [self._database.path.with_name(self._database.path.name + suffix) for suffix in ("", "-wal")]
        return sum(part.stat().st_size for part in parts if part.exists())


def _count(c: Connection, table: str) -> int:
    return int(c.execute(select(func.count()).select_from(SQLModel.metadata.tables[table])).scalar_one())


def _last_run(c: Connection) -> Json:
    columns = (RUN.c.id, RUN.c.command, RUN.c.state, RUN.c.started_at, RUN.c.ended_at)
    row = c.execute(select(*columns).order_by(RUN.c.id.desc()).limit(1)).first()
    return dict(row._mapping) if row else None
