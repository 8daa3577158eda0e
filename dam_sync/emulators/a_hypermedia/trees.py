"""The two trees of an instance: folders and thesauri."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dam_sync.emulators.a_hypermedia.errors import Refusal, bad, not_found
from dam_sync.emulators.a_hypermedia.records import Folder, Node
from dam_sync.emulators.kit.environment import Json

TERM_MAX = 100


class Folders:
    """The classification plan. Ids start at 434 and only grow; titles need not be unique."""

    def __init__(self) -> None:
        self.by_id: dict[int, Folder] = {}
        self.roots: list[int] = []
        self._last = 433

    def get(self, number: int) -> Folder:
        """Raises 404."""
        if number not in self.by_id:
            raise not_found("folder")
        return self.by_id[number]

    def add(self, parent: int, title: str, description: str = "") -> Folder:
        """A new folder below `parent`, 0 for a root. Raises 400 without a title."""
        if not isinstance(title, str) or not title.strip():
            raise bad("folder-title-missing", "A folder needs a title.")
        siblings = self.get(parent).children if parent else self.roots
        self._last += 1
        folder = self.by_id[self._last] = Folder(self._last, parent, title, description or "")
        siblings.append(folder.id)
        return folder

    def ensure(self, path: Sequence[str]) -> Folder:
        """The folder at a path, made where it is missing."""
        folder: Folder | None = None
        for title in path:
            folder = self._child(folder, title) or self.add(folder.id if folder else 0, title)
        if folder is None:
            raise ValueError("a folder needs a path")
        return folder

    def find(self, path: Sequence[str]) -> Folder | None:
        """The first folder at a path."""
        folder: Folder | None = None
        for title in path:
            folder = self._child(folder, title)
            if folder is None:
                return None
        return folder

    def subtree(self, number: int) -> Iterator[int]:
        """The folder and all below it."""
        stack = [number]
        while stack:
            at = stack.pop()
            if at in self.by_id:
                yield at
                stack += self.by_id[at].children

    def tree_members(self, number: int) -> set[int]:
        """The media in the folder and below."""
        return set().union(*(self.by_id[at].members for at in self.subtree(number)))

    def path(self, number: int) -> tuple[str, ...]:
        """Titles from the root down."""
        folder = self.by_id[number]
        return (*(self.path(folder.parent) if folder.parent else ()), folder.title)

    def remove(self, number: int) -> None:
        """Raises 404, or 409 when there is something in it."""
        folder = self.get(number)
        if folder.children or folder.members:
            raise Refusal(409, "folder-not-empty", "The folder is not empty.")
        (self.by_id[folder.parent].children if folder.parent else self.roots).remove(number)
        del self.by_id[number]

    def order(self, number: int, ids: Json) -> None:
        """Put the children in this order. Raises 400 when the ids are not exactly they."""
        children = self.get(number).children
        if not isinstance(ids, list) or sorted(map(str, ids)) != sorted(map(str, children)):
            raise bad("folder-order-invalid", "The ids are not those of the children.")
        children[:] = ids

    def _child(self, parent: Folder | None, title: str) -> Folder | None:
        siblings: Iterable[int] = parent.children if parent else self.roots
        return next((self.by_id[at] for at in siblings if self.by_id[at].title == title), None)


class Thesauri:
    """Thesauri and their terms. Ids start at 634 and only grow; titles need not be unique."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.roots: list[int] = []
        self._last = 633

    def get(self, number: int) -> Node:
        """Raises 404."""
        if number not in self.nodes:
            raise not_found("thesaurus")
        return self.nodes[number]

    def add(self, parent: int, titles: dict[str, str], catalogue_id: str = "", number: int = 0) -> Node:
        """A new term, or a root for parent 0; number: its id, the next one for 0. Raises 400 on a title that is missing
        or too long."""
        _check_titles(titles)
        siblings = self.get(parent).children if parent else self.roots
        number = number or self._last + 1
        self._last = max(self._last, number)
        node = self.nodes[number] = Node(number, parent, titles, catalogue_id=catalogue_id)
        siblings.append(node.id)
        return node

    def write(self, number: int, body: Json) -> Node:
        """PUT of the whole: texts by upper-case locale; what is absent is taken away. Raises 400, 404."""
        node = self.get(number)
        titles = {code.lower(): text for code, text in _object(body, "titles").items() if text}
        _check_titles(titles)
        node.titles = titles
        node.descriptions = {code.lower(): text for code, text in _object(body, "descriptions").items() if text}
        node.synonyms = {code.lower(): list(words) for code, words in _object(body, "synonyms").items() if words}
        return node

    def remove(self, number: int, *, cascade: bool) -> set[int]:
        """Take a term away, with all below it when `cascade`; the ids that went. Raises 404, 405 on a root, 409."""
        node = self.get(number)
        if not node.parent:
            raise Refusal(405, "method-not-allowed", "A thesaurus itself cannot be removed.")
        if node.children and not cascade:
            raise Refusal(409, "thesaurus-not-empty", "The term has terms below it.")
        self.nodes[node.parent].children.remove(number)
        gone = set(self.subtree(number))
        for at in gone:
            del self.nodes[at]
        return gone

    def subtree(self, number: int) -> Iterator[int]:
        """The node and all below it."""
        stack = [number]
        while stack:
            at = stack.pop()
            if at in self.nodes:
                yield at
                stack += self.nodes[at].children

    def path(self, number: int, language: str) -> tuple[str, ...]:
        """Titles from below the root down to the node."""
        titles: list[str] = []
        node = self.nodes.get(number)
        while node is not None and node.parent:
            titles.append(node.titles.get(language) or next(iter(node.titles.values())))
            node = self.nodes.get(node.parent)
        return tuple(reversed(titles))


def _check_titles(titles: dict[str, str]) -> None:
    if not titles or not all(isinstance(text, str) and text.strip() for text in titles.values()):
        raise bad("thesaurus-title-missing", "A term needs a title.")
    if any(len(text) > TERM_MAX for text in titles.values()):  # spec 000, Limits: at most 100 characters
        raise bad("thesaurus-title-too-long", f"A term has at most {TERM_MAX} characters.")


def _object(body: Json, key: str) -> dict[str, Json]:
    part = body.get(key) if isinstance(body, dict) else None
    if part is None:
        return {}
    if not isinstance(part, dict):
        raise bad("thesaurus-invalid", f"{key} must be an object by locale.")
    return part
