"""Matching terms of the source with terms of the target: pins, exact, folded, synonyms, spellings, paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.mapping.fuzzy_terms import FuzzyTerms, only
from dam_sync.mapping.results import LanguagePreference, Note, Result, ValueOutcome, shown
from dam_sync.model.asset import Placement, with_new_top
from dam_sync.model.joined_names import joined, parted
from dam_sync.model.name_bounds import LONGEST_NAME
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import Scalar, Term

ORDER = ("pin", "exact", "casefold", "synonym")
FUZZY = "fuzzy"
DEEPEST = 100  # levels of a path of terms or containers, also where the target has no limit: each is made by a call of
# its own, inside another


@dataclass(frozen=True, slots=True)
class Matching:
    """How terms are found: ways in the order they are tried. pins: source id, path or label -> target id, path or
    label; synonyms: words that mean the same, by folded word. fuzzy: the least score of a spelling, from 0 to 1, and
    the locales whose dictionaries are asked."""

    order: Sequence[str] = ORDER
    pins: Mapping[str, str] = field(default_factory=dict)
    synonyms: Mapping[str, Sequence[str]] = field(default_factory=dict)
    by_path: bool = False
    fuzzy: float = 1.0
    locales: tuple[str, ...] = ()


UNMATCHED: Mapping[str, ValueOutcome] = {
    "park": ValueOutcome.PARKED,
    "suggest": ValueOutcome.PARKED,
    "drop": ValueOutcome.DROPPED,
    "keep": ValueOutcome.KEPT,
}


@dataclass(frozen=True, slots=True)
class MetTerm:
    """A term of the source that a rule met. source: its id; path: what names it to the rule; target: what stands for it
    at the target, None if that is to be created; pathless: only the label of a term of a tree was read."""

    rule: VocabularyRule
    source: str
    path: tuple[str, ...]
    target: Term | None = None
    pathless: bool = False


@dataclass(slots=True)
class TermIndex:
    """The terms of one vocabulary of the target. `open_ended`: any term is assumed to exist (for examples).

    recalled: what earlier runs found, by `recall_key`; partial: nothing else was read yet; lacking: a term was
    requested that is not recalled. found: requested terms that exist, for later runs; promised: requested terms that
    will exist once the term of this path is created. pathless: between two trees, a term was requested of which only
    the label is known, which may be ambiguous.
    """

    open_ended: bool = False
    recalled: Mapping[str, Term] = field(default_factory=dict)
    partial: bool = False
    lacking: bool = False
    found: dict[str, Term] = field(default_factory=dict)
    promised: dict[tuple[str, ...], dict[str, MetTerm]] = field(default_factory=dict)
    met: dict[str, MetTerm] = field(default_factory=dict)
    pathless: bool = False
    _reported: set[str] = field(default_factory=set)
    _by_id: dict[str, Term] = field(default_factory=dict)
    _by_path: dict[tuple[str, ...], Term] = field(default_factory=dict)
    _by_former: dict[tuple[str, ...], Term] = field(default_factory=dict)
    _called: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _folded_paths: dict[tuple[str, ...], list[Term]] = field(default_factory=dict)
    _exact: dict[str, list[Term]] = field(default_factory=dict)
    _folded: dict[str, list[Term]] = field(default_factory=dict)
    _synonyms: dict[str, list[Term]] = field(default_factory=dict)
    _fuzzy: FuzzyTerms | None = None

    def __len__(self) -> int:
        return len(self._by_path)

    def add(self, term: Term) -> None:
        """Add a term; one with the same path (or label, without a path) as a known one changes nothing."""
        path = tuple(normal(label) for label in term.path or (term.label,))
        if path in self._by_path:
            return
        self._by_path[path], self._fuzzy = term, None
        self._folded_paths.setdefault(_folded(path), []).append(term)
        if term.id:
            self._by_id[term.id] = term
        for label in dict.fromkeys([normal(term.label), *map(normal, term.labels.values())]):
            self._exact.setdefault(label, []).append(term)
        for label in dict.fromkeys([fold(term.label), *map(fold, term.labels.values())]):
            self._folded.setdefault(label, []).append(term)
        for word in {fold(word) for words in term.synonyms.values() for word in words}:
            self._synonyms.setdefault(word, []).append(term)

    def add_created(self, path: tuple[str, ...], term: Term) -> None:
        """Add a term that was created for this path, or that stands for it."""
        self.add(term)
        if term.id and self.by_path(path) is None:  # the target calls it otherwise
            self.call(term, path)
        for key, met in self.promised.pop(path, {}).items():
            self.found[key] = slim(term)
            if met.source:  # a text has no id by which another name of it could be recognized
                self.met[key] = replace(met, target=term)

    def call(self, term: Term, path: Sequence[str]) -> None:
        """Find a term by this path, too, and what is below it: others renamed it at the target."""
        self._called[term.id] = tuple(path)
        for each in self._by_path.values():
            if term.path and each.path[: len(term.path)] == term.path:
                former = with_new_top(each.path, term.path, tuple(path))
                self._by_former[tuple(normal(label) for label in former)] = each

    def rename(self, term: Term, renamed: Term) -> None:
        """Replace a term of the target by what it is now; terms below it have another path."""
        old, new = (each.path or (each.label,) for each in (term, renamed))
        known = [renamed if each == term else _moved(each, old, new) for each in self._by_path.values()]
        self.found = {key: slim(renamed) if one.id == term.id else one for key, one in self.found.items()}
        for one in (
            self._by_id,
            self._by_path,
            self._by_former,
            self._folded_paths,
            self._exact,
            self._folded,
            self._synonyms,
        ):
            one.clear()
        for each in known:
            self.add(each)
        self._called.pop(term.id, None)
        for identity, path in self._called.items():
            self.call(self._by_id[identity], path)

    def sources(self, path: tuple[str, ...]) -> tuple[MetTerm, ...]:
        """The terms of the source for which the term of this path will be created."""
        return tuple(self.promised.get(path, {}).values())

    def newly_met(self) -> list[MetTerm]:
        """Terms of the source that were met since the last call, and have one at the target; each once."""
        found = [met for key, met in self.met.items() if key not in self._reported]
        self._reported.update(self.met)
        self.met.clear()
        return found

    def paths(self) -> Iterable[tuple[str, ...]]:
        """The path of every term from the root down; of one without levels its label."""
        return self._by_path.keys()

    def joined_as(self, text: str) -> list[Term]:
        """The terms that this text may mean in a state of an earlier release: labels with a slash between them, that
        may also be in them."""
        found = [self.by_path((text,)), self.by_path(text.split("/"))]
        found += [term for path, term in self._by_path.items() if "/".join(path) == normal(text)]
        return list({id(term): term for term in found if term is not None}.values())

    def by_path(self, path: Sequence[str]) -> Term | None:
        """The term at this path from the root down, in any language of its labels."""
        key = tuple(normal(label) for label in path)
        return self._by_path.get(key) or self._by_former.get(key) or self._translated(key, normal, self._exact)

    def _translated(
        self, key: tuple[str, ...], change: Callable[[str], str], index: Mapping[str, Sequence[Term]]
    ) -> Term | None:
        """The one term of a tree whose path is this one in another language than the one it is listed in."""
        found = [
            term
            for term in index.get(key[-1] if key else "", ())
            if len(term.path) == len(key)
            and all(self._is_called(term.path[:level], key[level - 1], change) for level in range(1, len(key)))
        ]
        return _single(found)

    def _is_called(self, path: Sequence[str], label: str, change: Callable[[str], str]) -> bool:
        term = self._by_path.get(tuple(normal(each) for each in path))
        return term is not None and label in map(change, (term.label, *term.labels.values()))

    def by_id(self, identity: str) -> Term | None:
        """The term with the target's own id."""
        return self._by_id.get(identity)

    def find(self, term: Term, ways: Matching) -> Term | None:
        """The target's term for one of the source, by the first way that finds exactly one. Between two trees a term
        that has a path is found by its path alone."""
        if self.open_ended:
            return self._pinned(term, ways.pins) or term
        for way in ways.order:
            found = self._pinned(term, ways.pins) if way == "pin" else self._matched(term, way, ways)
            if found is not None:
                return found
        return None

    def alike(self, term: Term) -> list[str]:
        """The terms whose labels look most like this one, with their scores, for a person to choose from."""
        return [f"{shown(_name(one.term))} {one.score:.2f}" for one in self._spellings().alike(term.label)]

    def _spellings(self) -> FuzzyTerms:
        if self._fuzzy is None:
            self._fuzzy = FuzzyTerms(tuple(self._by_path.values()))
        return self._fuzzy

    def recall(self, rule: str, term: Term) -> Term | None:
        """The target's term that an earlier run found for this one by the same rule, while the vocabulary itself
        was not read."""
        key = recall_key(rule, term)
        known = self.recalled.get(key) if self.partial else None
        if known is None:
            self.lacking = self.partial
            return None
        self.found[key] = known
        return known

    def recalls(self, rule: str, term: Term) -> bool:
        """Whether an earlier run found this term."""
        return self.partial and recall_key(rule, term) in self.recalled

    def _pinned(self, term: Term, pins: Mapping[str, str]) -> Term | None:
        for key in pin_keys(term):
            if key in pins:
                return Term(pins[key]) if self.open_ended else next(iter(self.named(pins[key])), None)
        return None

    def named(self, name: str) -> list[Term]:
        """The terms that a text may mean, the first meaning first: by id, by a path that begins with a slash, by label,
        by any other path."""
        path, label = self.by_path(path_of(name)), _single(self._exact.get(normal(name), ()))
        found = [self.by_id(name), *((path, label) if name.startswith("/") else (label, path))]
        return list({id(term): term for term in found if term is not None}.values())

    def _matched(self, term: Term, way: str, ways: Matching) -> Term | None:
        if way == "synonym":
            return self._by_synonym(term, ways.synonyms)
        if way == FUZZY:
            return self._by_spelling(term, ways)
        if ways.by_path and term.path:
            if way == "exact":
                return self.by_path(term.path)
            key = _folded(term.path)
            return _single(self._folded_paths.get(key, ())) or self._translated(key, fold, self._folded)
        index, change = (self._exact, normal) if way == "exact" else (self._folded, fold)
        labels = dict.fromkeys(change(label) for label in (term.label, *term.labels.values()))
        return next((found for label in labels if (found := _single(index.get(label, ())))), None)

    def _by_synonym(self, term: Term, synonyms: Mapping[str, Sequence[str]]) -> Term | None:
        """Match the label with synonyms of the target, or a synonym with labels."""
        found = _single(self._synonyms.get(fold(term.label), ()))
        own = (fold(word) for words in term.synonyms.values() for word in words)
        words = (*own, *synonyms.get(fold(term.label), ()))
        return found or next((hit for word in words if (hit := _single(self._folded.get(word, ())))), None)

    def _by_spelling(self, term: Term, ways: Matching) -> Term | None:
        """The one term that any of the labels is a spelling of; in a tree below the same parent only."""
        for label in dict.fromkeys((term.label, *term.labels.values())):
            found = self._spellings().spelled(label, ways.fuzzy, ways.locales)
            if ways.by_path and term.path:
                found = [one for one in found if _folded(one.term.path[:-1]) == _folded(term.path[:-1])]
            if found:
                return only(found)
        return None


