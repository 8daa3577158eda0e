"""The query language: text to a tree (wire B 2.4). Raises Refusal 400 on a syntax error."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeAlias

from dam_sync.emulators.b_documents.records import Refusal, instant, moment_of


@dataclass(frozen=True, slots=True)
class Date:
    """A date literal, in the form dates are kept."""

    text: str


Literal: TypeAlias = str | int | float | Date


@dataclass(frozen=True, slots=True)
class Test:
    """`key op values`; op in upper case, `NOT` variants spelled out."""

    key: str
    op: str
    values: tuple[Literal, ...] = ()


@dataclass(frozen=True, slots=True)
class Both:
    """AND or OR of several."""

    every: bool
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    part: Node


Node: TypeAlias = Test | Both | Not


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query; columns are empty for `*`."""

    types: tuple[str, ...]
    columns: tuple[str, ...] = ()
    distinct: bool = False
    where: Node | None = None
    order: tuple[tuple[str, bool], ...] = ()
    moving: bool = False


_TOKEN = re.compile(
    r"""\s*(?:
    (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
  | (?P<number>-?\d+(?:\.\d+)?)
  | (?P<name>[A-Za-z_][\w]*(?::[A-Za-z_*][\w\-]*)?(?:/[\w*\-]+)*)
  | (?P<op><>|!=|<=|>=|=|<|>|\(|\)|,|\*)
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS = frozenset(
    {"SELECT", "DISTINCT", "FROM", "WHERE", "ORDER", "BY", "ASC", "DESC", "AND", "OR", "NOT", "IN", "LIKE", "ILIKE"}
    | {"BETWEEN", "IS", "NULL", "STARTSWITH", "TIMESTAMP", "DATE", "NOW"}
)
_COMPARE = frozenset({"=", "<>", "!=", "<", "<=", ">", ">="})
_PERIOD = re.compile(r"(-?)P(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+)S)?)?$")


def parse(text: str, now: datetime) -> Query:
    """The tree of a query; `now` is what NOW() means."""
    return _Parser(text, now).query()


class _Parser:
    def __init__(self, text: str, now: datetime) -> None:
        self.now, self.moving = now, False
        self.tokens: list[tuple[str, str]] = []
        self.at = 0
        position = 0
        while text[position:].strip():
            found = _TOKEN.match(text, position)
            if found is None or found.end() == position:
                raise _syntax(text[position : position + 20])
            kind = str(found.lastgroup)
            word = found.group(kind)
            if kind == "name" and word.upper() in _WORDS:
                kind, word = "word", word.upper()
            self.tokens.append((kind, word))
            position = found.end()

    def peek(self, *words: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at][0] != "text" and self.tokens[self.at][1] in words

    def take(self, *words: str) -> bool:
        if self.peek(*words):
            self.at += 1
            return True
        return False

    def need(self, *words: str) -> None:
        if not self.take(*words):
            raise _syntax(self.tokens[self.at][1] if self.at < len(self.tokens) else "end of query")

    def next(self, kind: str) -> str:
        if self.at >= len(self.tokens) or self.tokens[self.at][0] != kind:
            raise _syntax(self.tokens[self.at][1] if self.at < len(self.tokens) else "end of query")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def query(self) -> Query:
        self.need("SELECT")
        distinct = self.take("DISTINCT")
        columns = () if self.take("*") else self.names()
        self.need("FROM")
        types = self.names()
        where = self.either() if self.take("WHERE") else None
        order: list[tuple[str, bool]] = []
        if self.take("ORDER"):
            self.need("BY")
            order.append(self.ordering())
            while self.take(","):
                order.append(self.ordering())
        if self.at < len(self.tokens):
            raise _syntax(self.tokens[self.at][1])
        return Query(types, columns, distinct, where, tuple(order), self.moving)

    def names(self) -> tuple[str, ...]:
        found = [self.next("name")]
        while self.take(","):
            found.append(self.next("name"))
        return tuple(found)

    def ordering(self) -> tuple[str, bool]:
        name = self.next("name")
        down = self.take("DESC")
        if not down:
            self.take("ASC")
        return name, not down

    def either(self) -> Node:
        parts = [self.every()]
        while self.take("OR"):
            parts.append(self.every())
        return parts[0] if len(parts) == 1 else Both(False, tuple(parts))

    def every(self) -> Node:
        parts = [self.opposite()]
        while self.take("AND"):
            parts.append(self.opposite())
        return parts[0] if len(parts) == 1 else Both(True, tuple(parts))

    def opposite(self) -> Node:
        if self.take("NOT"):
            return Not(self.opposite())
        if self.take("("):
            inner = self.either()
            self.need(")")
            return inner
        return self.test()

    def test(self) -> Node:
        key = self.next("name")
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "op" and self.tokens[self.at][1] in _COMPARE:
            op = self.next("op")
            return Test(key, "<>" if op == "!=" else op, (self.literal(),))
        if self.take("IS"):
            return Test(key, "IS NOT NULL" if self._not_null() else "IS NULL")
        negated = self.take("NOT")
        made = self.worded(key)
        return Not(made) if negated else made

    def _not_null(self) -> bool:
        negated = self.take("NOT")
        self.need("NULL")
        return negated

    def worded(self, key: str) -> Node:
        for word in ("LIKE", "ILIKE", "STARTSWITH"):
            if self.take(word):
                return Test(key, word, (self.pattern() if "LIKE" in word else self.literal(),))
        if self.take("BETWEEN"):
            low = self.literal()
            self.need("AND")
            return Test(key, "BETWEEN", (low, self.literal()))
        self.need("IN")
        self.need("(")
        values = [self.literal()]
        while self.take(","):
            values.append(self.literal())
        self.need(")")
        return Test(key, "IN", tuple(values))

    def pattern(self) -> str:
        return _unquoted(self.next("text"), kept="%_\\")

    def literal(self) -> Literal:
        if self.take("TIMESTAMP", "DATE"):
            return _date(_unquoted(self.next("text")))
        if self.take("NOW"):
            self.need("(")
            period = "" if self.peek(")") else _unquoted(self.next("text"))
            self.need(")")
            self.moving = True
            return Date(instant(self.now + _delta(period)))
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "number":
            text = self.next("number")
            return float(text) if "." in text else int(text)
        return _unquoted(self.next("text"))


def _unquoted(text: str, kept: str = "") -> str:
    """Without quotes and escapes; `kept` characters keep the backslash before them."""

    def plain(found: re.Match[str]) -> str:
        return found[0] if found[1] in kept else {"n": "\n"}.get(found[1], found[1])

    return re.sub(r"\\(.)", plain, text[1:-1], flags=re.DOTALL)


def _date(text: str) -> Date:
    try:
        return Date(instant(moment_of(text)))
    except ValueError:
        raise _syntax(text) from None


def _delta(text: str) -> timedelta:
    if not text:
        return timedelta()
    found = _PERIOD.match(text)
    if found is None:
        raise _syntax(text)
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    made = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -made if found[1] else made


def _syntax(near: str) -> Refusal:
    return Refusal(400, f"Syntax error: Invalid token <{near}> in NXQL query")
