"""Searching an emulated tenant: hits in order, pages with shuffled ties, server-side scrolls, facets."""

from __future__ import annotations

import base64
import math
from bisect import bisect_left, bisect_right
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dam_sync.emulators.e_profiles.formats import format_of
from dam_sync.emulators.e_profiles.index import Index
from dam_sync.emulators.e_profiles.matching import Matcher
from dam_sync.emulators.e_profiles.query import And, BadQuery, Node, parse, words_of
from dam_sync.emulators.e_profiles.records import Asset, Field, Refusal, User
from dam_sync.emulators.e_profiles.targets import Targets
from dam_sync.emulators.e_profiles.taxonomy import Taxonomy, escaped
from dam_sync.emulators.kit.environment import Environment, Json

SORTS: Mapping[str, tuple[str, Callable[[Asset], Json]]] = {
    "created_date": ("Created date", lambda asset: asset.created),
    "last_update_date": ("Last update date", lambda asset: asset.updated),
    "filename": ("Filename", lambda asset: asset.filename.casefold()),
    "file_format": ("File format", lambda asset: format_of(asset.filename).name),
    "file_size": ("File size", lambda asset: asset.current.blob.size),
}
FACETS = ("categories", "file_types", "metadata")
FACET_VALUES = 25
OPEN_SCROLLS = 500
_KEPT = 24


@dataclass(frozen=True, slots=True)
class Question:
    """A search as asked, apart from paging."""

    query: str | None
    sort: str
    deleted: bool
    archived: bool


@dataclass(frozen=True, slots=True)
class Hits:
    """What matched, in order of `keys`; equal keys have no order of their own."""

    question: Question
    ok: bool
    explained: str
    keys: Sequence[Json]
    assets: Sequence[Asset]


@dataclass(slots=True)
class Scroll:
    """A server-side cursor: `rows` were fixed when it was opened. deadline in epoch seconds."""

    user: str
    hits: Hits
    rows: Sequence[Asset]
    limit: int
    at: int
    deadline: float
    served: int = 0


