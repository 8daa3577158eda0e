"""The documents of one server: a tree with unique names, versions next to it, transactions that can be rolled back."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from dam_sync.emulators.b_documents.agenda import Agenda
from dam_sync.emulators.b_documents.audit import Audit
from dam_sync.emulators.b_documents.directories import Directories
from dam_sync.emulators.b_documents.options import Options
from dam_sync.emulators.b_documents.people import People
from dam_sync.emulators.b_documents.records import Ace, Document, FileBlob, Refusal, instant
from dam_sync.emulators.b_documents.types import Types
from dam_sync.emulators.kit.environment import Environment, Json
from dam_sync.emulators.kit.object_store import ObjectStore


@dataclass(slots=True)
class Transaction:
    """What one request did, so that it can be taken back; events and jobs happen at the commit alone."""

    saved: dict[str, Document | None] = field(default_factory=dict)
    undo: list[Callable[[], object]] = field(default_factory=list)
    events: list[tuple[str, Document, str, str]] = field(default_factory=list)
    jobs: list[tuple[float, Callable[[], None]]] = field(default_factory=list)


class Repository:
    """Documents by id. Changes happen inside `transaction()`; reading gives the live records, not copies."""

    def __init__(self, world: Environment, objects: ObjectStore, options: Options) -> None:
        self.world, self.objects, self.options = world, objects, options
        self.types = Types()
        self.directories = Directories(whole_path="whole_path" in options.plays)
        self.people = People(options)
        self.agenda = Agenda(world)
        self.audit = Audit(world, options)
        self.docs: dict[str, Document] = {}
        self.children: dict[str, dict[str, str]] = {}
        self.versions: dict[str, list[str]] = {}
        self.proxies: dict[str, set[str]] = {}
        self.relations: list[tuple[str, str, str]] = []
        self.revision = 0
        self.on_commit: list[Callable[[str], None]] = []
        self._paths: dict[str, str] = {}
        self._open: Transaction | None = None
        self._root()

    # time and ids

    def now(self) -> datetime:
        """The world's instant."""
        return self.world.now()

    def stamp(self) -> str:
        """The world's timestamp as a date value."""
        return instant(self.world.now())

    def new_id(self) -> str:
        """A new UUID."""
        return str(uuid.UUID(int=self.world.rng.getrandbits(128), version=4))

    # reading

    def get(self, uid: str) -> Document:
        """Raises 404 with the id as message."""
        found = self.docs.get(uid)
        if found is None:
            raise Refusal(404, uid)
        return found

    def at(self, path: str) -> Document:
        """The document at a path. Raises 404 with the path as message."""
        doc = self.docs[self.root]
        for name in path.strip("/").split("/") if path.strip("/") else ():
            uid = self.children.get(doc.uid, {}).get(name)
            if uid is None:
                raise Refusal(404, path if path.startswith("/") else f"/{path}")
            doc = self.docs[uid]
        return doc

    def find(self, ref: str) -> Document:
        """By id or by path. Raises 404."""
        return self.at(ref) if ref.startswith("/") else self.get(ref)

    def path(self, doc: Document) -> str:
        """The path; a version's is that of its live document, empty when that is gone."""
        if doc.is_version:
            live = self.docs.get(doc.live)
            return self.path(live) if live else ""
        known = self._paths.get(doc.uid)
        if known is None:
            parent = self.docs.get(doc.parent)
            above = self.path(parent) if parent else ""
            known = "/" if doc.uid == self.root else f"{above.rstrip('/')}/{doc.name}"
            self._paths[doc.uid] = known
        return known

    def above(self, doc: Document) -> Iterator[Document]:
        """The documents above, the nearest first; a version has none."""
        at = self.docs.get(doc.parent)
        while at is not None:
            yield at
            at = self.docs.get(at.parent)

    def below(self, doc: Document) -> Iterator[Document]:
        """Every document under this one."""
        for uid in list(self.children.get(doc.uid, {}).values()):
            child = self.docs[uid]
            yield child
            yield from self.below(child)

    def versions_of(self, doc: Document) -> list[Document]:
        """The versions of a live document, oldest first."""
        return [self.docs[uid] for uid in self.versions.get(doc.uid, ()) if uid in self.docs]

    def live_of(self, doc: Document) -> Document | None:
        """What a version was made of; the document itself when it is live."""
        return self.docs.get(doc.live) if doc.is_version else doc

    # changing

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """All or nothing; inside another one it is part of that."""
        if self._open is not None:
            yield self._open
            return
        self._open = made = Transaction()
        try:
            yield made
        except BaseException:
            self._roll_back(made)
            raise
        finally:
            self._open = None
        self._commit(made)

    def change(self, doc: Document) -> Document:
        """Announce that a document will change; advances the system part of its token."""
        tx = self._tx()
        if doc.uid not in tx.saved:
            tx.saved[doc.uid] = doc.copy()
        doc.system += 1
        return doc

    def insert(self, doc: Document) -> Document:
        """A new document, under its parent if it has one."""
        tx = self._tx()
        tx.saved.setdefault(doc.uid, None)
        self.docs[doc.uid] = doc
        tx.undo.append(lambda: self.docs.pop(doc.uid, None))
        if doc.parent:
            doc.position = len(self.children.get(doc.parent, ()))
            self._link(doc)
        if doc.is_version:
            self.versions.setdefault(doc.live, []).append(doc.uid)
            tx.undo.append(lambda: self.versions[doc.live].remove(doc.uid))
        if doc.is_proxy:
            self.proxies.setdefault(doc.target, set()).add(doc.uid)
            tx.undo.append(lambda: self.proxies[doc.target].discard(doc.uid))
        return doc

    def remove(self, doc: Document) -> None:
        """Take one document out; its children are the caller's affair."""
        tx = self._tx()
        tx.saved.setdefault(doc.uid, doc.copy())
        if doc.parent:
            self._unlink(doc)
        del self.docs[doc.uid]
        tx.undo.append(lambda: self.docs.update({doc.uid: doc}))
        if doc.is_proxy:
            self.proxies.get(doc.target, set()).discard(doc.uid)
        if doc.is_version and doc.uid in self.versions.get(doc.live, ()):
            kept = list(self.versions[doc.live])
            self.versions[doc.live].remove(doc.uid)
            tx.undo.append(lambda: self.versions.update({doc.live: kept}))

    def relocate(self, doc: Document, parent: str, name: str) -> None:
        """Another name or another parent; call `change` before."""
        self._unlink(doc)
        doc.parent, doc.name = parent, name
        self._link(doc)

    def tell(self, event: str, doc: Document, user: str, comment: str = "") -> None:
        """An audit event, written some time after the commit."""
        self._tx().events.append((event, doc, user, comment))

    def later(self, seconds: float, job: Callable[[], None]) -> None:
        """Something asynchronous, after the commit."""
        self._tx().jobs.append((seconds, job))

    def free_name(self, parent: str, name: str) -> str:
        """The name, or with a suffix of epoch milliseconds when a sibling has it (wire B 6.3)."""
        siblings = self.children.get(parent, {})
        millis = int(self.now().timestamp() * 1000)
        wanted = name
        while wanted in siblings:
            wanted = f"{name}.{millis}"
            millis += 1
        return wanted

    def digest_of(self, file: FileBlob) -> tuple[str | None, str | None]:
        """Algorithm and digest as published; nothing until it is known."""
        if file.known and self.now().timestamp() < file.known:
            return None, None
        digests = file.blob.digests()
        return self.options.digest, digests.md5 if self.options.digest == "MD5" else digests.sha256

    def _tx(self) -> Transaction:
        if self._open is None:
            raise RuntimeError("a change outside a transaction")
        return self._open

    def _link(self, doc: Document) -> None:
        siblings, name, parent = self.children.setdefault(doc.parent, {}), doc.name, doc.parent
        if name in siblings:
            raise Refusal(409, "Concurrent update")
        siblings[name] = doc.uid
        self._paths.clear()
        self._tx().undo.append(lambda: self.children[parent].pop(name, None))

    def _unlink(self, doc: Document) -> None:
        name, parent, uid = doc.name, doc.parent, doc.uid
        self.children[parent].pop(name, None)
        self._paths.clear()
        self._tx().undo.append(lambda: self.children[parent].update({name: uid}))

    def _commit(self, tx: Transaction) -> None:
        if tx.saved:
            self.revision += 1
        for uid in tx.saved:
            for notify in self.on_commit:
                notify(uid)
        for event, doc, user, comment in tx.events:
            self.audit.append(event, doc, self.path(doc), user, comment)
        for seconds, job in tx.jobs:
            self.agenda.add(seconds, job)

    def _roll_back(self, tx: Transaction) -> None:
        for step in reversed(tx.undo):
            step()
        for uid, before in tx.saved.items():
            if before is not None:
                self.docs[uid] = before
            else:
                self.docs.pop(uid, None)
        self._paths.clear()
        self.revision += 1

    # the tree every server starts with

    def _root(self) -> None:
        self.root = self.new_id()
        with self.transaction():
            root = self.insert(Document(self.root, "Root", "", "", {"dc:title": "Root"}))
            self._paths[self.root] = "/"
            everybody = [("administrators", "Everything"), ("members", "Read")]
            root.acls["local"] = [Ace(name, right) for name, right in everybody]
            domain = self._made(root, "Domain", "default-domain", "Domain")
            self.sections = self._made(domain, "SectionRoot", "sections", "Sections").uid
            self._made(domain, "TemplateRoot", "templates", "Templates")
            self.workspaces = self._made(domain, "WorkspaceRoot", "workspaces", "Workspaces").uid
            people = self._made(domain, "UserWorkspacesRoot", "UserWorkspaces", "User workspaces")
            own = self._made(people, "Workspace", self.options.user, self.options.user)
            self.collections = self._made(own, "Collections", "Collections", "Collections").uid
            self._made(root, "ManagementRoot", "management", "Management")

    def _made(self, parent: Document, kind: str, name: str, title: str) -> Document:
        now, owner = self.stamp(), self.options.user
        props: dict[str, Json] = {
            "dc:title": title, "dc:created": now, "dc:modified": now, "dc:creator": owner,
            "dc:contributors": [owner], "dc:lastContributor": owner,
        }  # fmt: skip
        return self.insert(Document(self.new_id(), kind, name, parent.uid, props))