@dataclass(frozen=True, slots=True)
class VocabularyRule:
    """How the terms of one vocabulary of the source become terms of one of the target.

    source: the source's vocabulary key, empty for any. unmatched: create, suggest, park, drop, keep, or None for the
    rule's on_error. whole: a new term is written with more than its label, because the target has levels or languages.
    least_depth: see `Vocabulary`.
    """

    name: str
    target: str
    source: str = ""
    ways: Matching = Matching(("exact",))
    unmatched: str | None = None
    whole: bool = False
    max_length: int | None = None
    least_depth: int = 1

    def apply(self, value: Scalar, index: TermIndex, languages: LanguagePreference, rule: str) -> Result:
        """The target's term for one value, or the terms to create first, or a note that there is none."""
        term = spoken(value, languages)
        if term is None or len(term.label) > LONGEST_NAME or not term.label.strip() or len(term.path) > DEEPEST:
            return Result((), Note(rule, _refusal(term, value)))
        found = index.recall(self.name, term)
        if found is None and not index.partial:
            found = index.find(term, self.ways)
            if self._is_too_high(found, term, index):
                return Result((), Note(rule, self._too_high(term), self._outcome_of_miss()))
        pathless = self.by_path and bool(term.id) and not term.path
        if pathless and not index.recalls(self.name, term):
            index.pathless = True
        elif found is not None:
            index.found[recall_key(self.name, term)] = slim(found)
        if found is not None and term.id and self.unmatched == "create":
            met = MetTerm(self, term.id, self.path_of(term), found, pathless)
            index.met.setdefault(recall_key(self.name, term), met)
        if found is not None:
            return Result((slim(found),))
        return self._unmatched(term, index, rule, lasting=not pathless)

    def _unmatched(self, term: Term, index: TermIndex, rule: str, *, lasting: bool) -> Result:
        """What becomes of a value for which the target has no term."""
        if self.unmatched == "create":
            return self._created(term, index, rule, lasting=lasting)
        note = Note(rule, self._miss(term, index), self._outcome_of_miss())
        return Result((slim(term, known=False),) if self.unmatched == "keep" else (), note)

    @property
    def by_path(self) -> bool:
        """Whether both sides are trees."""
        return self.ways.by_path

    def _is_too_high(self, found: Term | None, term: Term, index: TermIndex) -> bool:
        """Whether the term, or the one to create, is above the level from which on the target takes terms as values."""
        if self.least_depth == 1 or (index.open_ended and found is not None and found is not term):
            return False  # of a pin, nothing is known before the target is read
        path = self.path_of(term) if found is None or index.open_ended else found.path
        made = found is not None or self.unmatched == "create"
        return made and len(path) < self.least_depth

    def _too_high(self, term: Term) -> str:
        return (
            f"{shown(path_text(term) if len(term.path) > 1 else term.label)} would be too high in {self.target}, whose "
            f"terms are values only from level {self.least_depth} down: pin it to one of those with `map sheet JOB`"
        )

    def _miss(self, term: Term, index: TermIndex) -> str:
        message = f"no term {shown(path_text(term) if len(term.path) > 1 else term.label)} in {self.target}"
        if self.unmatched == "park":
            return f"{message}: create it there, write a pin for it with `map sheet JOB`, or change `unmatched: park`"
        if self.unmatched != "suggest":
            return message
        return f"{message}; the nearest are {', '.join(index.alike(term)) or 'none'}: choose one as a pin"

    def path_of(self, term: Term) -> tuple[str, ...]:
        """What names a term of the source to this rule."""
        return tuple(map(normal, term.path)) if self.by_path and term.path else (normal(term.label),)

    def _outcome_of_miss(self) -> ValueOutcome:
        return UNMATCHED.get(self.unmatched or "", ValueOutcome.FAILED)

    def _created(self, term: Term, index: TermIndex, rule: str, *, lasting: bool) -> Result:
        """The terms to create; the value has a path instead of an id. lasting: later runs may recall
        them."""
        chain = tuple(self._chain(term, index))
        for new in chain:
            if self.max_length is not None and len(new.label) > self.max_length:
                detail = f"the new term {shown(new.label)} has {len(new.label)} characters, at most {self.max_length}"
                return Result((), Note(rule, detail))
        path = chain[-1].path
        if lasting:
            met = MetTerm(self, term.id, self.path_of(term))
            index.promised.setdefault(path, {})[recall_key(self.name, term)] = met
        return Result((Term(term.label, path=path),), None, tuple((self.target, new) for new in chain))

    def _chain(self, term: Term, index: TermIndex) -> Iterator[Term]:
        """The missing terms from the root down to this one. A tree keeps the labels of the source's paths."""
        if not (self.by_path and term.path):
            yield replace(term, id="", parent="", path=(term.label,))
            return
        for length in range(1, len(term.path)):
            path = term.path[:length]
            if index.by_path(path) is None:
                yield Term(path[-1], path=path)
        yield replace(term, id="", parent="", label=term.path[-1])