class Search:
    """The search of one tenant. Scrolls live `keep_alive` seconds between calls."""

    def __init__(
        self,
        world: Environment,
        index: Index,
        fields: Mapping[str, Field],
        taxonomy: Taxonomy,
        *,
        inclusive: bool,
        keep_alive: float,
    ) -> None:
        self._world = world
        self._index = index
        self._fields = fields
        self._taxonomy = taxonomy
        self._matcher = Matcher(Targets(fields, taxonomy), index, inclusive=inclusive)
        self.keep_alive = keep_alive
        self._cache: OrderedDict[tuple[Question, str, int], Hits] = OrderedDict()
        self._scrolls: dict[str, Scroll] = {}

    def hits(self, question: Question, user: User) -> Hits:
        """Everything that matches and that the user may see. Raises Refusal 400 for a sort that does not exist."""
        now = self._world.now().timestamp()
        self._index.settle(self._world.elapsed())
        if not user.all_seeing:
            return self._look(question, user, int(now))
        key = (question, user.id, self._index.generation)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._look(question, user, int(now))
            if len(self._cache) > _KEPT:
                self._cache.popitem(last=False)
        else:
            self._cache.move_to_end(key)
        return found

    def page(self, hits: Hits, offset: int, limit: int) -> list[Asset]:
        """Some of the hits; those with equal sort values stand in an order of this call alone (wire E 2.3)."""
        stop = min(offset + limit, len(hits.assets))
        rows: list[Asset] = []
        at = offset
        while at < stop:
            first, last = _ties(hits, at)
            rows += self._shuffled(hits.assets, first, last, at, min(stop, last))
            at = min(stop, last)
        return rows

    def open(self, hits: Hits, user: User, limit: int) -> tuple[str, list[Asset]]:
        """A scroll over the hits as they are now, and its first page."""
        now = self._world.now().timestamp()
        self._scrolls = {key: each for key, each in self._scrolls.items() if each.deadline >= now}
        if len(self._scrolls) >= OPEN_SCROLLS:
            raise Refusal(429, "too_many_scrolls", "Too many open scrolls")
        rows = self.page(hits, 0, len(hits.assets))
        key = self._world.word(16)
        self._scrolls[key] = Scroll(user.id, hits, rows, limit, limit, now + self.keep_alive)
        return _scroll_id(key, 0), rows[:limit]

    def scroll(self, scroll_id: str, user: User) -> tuple[str, Scroll, Sequence[Asset]]:
        """The next page; any id the scroll ever had advances it. Raises Refusal 404 for an expired or unknown one."""
        now = self._world.now().timestamp()
        key = _scroll_key(scroll_id)
        scroll = self._scrolls.get(key)
        if scroll is None or scroll.deadline < now or scroll.user != user.id:
            self._scrolls.pop(key, None)
            raise Refusal(404, "scroll_not_found", "No such scroll, or it has expired")
        rows = scroll.rows[scroll.at : scroll.at + scroll.limit]
        scroll.at += len(rows)
        scroll.served += 1
        scroll.deadline = now + self.keep_alive
        return _scroll_id(key, scroll.served), scroll, rows

    def explain_sort(self, sort: str) -> str:
        """The sort in words. Raises Refusal 400 for one that does not exist."""
        name = sort.removeprefix("-")
        own = SORTS.get(name)
        if own is None and name not in self._fields:
            raise Refusal(400, "invalid_request", f"Unknown sort {sort}")
        label = own[0] if own else self._fields[name].label
        return f"{label} ({'descending' if sort.startswith('-') else 'ascending'})"

    def facets(self, hits: Hits, wanted: Sequence[str]) -> Json:
        """Counts over all hits, at most 25 values each (spec 002, Limits, E)."""
        makers = {"categories": self._category_facet, "file_types": _type_facet, "metadata": self._metadata_facet}
        return {name: makers[name](hits.assets) for name in FACETS if name in wanted}

    def _look(self, question: Question, user: User, now: int) -> Hits:
        node, ok = _tree(question.query)
        found = self._select(node, question, user, now)
        keyed = self._ordered(found, question.sort)
        return Hits(question, ok, self._matcher.explain(node), [key for key, _ in keyed], [asset for _, asset in keyed])

    def _select(self, node: Node, question: Question, user: User, now: int) -> Iterator[Asset]:
        narrow = self._matcher.candidates(node)
        rows: Iterator[Asset] = self._index.of(narrow.ids) if narrow else iter(self._index.docs.values())
        if not (narrow and narrow.exact) and node != And(()):
            rows = filter(self._matcher.test(node), rows)
        if not question.deleted:
            rows = (asset for asset in rows if asset.deleted is None)
        if not question.archived:
            rows = (asset for asset in rows if not asset.archived)
        return (asset for asset in rows if user.may_see(asset, now))

    def _ordered(self, rows: Iterator[Asset], sort: str) -> list[tuple[Json, Asset]]:
        self.explain_sort(sort)
        name = sort.removeprefix("-")
        if name in SORTS:
            key = SORTS[name][1]
            keyed: list[tuple[Json, Asset]] = [(key(asset), asset) for asset in rows]
        else:
            keyed = [((asset.fields.get(name) or ("",))[0].casefold(), asset) for asset in rows]
        keyed.sort(key=lambda row: row[0], reverse=sort.startswith("-"))
        return keyed

    def _shuffled(self, rows: Sequence[Asset], first: int, last: int, start: int, stop: int) -> Iterator[Asset]:
        """Rows [start, stop) of a random order of [first, last): a walk by a step that divides nothing of it."""
        size = last - first
        shift = self._world.rng.randrange(size)
        step = self._world.rng.randrange(1, size + 1)
        while math.gcd(step, size) != 1:
            step = step % size + 1
        return (rows[first + (place * step + shift) % size] for place in range(start - first, stop - first))

    def _category_facet(self, assets: Sequence[Asset]) -> Json:
        counts = Counter(category for asset in assets for category in self._taxonomy.reach_of(asset))
        rows = []
        for category, count in counts.most_common(FACET_VALUES):
            parts = self._taxonomy.path(category)
            query = f"category:({{{escaped(parts)}}})"
            rows.append(
                {"id": category, "name": parts[-1], "path": escaped(parts), "count": count, "search_query": query}
            )
        return rows

    def _metadata_facet(self, assets: Sequence[Asset]) -> Json:
        rows = []
        for key, field in self._fields.items():
            if field.words is None:
                continue
            counts = Counter(value for asset in assets for value in asset.fields.get(key, ()))
            values = [
                {"value": value, "count": count, "search_query": f"{key}:({{{value}}})"}
                for value, count in counts.most_common(FACET_VALUES)
            ]
            rows.append({"display_key": key, "display_name": field.label, "values": values})
        return rows


def _type_facet(assets: Sequence[Asset]) -> Json:
    counts = Counter(format_of(asset.filename).type for asset in assets)
    return [
        {"name": name, "count": count, "search_query": f"ft:({name})"}
        for name, count in counts.most_common(FACET_VALUES)
    ]


def _tree(query: str | None) -> tuple[Node, bool]:
    if query is None or not query.strip():
        return And(()), True
    try:
        return parse(query), True
    except BadQuery:
        return words_of(query), False


def _ties(hits: Hits, at: int) -> tuple[int, int]:
    """The rows around `at` with the same sort value."""
    keys, key = hits.keys, hits.keys[at]
    if not hits.question.sort.startswith("-"):
        return bisect_left(keys, key), bisect_right(keys, key)
    first = _bisect_down(keys, key, after=False)
    return first, _bisect_down(keys, key, after=True)


def _bisect_down(keys: Sequence[Json], key: Json, *, after: bool) -> int:
    """As bisect, over keys that fall."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] > key or (after and keys[middle] == key):
            low = middle + 1
        else:
            high = middle
    return low


def _scroll_id(key: str, served: int) -> str:
    return base64.b64encode(f"DnF1ZXJ5VGhlbkZldGNo{key}:{served}".encode()).decode()


def _scroll_key(scroll_id: str) -> str:
    try:
        text = base64.b64decode(scroll_id, validate=True).decode("ascii")
    except ValueError:
        return ""
    return text.removeprefix("DnF1ZXJ5VGhlbkZldGNo").partition(":")[0]
