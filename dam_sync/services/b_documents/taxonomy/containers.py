"""Folders and collections of service B: where assets are, read, created and filled (wire B 2.5, 5.3, 6.5)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.aio.single_flight import KeyedLock
from dam_sync.http.client import Request
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.connector import Context
from dam_sync.model.errors import Conflict, ContractBroken, InvalidValue, NotFound, Rejected, Unsupported
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.client import DATED, RIGHTS, WHOLE, document_path
from dam_sync.services.b_documents.api.search import LIVE, one_of, select
from dam_sync.services.b_documents.codec import wire
from dam_sync.services.b_documents.codec.rights import inherited_from, is_blocked, strangers
from dam_sync.services.b_documents.target.create_once import NAME_TAKEN, CreateOnce, NewDocument, again_on_conflict
from dam_sync.services.b_documents.target.permissions import DocumentsPermissions
from dam_sync.services.b_documents.tenant import DocumentsPart, Root, below

Key = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder: its parent, title, path at the service, whether it is in the trash, and what documents in it inherit
    (`inherited_from`)."""

    uid: str
    parent: str
    title: str
    path: str
    trashed: bool = False
    inherited: str = ""


@dataclass(slots=True)
class Tree:
    """Folders by id, with the path of titles of each; of siblings with equal titles, all but the oldest get their name
    appended (assumption 6)."""

    root: Root
    folders: dict[str, Folder] = field(default_factory=dict)
    _titles: dict[tuple[str, str], str] = field(default_factory=dict)
    _paths: dict[str, tuple[str, ...]] = field(default_factory=dict)  # those asked for since a folder changed
    _parents: set[str] = field(default_factory=set)
    _spelled: dict[tuple[str, ...], Placement] | None = None  # by paths, since a folder changed

    @interprets_response
    def add(self, row: Json) -> Folder:
        """Add a folder of a listing, or one met above a document; one in the trash does not reserve its title."""
        path, trashed = member_text(row, "path"), wire.is_trashed(row)
        name = path.rpartition("/")[2]
        title, parent, uid = (member_text(row, "title") or name), member_text(row, "parentRef"), str(row["uid"])
        if not trashed and self._titles.setdefault((parent, title), uid) != uid:
            title = f"{title} [{name}]"
            self._titles[parent, title] = uid
        new = uid not in self.folders and uid not in self._parents
        folder = self.folders[uid] = Folder(uid, parent, title, path, trashed, inherited_from(row))
        self._parents.add(parent)
        if not new:
            self._changed()
        elif self._spelled is not None and not trashed and (here := self.path(uid)):
            self._spelled.setdefault(spelled_path(here), Placement("folder", here, uid))
        return folder

    def _changed(self) -> None:
        self._paths.clear()
        self._spelled = None

    def find(self, path: tuple[str, ...]) -> Placement | None:
        """The folder with this path of titles that can be filled."""
        if self._spelled is None:
            self._spelled = by_spelled_path(self.placements())
        return self._spelled.get(spelled_path(path))

    def path(self, uid: str) -> tuple[str, ...] | None:
        """Titles from the root down; None if a folder in between is unknown."""
        known = self._paths.get(uid)
        path = self._path(uid) if known is None else known
        if known is None and path is not None:
            self._paths[uid] = path
        return path

    def _path(self, uid: str) -> tuple[str, ...] | None:
        titles: list[str] = []
        for _ in range(facts.LEVELS):
            if uid == self.root.uid:
                return tuple(reversed(titles))
            folder = self.folders.get(uid)
            if folder is None:
                return None
            titles.append(folder.title)
            uid = folder.parent
        return None

    def rename(self, uid: str, title: str) -> None:
        """Give a folder another title; its old one is free."""
        folder = self.folders[uid]
        self._titles.pop((folder.parent, folder.title), None)
        self._titles[folder.parent, title] = uid
        self.folders[uid] = replace(folder, title=title)
        self._changed()

    def placements(self) -> list[Placement]:
        """All folders that can be filled, parents before children."""
        found = [(self.path(folder.uid), folder.uid) for folder in self.folders.values() if not folder.trashed]
        placed = [Placement("folder", path, uid) for path, uid in found if path]
        return sorted(placed, key=lambda place: (len(place.path), place.path))


