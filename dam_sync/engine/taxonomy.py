"""Terms of the target: what exists, and what has to be created first, each once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from dam_sync.mapping.crosswalk import TermKey
from dam_sync.mapping.vocabulary import TermIndex, slim
from dam_sync.model import journal_names
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import Rejected, Unsupported
from dam_sync.model.journal import call_again
from dam_sync.model.ports import Journal
from dam_sync.model.service import Service
from dam_sync.model.shared_target import UNSHARED, SharedPart, SharedTarget
from dam_sync.model.values import Json, Term, term_from_json, value_to_json
from dam_sync.model.write_record import WriteRecord, note_target, recording

TERMS = "terms"  # the scope of the journal of a run
MOST_RECALLED = 50_000  # terms of one vocabulary that are kept for later runs


class TargetChanged(Exception):
    """Another process created terms or containers meanwhile: what needs one is to be drafted again."""


Allowed: TypeAlias = Callable[[str], Awaitable[None]]
"""Called with the name of a term or container before it is created; raises if it must not be."""


@dataclass(slots=True)
class TargetTerms:
    """The target's terms by vocabulary, and the only place that adds to them."""

    target: Service
    journal: Journal
    vocabularies: tuple[str, ...] = ()
    recalled: Mapping[str, Mapping[str, Term]] = field(default_factory=dict)  # see `TermIndex.recalled`, by vocabulary
    doubted: bool = False  # a write that may have used a recalled term was refused
    index: dict[str, TermIndex] | None = None
    allowed: Allowed | None = None
    renamed: dict[str, dict[str, Term]] = field(default_factory=dict)  # of `recalled`, those with another name
    met_before: Callable[[str, TermIndex], None] | None = None  # called with every vocabulary that was read
    shared: SharedTarget = UNSHARED
    learned: dict[str, list[SharedPart]] = field(default_factory=dict)  # from other processes, by vocabulary
    recovers: bool = False  # whether what a killed process created is recorded once it is found at the target

    async def known(self) -> Mapping[str, TermIndex]:
        """Every term of the vocabularies; read on first use, because listing costs calls: a run that writes nothing
        reads none. Of a vocabulary used by earlier runs, the terms that they met, until a term comes up that they did
        not meet."""
        if self.index is None:
            self.index = {key: await self._first(key) for key in self.vocabularies}
        return self.index

    @property
    def partial(self) -> bool:
        """Whether a vocabulary was not read as a whole."""
        return any(index.partial for index in (self.index or {}).values())

    async def complete(self) -> bool:
        """Read completely the vocabularies in which an unknown term came up; whether there were any."""
        lacking = [key for key, index in (await self.known()).items() if index.lacking]
        for key in lacking:
            self.index = {**(self.index or {}), key: await self._read(key)}
        return bool(lacking)

    def names(self) -> Iterator[str]:
        """The operations that would create the terms that are known."""
        for vocabulary, index in (self.index or {}).items():
            yield from (journal_names.term(vocabulary, path) for path in index.paths())

    def pathless(self) -> bool:
        """Whether a term came up whose place in the source's tree is unknown; true once."""
        found = [index for index in (self.index or {}).values() if index.pathless]
        for index in found:
            index.pathless = False
        return bool(found)

    async def _first(self, vocabulary: str) -> TermIndex:
        recalled = self.recalled.get(vocabulary)
        return TermIndex(recalled=recalled, partial=True) if recalled else await self._read(vocabulary)

    async def _read(self, vocabulary: str) -> TermIndex:
        known = TermIndex()
        if Operation.TERMS in self.target.capabilities:
            async for term in self.target.terms(vocabulary):
                known.add(term)
        if self.recovers:
            await self._recover(vocabulary, known)
        if self.met_before is not None:
            self.met_before(vocabulary, known)
        for part in self.learned.get(vocabulary, ()):  # the listing may be behind
            self._take(known, part)
        return known

    async def _recover(self, vocabulary: str, known: TermIndex) -> None:
        """Record the terms that a killed process created without recording them."""
        for name in sorted(await self.journal.begun(journal_names.of_terms(vocabulary))):
            found = known.by_path(journal_names.path_of_term(name))
            if found is not None:
                await self._record_found(name, found)
        former = journal_names.of_former_terms(vocabulary)
        for name in sorted(await self.journal.begun(former)):
            meant = known.joined_as(name.removeprefix(former))
            if len(meant) == 1:  # of several, nobody knows which one was created
                await self._record_found(journal_names.term(vocabulary, _path_of(meant[0])), meant[0])
            await self.journal.discard(name)

    async def _record_found(self, name: str, found: Term) -> None:
        changes: dict[str, Json] = {"term": [None, value_to_json(found)]}
        await record_found(self.journal, name, value_to_json(found), WriteRecord(found.id, changes))

    async def learn(self) -> bool:
        """Take over what other processes created and renamed; whether any of it is new here."""
        return any([await self._learn(part) for part in await self.shared.created_by_others(TERMS)])

    async def _learn(self, part: SharedPart) -> bool:
        if part.value is not None:
            self.learned.setdefault(part.place, []).append(part)
        index = (self.index or {}).get(part.place)
        if part.value is not None or index is None:
            return index is not None and not index.partial and self._take(index, part)
        if index.by_path(part.path) is None:
            index = await self._read(part.place)
            self.index = {**(self.index or {}), part.place: index}
        found = index.by_path(part.path)
        await self.shared.created(TERMS, [replace(part, value=value_to_json(found) if found is not None else None)])
        return True

    def _take(self, index: TermIndex, part: SharedPart) -> bool:
        """Whether it is new to the index. What was read of the target since stands."""
        term, before = term_from_json(part.value), index.by_path(part.before) if part.before else None
        if index.by_path(part.path) is not None or (before is None and index.by_id(term.id) is not None):
            return False
        self.target.learn_term(part.place, term)
        if before is not None:
            index.rename(before, term)
        else:
            index.add(term)
        return True

    def met(self) -> dict[str, dict[str, Term]]:
        """Terms for later runs to recall: those met by earlier ones and by this one; none if they are in doubt."""
        if self.doubted:
            return {}
        known = {key: {**self.recalled.get(key, {}), **index.found} for key, index in (self.index or {}).items()}
        known = {**{key: dict(terms) for key, terms in self.recalled.items()}, **known}
        known = {key: {**terms, **self.renamed.get(key, {})} for key, terms in known.items()}
        return {key: terms for key, terms in known.items() if len(terms) <= MOST_RECALLED}

    def refuse_unmakeable(self, needed: Sequence[tuple[str, Term]]) -> None:
        """Raises Unsupported if the target does not accept new terms."""
        for vocabulary, term in needed:
            if Operation.ENSURE_TERM not in self.target.capabilities:
                raise Unsupported(f"the target does not accept the new term “{term.label}” in {vocabulary}")

    async def ensure(self, needed: Sequence[tuple[str, Term]]) -> dict[TermKey, Term]:
        """Create the terms that are missing, parents first. Raises Unsupported if the target accepts none, and
        TargetChanged before anything is created."""
        self.refuse_unmakeable(needed)
        created: dict[TermKey, Term] = {}
        if needed:
            async with self._alone():
                for vocabulary, terms in _batches(needed):
                    fresh = await self._ensure(vocabulary, terms)
                    created |= {(vocabulary, term.path): one for term, one in zip(terms, fresh, strict=True)}
        return created

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """No other process adds terms meanwhile. Raises TargetChanged if one did before."""
        async with self.shared.creating(TERMS):
            if await self.learn():
                raise TargetChanged
            yield

    async def rename(self, vocabulary: str, term: Term, renamed: Term) -> Term:
        """Give a term of the target another label. Raises the errors of the target."""
        index = (await self.known())[vocabulary]

        async def call() -> Json:
            made = await self.target.rename_term(vocabulary, term, renamed)
            note_target(made.id)
            return value_to_json(made)

        names = journal_names.renamed_term_names(vocabulary, _path_of(term), renamed.label)
        name = names[0]
        async with self._alone():
            await allow(self.allowed, self.journal, [name])
            with recording(WriteRecord(term.id, {"term": [value_to_json(term), value_to_json(renamed)]})):
                made = term_from_json(await self.journal.run(name, call, reconcile=call_again))
            path = (*term.path[:-1], made.label)
            await self.shared.created(TERMS, [SharedPart(vocabulary, path, value_to_json(made), before=term.path)])
        index.rename(term, made)
        for key, known in self.recalled.get(vocabulary, {}).items():
            if known.id == term.id:
                self.renamed.setdefault(vocabulary, {})[key] = slim(made)
        await self.journal.discard(*names, f"{journal_names.of_terms(vocabulary)}*")
        return made

    async def _refused(self, vocabulary: str, terms: Sequence[Term]) -> None:
        """The target has none of them; of several, some may have been added before one was refused."""
        if len(terms) == 1:
            await self.shared.created(TERMS, [SharedPart(vocabulary, _path_of(terms[0]))])

    async def _ensure(self, vocabulary: str, terms: Sequence[Term]) -> list[Term]:
        """Create terms, none an ancestor of another, by one call if the target has one; each has its own journal
        entry."""
        known = (await self.known())[vocabulary]
        names = [journal_names.term(vocabulary, _path_of(term)) for term in terms]
        wanted = {name: _below(known, term) for name, term in zip(names, terms, strict=True)}
        await allow(self.allowed, self.journal, names)
        await self.shared.begin(TERMS, [SharedPart(vocabulary, _path_of(term)) for term in terms])
        await self.journal.begin(names)
        made: dict[str, Term] = {}

        async def make(name: str) -> Json:
            if name not in made:
                left = {one: term for one, term in wanted.items() if await self.journal.get(one) is None}
                fresh = await self.target.ensure_terms(vocabulary, tuple(left.values()))
                made.update(zip(left, fresh, strict=True))
            note_target(made[name].id)
            return value_to_json(made[name])

        created: list[Term] = []
        for name, term in wanted.items():
            with recording(WriteRecord(changes={"term": [None, value_to_json(term)]})):
                try:
                    made_now = await self.journal.run(name, partial(make, name), idempotent=True)
                except Rejected:
                    await self._refused(vocabulary, terms)
                    raise
            created.append(term_from_json(made_now))
            known.add_created(term.path, created[-1])
        told = zip(terms, created, strict=True)
        parts = [SharedPart(vocabulary, _path_of(term), value_to_json(one)) for term, one in told]
        await self.shared.created(TERMS, parts)
        return created


