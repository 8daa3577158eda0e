"""Terms that were renamed at the source: the target's own are, too, instead of new ones beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from dam_sync.engine.counterparts import Counterparts, NotRenamed
from dam_sync.engine.error_policy import ParkAsset, react
from dam_sync.engine.rename_steps import Level, Names, Path
from dam_sync.engine.run_context import RunContext
from dam_sync.engine.source_terms import SourceTerms
from dam_sync.engine.taxonomy import TERMS, TargetTerms
from dam_sync.mapping.crosswalk import TermKey
from dam_sync.mapping.vocabulary import MetTerm, TermIndex, fold, normal, path_text
from dam_sync.model import journal_names
from dam_sync.model.asset import digest_of, with_new_top
from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.conflict import ConflictPolicy
from dam_sync.model.errors import DamSyncError
from dam_sync.model.values import Term
from dam_sync.store.rows import TERM, Counterpart

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class TermRenames:
    """Those of one run. A term is known by the rule that met it, by its id at the source, and by the id at the target
    of what stands for it. Looked at when a term would have to be created."""

    context: RunContext
    terms: TargetTerms
    origins: SourceTerms
    known: Counterparts
    _open: set[tuple[str, str]] = field(default_factory=set)  # renamed at both, and not decided
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
                stands = await self._standing(vocabulary, index, term, met)
                if stands is not None:
                    found[vocabulary, term.path] = stands
                    self._find_again(index, term.path, stands, met)
        for vocabulary, term in reversed(needed):
            stands = self._spared(vocabulary, term, needed, found)
            if stands is not None:
                found.setdefault((vocabulary, term.path), stands)
        return found

    def _find_again(self, index: TermIndex, path: Path, stands: Term, met: MetTerm) -> None:
        if (met.rule.name, met.source) not in self._open:
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
        rule = self.context.crosswalk.vocabularies.get(vocabulary)
        if rule is None or not rule.by_path or not self._earlier:
            return ()
        if Operation.TERMS in self.context.source.capabilities:
            await self.origins.read()
        own = self.origins.by_path.get(term.path)
        return (MetTerm(rule, own.id, term.path),) if own is not None else ()

    def call(self, vocabulary: str, index: TermIndex) -> None:
        """Let the terms of a tree that others renamed at the target be found by the paths of the source, so that what
        is below them is made there. A repair gives them their names."""
        rule = None if self.context.repairs else self.context.crosswalk.vocabularies.get(vocabulary)
        for row in self.known.rows.values() if rule is not None and rule.by_path else ():
            now = index.by_id(row.target) if (row.part, row.place) == (TERM, vocabulary) else None
            if now is not None and len(now.path) == len(row.origin) and not _alike(row.origin, now.path):
                index.call(now, row.origin)

    async def keep(self) -> None:
        """Remember which terms of the target stand for those met since the last call."""
        for vocabulary, index in (self.terms.index or {}).items():
            for met in index.newly_met():
                if met.target is not None and (met.rule.name, met.source) not in self._open:
                    await self._keep(vocabulary, index, met, met.target)

    async def _keep(self, vocabulary: str, index: TermIndex, met: MetTerm, target: Term, run: int = 0) -> None:
        row, digest = self.known.of(TERM, met.rule.name, met.source), _digest(met, self.context)
        name = tuple(map(normal, target.path)) or (normal(target.label),)
        former: tuple[str, ...] = ()
        levels = met.rule.by_path and len(met.path) == len(name)
        given = (*met.path[:-1], name[-1]) if levels else name  # above it others may have given names
        if row is not None and row.target == target.id:
            name = row.name if not target.path and row.name[-1:] == name else name
            given = _given(row, name, met)
            former, run = row.former, run or row.run
        elif row is not None and not index.partial and index.by_id(row.target) is None:
            ours = run or row.name == name or await self._is_renamed(vocabulary, row, name)
            former, run = (*row.former, row.target) if ours else (), run or row.run
        if row is not None and row.name != name and (target.id == row.target or former):
            await self._complete(vocabulary, row, name)
        elif row is not None and row.target != target.id and row.mapping == digest:
            self._note_taken(index, row, met)
        place, path = met.rule.target, met.path
        await self.known.keep(
            Counterpart(TERM, met.rule.name, met.source, path, place, target.id, given, name, former, digest, run)
        )

    async def _is_renamed(self, vocabulary: str, row: Counterpart, name: Path) -> bool:
        """Whether this run gave a term its name, perhaps in a process that was killed. If it did not, others renamed or
        removed what stood for the term, and their change of the assets is not ours."""
        entry, store = journal_names.renamed_term(vocabulary, "/".join(row.name), name[-1]), self.context.store
        return await store.run_journal(TERMS).is_begun(entry) or await store.has_written(self.context.run.id, entry)

    def _note_taken(self, index: TermIndex, row: Counterpart, met: MetTerm) -> None:
        """What stood for a term of the source is left for another that had its new name."""
        stays = not index.partial and index.by_id(row.target) is not None
        if stays and not _alike(row.origin, met.path) and (row.scope, row.source) not in self._left:
            self._leave(row, Term(met.path[-1], path=met.path), NotRenamed.TAKEN)

    async def _complete(self, vocabulary: str, row: Counterpart, name: Path) -> None:
        """What a killed process of this run renamed gets its row in the ledger."""
        if len(row.name) != len(name):
            return
        for level, (one, other) in enumerate(zip(row.name, name, strict=True)):
            old = Term(one, row.target if level == len(name) - 1 else "", (*name[:level], one))
            entry = journal_names.renamed_term(vocabulary, "/".join(old.path), other)
            if one != other and await self.context.store.run_journal(TERMS).is_begun(entry):
                await self.terms.rename(vocabulary, old, Term(other, path=name[: level + 1]))

    async def _standing(self, vocabulary: str, index: TermIndex, term: Term, met: MetTerm) -> Term | None:
        """What stands for a term of the source, by its new name where that is possible."""
        row = self.known.of(TERM, met.rule.name, met.source) if met.source else None
        now = index.by_id(row.target) if row is not None else None
        if row is None or now is None:
            return None
        if _alike(row.origin, met.path) or row.run == self.context.run.id:
            return await self._called_otherwise(vocabulary, index, row, now, (term, met))
        if row.mapping != _digest(met, self.context):
            return None
        why = self._obstacle(row)
        if why is not None:
            self._leave(row, term, why)
            return None
        return await self._renamed(vocabulary, index, row, now, (term, met))

    async def _stands(self, row: Counterpart, now: Term, term: Term) -> Term:
        """It was renamed at both: the name that it has at the target stands, permanently or until somebody decides."""
        if self.context.policy.conflicts.default is ConflictPolicy.TARGET:
            return now
        self._leave(row, term, NotRenamed.BOTH)
        self._open.add((row.scope, row.source))
        name = tuple(map(normal, now.path)) or row.name
        await self.known.keep(replace(row, name=name))
        return replace(now, label=name[-1])

    async def _called_otherwise(
        self, vocabulary: str, index: TermIndex, row: Counterpart, now: Term, wanted: tuple[Term, MetTerm]
    ) -> Term | None:
        """Others renamed it at the target, which a repair undoes, or what was read of the asset is older than a
        rename of this run."""
        if row.run != self.context.run.id and self.context.repairs and self._obstacle(row) is None:
            return await self._renamed(vocabulary, index, row, now, wanted)
        return now

    @property
    def _overrides(self) -> bool:
        """Whether the name of the source stands where the target has another."""
        return self.context.policy.conflicts.default is ConflictPolicy.SOURCE or self.context.repairs

    def _obstacle(self, row: Counterpart) -> NotRenamed | None:
        if fold(row.wanted[-1]) != fold(row.origin[-1]):
            return NotRenamed.OTHER_NAME
        if self.known.is_shared(row):
            return NotRenamed.SHARED
        return None if Operation.RENAME_TERM in self.context.target.capabilities else NotRenamed.FIXED

    async def _renamed(
        self, vocabulary: str, index: TermIndex, row: Counterpart, now: Term, wanted: tuple[Term, MetTerm]
    ) -> Term | None:
        term, met = wanted
        at = tuple(map(normal, now.path)) or (normal(now.label),)
        whole = met.rule.by_path and len(met.path) > 1
        new, given = (met.path, row.wanted) if whole else ((*at[:-1], each[-1]) for each in (met.path, row.wanted))
        if at[:-1] != new[:-1]:
            await self.origins.read()
        names, stands = Names(given, new, self.context.repairs), partial(_standing_at, index)
        try:
            while (step := names.step(at, stands, stands, self._lives)) is not None:
                if step.theirs and not self._overrides:
                    return await self._stands(row, now, term)
                if step.moved or index.by_path(at[: step.depth]) is None:
                    self._leave(row, term, NotRenamed.MOVED)
                    return None
                at, names = await self._level_renamed(vocabulary, term, at, step), names.after(step)
        except DamSyncError as error:
            if not isinstance(react(error), ParkAsset):
                raise
            log.warning("term.not_renamed", vocabulary=vocabulary, term=term.label, message=error.message)
            self._leave(row, term, NotRenamed.REFUSED, error.message)
            return None
        found = index.by_path(at)
        if found is not None:
            await self._keep(vocabulary, index, met, found, self.context.run.id)
        return found

    async def _level_renamed(self, vocabulary: str, term: Term, at: Path, step: Level) -> Path:
        """Its path after one level of it got another name. at: its path at the target."""
        path = (*at[: step.depth - 1], step.new[-1])
        one = (await self.terms.known())[vocabulary].by_path(at[: step.depth])
        renamed = Term(path[-1])
        if step.depth == len(at):
            renamed = self.origins.completed(replace(term, label=path[-1], path=step.new, id=""))
        if one is not None:
            await self.terms.rename(vocabulary, one, replace(renamed, path=path))
        return with_new_top(at, at[: step.depth], path)

    def _lives(self, path: Path) -> bool:
        """Whether the source may have a term at this path: unknown unless its vocabularies were read."""
        return not self.origins.loaded or path in self.origins.by_path

    def _leave(self, row: Counterpart, term: Term, why: NotRenamed, detail: str = "") -> None:
        """It keeps its name; assets get another one."""
        self._left.add((row.scope, row.source))
        if why is NotRenamed.FIXED:
            detail = self.context.target.capabilities.features[Feature.RENAMED_TERMS].why
        self.known.notes.add(f"term of {row.place}", f"{why}: {detail}" if detail else str(why), *_named(row, term))


def _named(row: Counterpart, term: Term) -> tuple[str, str]:
    return path_text(Term("", path=row.name)), path_text(term) or term.label


def _standing_at(index: TermIndex, path: Path) -> str:
    found = index.by_path(path)
    return (found.id or path_text(found) or found.label) if found is not None else ""


def _given(row: Counterpart, now: Path, met: MetTerm) -> Path:
    """The path that runs gave, or found first: another name at a level is of others, unless the source has it, too. A
    later name of the source that they do not follow counts as given."""
    if len({len(now), len(row.wanted), len(row.origin), len(met.path)}) > 1:
        return (*now[:-1], _name_given(row.wanted[-1], now[-1], row.origin[-1], met.path[-1]))
    return tuple(map(_name_given, row.wanted, now, row.origin, met.path))


def _name_given(given: str, now: str, origin: str, met: str) -> str:
    if fold(now) in (fold(given), fold(met)):
        return now
    return met if fold(given) == fold(origin) else given


def _alike(one: Path, other: Path) -> bool:
    """Whether two paths can be the same, though one lacks the levels above."""
    shared = min(len(one), len(other))
    return one[-shared:] == tuple(map(normal, other))[-shared:]


def _digest(met: MetTerm, context: RunContext) -> str:
    """Changes with what a rule makes of a term."""
    rule = met.rule
    return digest_of(
        [rule.target, rule.source, list(rule.ways.order), rule.by_path, list(context.crosswalk.languages.locales)]
    )
