"""The plan that a run follows, and the listing that it is compared with."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, text

from dam_sync.model.joined_names import joined
from dam_sync.model.parking import Cause, cause_of_row
from dam_sync.store.base import Repository, from_text
from dam_sync.store.statements import PreparedStatement
from dam_sync.store.tables import LINK, PLANNED, SEEN, WORK

PAGE = 500
EXAMPLES = 5
ASSET, AGAIN, SHARED = "asset", "again", "shared"
WHOLE = 1 << 128

LISTED = (  # a row is counted by the run that listed it, or by a later one: what earlier runs counted is not read
    "SELECT asset, revision FROM work WHERE run >= :run AND listed_run = :run UNION ALL"
    " SELECT source, revision FROM seen WHERE run = :run"
    " AND source NOT IN (SELECT asset FROM work WHERE run >= :run AND :run IN (listed_run, run))"
)
_LISTED = PreparedStatement(text(LISTED))
_WORKS = select(WORK).where(WORK.c.asset > bindparam("after")).order_by(WORK.c.asset).limit(PAGE)
_LINKS = (
    select(LINK.c.source, LINK.c.target, LINK.c.filename, LINK.c.source_revision, SEEN.c.run.label("seen_run"))
    .join(SEEN, SEEN.c.source == LINK.c.source)
    .where(LINK.c.source > bindparam("after"))
    .order_by(LINK.c.source)
    .limit(PAGE)
)
_UNPLANNED = "asset NOT IN (SELECT name FROM planned WHERE kind = 'asset')"
_MOVED = "EXISTS (SELECT 1 FROM link WHERE source = asset)"  # earlier; a delta lists what changed since
CHANGES = {
    "added": f"SELECT asset FROM listed WHERE {_UNPLANNED} AND NOT {_MOVED}",
    "changed": "SELECT asset FROM listed JOIN planned ON kind = 'asset' AND name = asset"
    f" WHERE planned.revision <> listed.revision UNION ALL SELECT asset FROM listed WHERE {_UNPLANNED} AND {_MOVED}",
    "removed": "SELECT name AS asset FROM planned WHERE kind = 'asset' AND name NOT IN (SELECT asset FROM listed)",
}


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """What a plan says: about an asset that is listed (`ASSET`, by its id), or that is tried again without being listed
    (`AGAIN`), or that a term or container is created or renamed (`SHARED`, by the name of the operation)."""

    kind: str
    name: str
    revision: str = ""
    action: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class ListingChange:
    """Assets that a listing has and a plan lacks, or the other way round. kind: added, changed or removed."""

    kind: str
    assets: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CoveredAsset:
    """An asset of a run. listed: by this run; action: empty while it is open; filename, target: of its link; named:
    how people recognize a parked one; losses: path and rule of each."""

    asset: str
    revision: str
    listed: bool
    action: str
    cause: Cause | None
    message: str
    digest: str
    filename: str
    target: str
    named: Mapping[str, str]
    losses: Sequence[Mapping[str, str]]


class PlannedRepository(Repository):
    """Rows of the plan; there is one at a time."""

    async def drop_plan(self) -> None:
        """Forget the plan; safe to repeat."""
        await self._write(lambda c: c.execute(delete(PLANNED)) and None)

    async def add_planned(self, rows: Sequence[PlannedRow]) -> None:
        """Add rows of a plan."""
        values = [asdict(row) for row in rows]
        await self._write(lambda c: c.execute(insert(PLANNED), values) and None)

    async def planned_asset(self, asset: str) -> PlannedRow | None:
        """What the plan says about an asset."""
        chosen = select(PLANNED).where(PLANNED.c.kind.in_((ASSET, AGAIN)), PLANNED.c.name == asset)
        row = await self._read(lambda c: c.execute(chosen).first())
        return None if row is None else PlannedRow(row.kind, row.name, row.revision, row.action, row.digest)

    async def planned_shared(self) -> frozenset[str]:
        """The terms and containers that the plan creates, by the names of the operations."""
        chosen = select(PLANNED.c.name).where(PLANNED.c.kind == SHARED)
        return await self._read(lambda c: frozenset(c.execute(chosen).scalars()))

    async def is_planned(self, name: str) -> bool:
        """Whether the plan has this operation on a term or container."""
        chosen = select(func.count()).select_from(PLANNED).where(PLANNED.c.kind == SHARED, PLANNED.c.name == name)
        return await self._read(lambda c: bool(c.execute(chosen).scalar()))

    async def covered(self, run: int) -> AsyncIterator[CoveredAsset]:
        """Every asset that a run listed or tried again, and what became of it, in the order of their ids."""
        after: str | None = ""
        while after is not None:
            rows, after = await self._read(partial(_covered, run=run, after=after))
            for row in rows:
                yield row

    async def listing_digest(self, run: int) -> str:
        """A digest of the ids and revisions that the listing of a run returned, whatever their order."""
        return await self._read(lambda c: digest_of_rows(_LISTED.each(c, run=run)))

    async def listing_changes(self, run: int) -> list[ListingChange]:
        """How the listing of a run differs from the plan, with examples."""
        return [change for change in await self._read(partial(_changes, run=run)) if change.assets]


def digest_of_rows(rows: Iterable[tuple[str, str]]) -> str:
    """A digest of these assets and revisions, whatever their order."""
    total = 0
    for asset, revision in rows:
        total += int.from_bytes(hashlib.sha256(joined((asset, revision), "\0").encode()).digest()[:16], "big")
    return f"{total % WHOLE:032x}"


def _covered(c: Connection, *, run: int, after: str) -> tuple[list[CoveredAsset], str | None]:
    """The next rows and the id behind which to continue; None at the end. Both tables are read in the order of their
    ids, a page at a time, whether or not their rows belong to the run: no page is looked for."""
    works = {row.asset: row for row in c.execute(_WORKS, {"after": after})}
    links = {row.source: row for row in c.execute(_LINKS, {"after": after})}
    ends = [max(found) for found in (works, links) if len(found) == PAGE]
    last = min(ends, default=None)
    ids = sorted(key for key in works.keys() | links.keys() if last is None or key <= last)
    found = (_covered_asset(key, works.get(key), links.get(key), run) for key in ids)
    return [row for row in found if row is not None], last


def _covered_asset(asset: str, work: Any, link: Any, run: int) -> CoveredAsset | None:
    """None for an asset that the run neither listed nor tried again."""
    filename, target = (link.filename, link.target) if link is not None else ("", "")
    if work is not None and run in (work.run, work.listed_run):
        action = work.action if work.state == "settled" else ""
        listed, named, losses = work.listed_run == run, from_text(work.named), from_text(work.losses) or ()
        why = cause_of_row(work.cause, parked=work.action == "parked"), work.message, work.digest
        return CoveredAsset(asset, work.revision, listed, action, *why, filename, target, named, losses)
    if link is not None and link.seen_run == run:  # listed at the revision that was written
        return CoveredAsset(asset, link.source_revision, True, "unchanged", None, "", "", filename, target, {}, ())
    return None


def _changes(c: Connection, *, run: int) -> list[ListingChange]:
    found = []
    for kind, chosen in CHANGES.items():
        given: dict[str, Any] = {"run": run}
        whole = f"WITH listed AS ({LISTED}) {chosen}"
        number = int(c.execute(text(f"SELECT count(*) FROM ({whole}) AS differing"), given).scalar_one())
        first = c.execute(text(f"{whole} ORDER BY asset LIMIT {EXAMPLES}"), given).scalars() if number else ()
        found.append(ListingChange(kind, number, tuple(first)))
    return found
