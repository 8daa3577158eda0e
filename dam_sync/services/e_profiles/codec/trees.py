"""Categories and collections of service E as containers. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from urllib.parse import parse_qsl, urlsplit

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import Placement
from dam_sync.model.errors import ContractBroken
from dam_sync.model.values import Json
from dam_sync.services.e_profiles.facts import CONTAINER_LEVELS


@interprets_response
def categories_of(tree: Json) -> Iterator[Placement]:
    """Every category of the v1 tree, parents before children (wire E 5.4). Raises ContractBroken."""
    rows = tree.get("categories") if isinstance(tree, dict) else None
    if not isinstance(rows, list):
        raise ContractBroken("the category tree has no `categories`")
    yield from _below((), rows)


def _below(path: tuple[str, ...], rows: list[Json]) -> Iterator[Placement]:
    if len(path) > CONTAINER_LEVELS:
        raise ContractBroken(f"the category tree is deeper than {CONTAINER_LEVELS} levels")
    for row in rows:
        title = row.get("title") if isinstance(row, dict) else None
        if not isinstance(title, str):
            raise ContractBroken("a category of the tree has no string as `title`")
        placed = Placement("category", (*path, title), member_text(row, "uuid"))
        yield placed
        yield from _below(placed.path, row.get("children") or [])


@dataclass(frozen=True, slots=True)
class Inner:
    """The categories that have others below them. The tree is of v1 and the lists are of v2, so one is known by its
    path or by its id, whose case may differ (wire E 1.5: the same value, inferred)."""

    paths: frozenset[tuple[str, ...]]
    ids: frozenset[str]

    @classmethod
    def of(cls, places: Sequence[Placement]) -> Inner:
        """Out of the whole tree."""
        paths = frozenset(place.path[:-1] for place in places)
        return cls(paths, frozenset(place.id.casefold() for place in places if place.id and place.path in paths))

    def has(self, place: Placement) -> bool:
        """Whether there is anything below this category."""
        return place.path in self.paths or place.id.casefold() in self.ids


@interprets_response
def category_of(row: Json) -> Placement:
    """A row of the v2 category list. Raises ContractBroken for a path that is not a list of strings."""
    parts = row.get("parts") or [row.get("name")]
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ContractBroken("a category has no list of strings as `parts`")
    return Placement("category", tuple(parts), member_text(row, "id"))


@interprets_response
def collections_of(rows: Sequence[Json]) -> list[Placement]:
    """One for each row of the v2 collection lists. A title that an earlier collection has too gets its type
    appended, because they are different collections; a collection that two lists show is the same."""
    known: dict[str, str] = {}  # id by title as shown
    placed = []
    for row in rows:
        identity, title = member_text(row, "id"), member_text(row, "title")
        unique = next(
            each for each in _titles(title, member_text(row, "type")) if known.get(each, identity) == identity
        )
        known[unique] = identity
        placed.append(Placement("collection", (unique,), identity))
    return placed


def _titles(title: str, kind: str) -> Iterator[str]:
    yield title
    yield f"{title} ({kind})"
    yield from (f"{title} ({kind} {number})" for number in count(2))


@interprets_response
def assets_link(row: Json) -> str:
    """The search for a container's assets; may be missing (wire E 5.5). Raises ContractBroken for one that would find
    everything, or nothing."""
    link = (row.get("_links") or {}).get("assets")
    if link is None or link == "":
        return ""
    if not isinstance(link, str) or not dict(parse_qsl(urlsplit(link).query)).get("query"):
        raise ContractBroken("a category or collection has a link to its assets without a query")
    return link


@interprets_response
def collection_link(row: Json) -> str:
    """The same for a collection; empty if it holds nothing."""
    return assets_link(row) if row.get("total_items") != 0 else ""


@interprets_response
def unread_reason(row: Json) -> str:
    """Why the assets of a collection cannot be read: it holds some and gives no search; empty if they can."""
    if row.get("total_items") == 0 or assets_link(row):
        return ""
    kind, held = row.get("type") or "unknown", row.get("total_items")
    return f"the {kind} collection of {'an unknown number of' if held is None else held} assets has no link to them"
