"""The query language of search: `f` and `fq` conditions, ranges, phrases, wildcards, and the text of `q`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from dam_sync.emulators.a_hypermedia.errors import bad
from dam_sync.emulators.a_hypermedia.lexicon import EVERYTHING, words
from dam_sync.emulators.a_hypermedia.records import Media, millis
from dam_sync.emulators.a_hypermedia.search import AXES, Clause, Index

_RANGE = re.compile(r"\[(.+?) TO (.+?)\]$")
_TOKEN = re.compile(
    r"""\s*([+-]?(?:[\w.]+:)?"(?:[^"\\]|\\.)*"|[+-]?[\w.]+:\[[^\]]*\]|[+-]?[\w.]+:\([^()]*\)|[+-]?\(|\)|[^\s()]+)"""
)


@dataclass(frozen=True, slots=True)
class Within:
    """A number in [low, high], open where None."""

    name: str
    low: float | None
    high: float | None

    def span(self, index: Index) -> tuple[int, int]:
        """The part of the axis, for names that have one."""
        return index.axis(self.name).span(self.low, self.high)

    def count(self, index: Index) -> int | None:
        if self.name not in AXES:
            return None
        start, stop = self.span(index)
        return stop - start

    def ids(self, index: Index) -> Iterable[int]:
        start, stop = self.span(index)
        return [number for _, number in index.axis(self.name).rows[start:stop]]

    def holds(self, index: Index, media: Media) -> bool:
        number = index.lexicon.number(media, self.name)
        if number is None:
            return False
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)


@dataclass(frozen=True, slots=True)
class Says:
    """The words one after another in one text of the field, or the whole text when `whole` is set."""

    name: str
    phrase: tuple[str, ...]
    whole: str = ""

    def count(self, index: Index) -> int | None:
        if not self.phrase:
            return None if self.whole else 0
        return min(len(index.postings(self.name).get(word, ())) for word in self.phrase)

    def ids(self, index: Index) -> Iterable[int]:
        sets = sorted((index.postings(self.name).get(word, set()) for word in self.phrase), key=len)
        found = sets[0] if sets else ()
        return [number for number in found if number in index.docs and self.holds(index, index.docs[number])]

    def holds(self, index: Index, media: Media) -> bool:
        texts = index.lexicon.texts(media, self.name)
        if self.whole:
            return any(text.casefold() == self.whole for text in texts)
        return any(_follows(words(text), self.phrase) for text in texts)


