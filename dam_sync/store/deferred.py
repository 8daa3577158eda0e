"""Memberships read from containers, and writes deferred until all assets exist: placements and relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, func, or_, select, update

from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.writes import Membership
from dam_sync.store.base import Repository, from_text, pieces, to_text
from dam_sync.store.journal import StoredJournal
from dam_sync.store.note_keys import MEMBER_READINGS
from dam_sync.store.notes import put_note
from dam_sync.store.refused import unwritten
from dam_sync.store.rows import RelationRow, UnwrittenRelations
from dam_sync.store.runs import PLACES, RELATES, RUN_SCOPE
from dam_sync.store.statements import PreparedStatement, listed_statement
from dam_sync.store.tables import CONTAINER, JOURNAL, LINK, MEMBER, META, PLACEMENT, RELATION
from dam_sync.store.upsert import upsert

_PLACE = ("kind", "path", "container")
_SPOT = PreparedStatement(select(CONTAINER.c.id).where(*(CONTAINER.c[name] == bindparam(name) for name in _PLACE)))
_ADD_SPOT = PreparedStatement(upsert(CONTAINER).on_conflict_do_nothing(), _PLACE)
_QUEUED = upsert(PLACEMENT)
_QUEUE = PreparedStatement(
    _QUEUED.on_conflict_do_update(
        index_elements=["spot", "asset"], set_={"adds": _QUEUED.excluded.adds, "refused": ""}
    ),
    ("spot", "asset", "adds"),
)
_DONE = PreparedStatement(
    delete(PLACEMENT).where(PLACEMENT.c.spot == bindparam("of"), PLACEMENT.c.asset.in_(listed_statement("ids")))
)
_MEMBERS = PreparedStatement(
    select(MEMBER.c.asset, CONTAINER.c.kind, CONTAINER.c.path, CONTAINER.c.container)
    .join(CONTAINER, CONTAINER.c.id == MEMBER.c.spot)
    .where(MEMBER.c.asset.in_(listed_statement("ids")))
    .where(MEMBER.c.first_read <= bindparam("reading"), MEMBER.c.last_read >= bindparam("reading"))
)
_READ = upsert(MEMBER)
_FRESH = MEMBER.c.last_read < _READ.excluded.last_read - 1  # it was missing in between
_ADD_MEMBER = PreparedStatement(
    _READ.on_conflict_do_update(
        index_elements=["asset", "spot"],
        set_={
            "first_read": case((_FRESH, _READ.excluded.first_read), else_=MEMBER.c.first_read),
            "last_read": _READ.excluded.last_read,
        },
    ),
    ("asset", "spot", "first_read", "last_read"),
)


@dataclass(frozen=True, slots=True)
class _Readings:
    """Numbers of readings of all memberships: the current one, the last one whose changes a completed run wrote, and
    the last one that was read to its end."""

    now: int = 0
    base: int = 0
    ended: int = 0


class MemberRepository(Repository):
    """Memberships of a side whose assets do not carry them."""

    async def begin_members(self, run: int) -> None:
        """Begin to read all memberships. What earlier readings found is kept to be compared; one that did not end
        continues."""

        def job(c: Connection) -> None:
            known = _readings(c)
            if known.now == known.ended:
                _keep_readings(c, replace(known, now=known.now + 1))

        await self._write(job)

    async def end_members(self) -> None:
        """All memberships were read; safe to repeat."""

        def job(c: Connection) -> None:
            known = _readings(c)
            _keep_readings(c, replace(known, ended=known.now))

        await self._write(job)

    async def keep_members(self, without: str) -> None:
        """Every change of a membership was written: later readings are compared with this one, without assets whose ids
        begin with `without`. Safe to repeat."""

        def job(c: Connection) -> None:
            known = _readings(c)
            others = MEMBER.c.asset.startswith(without, autoescape=True)
            c.execute(delete(MEMBER).where(or_(MEMBER.c.last_read < known.now, others)))
            _keep_readings(c, replace(known, base=known.now))

        await self._write(job)

    async def add_members(self, read: Sequence[Membership]) -> None:
        """Some members of containers; safe to repeat."""

        def job(c: Connection) -> None:
            now = _readings(c).now
            for membership in read:
                spot = _spot(c, membership.placement)
                rows = ({"asset": one, "spot": spot, "first_read": now, "last_read": now} for one in membership.assets)
                _ADD_MEMBER.run_all(c, rows)

        if read:
            await self._write(job)

    async def keep_members_of(self, found: Mapping[AssetId, frozenset[Placement]]) -> None:
        """These assets are in these containers and in no others, and nothing is to be written of that: later readings
        are compared with it. Safe to repeat."""

        def job(c: Connection) -> None:
            known = _readings(c)
            read = {"first_read": min(known.base, known.ended), "last_read": known.ended}
            for asset, placements in found.items():
                c.execute(delete(MEMBER).where(MEMBER.c.asset == asset))
                spots = [_spot(c, place) for place in placements]
                _ADD_MEMBER.run_all(c, ({"asset": asset, "spot": spot, **read} for spot in spots))

        if found:
            await self._write(job)

    async def forget_members(self, prefix: str) -> None:
        """Forget memberships of assets whose ids begin with `prefix`; safe to repeat."""
        chosen = delete(MEMBER).where(MEMBER.c.asset.startswith(prefix, autoescape=True))
        await self._write(lambda c: c.execute(chosen) and None)

    async def changed_members(self, after: str, at_most: int) -> list[AssetId]:
        """A page of the assets whose memberships changed since the last reading that was kept, in the order of their
        ids."""

        def job(c: Connection) -> list[AssetId]:
            known = _readings(c)
            changed = or_(MEMBER.c.first_read > known.base, MEMBER.c.last_read < known.now)
            chosen = select(MEMBER.c.asset).where(MEMBER.c.asset > after, changed).distinct()
            return [AssetId(row.asset) for row in c.execute(chosen.order_by(MEMBER.c.asset).limit(at_most))]

        return await self._read(job)

    async def member_counts(self, without: str) -> tuple[int, int]:
        """How many memberships the last reading that was kept found, and how many this one found, without those of
        assets whose ids begin with `without`."""

        def job(c: Connection) -> tuple[int, int]:
            known = _readings(c)
            before = (MEMBER.c.first_read <= known.base) & (MEMBER.c.last_read >= known.base)
            counted = [func.count().filter(before), func.count().filter(MEMBER.c.last_read == known.now)]
            ours = ~MEMBER.c.asset.startswith(without, autoescape=True)
            row = c.execute(select(*counted).select_from(MEMBER).where(ours)).one()
            return int(row[0]), int(row[1])

        return await self._read(job)

    async def members_of(self, assets: Sequence[str]) -> dict[AssetId, frozenset[Placement]]:
        """The containers of these assets, by the last reading that ended; assets in none are absent."""

        def job(c: Connection) -> dict[AssetId, frozenset[Placement]]:
            found: dict[AssetId, set[Placement]] = {}
            ended = _readings(c).ended
            for piece in pieces(assets):
                for row in _MEMBERS.all(c, ids=to_text(list(piece)), reading=ended):
                    found.setdefault(AssetId(row.asset), set()).add(_placement(row))
            return {asset: frozenset(placements) for asset, placements in found.items()}

        return await self._read(job)

    async def members_in(self, placement: Placement, without: str) -> tuple[AssetId, ...]:
        """The assets in this container, by the last reading that ended, without those whose ids begin with `without`.
        A container with an id is known by it."""

        def job(c: Connection) -> tuple[AssetId, ...]:
            ended = _readings(c).ended
            spots = select(CONTAINER.c.id).where(CONTAINER.c.kind == placement.kind)
            path = CONTAINER.c.path == to_text(list(placement.path))
            spots = spots.where(CONTAINER.c.container == placement.id if placement.id else path)
            chosen = select(MEMBER.c.asset).where(MEMBER.c.spot.in_(spots))
            chosen = chosen.where(MEMBER.c.first_read <= ended, MEMBER.c.last_read >= ended)
            chosen = chosen.where(~MEMBER.c.asset.startswith(without, autoescape=True)).distinct()
            return tuple(AssetId(row.asset) for row in c.execute(chosen.order_by(MEMBER.c.asset)))

        return await self._read(job)


class MembershipRepository(Repository):
    """Bulk placements waiting for the target."""

    async def next_placements(self, at_most: int) -> tuple[Placement, tuple[AssetId, ...], tuple[AssetId, ...]] | None:
        """One container with up to `at_most` assets to add and to remove; None if nothing is pending."""

        def job(c: Connection) -> tuple[Placement, tuple[AssetId, ...], tuple[AssetId, ...]] | None:
            waits = PLACEMENT.c.refused == ""
            first = select(PLACEMENT.c.spot).where(waits).order_by(PLACEMENT.c.spot).limit(1)
            spot = c.execute(select(CONTAINER).where(CONTAINER.c.id == first.scalar_subquery())).first()
            if spot is None:
                return None
            waiting = select(PLACEMENT).where(PLACEMENT.c.spot == spot.id, waits).order_by(PLACEMENT.c.asset)
            rows = c.execute(waiting.limit(max(1, at_most))).all()
            add = tuple(AssetId(row.asset) for row in rows if row.adds)
            return _placement(spot), add, tuple(AssetId(row.asset) for row in rows if not row.adds)

        return await self._read(job)

    async def placement_refused(self, placement: Placement, asset: str, why: str) -> None:
        """The target refused it; it is kept for the report, and tried again when the placement is queued again."""

        def job(c: Connection) -> None:
            one = (PLACEMENT.c.spot == _spot(c, placement), PLACEMENT.c.asset == asset)
            c.execute(update(PLACEMENT).where(*one).values(refused=why))

        await self._write(job)

    async def open_placements(self, asset: str) -> frozenset[Placement]:
        """Containers into or out of which this target asset is still to be moved, or whose change was refused."""
        chosen = select(CONTAINER).join(PLACEMENT, PLACEMENT.c.spot == CONTAINER.c.id).where(PLACEMENT.c.asset == asset)
        return await self._read(lambda c: frozenset(_placement(row) for row in c.execute(chosen)))

    async def queued_placements(self, asset: str) -> tuple[frozenset[Placement], frozenset[Placement]]:
        """Containers into which this target asset is still to be moved, and those out of which."""
        chosen = select(CONTAINER, PLACEMENT.c.adds).join(PLACEMENT, PLACEMENT.c.spot == CONTAINER.c.id)
        waits = (PLACEMENT.c.asset == asset, PLACEMENT.c.refused == "")

        def job(c: Connection) -> tuple[frozenset[Placement], frozenset[Placement]]:
            rows = [(_placement(row), row.adds) for row in c.execute(chosen.where(*waits))]
            return frozenset(one for one, adds in rows if adds), frozenset(one for one, adds in rows if not adds)

        return await self._read(job)

    def placement_journal(self, run: int, placement: Placement, ids: Sequence[str], name: str) -> StoredJournal:
        """The journal for the entry of this name, which adds these assets to a container or removes them: they are done
        with its result. The entry ends with them, and so does the note of what it was about to change: the same may be
        wanted again in this run."""
        scope = f"{PLACES}{run}"
        names = (name, journal_names.placing(name))

        def job(c: Connection) -> None:
            spot = _spot(c, placement)
            for piece in pieces(ids):
                _DONE.run(c, of=spot, ids=to_text(list(piece)))
            c.execute(delete(JOURNAL).where(JOURNAL.c.scope == RUN_SCOPE + scope, JOURNAL.c.name.in_(names)))

        return StoredJournal(self._database, RUN_SCOPE + scope, scope, 0).completing(job)


class RelationRepository(Repository):
    """Relations pending until both ends exist."""

    async def next_relations(self, at_most: int, after_seq: int = 0, *, adds: bool = True) -> list[RelationRow]:
        """A page after `after_seq` of those to write, or to remove, with target ids of linked ends and empty ones
        otherwise."""
        owner, other = LINK.alias("of_owner"), LINK.alias("of_other")
        joined = RELATION.outerjoin(owner, owner.c.source == RELATION.c.owner)
        joined = joined.outerjoin(other, other.c.source == RELATION.c.other)
        columns = (RELATION, owner.c.target.label("owner_target"), other.c.target.label("other_target"))
        chosen = select(*columns).select_from(joined).where(RELATION.c.seq > after_seq, RELATION.c.refused == "")
        chosen = chosen.where(RELATION.c.adds == adds).order_by(RELATION.c.seq).limit(at_most)

        def job(c: Connection) -> list[RelationRow]:
            return [
                RelationRow(row.seq, row.owner, row.kind, row.other, row.owner_target or "", row.other_target or "")
                for row in c.execute(chosen)
            ]

        return await self._read(job)

    async def leads(self, kind: str, start: str, goal: str) -> bool:
        """Whether written relations of this kind lead from one source asset to another, or both are the same."""

        def job(c: Connection) -> bool:
            seen, waiting = {start}, [start]
            while waiting and goal not in seen:
                fresh = [other for piece in pieces(waiting) for other in _written(c, kind, piece)]
                waiting = [other for other in dict.fromkeys(fresh) if other not in seen]
                seen.update(waiting)
            return goal in seen

        return await self._read(job)

    async def relations_waiting(self, owner: str) -> frozenset[tuple[str, str]]:
        """(kind, other source id) of this asset's relations that are not written: an end was not moved, or refused."""
        chosen = select(RELATION.c.kind, RELATION.c.other).where(RELATION.c.owner == owner, RELATION.c.adds)
        return await self._read(lambda c: frozenset((row.kind, row.other) for row in c.execute(chosen)))

    async def refused_relations_of(self, owner: str) -> frozenset[tuple[str, str]]:
        """(kind, other source id) of this asset's relations that the target refused."""
        refused = (RELATION.c.owner == owner, RELATION.c.adds, RELATION.c.refused != "")
        chosen = select(RELATION.c.kind, RELATION.c.other).where(*refused)
        return await self._read(lambda c: frozenset((row.kind, row.other) for row in c.execute(chosen)))

    async def relations_to_remove(self, owner: str) -> frozenset[tuple[str, str]]:
        """(kind, other source id) of this asset's relations that are still to be removed, or whose removal was
        refused."""
        chosen = select(RELATION.c.kind, RELATION.c.other).where(RELATION.c.owner == owner, ~RELATION.c.adds)
        return await self._read(lambda c: frozenset((row.kind, row.other) for row in c.execute(chosen)))

    async def relation_refused(self, row: RelationRow, why: str) -> None:
        """The target refused it; it is kept for the report."""
        one = update(RELATION).where(RELATION.c.seq == row.seq).values(refused=why)
        await self._write(lambda c: c.execute(one) and None)

    async def relations_refused(self) -> list[UnwrittenRelations]:
        """Relations that are not written, by reason."""
        chosen = select(RELATION.c.refused, func.count()).group_by(RELATION.c.refused).order_by(RELATION.c.refused)
        return await self._read(lambda c: [unwritten(row[0], int(row[1])) for row in c.execute(chosen)])

    async def relations_done(self, rows: Sequence[RelationRow]) -> None:
        """These are done; safe to repeat."""

        def job(c: Connection) -> None:
            for piece in pieces(rows):
                c.execute(delete(RELATION).where(RELATION.c.seq.in_([row.seq for row in piece])))

        await self._write(job)

    def relation_journal(self, run: int, row: RelationRow, *, adds: bool) -> StoredJournal:
        """The journal for the entry that writes or removes this relation, which is done with its result. What is
        removed may be written again in this run, so that its entries end."""
        scope = f"{RELATES}{run}"
        names = [journal_names.relation(row.owner, row.kind, row.other, adds=each) for each in (True, False)]

        def job(c: Connection) -> None:
            c.execute(delete(RELATION).where(RELATION.c.seq == row.seq))
            if not adds:
                c.execute(delete(JOURNAL).where(JOURNAL.c.scope == RUN_SCOPE + scope, JOURNAL.c.name.in_(names)))

        return StoredJournal(self._database, RUN_SCOPE + scope, scope, 0).completing(job)


