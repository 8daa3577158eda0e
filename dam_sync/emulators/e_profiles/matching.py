"""A query's tree against assets: a predicate, a short list of candidates, and the words of `query_explained`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import assert_never

from dam_sync.emulators.e_profiles.index import Dates, Index
from dam_sync.emulators.e_profiles.query import And, Between, Empty, Exact, Node, Not, Or, Words
from dam_sync.emulators.e_profiles.records import Asset, instant
from dam_sync.emulators.e_profiles.targets import Target, Targets

Test = Callable[[Asset], bool]
Bounds = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Ids that may match; `exact`: all of them do."""

    ids: Collection[str]
    exact: bool


class Matcher:
    """Reads trees for one tenant. `inclusive`: the ends of date ranges belong to them."""

    def __init__(self, targets: Targets, index: Index, *, inclusive: bool) -> None:
        self._targets = targets
        self._index = index
        self._inclusive = inclusive

    def test(self, node: Node) -> Test:
        """The predicate of a tree."""
        match node:
            case And(nodes):
                tests = [self.test(each) for each in nodes]
                return lambda asset: all(test(asset) for test in tests)
            case Or(nodes):
                tests = [self.test(each) for each in nodes]
                return lambda asset: any(test(asset) for test in tests)
            case Not(inner):
                test = self.test(inner)
                return lambda asset: not test(asset)
            case Words() | Exact() | Empty() | Between():
                return self._leaf(node)
        assert_never(node)

    def candidates(self, node: Node) -> Candidates | None:
        """A list that holds every match, None if only a full scan will do."""
        match node:
            case Exact(field, text):
                target = self._targets.find(field)
                return Candidates(self._index.find(target, text), True) if target else None
            case Between():
                return self._by_date([node])
            case And(nodes):
                return self._narrowest(nodes)
            case Or(nodes):
                found = [self.candidates(each) for each in nodes]
                if any(each is None for each in found):
                    return None
                ids = {asset for each in found if each for asset in each.ids}
                return Candidates(ids, all(each.exact for each in found if each))
        return None

    def explain(self, node: Node) -> str:
        """The query in words."""
        match node:
            case And(nodes):
                return " and ".join(self.explain(each) for each in nodes) or "everything"
            case Or(nodes):
                return "(" + " or ".join(self.explain(each) for each in nodes) + ")"
            case Not(inner):
                return f"not {self.explain(inner)}"
            case Words(field, text):
                return f"{self._label(field)}: {text}" if field else f"any text: {text}"
            case Exact(field, text):
                return f"{self._label(field)}: exactly {text}" if field else f"any value: exactly {text}"
            case Empty(field):
                return f"{self._label(field)}: is empty"
            case Between(field, operator, first, last):
                ends = [instant(span[0]) or "" for span in (first, last) if span]
                words = {"on": ends[0], "to": " to ".join(ends)}
                return f"{self._label(field)}: {words.get(operator, f'{operator} {ends[0]}')}"
        assert_never(node)

    def _label(self, field: str) -> str:
        target = self._targets.find(field)
        return target.label if target else field

    def _leaf(self, node: Words | Exact | Empty | Between) -> Test:
        target = self._targets.find(node.field) if node.field else None
        if node.field and target is None:
            return _all_words([node.field, getattr(node, "text", "")])  # an unknown field is plain text (wire E 2.4)
        if isinstance(node, Between):
            return self._date_test(node, target)
        values = target.values if target else _everything
        match node:
            case Words(_, text):
                pattern = _pattern(text)
                return lambda asset: pattern.search("\n".join(values(asset))) is not None
            case Exact(_, text):
                folded = text.casefold()
                return lambda asset: any(value.casefold() == folded for value in values(asset))
            case Empty():
                return lambda asset: not any(values(asset))
        assert_never(node)

    def _date_test(self, node: Between, target: Target | None) -> Test:
        if target is None or target.instants is None:
            return lambda _: False
        instants = target.instants
        first, last = self._bounds(node)
        return lambda asset: any(
            (first is None or at >= first) and (last is None or at <= last) for at in instants(asset)
        )

    def _bounds(self, node: Between) -> Bounds:
        """First and last second that match."""
        shift = 0 if self._inclusive or node.operator == "on" else 1
        match node.operator:
            case "after":
                end = node.first
                return (end[0] + shift if end else None, None)
            case "before":
                end = node.last
                return (None, end[1] - shift if end else None)
        return (node.first[0] + shift if node.first else None, node.last[1] - shift if node.last else None)

    def _narrowest(self, nodes: Sequence[Node]) -> Candidates | None:
        ranges = [each for each in nodes if isinstance(each, Between)]
        found = [self.candidates(each) for each in nodes if not isinstance(each, Between)]
        found += [self._by_date([r for r in ranges if r.field == name]) for name in {r.field for r in ranges}]
        short = [each for each in found if each is not None]
        if not short:
            return None
        best = min(short, key=lambda each: len(each.ids))
        return Candidates(best.ids, best.exact and len(found) == 1)

    def _by_date(self, nodes: Sequence[Between]) -> Candidates | None:
        """Ranges over one field, met by one slice."""
        target = self._targets.find(nodes[0].field)
        dates = self._dates(target.name) if target else None
        if dates is None:
            return None
        bounds = [self._bounds(node) for node in nodes]
        first = max((b[0] for b in bounds if b[0] is not None), default=None)
        last = min((b[1] for b in bounds if b[1] is not None), default=None)
        start, stop = dates.within(first, last)
        return Candidates([asset for _, asset in dates.rows[start:stop]], True)

    def _dates(self, name: str) -> Dates | None:
        return {"created": self._index.created, "updated": self._index.updated}.get(name)


def _everything(asset: Asset) -> Iterable[str]:
    yield asset.filename
    yield from asset.tags
    yield from asset.ai_tags
    for values in asset.fields.values():
        yield from values


def _all_words(texts: Sequence[str]) -> Test:
    patterns = [_pattern(text) for text in texts if text]
    return lambda asset: all(pattern.search("\n".join(_everything(asset))) for pattern in patterns)


@lru_cache(maxsize=512)
def _pattern(text: str) -> re.Pattern[str]:
    """Whole words; `*` stands for any characters of one."""
    body = r"\W+".join(re.escape(word).replace(r"\*", r"\w*") for word in text.split())
    return re.compile(rf"(?<!\w){body or '.'}(?!\w)", re.IGNORECASE)
