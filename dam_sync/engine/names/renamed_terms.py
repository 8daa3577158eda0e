"""Terms that were renamed at the source: the target's own are, too, instead of new ones beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from dam_sync.engine.compare.name_paths import Key, Level, Path, PathRenaming, Trees, alike, given_by_runs
from dam_sync.engine.compare.name_verdict import NameAction, NameFacts, NamePurpose, NotRenamed
from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.run_task import RunTask
from dam_sync.engine.names.rename import RenameObstacle, follow
from dam_sync.engine.names.source_terms import SourceTerms
from dam_sync.engine.names.terms import TargetTerms
from dam_sync.mapping.crosswalk import Crosswalk, TermKey
from dam_sync.mapping.vocabulary import MetTerm, TermIndex, fold, normal, path_text
from dam_sync.model import journal_names
from dam_sync.model.asset import digest_of, with_new_top
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.conflict import ConflictPolicy
from dam_sync.model.counterpart import TERM, Counterpart
from dam_sync.model.values import Term


@dataclass(frozen=True, slots=True)
class _Needed:
    """A term that would have to be created in a vocabulary of the target, for a term of the source that a rule met."""

    vocabulary: str
    index: TermIndex
    term: Term
    met: MetTerm


@dataclass(slots=True)
class TermRenames:
    """Those of one run. A term is known by the rule that met it, by its id at the source, and by the id at the target
    of what stands for it. Looked at when a term would have to be created."""

    source: Source
    target: Target
    crosswalk: Crosswalk
    state: RunState
    task: RunTask
    terms: TargetTerms
    origins: SourceTerms
    known: Counterparts
    undecided: set[tuple[str, str]] = field(default_factory=set)  # renamed at both sides
    _left: set[tuple[str, str]] = field(default_factory=set)  # not renamed, for reasons that were noted
    _earlier: bool = field(init=False)  # earlier runs knew terms

    def __post_init__(self) -> None:
        self._earlier = any(row.part == TERM for row in self.known.rows.values())

    async def found(self, needed: Sequence[tuple[str, Term]]) -> dict[TermKey, Term]:
        """Of the terms that would have to be created, those that the target has under another name, which they get,
        with terms above them that were renamed with them."""
        found: dict[TermKey, Term] = {}
        if not self.known.rows:
            return found
        for vocabulary, term in needed:
            index = (await self.terms.known())[vocabulary]
            for met in index.sources(term.path) or await self._levels(vocabulary, term):
                stands = await self._standing(_Needed(vocabulary, index, term, met))
                if stands is not None:
                    found[vocabulary, term.path] = stands
                    self._find_again(index, term.path, stands, met)
        for vocabulary, term in reversed(needed):
            stands = self._spared(vocabulary, term, needed, found)
            if stands is not None:
                found.setdefault((vocabulary, term.path), stands)
        return found

    def _find_again(self, index: TermIndex, path: Path, stands: Term, met: MetTerm) -> None:
        if (met.rule.name, met.source) not in self.undecided:
            index.add_created(path, stands)
        elif met.rule.by_path:
            index.call(stands, path)

    def _spared(
        self, vocabulary: str, term: Term, needed: Sequence[tuple[str, Term]], found: Mapping[TermKey, Term]
    ) -> Term | None:
        """What a term has that need not be made: it exists, or all below it that would be made stand elsewhere."""
        index = (self.terms.index or {})[vocabulary]
        stands = index.by_path(term.path)
        if stands is not None or index.sources(term.path):
            return stands
        below = [found.get((key, one.path)) for key, one in needed if (key, one.path[:-1]) == (vocabulary, term.path)]
        return below[0] if below and None not in below else None

    async def _levels(self, vocabulary: str, term: Term) -> tuple[MetTerm, ...]:
        """A level above a term of a tree, as the term of the source that it is; only earlier runs know of its names."""
        rule = self.crosswalk.vocabularies.get(vocabulary)
        if rule is None or not rule.by_path or not self._earlier:
            return ()
        if Operation.TERMS in self.source.service.capabilities:
            await self.origins.read()
        own = self.origins.at(rule.source, term.path)
        return (MetTerm(rule, own.id, term.path),) if own is not None else ()

    def call(self, vocabulary: str, index: TermIndex) -> None:
        """Let the terms of a tree that others renamed at the target be found by the paths of the source, so that what
        is below them is made there. A repair gives them their names."""
        rule = None if self.task.repairs else self.crosswalk.vocabularies.get(vocabulary)
        for row in self.known.rows.values() if rule is not None and rule.by_path else ():
            now = index.by_id(row.target) if (row.part, row.place) == (TERM, vocabulary) else None
            if now is not None and len(now.path) == len(row.origin) and not alike(row.origin, now.path):
                index.call(now, row.origin)

    async def keep(self) -> None:
        """Remember which terms of the target stand for those met since the last call."""
        for vocabulary, index in (self.terms.index or {}).items():
            for met in index.newly_met():
                if met.target is not None and (met.rule.name, met.source) not in self.undecided:
                    await self._keep(vocabulary, index, met, met.target)

    async def _keep(self, vocabulary: str, index: TermIndex, met: MetTerm, target: Term, run: int = 0) -> None:
        """Remember what stands for a term. run: the one that gave it its name, 0 if none did."""
        row = self.known.of(TERM, met.rule.name, met.source)
        new = _row_of(_with_levels(met, row), target, self.crosswalk, run)
        if row is None:
            await self.known.keep(new)
            return
        if row.target == target.id:
            new = _met_again(row, new, target)
        elif not index.partial and index.by_id(row.target) is None:
            new = await self._succeeding(vocabulary, row, new)
        if row.name != new.name and (row.target == target.id or new.former):
            await self._complete(vocabulary, row, new.name)
        elif row.target != target.id and row.mapping == new.mapping:
            self._note_taken(index, row, met)
        await self.known.keep(new)

    async def _succeeding(self, vocabulary: str, row: Counterpart, new: Counterpart) -> Counterpart:
        """Another id stands for it, and the one of before is gone: it is a former id, if this run renamed the term."""
        ours = new.run or row.name == new.name or await self._is_renamed(vocabulary, row, new.name)
        return replace(new, former=(*row.former, row.target) if ours else (), run=new.run or row.run)

    async def _is_renamed(self, vocabulary: str, row: Counterpart, name: Path) -> bool:
        """Whether this run gave a term its name, perhaps in a process that was killed. If it did not, others renamed or
        removed what stood for the term, and their change of the assets is not ours."""
        entries = journal_names.renamed_term_names(vocabulary, row.name, name[-1])
        return await self.terms.begun(entries) or await self.state.store.has_written(self.state.run.id, *entries)

    def _note_taken(self, index: TermIndex, row: Counterpart, met: MetTerm) -> None:
        """What stood for a term of the source is left for another that had its new name."""
        stays = not index.partial and index.by_id(row.target) is not None
        if stays and not alike(row.origin, met.path) and (row.scope, row.source) not in self._left:
            self._leave(row, Term(met.path[-1], path=met.path), NotRenamed.TAKEN)

    async def _complete(self, vocabulary: str, row: Counterpart, name: Path) -> None:
        """What a killed process of this run renamed gets its row in the ledger."""
        if len(row.name) != len(name):
            return
        for level, (one, other) in enumerate(zip(row.name, name, strict=True)):
            old = Term(one, row.target if level == len(name) - 1 else "", (*name[:level], one))
            if one != other and await self.terms.begun(journal_names.renamed_term_names(vocabulary, old.path, other)):
                await self.terms.rename(vocabulary, old, Term(other, path=name[: level + 1]))

    async def _standing(self, needed: _Needed) -> Term | None:
        """What stands for a term of the source, by its new name where that is possible."""
        met = needed.met
        row = self.known.of(TERM, met.rule.name, met.source) if met.source else None
        now = needed.index.by_id(row.target) if row is not None else None
        if row is None or now is None:
            return None
        one = _StandingTerm(self, needed, row, now, _path_of(now))
        if row.run == self.state.run.id or (alike(row.origin, met.path) and not self.task.repairs):
            return now  # read before this run renamed it, or others did
        if alike(row.origin, met.path):
            return now if (await one.facts()).obstacle() is not None else await self._follow(one)
        return await self._follow(one) if row.mapping == _digest(met, self.crosswalk) else None

    async def _follow(self, one: _StandingTerm) -> Term | None:
        """It, by its new name where it gets that; None if it does not stand for the other any more."""
        if one.path()[:-1] != one.renaming.wanted[:-1]:
            await self.origins.read()
        return one.standing if await follow(one, self.state.run.id) else None

    async def remember(self, needed: _Needed, target: Term, run: int) -> None:
        """What stands for a term of the source."""
        await self._keep(needed.vocabulary, needed.index, needed.met, target, run)

    def lives(self, vocabulary: str, path: Path) -> bool:
        """Whether the source may have a term at this path: unknown unless its vocabularies were read."""
        return not self.origins.loaded or self.origins.at(vocabulary, path) is not None

    def _leave(self, row: Counterpart, term: Term, why: NotRenamed, detail: str = "") -> None:
        """It keeps its name; assets get another one."""
        self._left.add((row.scope, row.source))
        old, new = path_text(Term("", path=row.name)), path_text(term) or term.label
        self.known.notes.add(f"term of {row.place}", why.explained(detail), old, new)

    async def leave(self, row: Counterpart, needed: _Needed, kept: RenameObstacle) -> None:
        """It keeps its name, permanently or until somebody decides."""
        detail = kept.error.message if kept.error is not None else ""
        if kept.why is NotRenamed.FIXED:
            detail = self.target.service.capabilities.features[Feature.RENAMED_TERMS].why
        self._leave(row, needed.term, kept.why, detail)
        if kept.action is NameAction.OPEN:
            self.undecided.add((row.scope, row.source))


@dataclass(slots=True)
class _StandingTerm:
    """Stands for a term of the source; implements `Followed`. standing: as the target has it now; at: its path."""

    names: TermRenames
    needed: _Needed
    row: Counterpart
    standing: Term | None
    at: Path

    @property
    def renaming(self) -> PathRenaming:
        """Its whole path in a tree whose levels the source has; otherwise its name alone, below what is above it."""
        met, row, above = self.needed.met, self.row, self.at[:-1]
        purpose = NamePurpose.REPAIR if self.names.task.repairs else NamePurpose.RUN
        if met.rule.by_path and len(met.path) > 1:
            return PathRenaming(row.wanted, met.path, purpose)
        return PathRenaming((*above, row.wanted[-1]), (*above, met.path[-1]), purpose)

    @property
    def trees(self) -> Trees:
        stands = partial(key_at, self.needed.index)
        return Trees(stands, stands, partial(self.names.lives, self.needed.met.rule.source))

    @property
    def rule(self) -> ConflictPolicy:
        return self.names.task.policy.conflicts.default

    def path(self) -> Path:
        return self.at

    async def facts(self) -> NameFacts:
        row, able = self.row, self.names.target.service.capabilities
        named = fold(row.wanted[-1]) != fold(row.origin[-1])
        fixed = Operation.RENAME_TERM not in able
        return NameFacts(named=named, shared=await self.names.known.is_shared(row), fixed=fixed)

    async def complete(self) -> None:
        """Once the term is met by its new name: see `TermRenames.keep`."""

    def is_able(self, step: Level) -> bool:
        return not step.moved and self.needed.index.by_path(self.at[: step.depth]) is not None

    async def rename(self, step: Level) -> None:
        needed, path = self.needed, (*self.at[: step.depth - 1], step.new[-1])
        index = (await self.names.terms.known())[needed.vocabulary]
        one, renamed = index.by_path(self.at[: step.depth]), Term(path[-1])
        if step.depth == len(self.at):
            wanted = replace(needed.term, label=path[-1], path=step.new, id="")
            renamed = self.names.origins.completed(wanted, needed.met.rule.source)
        if one is not None:
            await self.names.terms.rename(needed.vocabulary, one, replace(renamed, path=path))
        self.at = with_new_top(self.at, self.at[: step.depth], path)
        self.standing = needed.index.by_path(self.at)

    async def record(self, run: int) -> None:
        self.standing = self.needed.index.by_path(self.at)
        if self.standing is not None:
            await self.names.remember(self.needed, self.standing, run)

    async def keep(self, kept: RenameObstacle) -> None:
        await self.names.leave(self.row, self.needed, kept)
        if kept.action is NameAction.OPEN and self.standing is not None:
            name = tuple(map(normal, self.standing.path)) or self.row.name
            await self.names.known.keep(replace(self.row, name=name))
            self.standing = replace(self.standing, label=name[-1])


def _row_of(met: MetTerm, target: Term, crosswalk: Crosswalk, run: int) -> Counterpart:
    """What stands for a term that no run met before."""
    name = _path_of(target)
    levels = met.rule.by_path and len(met.path) == len(name)
    given = (*met.path[:-1], name[-1]) if levels else name  # above it others may have given names
    rule, digest = met.rule, _digest(met, crosswalk)
    return Counterpart(TERM, rule.name, met.source, met.path, rule.target, target.id, given, name, (), digest, run)


def _with_levels(met: MetTerm, row: Counterpart | None) -> MetTerm:
    """A term of which only the label was read is below what it was below when its path was known."""
    levels = row.origin[:-1] if row is not None and met.pathless else ()
    return replace(met, path=(*levels, *met.path)) if levels else met


def _met_again(row: Counterpart, new: Counterpart, target: Term) -> Counterpart:
    """What stood for the term before still does; where only its label is known, its path is what it was."""
    name = row.name if not target.path and row.name[-1:] == new.name else new.name
    given = given_by_runs(row.wanted, name, row.origin, new.origin)
    return replace(new, wanted=given, name=name, former=row.former, run=new.run or row.run)


def _path_of(term: Term) -> Path:
    """Its path at the target, or its label if that is all that is known."""
    return tuple(map(normal, term.path)) or (normal(term.label),)


def key_at(index: TermIndex, path: Path) -> Key:
    """What tells the term at this path from others."""
    found = index.by_path(path)
    return (found.id or found.path or (found.label,)) if found is not None else ""


def _digest(met: MetTerm, crosswalk: Crosswalk) -> str:
    """Changes with what a rule makes of a term."""
    rule = met.rule
    return digest_of(
        [
            rule.target,
            rule.source,
            list(rule.ways.order),
            rule.by_path,
            list(crosswalk.languages.locales),
        ]
    )