def _path_of(term: Term) -> tuple[str, ...]:
    """Its path, or its label if it has no levels."""
    return term.path or (term.label,)


async def allow(allowed: Allowed | None, journal: Journal, names: Sequence[str]) -> None:
    """Raises what `allowed` raises; what was created already is not asked for again."""
    if allowed is not None:
        for name in names:
            if await journal.get(name) is None:
                await allowed(name)


async def record_found(journal: Journal, name: str, found: Json, record: WriteRecord) -> None:
    """Record a write of a killed process, whose result was found at the target."""

    async def give() -> Json:
        return found

    with recording(record):
        await journal.run(name, give, reconcile=give)


def _below(known: TermIndex, term: Term) -> Term:
    """The term with the target's id of its parent."""
    parent = known.by_path(term.path[:-1]) if len(term.path) > 1 else None
    return replace(term, parent=parent.id if parent else "")


def _batches(needed: Sequence[tuple[str, Term]]) -> Iterator[tuple[str, list[Term]]]:
    """Terms of one vocabulary that can be added at once: a parent is in an earlier batch than its children."""
    by_vocabulary: dict[str, list[Term]] = {}
    for vocabulary, term in needed:
        by_vocabulary.setdefault(vocabulary, []).append(term)
    for vocabulary, terms in by_vocabulary.items():
        batch: list[Term] = []
        for term in terms:
            if any(term.path[:-1] == above.path for above in batch):
                yield vocabulary, batch
                batch = []
            batch.append(term)
        yield vocabulary, batch
