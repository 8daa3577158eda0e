"""Terms of the target: what exists, and what has to be created first, each once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from dam_sync.engine.compare.name_paths import Path
from dam_sync.engine.names.registry import NameCreation, NameRegistry, RenameEntry, TargetRecord
from dam_sync.mapping.crosswalk import TermKey
from dam_sync.mapping.vocabulary import TermIndex, normal, slim
from dam_sync.model import journal_names
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import Unsupported
from dam_sync.model.journal import call_again
from dam_sync.model.shared_target import SharedPart
from dam_sync.model.values import Json, Term, term_from_json, value_to_json
from dam_sync.model.write_record import WriteRecord

TERMS = "terms"  # the scope of the journal of a run
MOST_RECALLED = 50_000  # terms of one vocabulary that are kept for later runs


@dataclass(slots=True)
class TargetTerms(NameRegistry):
    """The target's terms by vocabulary, and the only place that adds to them."""

    vocabularies: tuple[str, ...] = ()
    recalled: Mapping[str, Mapping[str, Term]] = field(default_factory=dict)  # see `TermIndex.recalled`, by vocabulary
    doubted: bool = False  # a write that may have used a recalled term was refused
    index: dict[str, TermIndex] | None = None
    renamed: dict[str, dict[str, Term]] = field(default_factory=dict)  # of `recalled`, those with another name
    met_before: Callable[[str, TermIndex], None] | None = None  # called with every vocabulary that was read
    learned: dict[str, list[SharedPart]] = field(default_factory=dict)  # from other processes, by vocabulary
    scope: ClassVar[str] = TERMS
    what: ClassVar[str] = "term"

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
        value = value_to_json(found)
        await self.record_found(name, value, WriteRecord(found.id, {self.what: [None, value]}))

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

    def below(self, vocabulary: str, term: Term) -> dict[str, Path]:
        """This term and all below it, by ids, with their paths."""
        index, top = (self.index or {})[vocabulary], _path_of(term)
        found = [index.by_path(path) for path in list(index.paths()) if path[: len(top)] == tuple(map(normal, top))]
        return {each.id: tuple(map(normal, _path_of(each))) for each in found if each is not None and each.id}

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
            async with self.alone():
                for vocabulary, terms in _batches(needed):
                    created |= await self._ensure(vocabulary, terms)
        return created

    async def _ensure(self, vocabulary: str, terms: Sequence[Term]) -> dict[TermKey, Term]:
        """Create terms, none an ancestor of another, by one call if the target has one."""
        known, created = (await self.known())[vocabulary], dict[TermKey, Term]()
        new = [_creation(vocabulary, term) for term in terms]
        wanted = {one.entry: term for one, term in zip(new, terms, strict=True)}

        async def call(left: Sequence[NameCreation]) -> list[TargetRecord]:
            made = await self.target.ensure_terms(vocabulary, tuple(_below(known, wanted[one.entry]) for one in left))
            return [TargetRecord(term.id, value_to_json(term)) for term in made]

        def know(one: NameCreation, value: Json) -> None:
            path, made = wanted[one.entry].path, term_from_json(value)
            known.add_created(path, made)
            created[vocabulary, path] = made

        await self.create_once(new, call, know)
        return created

    async def rename(self, vocabulary: str, term: Term, renamed: Term, entry: RenameEntry | None = None) -> Term:
        """Give a term of the target another label. entry: of a rollback. Raises the errors of the target, and
        TargetChanged before anything is renamed."""
        index = (await self.known())[vocabulary]
        names = journal_names.renamed_term_names(vocabulary, _path_of(term), renamed.label)
        sides = [value_to_json(term), value_to_json(renamed)]
        entry = entry or RenameEntry(names, term.id, {self.what: sides}, journal_names.of_terms(vocabulary))

        async def call() -> TargetRecord:
            made = await self.target.rename_term(vocabulary, term, renamed)
            return TargetRecord(made.id, value_to_json(made))

        def told(value: Json) -> SharedPart:
            return SharedPart(vocabulary, (*term.path[:-1], term_from_json(value).label), value, before=term.path)

        made = term_from_json(await self.rename_once(entry, call, call_again, told))
        index.rename(term, made)
        for key, known in self.recalled.get(vocabulary, {}).items():
            if known.id == term.id:
                self.renamed.setdefault(vocabulary, {})[key] = slim(made)
        await self.forget(entry)
        return made


def _creation(vocabulary: str, term: Term) -> NameCreation:
    path = _path_of(term)
    return NameCreation(journal_names.term(vocabulary, path), SharedPart(vocabulary, path), value_to_json(term))


def _path_of(term: Term) -> tuple[str, ...]:
    """Its path, or its label if it has no levels."""
    return term.path or (term.label,)


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
