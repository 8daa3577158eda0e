"""Categories (a tree) and collections of an emulated tenant of service E."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from dam_sync.emulators.e_profiles.records import Asset, Refusal


@dataclass(slots=True)
class Category:
    """One category; `number` is the v1 id; `parts` names from the root down."""

    id: str
    number: int
    title: str
    parent: str
    description: str = ""
    alphabetically: bool = False
    children: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Collection:
    """One collection; type `global`, `private` or `shared`; owner is a user's id, empty for a global one."""

    id: str
    title: str
    type: str
    owner: str = ""
    description: str = ""
    assets: set[str] = field(default_factory=set)


def escaped(parts: Sequence[str]) -> str:
    """A path as the service writes it: a slash inside a name as `\\/` (spec 002, Resources, E)."""
    return "/".join(part.replace("/", "\\/") for part in parts)


def parts_of(path: str) -> tuple[str, ...]:
    """The inverse of `escaped`."""
    return tuple(part.replace("\0", "/") for part in path.replace("\\/", "\0").split("/") if part)


class Taxonomy:
    """The tree and the collections. `subtree`: assets of its children count as a category's own."""

    def __init__(self, subtree: bool) -> None:
        self.subtree = subtree
        self.categories: dict[str, Category] = {}
        self.top: list[str] = []
        self.collections: dict[str, Collection] = {}
        self._paths: dict[str, tuple[str, ...]] = {}

    def path(self, category: str) -> tuple[str, ...]:
        """Names from the root down."""
        known = self._paths.get(category)
        if known is None:
            record = self.categories[category]
            above = self.path(record.parent) if record.parent else ()
            known = self._paths[category] = (*above, record.title)
        return known

    def children(self, parts: Sequence[str]) -> list[Category]:
        """The categories below a path, the top ones for none. Raises Refusal 404."""
        found = self.at(parts) if parts else None
        if parts and found is None:
            raise Refusal(404, "not_found", "Category not found")
        return [self.categories[child] for child in (found.children if found else self.top)]

    def at(self, parts: Sequence[str]) -> Category | None:
        """The category of a path."""
        here: Category | None = None
        for part in parts:
            below = here.children if here else self.top
            here = next((c for c in map(self.categories.__getitem__, below) if c.title == part), None)
            if here is None:
                return None
        return here

    def by_id(self, category: str) -> Category:
        """The category of an id. Raises Refusal 404."""
        found = self.categories.get(category)
        if found is None:
            raise Refusal(404, "not_found", "Category not found")
        return found

    def add(self, category: Category, before: str = "") -> Category:
        """Insert, at the end of its parent or before a sibling. Raises Refusal 409 for a title the parent has."""
        siblings = self.by_id(category.parent).children if category.parent else self.top
        self._alone(category.title, siblings)
        siblings.insert(siblings.index(before) if before in siblings else len(siblings), category.id)
        self.categories[category.id] = category
        return category

    def rename(self, category: Category, title: str) -> None:
        """Change the title; paths of everything below change with it."""
        siblings = self.by_id(category.parent).children if category.parent else self.top
        self._alone(title, [other for other in siblings if other != category.id])
        category.title = title
        self._paths.clear()

    def move(self, category: Category, parent: str) -> None:
        """Hang it below another parent (empty: top). Raises Refusal 400 for a place below itself."""
        above: str = parent
        while above:
            if above == category.id:
                raise Refusal(400, "invalid_request", "A category cannot be placed below itself")
            above = self.by_id(above).parent
        target = self.by_id(parent).children if parent else self.top
        self._alone(category.title, [other for other in target if other != category.id])
        (self.by_id(category.parent).children if category.parent else self.top).remove(category.id)
        target.append(category.id)
        category.parent = parent
        self._paths.clear()

    def reach_of(self, asset: Asset) -> Iterable[str]:
        """Ids of the categories whose listing shows the asset."""
        if not self.subtree:
            return asset.categories
        return set(self._upwards(asset.categories))

    def names_of(self, asset: Asset) -> Iterator[str]:
        """Names and full paths by which a query finds the asset."""
        for category in self.reach_of(asset):
            parts = self.path(category)
            yield parts[-1]
            if len(parts) > 1 or "/" in parts[-1]:
                yield escaped(parts)

    def _upwards(self, categories: Iterable[str]) -> Iterator[str]:
        for category in categories:
            here = category
            while here:
                yield here
                here = self.categories[here].parent

    def _alone(self, title: str, siblings: Iterable[str]) -> None:
        if any(self.categories[other].title == title for other in siblings):
            raise Refusal(409, "conflict", f"A category named {title} exists here")

    def collection(self, collection: str) -> Collection:
        """The collection of an id. Raises Refusal 404."""
        found = self.collections.get(collection)
        if found is None:
            raise Refusal(404, "not_found", "Collection not found")
        return found
