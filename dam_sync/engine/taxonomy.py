"""Terms and containers of the target: what exists, and what has to be made first, each once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Placement
from dam_sync.model.codec import placements_from_json, placements_to_json
from dam_sync.model.errors import Unsupported
from dam_sync.model.service import Operation, Service, Steps
from dam_sync.model.values import Json, Term, term_from_json, value_to_json


@dataclass(slots=True)
class Terms:
    """The target's terms by vocabulary, and the one place that adds to them."""

    target: Service
    steps: Steps
    index: dict[str, TermIndex] = field(default_factory=dict)

    async def load(self, vocabularies: Iterable[str]) -> None:
        """Read every term of these vocabularies; costs what the service's listing costs."""
        for key in vocabularies:
            rows = self.target.terms(key) if Operation.TERMS in self.target.operations else _nothing()
            known = TermIndex()
            async for term in rows:
                known.add(term)
            self.index[key] = known

    async def ensure(self, needed: Sequence[tuple[str, Term]]) -> None:
        """Make the terms that are missing, parents first. Raises Unsupported where the target takes none."""
        for vocabulary, term in needed:
            if Operation.ENSURE_TERM not in self.target.operations:
                raise Unsupported(f"the target takes no new term “{term.label}” in {vocabulary}")
            await self._ensure(vocabulary, term)

    async def _ensure(self, vocabulary: str, term: Term) -> None:
        known = self.index[vocabulary]
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
    known: dict[tuple[str, tuple[str, ...]], str] = field(default_factory=dict)

    async def load(self) -> None:
        """Read every container."""
        if Operation.CONTAINERS in self.target.operations:
            async for placement in self.target.containers():
                self.known[placement.kind, placement.path] = placement.id

    async def resolve(self, placements: Iterable[Placement]) -> frozenset[Placement]:
        """The same placements with the target's ids; what is missing is made, parents first."""
        ordered = sorted(placements, key=lambda p: (p.kind, p.path))
        return frozenset([replace(p, id=await self._ensure(p.kind, p.path)) for p in ordered])

    async def _ensure(self, kind: str, path: tuple[str, ...]) -> str:
        if (kind, path) in self.known:
            return self.known[kind, path]
        if Operation.ENSURE_CONTAINER not in self.target.operations:
            raise Unsupported(f"the target has no {kind} {Placement(kind, path).text} and takes no new one")
        parent = await self._ensure(kind, path[:-1]) if len(path) > 1 else ""

        async def make() -> Json:
            return placements_to_json([await self.target.ensure_container(kind, path, parent)])

        name = f"container:{kind}:{Placement(kind, path).text}"
        (made,) = placements_from_json(await self.steps.once(name, make, harmless=True))
        self.known[kind, path] = made.id
        return made.id


async def _nothing() -> AsyncIterator[Term]:
    none: tuple[Term, ...] = ()
    for term in none:
        yield term
