"""A target that several jobs know, in memory: what they report to each other, and a service that trusts what it has
read."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

from dam_sync.model.asset import Placement
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.errors import Transient
from dam_sync.model.shared_target import SharedPart, UnsharedTarget
from dam_sync.model.values import Term

Row = tuple[str, SharedPart, str]


@dataclass
class Board:
    """What was reported, in order: scope, part and process."""

    rows: list[Row] = field(default_factory=list)
    open: list[Row] = field(default_factory=list)
    locks: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    used: set[str] = field(default_factory=set)  # ids that another job uses


class BoardView(UnsharedTarget):
    """`SharedTarget` of one process."""

    def __init__(self, board: Board, process: str) -> None:
        self._board, self._process = board, process
        self._seen: dict[str, int] = {}
        self._held: set[str] = set()

    def has_news(self, scope: str) -> bool:
        rows = self._board.rows[self._seen.get(scope, 0) :]
        return any(where == scope and process != self._process for where, _, process in rows)

    @asynccontextmanager
    async def _alone(self, scope: str) -> AsyncIterator[None]:
        async with self._board.locks[scope]:
            self._held.add(scope)
            try:
                yield
            finally:
                self._held.discard(scope)

    def creating(self, scope: str) -> AbstractAsyncContextManager[None]:
        return self._alone(scope)

    async def created_by_others(self, scope: str) -> Sequence[SharedPart]:
        rows, self._seen[scope] = self._board.rows[self._seen.get(scope, 0) :], len(self._board.rows)
        found = [part for where, part, process in rows if where == scope and process != self._process]
        left = self._board.open if scope in self._held else []
        return [*found, *(part for where, part, process in left if where == scope and process != self._process)]

    async def begin(self, scope: str, parts: Sequence[SharedPart]) -> None:
        assert scope in self._held
        self._board.open += [(scope, part, self._process) for part in parts]

    async def created(self, scope: str, parts: Sequence[SharedPart]) -> None:
        done = {(scope, part.place, part.path) for part in parts}
        kept = [row for row in self._board.open if (row[0], row[1].place, row[1].path) not in done]
        self._board.open[:] = kept
        self._board.rows += [(scope, part, self._process) for part in parts if part.value is not None]

    async def is_used_elsewhere(self, part: str, place: str, target: str) -> bool:
        return target in self._board.used


@dataclass
class Shelf:
    """What the target has: terms and containers, several of one name if somebody creates them."""

    terms: list[Term] = field(default_factory=list)
    containers: list[Placement] = field(default_factory=list)
    numbers: count[int] = field(default_factory=lambda: count(1))


class Trusting:
    """A connection that creates whatever it has not read or learned of."""

    capabilities = Capabilities(
        frozenset({Operation.TERMS, Operation.ENSURE_TERM, Operation.CONTAINERS, Operation.ENSURE_CONTAINER})
    )

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._terms: dict[tuple[str, ...], Term] = {}
        self._containers: dict[tuple[str, ...], Placement] = {}
        self.listings = 0
        self.failing = False  # its next listings

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        self.listings += 1
        for term in list(self._shelf.terms):
            self._terms[term.path] = term
            yield term

    async def ensure_terms(self, vocabulary: str, terms: Sequence[Term]) -> tuple[Term, ...]:
        await asyncio.sleep(0)
        for term in terms:
            if term.path not in self._terms:
                made = Term(term.label, f"t{next(self._shelf.numbers)}", term.path, term.parent)
                self._shelf.terms.append(made)
                self._terms[term.path] = made
        return tuple(self._terms[term.path] for term in terms)

    async def rename_term(self, vocabulary: str, term: Term, renamed: Term) -> Term:
        made = Term(renamed.label, term.id, (*term.path[:-1], renamed.label), term.parent)
        self._shelf.terms[self._shelf.terms.index(term)] = made
        return made

    def learn_term(self, vocabulary: str, term: Term) -> None:
        self._terms[term.path] = term

    async def containers(self) -> AsyncIterator[Placement]:
        if self.failing:
            raise Transient("the connection was lost")
        for place in list(self._shelf.containers):
            self._containers[place.path] = place
            yield place

    async def ensure_container(self, kind: str, path: tuple[str, ...], parent: str) -> Placement:
        await asyncio.sleep(0)
        if path not in self._containers:
            made = Placement(kind, path, f"c{next(self._shelf.numbers)}")
            self._shelf.containers.append(made)
            self._containers[path] = made
        return self._containers[path]

    async def rename_container(self, container: Placement, path: tuple[str, ...], parent: str | None) -> Placement:
        made = Placement(container.kind, path, container.id)
        self._shelf.containers[[each.id for each in self._shelf.containers].index(container.id)] = made
        return made

    def learn_container(self, container: Placement) -> None:
        self._containers[container.path] = container
