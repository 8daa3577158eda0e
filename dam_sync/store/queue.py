"""The work queue: listed assets are claimed under a lease, in order, and completed once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    Update,
    and_,
    bindparam,
    case,
    delete,
    exists,
    func,
    or_,
    select,
    text,
    update,
)

from dam_sync.model.asset import Asset, AssetId
from dam_sync.model.codec import asset_from_json
from dam_sync.model.errors import StoreBusy
from dam_sync.model.outcome import MADE, REMOVED, Outcome
from dam_sync.model.parking import ParkCause, ParkReason, SkipReason, park_cause, stored_texts
from dam_sync.store.accounts import account_pairs
from dam_sync.store.base import Repository, from_text, pieces, to_text
from dam_sync.store.conflicts import put_conflicts
from dam_sync.store.corrections import put_failed
from dam_sync.store.deferred import add_placements, add_relations
from dam_sync.store.deletions import drop_trashed, move_to_trashed, retry_trashed
from dam_sync.store.journal import begun_among, drop_steps, vouch_for
from dam_sync.store.links import write_link
from dam_sync.store.rows import CauseRow, HeldBackRow, ParkedRow, Work
from dam_sync.store.runs import ONE_LESS, not_of_other_wave, open_rows
from dam_sync.store.server.workers import is_leased_by, leased_by
from dam_sync.store.statements import PreparedStatement, listed_statement
from dam_sync.store.status_facts import USUAL, with_done_again
from dam_sync.store.tables import CONFLICTS, LINK, OPEN, PARKED, PLACEMENT, RELATION, REMOVAL, RUN, TALLY, WORK
from dam_sync.store.waves import put_wave

UNFINISHED = frozenset({"parked", "skipped"})  # outcomes whose journal is kept: the asset may become work again
UNNAMED = "{}"  # of an asset that was not read; what is known of its name stays

_NOW = PreparedStatement(
    select(
        *(WORK.c.seq, WORK.c.asset, WORK.c.state, WORK.c.holder, WORK.c.again, WORK.c.listed_run, WORK.c.action),
        *(WORK.c.passing, WORK.c.run, WORK.c.digest, WORK.c.revision),
    ).where(WORK.c.asset == bindparam("of"))
)
_CLAIMABLE = (
    select(WORK)
    .where(text(OPEN), WORK.c.due <= bindparam("now"), WORK.c.asset.not_in(listed_statement("held")))
    .order_by(WORK.c.seq)
    .limit(bindparam("most", type_=Integer))
    .with_for_update(skip_locked=True)
)
_FREE, _FREE_OF_WAVE = PreparedStatement(_CLAIMABLE), PreparedStatement(_CLAIMABLE.where(not_of_other_wave()))
_TAKE = PreparedStatement(
    update(WORK)
    .where(WORK.c.seq == bindparam("at"))
    .values(
        state="claimed",
        due=bindparam("until"),
        holder=bindparam("by"),
        run=bindparam("now"),
        action=case((WORK.c.run == bindparam("now"), WORK.c.action), else_=""),
        attempt=WORK.c.attempt + 1,
        again=False,
    )
)
_CLOSED: dict[str, Any] = {
    "state": "settled",
    "due": "",
    "holder": "",
    "payload": None,
    **{
        name: bindparam(f"new_{name}")
        for name in (
            "action",
            "cause",
            "operation",
            "message",
            "hint",
            "losses",
            "evidence",
            "settled_at",
            "passing",
            "account",
            "digest",
        )
    },
    "named": case((bindparam("new_named") == UNNAMED, WORK.c.named), else_=bindparam("new_named")),
}
_CLOSE = PreparedStatement(update(WORK).where(WORK.c.seq == bindparam("at")).values(_CLOSED))
_AGAIN: dict[str, Any] = {"state": "pending", "due": "", "holder": "", "attempt": 0, "again": False}
_AGAIN |= {"action": bindparam("new_action"), "losses": bindparam("new_losses"), "digest": bindparam("new_digest")}
_REOPEN = PreparedStatement(update(WORK).where(WORK.c.seq == bindparam("at")).values(_AGAIN))
_PUT_BACK: dict[str, Any] = {
    **{"state": "pending", "action": "", "due": "", "holder": "", "attempt": 0},
    **{"cause": "", "operation": "", "message": "", "hint": "", "losses": "null", "evidence": ""},
}
_NOTHING_TO_DO: dict[str, Any] = {**_PUT_BACK, "state": "settled", "action": "unchanged", "passing": 0}
_RECREATED = PreparedStatement(delete(REMOVAL).where(REMOVAL.c.source == bindparam("of")))
_LOST = (
    "SELECT work.seq, work.asset, json_extract(loss.value, '$.rule') AS rule, work.action = 'parked' AS parked"
    " FROM work, json_each(work.losses) AS loss WHERE work.state = 'settled' AND json_type(work.losses) = 'array'"
    " AND json_extract(loss.value, '$.path') = :path"
)
_LOSSES_OF = text(  # each part by its own index, which an OR would not use
    "SELECT rule, parked, many, asset FROM (SELECT rule, parked, asset, count(*) OVER same AS many,"
    f" row_number() OVER (same ORDER BY seq) AS place FROM ({_LOST} AND work.run = :run"
    f" UNION {_LOST} AND work.action = 'parked') AS lost"
    " WINDOW same AS (PARTITION BY rule, parked)) AS numbered"
    " WHERE place <= :examples ORDER BY rule, parked, place"
)
_AS_WRITTEN = exists().where(LINK.c.source == WORK.c.asset, LINK.c.source_revision == WORK.c.revision)
_HELD_BACK = text(
    "SELECT rule, remedies, limited, closes, count(*) AS many FROM (SELECT json_extract(loss.value, '$.rule') AS rule,"
    " json_extract(loss.value, '$.remedies') AS remedies, json_extract(loss.value, '$.groups') AS limited,"
    " json_extract(loss.value, '$.closes') AS closes FROM work, json_each(work.losses) AS loss"
    " WHERE work.state = 'settled' AND work.action = 'parked' AND json_type(work.losses) = 'array'"
    " AND json_extract(loss.value, '$.path') = :path) AS held GROUP BY rule, remedies, limited, closes"
    " ORDER BY many DESC, rule, remedies, limited, closes LIMIT :most"
)
_HELD = (WORK.c.asset == bindparam("of")) & (WORK.c.seq == bindparam("at")) & (WORK.c.state == "claimed")


class WorkQueue(Repository):
    """Work items from claim to completion."""

    async def claim(self, run: int, at_most: int, lease: timedelta, held: Collection[str] = ()) -> list[Work]:
        """The next rows in listing order; an expired lease makes a row claimable again.

        held: items that the caller is processing; they stay its own even after the lease expires.
        """
        now, until = self._now(), self._now(lease)
        wave = {"wave": self._database.wave} if self._database.wave else {}

        def job(c: Connection) -> list[Work]:
            rows = (_FREE_OF_WAVE if wave else _FREE).all(c, now=now, held=to_text(list(held)), most=at_most, **wave)
            begun = begun_among(c, [row.asset for row in rows])
            lease = {"until": until, "by": self._database.holder, "now": run}
            _TAKE.run_all(c, [{"at": row.seq, **lease} for row in rows])
            return [_work(row, row.asset in begun) for row in rows]

        return await self._write(job) if at_most > 0 else []

    async def extend(self, works: Sequence[Work], lease: timedelta) -> None:
        """Extend the leases of these; those no longer held do not change."""
        held = update(WORK).where(_HELD, leased_by(self._database.holder)).values(due=self._now(lease))
        await self._on_each(held, works)

    async def release(self, works: Sequence[Work]) -> None:
        """Put back items that were not tried; they can be claimed again at once."""
        back = {"state": "pending", "due": "", "holder": "", "attempt": ONE_LESS, "again": False}
        await self._on_each(update(WORK).where(_HELD, leased_by(self._database.holder)).values(back), works)

    async def retry(self, work: Work, after_s: float) -> None:
        """Put back items that were tried; they can be claimed again in `after_s` seconds."""
        due = self._now(timedelta(seconds=max(0.0, after_s)))
        back = {"state": "pending", "due": due, "holder": "", "again": False}
        await self._on_each(update(WORK).where(_HELD, leased_by(self._database.holder)).values(back), [work])

    async def complete(self, work: Work, outcome: Outcome) -> None:
        """Commit the outcome with its link, bulk placements, relations and the end of its journal, in one transaction.

        Durable on return; safe to repeat. An asset listed again meanwhile is pending again. The journal of a parked
        or skipped asset is kept, so that nothing is written twice. Raises StoreBusy if another process holds it.
        """
        now, account = self._now(), to_text(await account_pairs(self._database, outcome.account))

        def job(c: Connection) -> None:
            row = _NOW.first(c, of=work.asset)
            if (
                row is None
                or row.seq != work.seq
                or (row.state == "claimed" and not is_leased_by(row.holder, self._database.holder))
            ):
                raise StoreBusy("another process is working on this asset", asset=work.asset)
            if row.state == "settled":
                return
            _complete(c, row, outcome, now, account)
            _complete_rest(c, row, outcome, now)
            if outcome.wave is not None:
                put_wave(c, row, outcome.wave, own=outcome.wave == self._database.wave)

        await self._write(job)
        if work.journal.results is not None:
            await work.journal.results.durable()

    async def unpark(self, causes: Collection[ParkCause] | None) -> int:
        """Put parked assets back into the queue, all (with refused memberships and relations) or those of
        some causes; returns the number of assets.

        Naming the cause `Uncertain` confirms that a person checked: uncertain calls may then be made again.
        What the target's service removed is created again.
        """

        def job(c: Connection) -> int:
            chosen = [text(PARKED)] if causes is None else [text(PARKED), _is_one_of(causes)]
            if causes is not None and ParkReason.UNCERTAIN in causes:
                vouch_for(c, select(WORK.c.asset).where(text(PARKED), _is_one_of({ParkReason.UNCERTAIN})))
            assets = select(WORK.c.asset).where(*chosen)
            c.execute(delete(REMOVAL).where(REMOVAL.c.source.in_(assets)))
            retry_trashed(c, assets.where(_is_one_of({ParkReason.STILL_IN_TRASH})))
            if causes is None:
                for table in (PLACEMENT, RELATION):
                    c.execute(update(table).values(refused=""))
            return c.execute(update(WORK).where(*chosen).values(**_PUT_BACK, passing=0)).rowcount

        return await self._write(job)

    async def retry_passing(self, most: int) -> int:
        """Requeue what was parked for temporary failures in fewer than this many runs in a row; returns how many."""
        return await self._put_back(WORK.c.passing > 0, WORK.c.passing < most)

    async def retry_causes(self, causes: Collection[ParkCause], operation: str = "") -> int:
        """Requeue what was parked for one of these causes, or by this operation; returns how many. Unlike `unpark`, it
        does not vouch for uncertain calls."""
        named = _is_one_of(causes)
        return await self._put_back(or_(named, WORK.c.operation == operation) if operation else named)

    async def retry_decided(self) -> int:
        """Requeue what was parked for conflicts that are all decided now; returns how many."""
        undecided = select(CONFLICTS.c.asset).where(CONFLICTS.c.decision == "")
        decided = select(CONFLICTS.c.asset).where(CONFLICTS.c.asset.not_in(undecided))
        return await self._put_back(_is_one_of({ParkReason.CONFLICT}), WORK.c.asset.in_(decided))

    async def retry_assets(self, assets: Collection[str]) -> int:
        """Requeue these of the parked assets; returns how many."""
        return sum([await self._put_back(WORK.c.asset.in_(piece)) for piece in pieces(assets)])

    async def settle_linked(self, assets: Collection[str]) -> None:
        """These of the parked assets have a link now, and nothing is to be written; one that an attempt began is put
        back into the queue. Safe to repeat."""

        def job(c: Connection) -> None:
            begun = begun_among(c, sorted(assets))
            for several, values in ((begun, _PUT_BACK), (frozenset(assets) - begun, _NOTHING_TO_DO)):
                for piece in pieces(several):
                    c.execute(update(WORK).where(text(PARKED), WORK.c.asset.in_(piece)).values(**values))

        if assets:
            await self._write(job)

    async def _put_back(self, *chosen: Any) -> int:
        back = update(WORK).where(text(PARKED), *chosen).values(**_PUT_BACK)
        return await self._write(lambda c: c.execute(back).rowcount)

    async def open_work(self, run: int) -> int:
        """Number of unfinished rows, whichever run listed them: the current run processes them all, but for those of
        other waves than its own."""
        return await self._read(lambda c: open_rows(c, self._database.wave))

    async def tally(self, run: int) -> Mapping[str, int]:
        """Assets of a run: `listed`, `open`, and by action; the usual ones also if zero.

        From counters kept with the rows, and a scan of open rows only if there are any. An asset put back by `unpark`
        is open in its old run until another run claims it; one that this run wrote as it is listed, and is about to
        read again, is done, and counted under `DONE_AGAIN` too.
        """

        def job(c: Connection) -> dict[str, int]:
            row = c.execute(select(RUN.c.listed, RUN.c.unchanged).where(RUN.c.id == run)).first()
            counts = {"listed": row.listed if row else 0, "open": 0, **dict.fromkeys(USUAL, 0)}
            counts["unchanged"] = row.unchanged if row else 0
            for label, n in c.execute(select(TALLY.c.label, TALLY.c.n).where(TALLY.c.run == run, TALLY.c.n > 0)):
                counts[label] = counts.get(label, 0) + n
            if counts["open"]:
                done = (text(OPEN), WORK.c.run == run, WORK.c.action.in_(MADE), _AS_WRITTEN)
                again = select(WORK.c.action, func.count()).where(*done).group_by(WORK.c.action)
                with_done_again(counts, ((row[0], row[1]) for row in c.execute(again)))
            return counts

        return await self._read(job)

    async def set_done_apart(self, run: int) -> int:
        """In the copy of a plan: what an interrupted run wrote, and reads again because its listing was begun again, is
        counted as what becomes of it now; returns how many assets did not change since. What it does not read again
        stays as it is."""
        done, settled = (WORK.c.run == run, WORK.c.action.in_(MADE)), WORK.c.state == "settled"

        def job(c: Connection) -> int:
            again = or_(text(OPEN), settled & (WORK.c.listed_run != run))
            same = or_(_AS_WRITTEN, WORK.c.listed_run != run)
            number = int(c.execute(select(func.count()).select_from(WORK).where(*done, again, same)).scalar_one())
            c.execute(update(WORK).where(*done, again).values(action=""))
            c.execute(update(WORK).where(WORK.c.run == run, settled, WORK.c.action == "").values(run=0))
            return number

        return await self._write(job)

    async def actions(self, assets: Sequence[str]) -> dict[AssetId, str]:
        """The last action of assets, `pending` for open ones; unknown ones are absent."""
        columns = (WORK.c.asset, WORK.c.state, WORK.c.action)

        def job(c: Connection) -> dict[AssetId, str]:
            found: dict[AssetId, str] = {}
            for piece in pieces(assets):
                for row in c.execute(select(*columns).where(WORK.c.asset.in_(piece))):
                    found[AssetId(row.asset)] = row.action if row.state == "settled" else "pending"
            return found

        return await self._read(job)

    async def payloads(self, assets: Sequence[str]) -> dict[AssetId, Asset]:
        """Assets as listed, for those whose listing contained them."""
        columns = (WORK.c.asset, WORK.c.payload)

        def job(c: Connection) -> dict[AssetId, Asset]:
            found: dict[AssetId, Asset] = {}
            for piece in pieces(assets):
                chosen = select(*columns).where(WORK.c.asset.in_(piece), WORK.c.payload.is_not(None))
                found.update((AssetId(row.asset), asset_from_json(from_text(row.payload))) for row in c.execute(chosen))
            return found

        return await self._read(job)

    async def parked(self, *, limit: int, offset: int = 0, cause: ParkCause | None = None) -> list[ParkedRow]:
        """Parked assets in the order of their listing."""
        chosen = select(WORK).where(text(PARKED)).order_by(WORK.c.seq).limit(limit).offset(offset)
        chosen = chosen if cause is None else chosen.where(_is_one_of({cause}))

        def job(c: Connection) -> list[ParkedRow]:
            return [
                ParkedRow(row.asset, park_cause(row.cause), row.operation, row.message, row.hint, from_text(row.named))
                for row in c.execute(chosen)
            ]

        return await self._read(job)

    async def parked_causes(self) -> list[CauseRow]:
        """Why assets are parked, most frequent first."""
        names = ("cause", "operation", "hint")
        columns = [WORK.c[name] for name in names]
        many, first = func.count().label("many"), func.min(WORK.c.asset).label("asset")
        group = select(*columns, many, first).where(text(PARKED)).group_by(*columns).subquery()
        same = and_(*(WORK.c[name] == group.c[name] for name in (*names, "asset")))
        chosen = select(*group.c, func.min(WORK.c.message)).join(WORK, same).where(text(PARKED)).group_by(*group.c)
        chosen = chosen.order_by(group.c.many.desc(), group.c.cause)
        rows = await self._read(lambda c: c.execute(chosen).all())
        return [CauseRow(park_cause(cause), *rest) for cause, *rest in map(tuple, rows)]

    async def left_out(self, run: int) -> dict[str, int]:
        """Assets of this run that were not selected, by the condition that left them out, most frequent first."""
        many, message = func.count().label("many"), WORK.c.message
        chosen = (
            select(message, many)
            .where(WORK.c.run == run, WORK.c.cause == str(SkipReason.NOT_SELECTED))
            .group_by(message)
        )
        rows = await self._read(lambda c: c.execute(chosen.order_by(many.desc(), message)).all())
        return {row.message.removeprefix(f"{SkipReason.NOT_SELECTED}: "): int(row.many) for row in rows}

    async def losses(self, run: int) -> list[tuple[str, str, int]]:
        """(path, rule, assets) over everything this run completed, most frequent first."""
        chosen = text(
            "SELECT json_extract(loss.value, '$.path') AS path, json_extract(loss.value, '$.rule') AS rule,"
            " count(DISTINCT work.seq) AS assets FROM work, json_each(work.losses) AS loss"
            " WHERE work.run = :run AND work.state = 'settled' AND json_type(work.losses) = 'array'"
            " GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2"
        )
        return await self._read(lambda c: [tuple(row) for row in c.execute(chosen, {"run": run})])

    async def losses_of(self, path: str, run: int, examples: int) -> list[tuple[str, bool, int, list[str]]]:
        """(rule, whether the asset is parked for it, assets, the first of them) of losses under this path: of
        assets that are parked now, and of those that this run completed."""
        given = {"run": run, "path": path, "examples": examples}
        found: dict[tuple[str, bool, int], list[str]] = {}
        for rule, parked, many, asset in await self._read(lambda c: c.execute(_LOSSES_OF, given).all()):
            found.setdefault((rule, bool(parked), many), []).append(asset)
        return [(*key, assets) for key, assets in found.items()]

    async def held_back(self, path: str, most: int) -> list[HeldBackRow]:
        """Losses under this path of assets that are parked now, those of most assets first; at most so many different
        ones."""
        rows = await self._read(lambda c: c.execute(_HELD_BACK, {"path": path, "most": most}).all())
        return [_held_back(row) for row in rows]

    async def _on_each(self, statement: Update, works: Sequence[Work]) -> None:
        if works:
            held = [{"of": work.asset, "at": work.seq} for work in works]
            await self._write(lambda c: c.execute(statement, held) and None)


def _is_one_of(causes: Collection[ParkCause]) -> ColumnElement[bool]:
    return WORK.c.cause.in_([text for cause in causes for text in stored_texts(cause)])


def _held_back(row: Any) -> HeldBackRow:
    remedies, groups = (from_text(text or "[]") for text in (row.remedies, row.limited))
    return HeldBackRow(row.rule, remedies, groups, bool(int(row.closes or 0)), row.many)


def _complete(c: Connection, row: Any, outcome: Outcome, now: str, account: str) -> None:
    """The row itself: closed, or pending again if it was listed again."""
    action, losses, digest = outcome.action, to_text(outcome.losses), outcome.digest
    if row.action in MADE and outcome.action == "unchanged":  # what was done and lost then remains so
        action, losses, digest = row.action, _all_losses(c, row.seq, outcome), row.digest
    elif (row.action, outcome.action) == MADE:  # it is new at the target all the same
        action = row.action
    if row.again:
        _REOPEN.run(c, at=row.seq, new_action=action if action in MADE else "", new_losses=losses, new_digest=digest)
        return
    _CLOSE.run(
        c,
        at=row.seq,
        new_action=action,
        new_cause=str(outcome.cause or ""),
        new_operation=outcome.operation,
        new_message=outcome.message,
        new_hint=outcome.hint,
        new_losses=losses,
        new_evidence=outcome.evidence,
        new_settled_at=now,
        new_named=to_text(dict(outcome.named)),
        new_passing=row.passing + 1 if outcome.passing else 0,
        new_account=account,
        new_digest=digest,
    )


def _all_losses(c: Connection, seq: int, outcome: Outcome) -> str:
    """Those of the row, and those of a later visit by the same run."""
    known = from_text(c.execute(select(WORK.c.losses).where(WORK.c.seq == seq)).scalar_one()) or []
    return to_text([*known, *(loss for loss in outcome.losses or () if loss not in known)])


def _complete_rest(c: Connection, row: Any, outcome: Outcome, now: str) -> None:
    """Write what belongs to the same transaction."""
    if outcome.cause is SkipReason.DELETED and not row.again:  # also one that a run of some assets found so
        c.execute(update(WORK).where(WORK.c.seq == row.seq).values(deleted=True))
    if outcome.action == REMOVED:
        move_to_trashed(c, row.asset, row.run, now)
    if outcome.link is not None:
        write_link(c, outcome.link, row.listed_run)
        _RECREATED.run(c, of=row.asset)
        drop_trashed(c, row.asset)
    if outcome.placements:
        add_placements(c, outcome.placements)
    if outcome.relations:
        add_relations(c, [(row.asset, kind, other, adds) for kind, other, adds in outcome.relations])
    if outcome.action not in UNFINISHED:
        drop_steps(c, row.asset)
    put_failed(c, row.asset, outcome.failed, now)
    if outcome.action != "parked" or outcome.cause in (ParkReason.CONFLICT, ParkReason.CHANGED_AT_TARGET):
        put_conflicts(c, row.asset, outcome.conflicts)


def _work(row: Row[Any], begun: bool) -> Work:
    payload = asset_from_json(from_text(row.payload)) if row.payload else None
    attempt = row.attempt + 1
    known = row.passing, park_cause(row.cause) if row.cause else None
    return Work(row.seq, AssetId(row.asset), row.revision, payload, bool(row.deleted), attempt, begun, *known)