class DocumentsContainers(DocumentsPart):
    """Reads before it writes; keeps what it read until it is listed again."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.creates = CreateOnce(self.api, self.tenant)
        self.permissions = DocumentsPermissions(self.api, self.tenant)
        self._tree: Tree | None = None
        self._collections: dict[str, Placement] | None = None
        self._spelled: dict[tuple[str, ...], Placement] | None = None  # collections by paths
        self._learned: dict[tuple[str, tuple[str, ...]], Placement] = {}  # from other processes, since they were listed
        self._unseen: set[str] = set()  # ids of collections that no listing gives
        self._closed_id = ""  # of the closed folder, once it is sure that it is closed
        self._container_locks = KeyedLock()

    async def containers(self) -> AsyncIterator[Placement]:
        """Folders, parents first, then collections."""
        async with self._container_locks.of(""):
            self._tree, self._collections, self._spelled = None, None, None
            self._unseen.clear()
            self._learned.clear()
            tree, collections = await self._list_folders(), await self._list_collections()
        for placement in (*tree.placements(), *collections.values()):
            yield placement

    async def folder_tree(self) -> Tree:
        """The folders, read once."""
        if self._tree is None:
            async with self._container_locks.of(""):
                if self._tree is None:
                    await self._list_folders()
        if self._tree is None:
            raise ContractBroken("the folders were deleted while they were read")
        return self._tree

    async def read_collections(self, wanted: Iterable[str] = ()) -> dict[str, Placement]:
        """The collections by id, read once, and again for unknown ids: the token of an asset
        states its membership only once."""
        ids = frozenset(wanted)
        if self._collections is None or self._unknown_collections(ids):
            async with self._container_locks.of("collections"):
                if self._collections is None or self._unknown_collections(ids):
                    self._unseen |= ids - (await self._list_collections()).keys()
        return self._collections or {}

    def _unknown_collections(self, ids: frozenset[str]) -> bool:
        return bool(ids - (self._collections or {}).keys() - self._unseen)

    async def folder_of(self, row: Json) -> tuple[str, ...]:
        """The path of titles to a document's folder; empty for one in the root, or outside of it."""
        tree = await self.folder_tree()
        parent = member_text(row, "parentRef")
        path = tree.path(parent)
        if path is None and parent:
            await self._learn_folders(tree, parent)
            path = tree.path(parent)
        return _names_of(row, tree.root) if path is None else path

    async def inherited_in(self, row: Json) -> str:
        """What a document inherits from its folder, see `inherited_from`; empty for one in the root."""
        folder = (await self.folder_tree()).folders.get(member_text(row, "parentRef"))
        return "" if folder is None else folder.inherited

    async def folder_path(self, uid: str) -> str:
        """The path of a folder at the service, by names. Raises NotFound."""
        tree = await self.folder_tree()
        if uid == tree.root.uid:
            return tree.root.path
        if uid not in tree.folders:
            tree.add(await self.api.document(uid))
        return tree.folders[uid].path

    async def home_folder(self) -> str:
        """The folder for assets without a folder; created when first needed."""
        path = self.api.options.folder_titles
        uid = (await self.tenant.root.get()).uid
        for depth in range(1, len(path) + 1):
            uid = (await self.ensure_container("folder", path[:depth], uid)).id
        return uid

    async def closed_folder(self) -> str:
        """The folder that nobody may read, in which documents not meant for everybody get their permissions; created
        when first needed. Raises Rejected if others can read it."""
        async with self._container_locks.of(facts.CLOSED):
            if not self._closed_id:
                self._closed_id = await self._make_closed(await self.home_folder())
        return self._closed_id

    async def _make_closed(self, home: str) -> str:
        path = (*((await self.folder_tree()).path(home) or ()), facts.CLOSED)
        known = await self._find_container("folder", path)
        uid = (known or await self.ensure_container("folder", path, home)).id
        if known is None or not await self._is_closed(uid):
            await self.permissions.close(AssetId(uid))
        return uid

    async def _is_closed(self, uid: str) -> bool:
        row, user = await self.api.document(uid), (await self.tenant.user.get()).name
        return is_blocked(row) and not strangers(row, frozenset({user}))

    def missing_folders(self, path: tuple[str, ...]) -> int:
        """How many folders of this path are not there; none before folders were read."""
        known = self._known_paths()
        return sum(path[:depth] not in known for depth in range(1, len(path) + 1)) if self._tree is not None else 0

    def has_folder(self, path: tuple[str, ...]) -> bool:
        """Whether a folder was read."""
        return path in self._known_paths()

    def _known_paths(self) -> set[tuple[str, ...]]:
        return {place.path for place in self._tree.placements()} if self._tree is not None else set()

    @property
    def knows_closed(self) -> bool:
        """Whether the closed folder was found or made."""
        return bool(self._closed_id)

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        """The folder below its parent, or the collection, with that name."""
        wanted = tuple(path)
        if kind not in ("folder", "collection"):
            raise Unsupported(f"the service has no containers of kind {kind}", hint="place into folder or collection")
        if not wanted or any(not part.strip() or part != part.strip() for part in wanted):
            raise InvalidValue("the name of a container must not be empty, nor start or end with whitespace")
        if kind == "collection" and len(wanted) != 1:
            raise Unsupported("collections have no levels", hint="map the placement to a path of one name")
        async with self._container_locks.of(f"{kind} {parent} {spelled(wanted[-1])}"):
            found = await self._find_container(kind, wanted)
            return found or await self._make_container(kind, wanted, parent)

    async def rename_container(self, container: Placement, path: Sequence[str], parent: str | None = None) -> Placement:
        """PUT of the title; the name in the path of the service, and so every URL, stays."""
        wanted = Placement(container.kind, tuple(path), container.id)
        if container.kind not in ("folder", "collection") or parent is not None:
            raise Unsupported("a container cannot be moved, and only folders and collections are renamed")
        title = wanted.path[-1]
        body = {"entity-type": "document", "uid": container.id, "properties": {"dc:title": title}}
        url = document_path(container.id)
        request = Request(facts.PUT_ID, "PUT", url, json=body, headers=WHOLE, asset=container.id, repeatable=True)
        async with self._container_locks.of(container.id):
            row = wire.document_of((await self.api.client.send(request)).object())
        if not _is_called(row, title):
            raise Rejected(f"the service kept the title {str(row.get('title'))[:60]!r} instead of {title!r}")
        self._learned.pop((container.kind, container.path), None)
        if container.kind == "folder":
            tree = await self.folder_tree()
            if container.id not in tree.folders:
                tree.add(row)
            tree.rename(container.id, title)
        else:
            (await self.read_collections())[container.id] = wanted
            self._spelled = None
        return wanted

    async def place(self, container: Placement, add: Sequence[AssetId], remove: Sequence[AssetId]) -> None:
        """Add to and remove from a collection, or move into a folder, in batches; safe to repeat."""
        most = self.api.limits.member_batch
        if container.kind == "folder" and not remove:
            for start in range(0, len(add), most):
                some = ",".join(add[start : start + most])
                await self.api.operate("Document.Move", f"docs:{some}", {"target": container.id}, repeatable=True)
            return
        if container.kind != "collection":
            raise Unsupported("an asset can only leave its folder for another one")
        for operation, ids in (("Document.AddToCollection", add), ("Collection.RemoveFromCollection", remove)):
            for start in range(0, len(ids), most):
                await self._fill_collection(operation, container, ids[start : start + most])

    async def _fill_collection(self, operation: str, container: Placement, ids: Sequence[AssetId]) -> None:
        """Two writers of one collection conflict; the later one retries (wire B 6.5)."""
        params = {"collection": container.id}
        async with self._container_locks.of(container.id):
            await again_on_conflict(
                self.api, lambda: self.api.operate(operation, f"docs:{','.join(ids)}", params, repeatable=True)
            )

    def learn_container(self, container: Placement) -> None:
        """See `Service.learn_container`. The search may be behind."""
        self._learned[container.kind, container.path] = container

    async def _find_container(self, kind: str, path: tuple[str, ...]) -> Placement | None:
        if (kind, path) in self._learned:
            return self._learned[kind, path]
        if kind == "folder":
            return (await self.folder_tree()).find(path)
        known = await self.read_collections()
        if self._spelled is None:
            self._spelled = by_spelled_path(known.values())
        return self._spelled.get(spelled_path(path))

    async def _make_container(self, kind: str, path: tuple[str, ...], parent: str) -> Placement:
        root = await self.tenant.root.get()
        above = (
            (parent or root.uid) if kind == "folder" else await self.home_folder()
        )  # wire B 10: not below a WorkspaceRoot
        top = above == root.uid and root.type == "WorkspaceRoot"
        type_name = "Collection" if kind == "collection" else "Workspace" if top else "Folder"
        row = await self._create_named(
            kind, NewDocument(above, await self.folder_path(above), type_name, "", {"dc:title": path[-1]})
        )
        if not _is_called(row, path[-1]):
            raise Rejected(f"the service has another title for the {kind} {path[-1]!r}: {str(row.get('title'))[:60]!r}")
        made = Placement(kind, path, str(wire.uid_of(row)))
        if kind == "collection":
            (await self.read_collections())[made.id] = made
            if self._spelled is not None:
                self._spelled.setdefault(spelled_path(path), made)
        else:
            (await self.folder_tree()).add(row)
        return made

    async def _create_named(self, kind: str, new: NewDocument, number: int = 0) -> Json:
        """The container, under a name derived from its title; under the next one if another document has that name,
        such as a container that was given another title since. Raises Conflict if all names are taken."""
        title = new.properties["dc:title"]
        new = replace(new, name=container_name(kind, title, number))
        try:
            return await self.creates.make(
                new, self.api.clock.token(), lambda row: _is_called(row, title) and row.get("type") == new.type
            )
        except Conflict as error:
            if error.code != NAME_TAKEN or number + 1 == facts.NAMES:
                raise
        return await self._create_named(kind, new, number + 1)

    async def _learn_folders(self, tree: Tree, uid: str) -> None:
        """The folders above a document that were not listed: new ones, or ones in the trash."""
        for _ in range(facts.LEVELS):
            if not uid or uid == tree.root.uid or uid in tree.folders:
                return
            try:
                uid = tree.add(await self.api.document(uid)).parent
            except (NotFound, Rejected):
                return

    async def _list_folders(self) -> Tree:
        root, server = await self.tenant.root.get(), await self.tenant.server.get()
        tree = Tree(root)
        types = one_of("ecm:primaryType", server.folder_types)
        rows = await self.search.everything(
            lambda after: select(LIVE, "ecm:isTrashed = 0", types, below(root), after), {**RIGHTS, **DATED}
        )
        for row in sorted(rows, key=_age):
            if str(row["uid"]) != root.uid:
                tree.add(row)
        self._tree = tree
        return tree

    async def _list_collections(self) -> dict[str, Placement]:
        """Known ones keep their titles, whatever was added since."""
        found = dict(self._collections or {})
        taken = {title for place in found.values() for title in place.path}
        types = one_of("ecm:primaryType", (await self.tenant.server.get()).collection_types)
        rows = await self.search.everything(lambda after: select(LIVE, "ecm:isTrashed = 0", types, after), DATED)
        for row in sorted(rows, key=_age):
            uid = str(row["uid"])
            title = member_text(row, "title") or uid
            if row.get("type") == "Favorites":
                self._unseen.add(uid)
            elif uid not in found:
                title = f"{title} [{uid[:8]}]" if title in taken else title
                taken.add(title)
                found[uid] = Placement("collection", (title,), uid)
        self._collections, self._spelled = found, None
        return found


