"""Everything the state knows about one asset."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select, union_all
from sqlalchemy.sql.expression import literal

from dam_sync.model.asset import AssetId
from dam_sync.model.journal_names import CREATE, WriteKind, of_kind, of_owner
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.link import LinkRow
from dam_sync.model.parking import Cause, cause_of_row
from dam_sync.model.values import Json
from dam_sync.store.base import Repository, from_text, to_text
from dam_sync.store.journal import ASSET_SCOPE
from dam_sync.store.ledger import ledger_row
from dam_sync.store.links import link_of
from dam_sync.store.statements import PreparedStatement, listed_statement
from dam_sync.store.tables import (
    DELETION,
    JOURNAL,
    LEDGER,
    LINK,
    PLACEMENT,
    RELATION,
    REMOVAL,
    SEEN,
    TRASHED,
    WORK,
    instant,
)

SOURCE, TARGET, FILENAME, VALUE = "source", "target", "filename", "value"
ASKED_BY = (SOURCE, TARGET, FILENAME, VALUE)
_NAMED = PreparedStatement(
    select(WORK.c.asset, WORK.c.named, LINK.c.filename)
    .outerjoin(LINK, LINK.c.source == WORK.c.asset)
    .where(WORK.c.asset.in_(listed_statement("wanted")))
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """An asset that is called so. name: of its file at the source; filename: at the target, if it was moved; by:
    `source` and `target` for its ids, `filename`, or `value`; value: which one, with its part of the asset."""

    source: str
    target: str
    name: str
    filename: str
    by: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Holder:
    """An asset of which the state keeps a text. parts: where it may be: the draft last written, what the asset is
    called at the source (`title`, `url`), or the values before and after a write."""

    candidate: Candidate
    parts: Json


@dataclass(frozen=True, slots=True)
class LastOutcome:
    """The work item of an asset. action: its last outcome, `pending` if it is open; run: that counts it; at: when."""

    action: str
    run: int
    listed_run: int
    revision: str
    cause: Cause | None
    operation: str
    message: str
    hint: str
    losses: Json
    at: str


@dataclass(frozen=True, slots=True)
class StoredStory:
    """What the state has of an asset. trashed: moved to the trash of the target, with run and time; removed: why the
    target's service removed it; gone: since when it is gone from the source; open_steps: journal entries of writes that
    are not complete; waiting: memberships and relations that are still to be written, or were refused, with the
    reason."""

    source: str
    link: LinkRow | None = None
    seen_run: int = 0
    last: LastOutcome | None = None
    ledger: tuple[LedgerRow, ...] = ()
    trashed: tuple[int, str] | None = None
    removed: str = ""
    gone: datetime | None = None
    open_steps: tuple[tuple[str, str], ...] = ()
    waiting: tuple[tuple[str, str], ...] = ()


class StoryRepository(Repository):
    """Assets by what people call them, and all rows about one."""

    async def candidates_called(self, text: str) -> list[Candidate]:
        """Assets with this id at the source or at the target, or with this file name at either service;
        reads whole tables."""
        named = func.json_extract(WORK.c.named, "$.filename")
        found = union_all(
            select(WORK.c.asset.label("source"), literal(SOURCE).label("by")).where(WORK.c.asset == text),
            select(LINK.c.source, literal(SOURCE)).where(LINK.c.source == text),
            select(TRASHED.c.source, literal(SOURCE)).where(TRASHED.c.source == text),
            select(LEDGER.c.asset, literal(SOURCE)).where(LEDGER.c.asset == text, LEDGER.c.operation == CREATE),
            select(LINK.c.source, literal(TARGET)).where(LINK.c.target == text),
            select(TRASHED.c.source, literal(TARGET)).where(TRASHED.c.target == text),
            select(LINK.c.source, literal(FILENAME)).where(LINK.c.filename == text),
            select(WORK.c.asset, literal(FILENAME)).where(named == text),
        ).subquery()
        rows = select(found.c.source, found.c.by, LINK.c.target, LINK.c.filename, named).distinct()
        rows = rows.outerjoin(LINK, LINK.c.source == found.c.source).outerjoin(WORK, WORK.c.asset == found.c.source)

        def job(c: Connection) -> list[Candidate]:
            return [
                Candidate(source, target or "", name or "", linked or "", by)
                for source, by, target, linked, name in c.execute(rows.order_by(found.c.source, found.c.by))
            ]

        return await self._read(job)

    async def holders_of(self, text: str, at_most: int, *, whole: bool) -> list[Holder]:
        """Assets of which a value is this text, or, unless `whole`, has it within; upper and lower case of the letters
        from A to Z are the same. Reads whole tables."""
        within = to_text(text) if whole else to_text(text)[1:-1]
        columns = (LINK.c.target, LINK.c.filename, WORK.c.named)
        drafts = select(LINK.c.source, LINK.c.draft, *columns).outerjoin(WORK, WORK.c.asset == LINK.c.source)
        called = select(WORK.c.asset, WORK.c.named, *columns).outerjoin(LINK, LINK.c.source == WORK.c.asset)
        changed = (
            select(LEDGER.c.asset, LEDGER.c.changes, *columns)
            .outerjoin(LINK, LINK.c.source == LEDGER.c.asset)
            .outerjoin(WORK, WORK.c.asset == LEDGER.c.asset)
            .where(LEDGER.c.asset != "")
        )
        queries = [
            query.where(_holds(column, within)).limit(at_most)
            for query, column in ((drafts, LINK.c.draft), (called, WORK.c.named), (changed, LEDGER.c.changes))
        ]

        def job(c: Connection) -> list[Holder]:
            return [
                Holder(Candidate(source, target or "", _filename(named), linked or "", VALUE), from_text(parts))
                for query in queries
                for source, parts, target, linked, named in c.execute(query)
            ]

        return await self._read(job)

    async def names_of(self, assets: Iterable[str]) -> dict[str, str]:
        """The file name at the source of each, or else its title or its file name at the target, as far as known."""
        wanted = to_text(sorted(set(assets)))

        def job(c: Connection) -> dict[str, str]:
            found = {}
            for asset, named, linked in _NAMED.tuples(c, wanted=wanted):
                known = from_text(named)
                found[asset] = known.get("filename") or known.get("title") or linked or ""
            return {asset: name for asset, name in sorted(found.items()) if name}

        return await self._read(job)

    async def story(self, source: str) -> StoredStory:
        """Everything about the asset with this id at the source."""
        return await self._read(lambda c: _story(c, source))


def _holds(column: Any, text: str) -> ColumnElement[bool]:
    lower = func.lower(column).contains(text.lower(), autoescape=True)  # folds no more than A to Z in a file
    return or_(column.contains(text, autoescape=True), lower)


def _filename(named: str | None) -> str:
    return str(from_text(named).get("filename") or "") if named else ""


def _story(c: Connection, source: str) -> StoredStory:
    linked = c.execute(select(LINK).where(LINK.c.source == source)).first()
    worked = c.execute(select(WORK).where(WORK.c.asset == source)).first()
    trashed = c.execute(select(TRASHED).where(TRASHED.c.source == source)).first()
    target = linked.target if linked else trashed.target if trashed else ""
    since = c.execute(select(DELETION.c.since).where(DELETION.c.source == source)).scalar()
    steps = (
        select(JOURNAL.c.name, JOURNAL.c.state).where(JOURNAL.c.scope == ASSET_SCOPE + source).order_by(JOURNAL.c.at)
    )
    return StoredStory(
        source=source,
        link=link_of(linked) if linked else None,
        seen_run=c.execute(select(SEEN.c.run).where(SEEN.c.source == source)).scalar() or 0,
        last=_last(worked) if worked else None,
        ledger=tuple(ledger_row(row) for row in c.execute(_writes(source, target))),
        trashed=(trashed.run, trashed.at) if trashed else None,
        removed=c.execute(select(REMOVAL.c.message).where(REMOVAL.c.source == source)).scalar() or "",
        gone=instant(since) if since else None,
        open_steps=tuple((row.name, row.state) for row in c.execute(steps)),
        waiting=tuple(_waiting(c, source, target)),
    )


def _last(row: Any) -> LastOutcome:
    return LastOutcome(
        action=row.action if row.state == "settled" else "pending",
        run=row.run,
        listed_run=row.listed_run,
        revision=row.revision,
        cause=cause_of_row(row.cause, parked=row.action == "parked"),
        operation=row.operation,
        message=row.message,
        hint=row.hint,
        losses=from_text(row.losses) or [],
        at=row.settled_at or "",
    )


def _writes(source: str, target: str) -> Any:
    """Its own rows, those of its relations, and those of bulk memberships that name it."""
    operation, changes = LEDGER.c.operation, LEDGER.c.changes
    mine = [LEDGER.c.asset == source]
    mine += [operation.startswith(prefix, autoescape=True) for prefix in of_owner(source)]
    if target:
        mine.append(
            and_(operation.startswith(of_kind(WriteKind.PLACE)), changes.contains(f'"{target}"', autoescape=True))
        )
    return select(LEDGER).where(or_(*mine)).order_by(LEDGER.c.seq)


def _waiting(c: Connection, source: str, target: str) -> list[tuple[str, str]]:
    relations = c.execute(select(RELATION).where(or_(RELATION.c.owner == source, RELATION.c.other == source)))
    found = [(f"relation {row.kind} of {row.owner} to {row.other}", row.refused) for row in relations]
    number = select(func.count(), func.max(PLACEMENT.c.refused)).where(PLACEMENT.c.asset == AssetId(target))
    count, refused = c.execute(number).one()
    return found + ([(f"memberships: {count}", refused)] if count else [])
