"""Reports of finished runs and of verifications, as compressed JSON."""

from __future__ import annotations

import zlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from dam_sync.model.errors import ConfigError
from dam_sync.model.values import Json
from dam_sync.store.base import Repository, from_text, to_text
from dam_sync.store.rows import KeptReport
from dam_sync.store.tables import REPORT, instant

VERIFICATION = "verify"  # the only kind of which there are several after a run
LARGEST = 256 * 1024 * 1024  # bytes of a report that is read back
_FACTS = (REPORT.c.id, REPORT.c.run, REPORT.c.kind, REPORT.c.at, REPORT.c.version, REPORT.c.result)


@dataclass(frozen=True, slots=True)
class NewReport:
    """A report to be kept; see `KeptReport`. body: as `Report.as_json` returns it."""

    run: int
    kind: str
    version: str
    result: str
    body: Json


class ReportRepository(Repository):
    """Reports by id, which rises with time."""

    async def keep_report(self, report: NewReport) -> None:
        """Keep a report. That of a run replaces an earlier one of the same run; every verification is kept."""
        row = {"run": report.run, "kind": report.kind, "version": report.version, "result": report.result}
        row |= {"at": self._now(), "body": zlib.compress(to_text(report.body).encode())}

        def job(c: Connection) -> None:
            if report.kind != VERIFICATION:
                c.execute(delete(REPORT).where(REPORT.c.run == report.run, REPORT.c.kind == report.kind))
            c.execute(insert(REPORT).values(row))

        await self._write(job)

    async def kept_reports(self) -> list[KeptReport]:
        """All of them without their bodies, newest first."""
        chosen = select(*_FACTS, func.length(REPORT.c.body).label("bytes")).order_by(REPORT.c.id.desc())
        return await self._read(lambda c: [_kept(row) for row in c.execute(chosen)])

    async def newest_report(self, kinds: Collection[str], run: int | None = None) -> int | None:
        """The id of the last report of one of these kinds, or of the last one of a run; None without one."""
        chosen = select(REPORT.c.id).where(REPORT.c.kind.in_(kinds)).order_by(REPORT.c.id.desc()).limit(1)
        if run is not None:
            chosen = chosen.where(REPORT.c.run == run)
        return await self._read(lambda c: c.execute(chosen).scalar())

    async def report_body(self, number: int) -> Json:
        """The JSON of the report with this id; None if there is none. Raises ConfigError if it is damaged."""
        chosen = select(REPORT.c.body).where(REPORT.c.id == number)
        packed: bytes | None = await self._read(lambda c: c.execute(chosen).scalar())
        return None if packed is None else _unpacked(packed, number)

    async def gc_reports(self, before: str) -> int:
        """Remove the reports that were kept before a time (`stamp`); returns how many."""
        old = delete(REPORT).where(REPORT.c.at < before)
        return await self._write(lambda c: c.execute(old).rowcount)


def _unpacked(packed: bytes, number: int) -> Json:
    try:
        return from_text(zlib.decompressobj().decompress(packed, LARGEST).decode())
    except (zlib.error, ValueError, RecursionError) as error:
        raise damaged(number, error) from error


def damaged(number: int, why: object) -> ConfigError:
    """The error for a report that dam-sync did not store so."""
    message = f"the report {number} in the state is damaged ({why})"
    return ConfigError(message, hint="restore the state with `state JOB import FILE` from an export")


def _kept(row: Any) -> KeptReport:
    return KeptReport(row.id, row.run, row.kind, instant(row.at), row.version, row.result, row.bytes)
