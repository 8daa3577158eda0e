"""The quick-search language of service E (wire E 2.4): text in, a tree out. No HTTP, no assets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias


class BadQuery(ValueError):
    """The query is malformed; the service then answers `query_syntax_ok: false`."""


@dataclass(frozen=True, slots=True)
class Words:
    """A word (`*` is a wildcard) or a phrase, in one field or anywhere."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Exact:
    """`{term}`: the whole value."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Empty:
    """`(isempty)`."""

    field: str


@dataclass(frozen=True, slots=True)
class Between:
    """A date expression as written: `after`, `before`, `on` or `to`; each end is the seconds it spans, or None."""

    field: str
    operator: str
    first: tuple[int, int] | None
    last: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Not:
    """Everything but."""

    node: Node


@dataclass(frozen=True, slots=True)
class And:
    """All of these; of none: everything."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of these."""

    nodes: tuple[Node, ...]


Node: TypeAlias = "Words | Exact | Empty | Between | Not | And | Or"

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<open>\() | (?P<close>\)) |
      \[(?P<range>[^\]\[]*)\] |
      \{(?P<exact>[^}{]*)\} |
      "(?P<phrase>[^"]*)" |
      (?P<field>[^\s(){}\[\]":]+):\s*(?=\S) |
      (?P<minus>-)(?=[({"\[\w*]) |
      (?P<word>[^\s(){}\[\]":]+)
    )""",
    re.VERBOSE,
)
_US_DATE = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})$")
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its kind is the name of its group in the pattern."""

    kind: str
    text: str


def tokens_of(text: str) -> list[Token]:
    """The tokens. Raises BadQuery at the first letter that fits none."""
    found: list[Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise BadQuery(f"unexpected {text[at : at + 10]!r} at {at}")
        found.append(Token(match.lastgroup, match.group(match.lastgroup)))
        at = match.end()
    return found


def parse(text: str) -> Node:
    """The tree of a query. Raises BadQuery."""
    reader = _Reader(tokens_of(text))
    node = reader.alternatives("")
    if reader.peek() is not None:
        raise BadQuery("a closing parenthesis too many")
    return node


def words_of(text: str) -> Node:
    """What a malformed query is read as: any of its words."""
    return Or(tuple(Words("", word) for word in re.findall(r"\w+", text)))


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def alternatives(self, field: str) -> Node:
        nodes = [self._sequence(field)]
        while self._took("OR"):
            nodes.append(self._sequence(field))
        return nodes[0] if len(nodes) == 1 else Or(tuple(nodes))

    def _sequence(self, field: str) -> Node:
        nodes: list[Node] = []
        while (token := self.peek()) is not None and token.kind != "close":
            if token == Token("word", "OR"):
                break
            if self._took("AND") and (not nodes or self.peek() is None):
                raise BadQuery("AND with nothing beside it")
            nodes.append(self._one(field))
        if not nodes:
            raise BadQuery("nothing where a term should be")
        return nodes[0] if len(nodes) == 1 else And(tuple(nodes))

    def _one(self, field: str) -> Node:
        token = self.peek()
        if token is None:
            raise BadQuery("the query ends too early")
        self._at += 1
        match token.kind:
            case "minus":
                return Not(self._one(field))
            case "open":
                return self._group(field)
            case "field":
                if field:
                    raise BadQuery("a field inside a field")
                return self._one(token.text)
            case _:
                return self._leaf(field, token)

    def _group(self, field: str) -> Node:
        node = self.alternatives(field)
        closing = self.peek()
        if closing is None or closing.kind != "close":
            raise BadQuery("a parenthesis is not closed")
        self._at += 1
        return node

    def _leaf(self, field: str, token: Token) -> Node:
        match token.kind:
            case "exact":
                return Exact(field, token.text.strip())
            case "phrase":
                return Words(field, token.text)
            case "range" if field:
                return _range(field, token.text)
            case "word" if token.text in ("AND", "OR"):
                raise BadQuery(f"{token.text} with nothing beside it")
            case "word" if field and token.text.lower() == "isempty":
                return Empty(field)
            case "word":
                return Words(field, token.text)
        raise BadQuery(f"{token.kind} is not expected here")

    def _took(self, word: str) -> bool:
        if self.peek() == Token("word", word):
            self._at += 1
            return True
        return False


def _range(field: str, text: str) -> Between:
    words = text.split()
    match words:
        case [word, when] if word.lower() == "after":
            return Between(field, "after", _span(when), None)
        case [word, when] if word.lower() == "before":
            return Between(field, "before", None, _span(when))
        case [first, to, last] if to.lower() == "to":
            return Between(field, "to", _span(first), _span(last))
        case [when]:
            return Between(field, "on", _span(when), _span(when))
    raise BadQuery(f"no date expression: [{text}]")


def _span(text: str) -> tuple[int, int]:
    """First and last second of a day (MM/DD/YYYY, read as UTC) or of a timestamp."""
    us_date = _US_DATE.match(text)
    try:
        if us_date:
            month, day, year = (int(part) for part in us_date.groups())
            start = datetime(year, month, day, tzinfo=UTC)
            return int(start.timestamp()), int((start + _DAY).timestamp()) - 1
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadQuery(f"no date: {text}") from None
    if len(text) == 10:
        start = moment.replace(tzinfo=UTC)
        return int(start.timestamp()), int((start + _DAY).timestamp()) - 1
    second = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    return second, second