def _readings(c: Connection) -> _Readings:
    known = c.execute(select(META.c.value).where(META.c.key == MEMBER_READINGS)).scalar()
    return _Readings() if known is None else _Readings(*from_text(known))


def _keep_readings(c: Connection, readings: _Readings) -> None:
    put_note(c, MEMBER_READINGS, [readings.now, readings.base, readings.ended])


def add_placements(c: Connection, rows: Sequence[tuple[Placement, AssetId, bool]]) -> None:
    """Queue placements; the last entry of a pair wins."""
    spots: dict[tuple[Placement, str], int] = {}
    values = []
    for placement, asset, adds in rows:
        key = placement, placement.id
        spots[key] = spots.get(key) or _spot(c, placement)
        values.append({"spot": spots[key], "asset": asset, "adds": adds})
    _QUEUE.run_all(c, values)


def add_relations(c: Connection, rows: Sequence[tuple[str, str, str, bool]]) -> None:
    """Queue relations to write or to remove; the last entry of a relation wins."""
    values = [{"owner": owner, "kind": kind, "other": other, "adds": adds} for owner, kind, other, adds in rows]
    added = upsert(RELATION)
    turned = added.on_conflict_do_update(
        index_elements=["owner", "kind", "other"],
        set_={"adds": added.excluded.adds, "refused": ""},
        where=RELATION.c.adds != added.excluded.adds,
    )
    c.execute(turned, values)


def _written(c: Connection, kind: str, owners: Sequence[str]) -> Iterator[str]:
    """The other ends of written memberships and relations: queued before, and neither pending nor refused."""
    open_rows = select(RELATION.c.owner, RELATION.c.other).where(RELATION.c.kind == kind, RELATION.c.owner.in_(owners))
    undone = {(row.owner, row.other) for row in c.execute(open_rows)}
    for row in c.execute(select(LINK.c.source, LINK.c.relations).where(LINK.c.source.in_(owners))):
        for named, other in from_text(row.relations):
            if named == kind and (row.source, other) not in undone:
                yield other


def _spot(c: Connection, placement: Placement) -> int:
    """The number of a container."""
    values: Mapping[str, str] = {
        "kind": placement.kind,
        "path": to_text(list(placement.path)),
        "container": placement.id,
    }
    known = _SPOT.value(c, **values)
    if known is None:
        _ADD_SPOT.run(c, **values)
        known = _SPOT.value(c, **values)
    return int(known)


def _placement(row: Any) -> Placement:
    return Placement(row.kind, tuple(from_text(row.path)), row.container)
