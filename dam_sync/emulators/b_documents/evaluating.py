"""Evaluating a query's tree over documents."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence

from dam_sync.emulators.b_documents.lexicon import Lexicon, Term
from dam_sync.emulators.b_documents.nxql import Both, Date, Literal, Node, Not, Test
from dam_sync.emulators.b_documents.records import Document, Refusal, instant, moment_of
from dam_sync.emulators.kit.environment import Json

Passes = Callable[[Document], bool]
_COMPARE: Mapping[str, Callable[[Json, Json], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_RESTRICTED: Mapping[str, frozenset[str]] = {
    "ecm:path": frozenset({"=", "<>", "STARTSWITH"}),
    "ecm:ancestorId": frozenset({"=", "<>"}),
    "ecm:mixinType": frozenset({"=", "<>", "IN"}),
}


def compiled(node: Node, lexicon: Lexicon) -> Passes:
    """A tree as one function. Raises 400 for unknown names and for operators a name does not take."""
    if isinstance(node, Not):
        inner = compiled(node.part, lexicon)
        return lambda doc: not inner(doc)
    if isinstance(node, Both):
        parts = [compiled(each, lexicon) for each in node.parts]
        if node.every:
            return lambda doc: all(part(doc) for part in parts)
        return lambda doc: any(part(doc) for part in parts)
    return _test(node, lexicon)


def _test(test: Test, lexicon: Lexicon) -> Passes:
    term = lexicon.term(test.key)
    if test.op not in _RESTRICTED.get(test.key, frozenset({test.op})):
        raise Refusal(400, f"Cannot use {test.op} with {test.key}")
    read, values = term.read, tuple(_fitting(term, value) for value in test.values)
    made = _WORDED.get(test.op)
    if made is not None:
        return made(term, values)
    if term.kind == "words":
        wanted = frozenset(re.findall(r"\w+", str(values[0]).casefold()))
        return lambda doc: wanted <= set(read(doc))
    compare, value = _COMPARE[test.op], values[0]
    if term.kind == "flag" and test.op == "=":
        return lambda doc: bool(value == (read(doc) or (0,))[0])
    return lambda doc: any(compare(each, value) for each in read(doc))


Values = Sequence[Json]


def _none(term: Term, values: Values) -> Passes:
    return lambda doc: values[0] not in term.read(doc)


def _among(term: Term, values: Values) -> Passes:
    wanted = frozenset(values)
    return lambda doc: not wanted.isdisjoint(term.read(doc))


def _between(term: Term, values: Values) -> Passes:
    low, high = values
    return lambda doc: any(low <= each <= high for each in term.read(doc))


def _like(term: Term, values: Values, *, folded: bool = False) -> Passes:
    pattern = _pattern(str(values[0]), folded=folded)
    return lambda doc: any(pattern.match(str(each)) is not None for each in term.read(doc))


def _starts(term: Term, values: Values) -> Passes:
    """Strictly under; a version in the repository is under nothing."""
    head = str(values[0]).rstrip("/") + "/"
    return lambda doc: any(str(each).startswith(head) and str(each) != head for each in term.read(doc))


def _fitting(term: Term, value: Literal) -> Json:
    if term.kind == "date":
        if isinstance(value, Date):
            return value.text
        try:
            return instant(moment_of(str(value)))
        except ValueError:
            raise Refusal(400, f"Cannot compare a date with {value!r}") from None
    if isinstance(value, Date):
        return value.text
    if term.kind == "flag" and value not in (0, 1):
        raise Refusal(400, f"Cannot compare a boolean with {value!r}")
    if term.kind == "number" and isinstance(value, str):
        raise Refusal(400, f"Cannot compare a number with {value!r}")
    return str(value) if term.kind in ("text", "path", "words") else value


def _pattern(text: str, *, folded: bool) -> re.Pattern[str]:
    """`%` any characters, `_` one, a backslash before either means itself."""
    made, at = "", 0
    while at < len(text):
        letter = text[at]
        if letter == "\\" and at + 1 < len(text):
            at += 1
            made += re.escape(text[at])
        else:
            made += {"%": ".*", "_": "."}.get(letter) or re.escape(letter)
        at += 1
    return re.compile(made + r"\Z", re.DOTALL | (re.IGNORECASE if folded else 0))


_WORDED: Mapping[str, Callable[[Term, Values], Passes]] = {
    "IS NULL": lambda term, values: lambda doc: not term.read(doc),
    "IS NOT NULL": lambda term, values: lambda doc: bool(term.read(doc)),
    "STARTSWITH": _starts,
    "<>": _none,
    "IN": _among,
    "BETWEEN": _between,
    "LIKE": _like,
    "ILIKE": lambda term, values: _like(term, values, folded=True),
}