def _refusal(term: Term | None, value: Scalar) -> str:
    """Why a value is no term."""
    if term is not None and len(term.path) > DEEPEST:
        return f"the term {shown(term.label)} has a path of {len(term.path)} levels, at most {DEEPEST}"
    if term is not None and len(term.label) > LONGEST_NAME:
        return f"the term {shown(term.label)} has {len(term.label):,} characters, at most {LONGEST_NAME:,}"
    return f"accepts a term or text, not a {type(value).__name__.lower()}"


def _moved(term: Term, old: Sequence[str], new: Sequence[str]) -> Term:
    return replace(term, path=with_new_top(term.path, old, new)) if term.path else term


def spoken(value: Scalar, languages: LanguagePreference) -> Term | None:
    """A term, labelled in the preferred language, from a term or anything with a plain text."""
    if isinstance(value, Term):
        return replace(value, label=languages.label(value).strip())
    text = languages.text(value)
    return None if text is None else Term(text.strip())


def pin_keys(term: Term) -> list[str]:
    """What a pin may call a term of the source, in the order in which it is tried."""
    return [key for key in (term.id, path_text(term), normal(term.label).strip()) if key]


def slim(term: Term, *, known: bool = True) -> Term:
    """What a draft keeps of a term: label and the target's id, so that a draft changes only when the term does."""
    return Term(term.label, term.id if known else "")


