"""What a rollback commits: an asset is undone in one transaction with its link, its work and its ledger rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.counterpart import Counterpart
from dam_sync.model.journal_names import WriteKind
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.link import LinkRow
from dam_sync.model.values import Json
from dam_sync.model.written import OpenWrites
from dam_sync.store.base import Repository, from_text, pieces, to_text
from dam_sync.store.counterparts import write_counterparts
from dam_sync.store.deletions import drop_trashed, move_to_trashed
from dam_sync.store.journal import ASSET_SCOPE, StoredJournal, begun_among, drop_steps, keep_steps
from dam_sync.store.ledger import append
from dam_sync.store.links import drop_link, write_link
from dam_sync.store.rollbacks import ROLLBACK
from dam_sync.store.row_counts import recount_rows
from dam_sync.store.rows import READ_AGAIN
from dam_sync.store.runs import PLACES, RELATES, RUN_SCOPE, UNDO_SCOPE
from dam_sync.store.tables import CONTAINER, JOURNAL, LINK, PLACEMENT, RELATION, RUN, TRASHED, WORK

UNLINKED, LINKED, IN_TRASH = "unlinked", "linked", "trashed"
_OF_ROLLBACKS = JOURNAL.c.scope.between(UNDO_SCOPE, f"{UNDO_SCOPE}:")  # uses the index; digits are below a colon
_OF_RUNS = JOURNAL.c.scope.between(RUN_SCOPE, f"{RUN_SCOPE[:-1]};")  # a semicolon is right behind a colon
_AFTER_ASSETS = f"{ASSET_SCOPE[:-1]};"  # a semicolon is right behind a colon
_REMOVING = (journal_names.REMOVE, journal_names.undo(journal_names.CREATE))
_USERS = 20  # assets that are read again because of one name; the first may have left the source, or have it no more
_AGAIN: dict[str, Any] = {
    **{"state": "pending", "action": "", "due": "", "holder": "", "attempt": 0, "again": False, "deleted": False},
    **{"cause": "", "operation": "", "message": "", "hint": "", "losses": "null", "evidence": "", "payload": None},
    **{"revision": READ_AGAIN, "passing": 0},
}


@dataclass(frozen=True, slots=True)
class Undone:
    """An asset whose writes were undone. source: empty for what belongs to no asset. rows: the ledger rows that are
    undone by it. fate: what becomes of its link: `UNLINKED`, `LINKED` as `link` says, or `IN_TRASH`; empty if it stays
    as it is. again: the next run reads the asset. left: what stays of it anyway, and why. accepted: exposure rules by
    which more people see it again. names: of terms or containers that have their former name again. attempt: entries of
    the journal that stay, of an attempt that did not complete the asset and of whose writes something stays."""

    source: str
    target: str
    rows: Sequence[int]
    fate: str = ""
    link: LinkRow | None = None
    unplaced: Sequence[Placement] = ()
    again: bool = False
    left: Sequence[tuple[str, str]] = ()
    accepted: Sequence[str] = ()
    names: Sequence[Counterpart] = ()
    attempt: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnfinishedAsset:
    """An asset of the source that a run began and did not complete. of_run: whether the run that is asked about did;
    earlier: whether one before that had begun it."""

    source: AssetId
    of_run: bool
    earlier: bool


@dataclass(frozen=True, slots=True)
class OpenMemberships:
    """Assets of the target that were about to be added to a container, or removed from it."""

    container: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BegunRemoval:
    """An asset that the rollback of a run began to move to the trash."""

    run: int
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class OpenRename:
    """A term or container that was about to get another name. name: that of the write; target, changes: as the ledger
    would have them."""

    name: str
    target: str
    changes: dict[str, Any]


class UndoRepository(Repository):
    """Rollbacks."""

    def undo_journal(self, run: int, target: str, source: str) -> StoredJournal:
        """The journal of one asset in the rollback of a run; it ends when the asset is undone."""
        return StoredJournal(self._database, _scope(run, target), source, 0)

    async def without_begun_removals(self, links: Sequence[LinkRow]) -> list[LinkRow]:
        """Those of these links whose target assets no attempt began to move to the trash: one that was killed may have
        moved the others."""
        chosen = select(JOURNAL.c.scope).where(JOURNAL.c.name.in_(_REMOVING))
        scopes = await self._read(lambda c: frozenset(c.execute(chosen).scalars()))
        targets = {scope.removeprefix(UNDO_SCOPE).partition(":")[2] for scope in scopes if scope.startswith(UNDO_SCOPE)}
        return [link for link in links if ASSET_SCOPE + link.source not in scopes and link.target not in targets]

    async def begun_assets(self, sources: Sequence[str]) -> frozenset[str]:
        """Those of these source assets that an attempt of a run did not complete."""
        return await self._read(lambda c: begun_among(c, sources))

    async def unfinished_assets(self, run: int, after: str, at_most: int) -> list[UnfinishedAsset]:
        """A page of the source assets that some run began and did not complete, in the order of their ids. run: the one
        that is asked about."""
        asset = func.substr(JOURNAL.c.scope, len(ASSET_SCOPE) + 1)
        first, last = func.min(JOURNAL.c.at), func.max(JOURNAL.c.at)
        chosen = (
            select(asset, first, last, func.max(WORK.c.run))
            .join(WORK, WORK.c.asset == asset, isouter=True)
            .where(JOURNAL.c.scope > ASSET_SCOPE + after, JOURNAL.c.scope < _AFTER_ASSETS)
            .group_by(JOURNAL.c.scope)
            .order_by(JOURNAL.c.scope)
            .limit(at_most)
        )

        def job(c: Connection) -> list[UnfinishedAsset]:
            start, end = _time_of(c, run)
            return [
                UnfinishedAsset(
                    AssetId(source),
                    of_run=by == run or (start <= newest and (end is None or oldest < end)),
                    earlier=oldest < start,
                )
                for source, oldest, newest, by in c.execute(chosen)
            ]

        return await self._read(job)

    async def open_memberships(self, run: int) -> list[OpenMemberships]:
        """Those that this run was about to change when it was interrupted."""
        mine = (JOURNAL.c.scope == f"{RUN_SCOPE}{PLACES}{run}", JOURNAL.c.name.startswith(journal_names.placing("")))
        chosen = select(JOURNAL.c.result).where(*mine, JOURNAL.c.state == "done").order_by(JOURNAL.c.name)
        rows = await self._read(lambda c: [from_text(result) for result in c.execute(chosen).scalars()])
        return [OpenMemberships(row["container"], tuple(row["add"]), tuple(row["remove"])) for row in rows]

    async def open_relations(self, run: int) -> list[str]:
        """Names of journal entries of relations that this run was about to write or to remove when it was
        interrupted."""
        mine = (JOURNAL.c.scope == f"{RUN_SCOPE}{RELATES}{run}", JOURNAL.c.state == "intent")
        chosen = select(JOURNAL.c.name).where(*mine).order_by(JOURNAL.c.name)
        return await self._read(lambda c: list(c.execute(chosen).scalars()))

    async def open_renames(self, run: int) -> list[OpenRename]:
        """Terms and containers that this run was about to rename when it was interrupted, the last one first."""
        return await self._read(lambda c: [each for _, each in _open_renames(c, run)])

    async def open_creations(self, run: int) -> list[str]:
        """Names of journal entries of terms and containers that this run was about to create when it was
        interrupted."""
        making = [JOURNAL.c.name.startswith(f"{kind}:") for kind in (WriteKind.TERM, WriteKind.CONTAINER)]
        chosen = select(JOURNAL.c.name).where(_OF_RUNS, or_(*making), JOURNAL.c.state == "intent")

        def job(c: Connection) -> list[str]:
            start, end = _time_of(c, run)
            of_run = [JOURNAL.c.at >= start, *([JOURNAL.c.at < end] if end is not None else [])]
            return list(c.execute(chosen.where(*of_run).order_by(JOURNAL.c.name)).scalars())

        return await self._read(job)

    async def keep_open_writes(self, run: int, left: OpenWrites) -> None:
        """All that this run was about to change of memberships, relations and names is undone but this, which is known
        until a later rollback undoes it. Safe to repeat."""
        places, relates = (JOURNAL.c.scope == f"{RUN_SCOPE}{kind}{run}" for kind in (PLACES, RELATES))
        notes = select(JOURNAL.c.name, JOURNAL.c.result).where(
            places, JOURNAL.c.name.startswith(journal_names.placing("")), JOURNAL.c.state == "done"
        )

        def job(c: Connection) -> None:
            kept = {name: note for name, text in c.execute(notes) if (note := _note_left(from_text(text), left))}
            c.execute(delete(JOURNAL).where(places, JOURNAL.c.name.not_in(list(kept))))
            c.execute(delete(JOURNAL).where(relates, JOURNAL.c.name.not_in(list(left.relations))))
            for name, note in kept.items():
                c.execute(update(JOURNAL).where(places, JOURNAL.c.name == name).values(result=to_text(note)))
            for scope, each in _open_renames(c, run):
                both = JOURNAL.c.name.in_([each.name, journal_names.renaming(each.name)])
                c.execute(delete(JOURNAL).where(JOURNAL.c.scope == scope, both))

        await self._write(lambda c: recount_rows(c, lambda: job(c)))

    async def undone(self, run: int, row: Undone) -> None:
        """Commit what was undone of an asset of this run; safe to repeat."""
        now = self._now()

        def job(c: Connection) -> None:
            if row.rows:
                more = {"left": list(row.left), "accepted": list(row.accepted)}
                detail = {"run": run, "rows": list(row.rows), **{key: some for key, some in more.items() if some}}
                name, by = journal_names.UNDONE, self._database.run
                append(c, LedgerRow(0, by, name, row.source, row.target, detail, now))
            c.execute(delete(JOURNAL).where(JOURNAL.c.scope == _scope(run, row.target)))
            write_counterparts(c, row.names)
            for source in _users_of(c, row.names):
                _read_again(c, source, self._database.run)
            if row.source:
                _put_link(c, row, run, now)
                _unplace(c, row)
                if row.again:
                    _read_again(c, row.source, self._database.run)

        await self._write(job)

    async def relation_undone(self, owner: str, kind: str, other: str, *, added: bool, again: bool) -> None:
        """A relation that a run added is gone again, or one that it removed is there: the link of its owner says so.
        again: the next run reads the owner. Safe to repeat."""

        def job(c: Connection) -> None:
            row = c.execute(select(LINK.c.relations).where(LINK.c.source == owner)).first()
            if row is None:
                return
            pairs = [pair for pair in from_text(row.relations) if pair != [kind, other]]
            pairs += [] if added else [[kind, other]]
            values = {"relations": to_text(sorted(pairs)), "source_revision": "", "source_fingerprint": ""}
            c.execute(update(LINK).where(LINK.c.source == owner).values(values))
            if again:
                _read_again(c, owner, self._database.run)

        await self._write(job)

    async def container_of(self, container: str) -> list[Placement]:
        """The containers with this id of the target that memberships were queued for."""
        chosen = select(CONTAINER).where(CONTAINER.c.container == container).order_by(CONTAINER.c.id)
        return await self._read(
            lambda c: [Placement(row.kind, tuple(from_text(row.path)), row.container) for row in c.execute(chosen)]
        )

    async def close_interrupted(self, run: int, by: int) -> None:
        """An interrupted run that was rolled back is not resumed; safe to repeat."""
        closed = {"state": "done", "ended_at": self._now(), "outcome": to_text({"rolled back by": by})}
        stopped = (RUN.c.id == run) & (RUN.c.state != "done") & (RUN.c.id != by)
        await self._write(lambda c: c.execute(update(RUN).where(stopped).values(closed)) and None)

    async def begun_removals(self) -> list[BegunRemoval]:
        """Linked assets whose removal a rollback had begun and did not complete, in the order of their ids."""
        chosen = select(JOURNAL.c.scope).where(_OF_ROLLBACKS, JOURNAL.c.name.in_(_REMOVING))

        def job(c: Connection) -> list[BegunRemoval]:
            found = []
            for scope in c.execute(chosen).scalars().all():
                run, _, target = scope.removeprefix(UNDO_SCOPE).partition(":")
                sources = c.execute(select(LINK.c.source).where(LINK.c.target == target)).scalars()
                found += [BegunRemoval(int(run), source, target) for source in sources]
            return sorted(found, key=lambda each: each.source)

        return await self._read(job)

    async def begun_undos(self) -> dict[int, frozenset[str]]:
        """Ids at the target of assets that a rollback had begun to undo and did not complete, by the run to be undone;
        also of runs of which it had begun to undo nothing but relations, memberships or names."""

        def job(c: Connection) -> dict[int, frozenset[str]]:
            found: dict[int, set[str]] = {}
            for scope in c.execute(select(JOURNAL.c.scope).where(_OF_ROLLBACKS).distinct()).scalars():
                run, _, target = scope.removeprefix(UNDO_SCOPE).partition(":")
                found.setdefault(int(run), set()).update([target] if target else [])
            return {run: frozenset(targets) for run, targets in sorted(found.items())}

        return await self._read(job)

    async def forget_undo(self, run: int, target: str) -> None:
        """What was begun to undo of this asset is not completed. Safe to repeat."""
        gone = delete(JOURNAL).where(JOURNAL.c.scope == _scope(run, target))
        await self._write(lambda c: recount_rows(c, lambda: c.execute(gone) and None))


def _time_of(c: Connection, run: int) -> tuple[str, str | None]:
    """When the run was started, and when the next one was that is no rollback."""
    began = select(RUN.c.id, RUN.c.started_at).where(RUN.c.id >= run, RUN.c.command.not_like(f"{ROLLBACK}%"))
    starts = {row.id: row.started_at for row in c.execute(began.order_by(RUN.c.id))}
    start = starts.pop(run, "")
    return start, next(iter(starts.values()), None)


def _open_renames(c: Connection, run: int) -> list[tuple[str, OpenRename]]:
    """Each with the scope of its journal."""
    start, end = _time_of(c, run)
    notes = JOURNAL.c.name.startswith(journal_names.renaming(""), autoescape=True)
    chosen = select(JOURNAL).where(_OF_RUNS, notes, JOURNAL.c.at >= start)
    found = []
    for row in c.execute(chosen.order_by(JOURNAL.c.at.desc(), JOURNAL.c.name)).all():
        name = journal_names.renamed_by(row.name)
        write = select(JOURNAL.c.state).where(JOURNAL.c.scope == row.scope, JOURNAL.c.name == name)
        if c.execute(write).scalar() == "intent" and (end is None or row.at < end):
            found.append((row.scope, OpenRename(name, **from_text(row.result))))
    return found


def _note_left(note: Json, left: OpenWrites) -> Json:
    """What is left of a note about memberships; None if nothing is."""
    container = note["container"]
    rest = {side: [each for each in note[side] if (container, each) in left.members] for side in ("add", "remove")}
    return {**note, **rest} if any(rest.values()) else None


def _scope(run: int, target: str) -> str:
    return f"{UNDO_SCOPE}{run}:{target}"


def _put_link(c: Connection, row: Undone, run: int, now: str) -> None:
    match row.fate:
        case "unlinked":
            drop_link(c, row.source)
            drop_trashed(c, row.source)
            drop_steps(c, row.source)
            c.execute(delete(PLACEMENT).where(PLACEMENT.c.asset == row.target))
            c.execute(delete(RELATION).where(RELATION.c.owner == row.source))
        case "linked" if row.link is not None:
            removed = c.execute(select(TRASHED.c.source).where(TRASHED.c.source == row.source)).first()
            listed = c.execute(select(WORK.c.listed_run).where(WORK.c.asset == row.source)).scalar()
            write_link(c, row.link, listed if removed is not None else None)
            drop_trashed(c, row.source)
            keep_steps(c, row.source, row.attempt)
        case "trashed" if row.link is not None:
            write_link(c, row.link)
            move_to_trashed(c, row.source, run, now)
            keep_steps(c, row.source, row.attempt)


def _unplace(c: Connection, row: Undone) -> None:
    """Memberships that the run queued and did not write are not wanted any more."""
    for piece in pieces([place.id for place in row.unplaced]):
        spots = select(CONTAINER.c.id).where(CONTAINER.c.container.in_(piece))
        c.execute(delete(PLACEMENT).where(PLACEMENT.c.asset == row.target, PLACEMENT.c.spot.in_(spots)))


def _users_of(c: Connection, names: Sequence[Counterpart]) -> list[str]:
    """Some assets with these terms or containers: a run looks at a name once it reads an asset that has it."""
    users: dict[str, None] = {}
    for target in dict.fromkeys(row.target for row in names if row.target):
        having = LINK.c.draft.contains(to_text(target), autoescape=True)
        users |= dict.fromkeys(c.execute(select(LINK.c.source).where(having).limit(_USERS)).scalars())
    return list(users)


def _read_again(c: Connection, source: str, run: int) -> None:
    given = update(WORK).where(WORK.c.asset == source).values(**_AGAIN)
    if not c.execute(given).rowcount:
        last = int(c.execute(select(WORK.c.seq).order_by(WORK.c.seq.desc()).limit(1)).scalar() or 0)
        new = {"seq": last + 1, "asset": source, "run": run, "listed_run": 0, **_AGAIN}
        c.execute(insert(WORK).values(new))
