"""Searching: repository or lagging index, order, pages and their quiet lies (wire B 2.2)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dam_sync.emulators.b_documents.evaluating import Passes, compiled
from dam_sync.emulators.b_documents.lexicon import Lexicon
from dam_sync.emulators.b_documents.nxql import Both, Node, Query, Test, parse
from dam_sync.emulators.b_documents.options import Options
from dam_sync.emulators.b_documents.records import Document, Refusal, User
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.b_documents.security import may
from dam_sync.emulators.kit.environment import Json

KNOWN = frozenset(
    {"query", "pageSize", "currentPageIndex", "offset", "maxResults", "sortBy", "sortOrder", "queryParams"}
    | {"quickFilters", "highlight", "access_token", "token"}
)
_KEPT = 24


@dataclass(frozen=True, slots=True)
class Paging:
    """What was requested; 0 as size means no paging."""

    size: int = 0
    offset: int = 0
    most: int = 0

    @classmethod
    def of(cls, params: Mapping[str, str], default: int = 0) -> Paging:
        """From request parameters; `offset` wins over `currentPageIndex`. Raises 400."""
        size = _number(params, "pageSize", default)
        offset = params.get("offset")
        if offset is not None:
            return cls(size, _number(params, "offset", 0), _number(params, "maxResults", 0))
        return cls(size, size * _number(params, "currentPageIndex", 0), _number(params, "maxResults", 0))


class Index:
    """Copies of documents as a search index holds them, some seconds behind; empty when nothing is `used`."""

    def __init__(self, repository: Repository, lag: float, *, used: bool) -> None:
        self._repository, self._lag, self._used = repository, lag, used
        self._due: deque[tuple[float, str]] = deque()
        self.docs: dict[str, Document] = {}
        self.revision = 0
        if used:
            repository.on_commit.append(self._changed)

    def refresh(self, *, everything: bool = False) -> None:
        """Take in what is due."""
        now = self._repository.world.elapsed()
        while self._due and (everything or self._due[0][0] <= now):
            self._take(self._due.popleft()[1])

    def at_once(self, uid: str) -> None:
        """Index one document before answering."""
        if self._used:
            self._take(uid)

    def _take(self, uid: str) -> None:
        doc = self._repository.docs.get(uid)
        if doc is None:
            self.docs.pop(uid, None)
        else:
            self.docs[uid] = doc.copy()
        self.revision += 1

    def _changed(self, uid: str) -> None:
        self._due.append((self._repository.world.elapsed() + self._lag, uid))


class Search:
    """Queries over the repository or the index."""

    def __init__(self, repository: Repository, options: Options) -> None:
        self.repository, self.options = repository, options
        self.indexed = "index" in options.plays
        self.index = Index(repository, options.lag, used=self.indexed)
        self._plain = Lexicon(repository, index=False)
        self._stale = Lexicon(repository, index=True)
        self._found: dict[tuple[Query, bool, int], list[Document]] = {}

    @property
    def lexicon(self) -> Lexicon:
        """What queries of the search in use may ask."""
        return self._stale if self.indexed else self._plain

    def parsed(self, text: str, params: Sequence[tuple[str, str]] = ()) -> Query:
        """A query with its parameters put in. Raises 400."""
        return parse(substituted(text, params), self.repository.now())

    def hits(self, query: Query, user: User, *, indexed: bool | None = None) -> list[Document]:
        """Every document a user may see, ordered; shuffled when the query does not say how. Raises 400."""
        indexed = self.indexed if indexed is None else indexed
        found = self._hits(query, indexed=indexed)
        if not user.administrator:
            found = [doc for doc in found if may(self.repository, user, doc, "Browse")]
        if not query.order:
            found = list(found)
            self.repository.world.rng.shuffle(found)
        return found

    def page(self, query: Query, user: User, paging: Paging, write: Callable[[Document], Json]) -> Json:
        """One page in its envelope. Raises 400, and 500 beyond the window of an index."""
        if self.indexed:
            self.index.refresh()
        found = self.hits(query, user)
        window = self.options.window if self.indexed else 0
        step = paging.size or self.options.max_page_size
        if window and paging.offset + step > window:
            raise Refusal(500, "Result window is too large")
        taken = found[paging.offset : paging.offset + min(step, self.options.max_page_size)]
        if self.indexed:
            taken = [self.repository.docs[doc.uid] for doc in taken if doc.uid in self.repository.docs]
        made = envelope(len(found), len(taken), paging, self.options.max_page_size, window)
        return {"entity-type": "documents", **made, "entries": [write(doc) for doc in taken]}

    def _hits(self, query: Query, *, indexed: bool) -> list[Document]:
        """Ordered hits; what `ecm:uuid >` skips is cut from a list that stays while nothing changes."""
        base, after = _split(query)
        revision = self.index.revision if indexed else self.repository.revision
        key = (base, indexed, revision)
        found = self._found.get(key) if not query.moving else None
        if found is None:
            found = self._fresh(base, indexed=indexed)
            while len(self._found) >= _KEPT:
                self._found.pop(next(iter(self._found)))
            self._found[key] = found
        if after:
            return found[bisect_right(found, after, key=lambda doc: doc.uid) :]
        return found

    def _fresh(self, query: Query, *, indexed: bool) -> list[Document]:
        lexicon = self._stale if indexed else self._plain
        docs = (self.index.docs if indexed else self.repository.docs).values()
        passes = compiled(query.where, lexicon) if query.where else None
        found = [doc for doc in docs if self._typed(doc, query.types) and (passes is None or passes(doc))]
        for name, up in reversed(query.order):
            term = lexicon.term(name)
            found.sort(key=lambda doc, read=term.read: _sortable(read(doc)), reverse=not up)  # type: ignore[misc]
        return found

    def _typed(self, doc: Document, wanted: Sequence[str]) -> bool:
        types = self.repository.types
        return any(each in wanted for each in types.lineage(doc.type))


def envelope(total: int, taken: int, paging: Paging, most: int, window: int = 0) -> dict[str, Json]:
    """The paging members: computed with the size requested, even where fewer are given."""
    size, unknown = paging.size, bool(paging.most and total > paging.most)
    index = paging.offset // size if size else 0
    if not size:
        pages, more = 1, False
    elif unknown:
        pages, more = 0, taken >= min(size, most)
    else:
        pages, more = -(-total // size), paging.offset + size < total
    if window and size and paging.offset + 2 * size > window:
        more = False
    count = -2 if unknown else total
    return {
        "isPaginable": True, "resultsCount": count, "pageSize": size, "maxPageSize": most,
        "resultsCountLimit": window, "currentPageSize": taken, "currentPageIndex": index,
        "currentPageOffset": paging.offset, "numberOfPages": pages, "isPreviousPageAvailable": paging.offset > 0,
        "isNextPageAvailable": more, "isLastPageAvailable": not unknown, "isSortable": True, "hasError": False,
        "errorMessage": None, "totalSize": count, "pageIndex": index, "pageCount": pages,
    }  # fmt: skip


def sorted_by(query: Query, params: Mapping[str, str]) -> Query:
    """`sortBy` and `sortOrder`; any order that is not `asc` is descending, a missing one too."""
    names = [name.strip() for name in params.get("sortBy", "").split(",") if name.strip()]
    if not names:
        return query
    orders = [order.strip().lower() for order in params.get("sortOrder", "").split(",")]
    order = [(name, number < len(orders) and orders[number] == "asc") for number, name in enumerate(names)]
    return replace(query, order=tuple(order))


def substituted(text: str, params: Sequence[tuple[str, str]]) -> str:
    """`?` by the queryParams in order, `:name` by every parameter of that name that means nothing else."""
    for key, value in params:
        quoted = "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        if key == "queryParams":
            text = text.replace("?", quoted, 1)
        elif key not in KNOWN:
            text = re.sub(rf":{re.escape(key)}\b", lambda _, put=quoted: put, text)  # type: ignore[misc]
    return text


def _split(query: Query) -> tuple[Query, str]:
    """The query without its `ecm:uuid >` when it is ordered by that alone, and what that says."""
    if query.order != (("ecm:uuid", True),) or query.where is None:
        return query, ""
    parts = query.where.parts if isinstance(query.where, Both) and query.where.every else (query.where,)
    bounds = [each for each in parts if isinstance(each, Test) and (each.key, each.op) == ("ecm:uuid", ">")]
    if len(bounds) != 1:
        return query, ""
    rest = tuple(each for each in parts if each is not bounds[0])
    where: Node | None = rest[0] if len(rest) == 1 else Both(True, rest) if rest else None
    return replace(query, where=where), str(bounds[0].values[0])


def _sortable(values: Iterable[Json]) -> tuple[int, Json]:
    found = list(values)
    return (1, found[0]) if found else (0, "")


def _number(params: Mapping[str, str], name: str, default: int) -> int:
    text = params.get(name, "").strip()
    if not text:
        return default
    if not re.fullmatch(r"-?\d+", text):
        raise Refusal(400, f"Invalid number for {name}: {text}")
    return max(0, int(text))


__all__ = ["Index", "Paging", "Passes", "Search", "envelope", "sorted_by", "substituted"]