def recall_key(rule: str, term: Term) -> str:
    """What distinguishes a term of the source as long as it is not renamed: its id, otherwise its path."""
    named = f"\\{term.id}" if term.id.startswith(("/", "\\")) else term.id  # so that no id is taken for a path
    return joined((rule, named or path_text(term), normal(term.label)), "\n")


def recalled_path(key: str) -> tuple[str, tuple[str, ...]]:
    """The rule and the path of a `recall_key`; no path if it has an id."""
    rule, named, *_ = parted(key, "\n")
    return rule, path_of(named) if named.startswith("/") else ()


def recalled_id(key: str) -> str:
    """The id of a `recall_key`."""
    named = parted(key, "\n")[1]
    return named.removeprefix("\\")


def path_text(term: Term) -> str:
    """`/Nature/Sea`; empty for a term without a path."""
    return Placement("", tuple(normal(label).strip() for label in term.path)).text


def path_of(text: str) -> tuple[str, ...]:
    """The parts of `/Press/2024`, without whitespace at their ends; empty parts are left out."""
    return tuple(part.strip() for part in parts_of(text) if part.strip())


def parts_of(text: str) -> list[str]:
    """The parts of `/Press/2024` as they are written; a slash inside a name is written `\\/`."""
    return parted(text, "/")


def normal(text: str) -> str:
    """How labels are compared exactly: in NFC, without surrounding whitespace."""
    return nfc(text).strip()


def fold(text: str) -> str:
    """How labels are compared without regard to case."""
    return nfc(normal(text).casefold())


def _folded(path: Sequence[str]) -> tuple[str, ...]:
    return tuple(fold(label) for label in path)


def _name(term: Term) -> str:
    return path_text(term) if len(term.path) > 1 else term.label


def _single(found: Iterable[Term]) -> Term | None:
    """The only match; several with the same label are ambiguous and do not match."""
    candidates = list(found)
    return candidates[0] if len(candidates) == 1 else None