@interprets_response
def _age(row: Json) -> tuple[bool, str, str]:
    """By which the oldest of several containers with one title keeps it, whatever is added later: ids are random."""
    created = member_text(row.get("properties") or {}, "dc:created")
    return not created, created, str(row["uid"])


def container_name(kind: str, title: str, number: int = 0) -> str:
    """At most 24 characters derived from kind and title; a folder's name is its title if that is plain. number: of the
    name among those for this title, from 0."""
    title = spelled(title)
    if not number and kind == "folder" and re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,22}", title):
        return title
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:12]
    text = f"{kind} {title}" + (f" {number}" if number else "")
    return f"{slug}-{hashlib.sha256(text.encode()).hexdigest()[:10]}".lstrip("-")


def spelled(title: str) -> str:
    """The canonical spelling of a title, however its accents are encoded."""
    return nfc(title)


def spelled_path(path: Sequence[str]) -> tuple[str, ...]:
    """The canonical spelling of a path of titles."""
    return tuple(map(spelled, path))


def by_spelled_path(places: Iterable[Placement]) -> dict[tuple[str, ...], Placement]:
    """Containers by their paths, however these are encoded; the first of each."""
    found: dict[tuple[str, ...], Placement] = {}
    for place in places:
        found.setdefault(spelled_path(place.path), place)
    return found


@interprets_response
def _is_called(row: Json, title: str) -> bool:
    return spelled(member_text(row, "title")) == spelled(title)


@interprets_response
def _names_of(row: Json, root: Root) -> tuple[str, ...]:
    """By names, if a folder in between is not visible."""
    path = member_text(row, "path")
    inside = path.removeprefix(root.path) if path.startswith(f"{root.path}/") else ""
    return tuple(part for part in inside.split("/")[:-1] if part)