@dataclass(frozen=True, slots=True)
class Looks:
    """A word that fits the wildcards; `*` alone: any value."""

    name: str
    pattern: str

    def count(self, index: Index) -> int | None:
        return len(self.ids(index))

    def ids(self, index: Index) -> set[int]:
        fits = (at for word, at in index.postings(self.name).items() if fnmatchcase(word, self.pattern))
        return set().union(*fits)

    def holds(self, index: Index, media: Media) -> bool:
        return any(fnmatchcase(word, self.pattern) for word in index.words(media, self.name))


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of these words (ids, mostly) under the name."""

    name: str
    ones: frozenset[str]

    def count(self, index: Index) -> int | None:
        return sum(len(index.postings(self.name).get(one, ())) for one in self.ones)

    def ids(self, index: Index) -> set[int]:
        return set().union(*(index.postings(self.name).get(one, set()) for one in self.ones))

    def holds(self, index: Index, media: Media) -> bool:
        return not self.ones.isdisjoint(index.words(media, self.name))


@dataclass(frozen=True, slots=True)
class Test:
    """Any condition on the media; `known` are the only ones that can fulfil it, where that is known."""

    test: Callable[[Media], bool]
    known: frozenset[int] | None = None

    def count(self, index: Index) -> int | None:
        return None if self.known is None else len(self.known)

    def ids(self, index: Index) -> Iterable[int]:
        return self.known or ()

    def holds(self, index: Index, media: Media) -> bool:
        return (self.known is None or media.id in self.known) and self.test(media)


@dataclass(frozen=True, slots=True)
class Mixed:
    """All of `must`, none of `never`, and one of `may` unless there are none or `must` has some."""

    may: tuple[Clause, ...] = ()
    must: tuple[Clause, ...] = ()
    never: tuple[Clause, ...] = ()

    def count(self, index: Index) -> int | None:
        counts = [clause.count(index) for clause in (self.must or self.may)]
        known = [number for number in counts if number is not None]
        if self.must:
            return min(known, default=None)
        return sum(known) if known and len(known) == len(counts) else None

    def ids(self, index: Index) -> Iterable[int]:
        if self.must:
            best = min((c for c in self.must if c.count(index) is not None), key=lambda c: c.count(index) or 0)
            found = set(best.ids(index))
        else:
            found = {number for clause in self.may for number in clause.ids(index)}
        return [number for number in found if number in index.docs and self.holds(index, index.docs[number])]

    def holds(self, index: Index, media: Media) -> bool:
        if not all(clause.holds(index, media) for clause in self.must):
            return False
        if any(clause.holds(index, media) for clause in self.never):
            return False
        return bool(self.must) or not self.may or any(clause.holds(index, media) for clause in self.may)


def condition(name: str, text: str, *, by_word: bool) -> Clause:
    """`name:text` as `f` has it: term, phrase, wildcard, negation, inclusive range, list. Raises 400."""
    text = text.strip()
    if text.startswith("-") or name.startswith("-"):
        return Mixed(never=(condition(name.lstrip("-"), text.removeprefix("-"), by_word=by_word),))
    found = _RANGE.match(text)
    if found:
        return Within(name, _bound(found[1], upper=False), _bound(found[2], upper=True))
    if text.startswith("(") and text.endswith(")"):
        parts = [part for part in re.split(r",|\s+OR\s+|\s+", text[1:-1]) if part]
        return Mixed(may=tuple(condition(name, part, by_word=by_word) for part in parts))
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        plain = re.sub(r"\\(.)", r"\1", text[1:-1])
        return Says(name, tuple(words(plain)), "" if by_word else plain.casefold())
    return _loose(name, text, by_word=by_word)


def _loose(name: str, text: str, *, by_word: bool) -> Clause:
    if re.search(r'(?<!\\)[:"\[\]]', text):
        raise bad("query-syntax", f"The condition on {name} must be quoted.")
    if " " in text:
        return Mixed(may=tuple(condition(name, part, by_word=by_word) for part in text.split()))
    if "*" in text or "?" in text:
        return Looks(name, text.casefold())
    return Says(name, tuple(words(text.replace("\\", ""))))


def text_query(text: str, *, by_word: bool) -> Clause:
    """A `q`: words joined by OR, `+must`, `-never`, phrases, `field:value`, AND, OR, NOT, brackets. Raises 400."""
    tokens = [token for token in _TOKEN.findall(text) if token.strip()]
    clause, end = _group(tokens, 0, by_word=by_word)
    if end != len(tokens):
        raise bad("query-syntax", "The brackets of the query do not match.")
    return clause


def _group(tokens: Sequence[str], at: int, *, by_word: bool) -> tuple[Clause, int]:
    may: list[Clause] = []
    must: list[Clause] = []
    never: list[Clause] = []
    word = ""
    while at < len(tokens) and tokens[at] != ")":
        token = tokens[at]
        at += 1
        if token in _JOINTS:
            word = _JOINTS[token]
            if word == "+":
                must += may[-1:]
                del may[-1:]
            continue
        sign = token[0] if token[0] in "+-" else word
        clause, at = _operand(tokens, at, token.lstrip("+-"), by_word=by_word)
        (never if sign == "-" else must if sign == "+" else may).append(clause)
        word = ""
    return Mixed(tuple(may), tuple(must), tuple(never)), at


_JOINTS = {"OR": "", "||": "", "AND": "+", "&&": "+", "NOT": "-", "!": "-"}


def _operand(tokens: Sequence[str], at: int, token: str, *, by_word: bool) -> tuple[Clause, int]:
    if token != "(":
        return _word(token, by_word=by_word), at
    clause, at = _group(tokens, at, by_word=by_word)
    if at >= len(tokens):
        raise bad("query-syntax", "The brackets of the query do not match.")
    return clause, at + 1


def _word(token: str, *, by_word: bool) -> Clause:
    name, colon, value = token.partition(":")
    if colon and re.fullmatch(r"[\w.]+", name) and value:
        return condition(name, value, by_word=by_word)
    return condition(EVERYTHING, token, by_word=True)


def _follows(text: Sequence[str], phrase: Sequence[str]) -> bool:
    length = len(phrase)
    return any(tuple(text[at : at + length]) == tuple(phrase) for at in range(len(text) - length + 1))


def _bound(text: str, *, upper: bool) -> float | None:
    """A bound as a number: a number, a date (an upper one reaches to its end), a date-time, or None for `*`."""
    if text == "*":
        return None
    try:
        return float(text)
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise bad("query-syntax", f"{text!r} is no bound of a range.") from None
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return millis(moment + timedelta(days=1)) - 1 if upper and len(text) == 10 else millis(moment)
