"""The search language of service C (wire C 2.4): text in, a tree out. No HTTP, no assets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


class BadQuery(ValueError):
    """The query is malformed; the service then finds nothing, silently."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word: `*` at its end is any ending, `~` at its end is nearly; `*` alone is anything at all."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words one after another."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Span:
    """From one end to the other; None is open. `closed`: the ends belong to it."""

    field: str
    first: str | None
    last: str | None
    closed: bool = True


@dataclass(frozen=True, slots=True)
class Not:
    """Everything but."""

    node: Node


@dataclass(frozen=True, slots=True)
class And:
    """All of these."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Any of these."""

    nodes: tuple[Node, ...]


Node: TypeAlias = "Word | Phrase | Span | Not | And | Or"

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<open>\() | (?P<close>\)) |
      \[(?P<range>[^\]\[]*)\] |
      "(?P<phrase>(?:[^"\\]|\\.)*)" |
      (?P<and>&&|AND\b) | (?P<or>OR\b|\|\|) | (?P<not>NOT\b) |
      (?P<field>[A-Za-z_]+(?:\.(?:\\.|[^\s(){}\[\]"*:<>\\])+)*):\s* |
      (?P<compare>[<>]=?)\s*(?P<bound>"[^"]*"|[^\s(){}\[\]"*:<>]+) |
      (?P<word>(?:[^\s(){}\[\]"*:<>]+\*?|\*))
    )""",
    re.VERBOSE,
)
_END = re.compile(r'\s*("(?P<quoted>[^"]*)"|(?P<plain>\S+))')


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its kind is the name of a group in the pattern."""

    kind: str
    text: str
    bound: str = ""


def tokens_of(text: str) -> list[Token]:
    """The tokens. Raises BadQuery at the first letter that fits none."""
    found: list[Token] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise BadQuery(f"unexpected {text[at : at + 10]!r} at {at}")
        groups = match.groupdict()
        if groups["compare"]:
            found.append(Token("compare", groups["compare"], groups["bound"].strip('"')))
        else:
            kind = str(match.lastgroup)
            found.append(Token(kind, groups[kind]))
        at = match.end()
    return found


def parse(text: str) -> Node:
    """The tree of a query: NOT binds closest, then AND, then OR, also meant where nothing stands. Raises BadQuery."""
    reader = _Reader(tokens_of(text))
    node = reader.either("")
    if reader.peek() is not None:
        raise BadQuery("a closing parenthesis too many")
    return node


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def peek(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def either(self, field: str) -> Node:
        nodes = [self._all(field)]
        while (token := self.peek()) is not None and token.kind != "close":
            self._took("or")
            nodes.append(self._all(field))
        return nodes[0] if len(nodes) == 1 else Or(tuple(nodes))

    def _all(self, field: str) -> Node:
        nodes = [self._one(field)]
        while self._took("and"):
            nodes.append(self._one(field))
        return nodes[0] if len(nodes) == 1 else And(tuple(nodes))

    def _one(self, field: str) -> Node:
        token = self.peek()
        if token is None:
            raise BadQuery("the query ends too early")
        self._at += 1
        match token.kind:
            case "not":
                return Not(self._one(field))
            case "open":
                node = self.either(field)
                if not self._took("close"):
                    raise BadQuery("a parenthesis is not closed")
                return node
            case "field" if not field:
                return self._one(re.sub(r"\\(.)", r"\1", token.text))
        return _leaf(field, token)

    def _took(self, kind: str) -> bool:
        token = self.peek()
        if token is not None and token.kind == kind:
            self._at += 1
            return True
        return False


def _leaf(field: str, token: Token) -> Node:
    match token.kind:
        case "phrase":
            return Phrase(field, re.sub(r"\\(.)", r"\1", token.text))
        case "word":
            return Word(field, token.text)
        case "range" if field:
            return _range(field, token.text)
        case "compare" if field:
            first, last = (token.bound, None) if token.text[0] == ">" else (None, token.bound)
            return Span(field, first, last, closed=token.text.endswith("="))
    raise BadQuery(f"{token.kind} is not expected here")


def _range(field: str, text: str) -> Span:
    """`[a TO b]`, the ends quoted where they hold reserved characters, `*` for an open one."""
    first = _END.match(text)
    middle = re.compile(r"\s+TO\b").match(text, first.end()) if first else None
    last = _END.match(text, middle.end()) if middle else None
    if first is None or last is None or text[last.end() :].strip():
        raise BadQuery(f"no range: [{text}]")
    ends = [(end["quoted"] if end["quoted"] is not None else end["plain"]) for end in (first, last)]
    for end, raw in zip(ends, (first, last), strict=True):
        if raw["quoted"] is None and ":" in end:
            raise BadQuery("a reserved letter in a range")
    start, stop = (None if end == "*" else end for end in ends)
    return Span(field, start, stop)
