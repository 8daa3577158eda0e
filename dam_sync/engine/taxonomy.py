"""Terms and containers of the target: what exists, and what has to be made first, each once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Placement
from dam_sync.model.codec import placements_from_json, placements_to_json
from dam_sync.model.errors import Unsupported
from dam_sync.model.ports import Steps
from dam_sync.model.service import Operation, Service
from dam_sync.model.values import Json, Term, term_from_json, value_to_json

Known: TypeAlias = dict[tuple[str, tuple[str, ...]], str]
"""Ids of containers by kind and path."""


@dataclass(slots=True)
class Terms:
    """The target's terms by vocabulary, and the one place that adds to them."""

    target: Service
    steps: Steps
    vocabularies: tuple[str, ...] = ()
    index: dict[str, TermIndex] | None = None

    async def known(self) -> Mapping[str, TermIndex]:
        """Every term of the vocabularies; read when first asked for, at what the service's listing costs, so that a
        run that writes nothing reads none."""
        if self.index is None:
            self.index = {key: await self._read(key) for key in self.vocabularies}
        return self.index

    async def _read(self, vocabulary: str) -> TermIndex:
        known = TermIndex()
        if Operation.TERMS in self.target.operations:
            async for term in self.target.terms(vocabulary):
                known.add(term)
        return known

    async def ensure(self, needed: Sequence[tuple[str, Term]]) -> None:
        """Make the terms that are missing, parents first. Raises Unsupported where the target takes none."""
        for vocabulary, term in needed:
            if Operation.ENSURE_TERM not in self.target.operations:
                raise Unsupported(f"the target takes no new term “{term.label}” in {vocabulary}")
            await self._ensure(vocabulary, term)

    async def _ensure(self, vocabulary: str, term: Term) -> None:
        known = (await self.known())[vocabulary]
        parent = known.by_path(term.path[:-1]) if len(term.path) > 1 else None
        wanted = replace(term, parent=parent.id if parent else "")

        async def make() -> Json:
            return value_to_json(await self.target.ensure_term(vocabulary, wanted))

        name = f"term:{vocabulary}:{'/'.join(term.path) or term.label}"
        known.add(term_from_json(await self.steps.once(name, make, harmless=True)))


@dataclass(slots=True)
class Containers:
    """The target's containers by kind and path, and the one place that adds to them."""

    target: Service
    steps: Steps
    index: Known | None = None

    async def known(self) -> Known:
        """Every container; read when first asked for, so that a run that places nothing reads none."""
        if self.index is None:
            index: Known = {}
            if Operation.CONTAINERS in self.target.operations:
                async for placement in self.target.containers():
                    index[placement.kind, placement.path] = placement.id
            self.index = index
        return self.index

    async def resolve(self, placements: Iterable[Placement]) -> frozenset[Placement]:
        """The same placements with the target's ids; what is missing is made, parents first."""
        ordered = sorted(placements, key=lambda p: (p.kind, p.path))
        if not ordered:
            return frozenset()
        known = await self.known()
        return frozenset([replace(p, id=await self._ensure(known, p.kind, p.path)) for p in ordered])

    async def _ensure(self, known: Known, kind: str, path: tuple[str, ...]) -> str:
        if (kind, path) in known:
            return known[kind, path]
        if Operation.ENSURE_CONTAINER not in self.target.operations:
            raise Unsupported(f"the target has no {kind} {Placement(kind, path).text} and takes no new one")
        parent = await self._ensure(known, kind, path[:-1]) if len(path) > 1 else ""

        async def make() -> Json:
            return placements_to_json([await self.target.ensure_container(kind, path, parent)])

        name = f"container:{kind}:{Placement(kind, path).text}"
        (made,) = placements_from_json(await self.steps.once(name, make, harmless=True))
        known[kind, path] = made.id
        return made.id
