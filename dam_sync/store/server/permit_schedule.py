"""The arithmetic of permits: statements on one row for each credential.

The row holds when the next permit is due. A lease reserves the next ones by one statement, so that no process waits for
another between reading and writing. The clock is that of the database and a parameter here, so that the same statements
are tested in virtual time.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Double,
    Text,
    Update,
    bindparam,
    case,
    cast,
    extract,
    func,
    select,
    update,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement, Select
from sqlalchemy.sql.functions import FunctionElement

from dam_sync.model.permits import AHEAD
from dam_sync.store.server.shared_schema import PERMIT

KEPT_SECONDS = 2.0  # how long after its last lease the spacing of a slower process holds for all


class Largest(FunctionElement[float]):
    """The largest of its arguments."""

    inherit_cache = True
    type = Double()


@compiles(Largest)
def _in_general(element: Any, compiler: Any, **given: Any) -> str:
    return f"greatest({compiler.process(element.clauses, **given)})"


@compiles(Largest, "sqlite")
def _in_sqlite(element: Any, compiler: Any, **given: Any) -> str:
    return f"max({compiler.process(element.clauses, **given)})"


def server_now() -> ColumnElement[float]:
    """Seconds by the clock of PostgreSQL when it received the statement: the same wherever the statement uses it."""
    return cast(extract("epoch", func.statement_timestamp()), Double)


def lease_of(now: ColumnElement[float]) -> Update:
    """Reserve permits. Parameters: key, permits, given_spacing, window, window_seconds, passed, late_number (-1: none),
    late_at, delay. The next permit is due when the one before it was due plus the spacing, not before the delay has
    passed, not during a pause, and late enough that the permit `window` numbers after a call that was counted late
    keeps its distance to it."""
    key, permits, window = _whole("key"), _integer("permits"), _integer("window")
    given, p = _number("given_spacing"), PERMIT.c
    slower = (p.spaced_until > now) & (p.spacing > given)
    spacing = case((slower, p.spacing), else_=given)
    issued = p.issued + _integer("passed")
    due_late = _integer("late_number") + window  # the number of the permit that must keep its distance
    distance = _number("late_at") + _number("window_seconds") - (due_late - issued) * spacing
    bound = case(((_integer("late_number") >= 0) & (due_late >= issued), distance), else_=0.0)
    wanted = now + case((permits > 0, _number("delay")), else_=0.0)
    free = Largest(p.free, wanted, p.paused_until, bound)
    room = case((free > now + AHEAD, 0), (spacing <= 0, permits), else_=func.floor((now + AHEAD - free) / spacing) + 1)
    granted = case((room < permits, room), else_=permits)
    return (
        update(PERMIT)
        .where(p.credential == key)
        .values(
            free=free + granted * spacing,
            issued=issued + granted,
            granted=granted,
            spacing=spacing,
            spaced_until=case((slower, p.spaced_until), else_=now + KEPT_SECONDS),
        )
        .returning(*_shown(now))
    )


def pause_of(now: ColumnElement[float]) -> Update:
    """Pause everybody. Parameters: key, seconds."""
    until = Largest(PERMIT.c.paused_until, now + _number("seconds"))
    chosen = update(PERMIT).where(PERMIT.c.credential == _whole("key"))
    return chosen.values(paused_until=until, granted=0).returning(*_shown(now))


def learn_of(now: ColumnElement[float]) -> Update:
    """Replace what was learned, unless somebody else did. Parameters: key, known_version, new_learned,
    given_spacing."""
    p = PERMIT.c
    chosen = update(PERMIT).where(p.credential == _whole("key"), p.version == _integer("known_version"))
    return chosen.values(
        version=p.version + 1,
        learned=_whole("new_learned"),
        spacing=_number("given_spacing"),
        spaced_until=now + KEPT_SECONDS,
        granted=0,
    ).returning(*_shown(now))


def look_of(now: ColumnElement[float]) -> Select[Any]:
    """The row. Parameter: key."""
    return select(*_shown(now)).where(PERMIT.c.credential == _whole("key"))


def share_of(most: int, others: int, held_by_others: int, held: int, under_way: int) -> int:
    """How many calls at once count as those of a process: its part, but never more than what the others have left, so
    that all together never exceed `most`; and what it still has under way beyond that. With more processes than calls,
    each has one."""
    part = part_of(most, others)
    if most < others + 1:
        return 1
    if held > part:
        return max(part, min(held, under_way))
    return max(min(held, under_way), min(part, most - held_by_others))


def part_of(most: int, others: int) -> int:
    """How many calls at once a process may begin, the same as each of the others."""
    return max(1, most // (others + 1))


def _shown(now: ColumnElement[float]) -> tuple[ColumnElement[Any], ...]:
    p = PERMIT.c
    return now.label("now"), p.free, p.issued, p.granted, p.spacing, p.paused_until, p.version, p.learned


def _integer(name: str) -> ColumnElement[int]:
    return bindparam(name, type_=BigInteger())


def _number(name: str) -> ColumnElement[float]:
    return bindparam(name, type_=Double())


def _whole(name: str) -> ColumnElement[str]:
    return bindparam(name, type_=Text())
