"""What may be done to documents besides saving: trash, delete, move, copy, lock, states, publication (wire B 6.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dam_sync.emulators.b_documents.records import Document, Refusal, User
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.b_documents.saving import Saver
from dam_sync.emulators.b_documents.security import may, require

TRANSITIONS = {
    "approve": (("project",), "approved"),
    "obsolete": (("project",), "obsolete"),
    "backToProject": (("approved", "obsolete"), "project"),
}
_TRASHED = re.compile(r"\._\d+_\.trashed$")


def delete(repository: Repository, doc: Document, user: User) -> None:
    """Permanently, with everything below; versions follow later. Raises 403, also for a blocked descendant."""
    _removable(repository, doc, user)
    if doc.is_version:
        _delete_version(repository, doc, user)
        return
    below = list(repository.below(doc))
    for each in below:
        _removable(repository, each, user)
    repository.tell("proxyRemoved" if doc.is_proxy else "documentRemoved", doc, user.name)
    gone = [doc, *below]
    for each in reversed(gone):
        repository.remove(each)
        _later(repository, each)


def _removable(repository: Repository, doc: Document, user: User) -> None:
    require(repository, user, doc, "Remove")
    if doc.lock and doc.lock[0] != user.name and not user.administrator:
        raise Refusal(403, f"Document already locked by {doc.lock[0]}")
    if doc.uid == repository.root:
        raise Refusal(403, "The root cannot be removed")


def _delete_version(repository: Repository, doc: Document, user: User) -> None:
    live = repository.docs.get(doc.live)
    last = live and not live.checked_out and repository.versions.get(doc.live, [""])[-1] == doc.uid
    if last or repository.proxies.get(doc.uid):
        raise Refusal(403, f"Cannot remove {doc.uid}, it is in use")
    repository.tell("versionRemoved", doc, user.name)
    repository.remove(doc)


def _later(repository: Repository, doc: Document) -> None:
    """Versions go, and collections are cleaned, asynchronously."""
    versions = list(repository.versions.get(doc.uid, ()))
    collections = list(doc.props.get("collectionMember:collectionIds") or ())
    members = list(doc.props.get("collection:documentIds") or ())

    def clean() -> None:
        with repository.transaction():
            for uid in versions:
                if uid in repository.docs and not repository.proxies.get(uid):
                    repository.remove(repository.docs[uid])
            for uid in collections:
                _without(repository, uid, "collection:documentIds", doc.uid)
            for uid in members:
                _without(repository, uid, "collectionMember:collectionIds", doc.uid)

    if versions or collections or members:
        repository.later(repository.options.cleanup_lag, clean)


def _without(repository: Repository, uid: str, key: str, gone: str) -> None:
    other = repository.docs.get(uid)
    if other is not None and gone in (other.props.get(key) or ()):
        repository.change(other).props[key] = [each for each in other.props[key] if each != gone]


def trash(repository: Repository, saver: Saver, doc: Document, user: User) -> Document:
    """Into the trash: renamed, and those below with it, under their own names. Safe to repeat."""
    if doc.trashed:
        return doc
    require(repository, user, doc, "Remove")
    saver.writable(doc, user, "Remove")
    repository.change(doc)
    millis = int(repository.now().timestamp() * 1000)
    repository.relocate(doc, doc.parent, repository.free_name(doc.parent, f"{doc.name}._{millis}_.trashed"))
    doc.trashed = True
    saver.stamp(doc, user)
    for each in repository.below(doc):
        repository.change(each).trashed = True
        saver.stamp(each, user)
    repository.tell("documentTrashed", doc, user.name)
    return doc


def untrash(repository: Repository, saver: Saver, doc: Document, user: User) -> Document:
    """Out of the trash, under the old name when it is free; trashed folders above come with it."""
    if not doc.trashed:
        return doc
    saver.writable(doc, user, "Remove")
    for each in [*_trashed_above(repository, doc), doc, *repository.below(doc)]:
        if each.trashed:
            repository.change(each).trashed = False
            plain = _TRASHED.sub("", each.name)
            if plain != each.name and plain not in repository.children.get(each.parent, {}):
                repository.relocate(each, each.parent, plain)
            saver.stamp(each, user)
    repository.tell("documentUntrashed", doc, user.name)
    return doc


def _trashed_above(repository: Repository, doc: Document) -> Iterator[Document]:
    return (each for each in list(repository.above(doc)) if each.trashed)


def move(repository: Repository, saver: Saver, doc: Document, target: Document, name: str, user: User) -> Document:
    """Elsewhere or under another name; `dc:modified` stays. Raises 403, 409."""
    saver.writable(doc, user, "Remove" if target.uid != doc.parent else "WriteProperties")
    require(repository, user, target, "AddChildren")
    if target is doc or doc in repository.above(target):
        raise Refusal(400, "Cannot move a document under itself")
    wanted = saver.name_of(name) if name else doc.name
    if (target.uid, wanted) != (doc.parent, doc.name):
        repository.change(doc)
        repository.relocate(doc, target.uid, repository.free_name(target.uid, wanted))
        repository.tell("documentMoved", doc, user.name)
    return doc


def copy(repository: Repository, saver: Saver, doc: Document, target: Document, name: str, user: User) -> Document:
    """The document and all below, without versions. Raises 403."""
    require(repository, user, target, "AddChildren")
    made = doc.copy()
    made.uid, made.parent = repository.new_id(), target.uid
    made.name = repository.free_name(target.uid, saver.name_of(name or doc.name))
    made.lock, made.is_version, made.live, made.major, made.minor, made.checked_out = None, False, "", 0, 0, True
    made.system = made.changes = 0
    made.catalogue_id = ""
    made.props.pop("collectionMember:collectionIds", None)
    made.props["dc:created"] = made.props["dc:modified"] = repository.stamp()
    below = list(repository.children.get(doc.uid, {}).values())
    repository.insert(made)
    repository.tell("documentCreatedByCopy", made, user.name)
    for uid in below:
        copy(repository, saver, repository.docs[uid], made, "", user)
    return made


def lock(repository: Repository, doc: Document, user: User) -> Document:
    """Raises 409 when it is locked already by another user."""
    require(repository, user, doc, "WriteProperties")
    if doc.lock:
        if doc.lock[0] == user.name:
            return doc
        raise Refusal(409, f"Document already locked by {doc.lock[0]}")
    repository.change(doc).lock = (user.name, repository.stamp())
    repository.tell("documentLocked", doc, user.name)
    return doc


def unlock(repository: Repository, doc: Document, user: User) -> Document:
    """Raises 409 for another user's lock; safe to repeat."""
    require(repository, user, doc, "WriteProperties")
    if doc.lock:
        if doc.lock[0] != user.name and not user.administrator:
            raise Refusal(409, f"Document already locked by {doc.lock[0]}")
        repository.change(doc).lock = None
        repository.tell("documentUnlocked", doc, user.name)
    return doc


def follow(repository: Repository, saver: Saver, doc: Document, transition: str, user: User) -> Document:
    """A life cycle transition; checks the document out. Raises 500 when it is not allowed from this state."""
    if transition in ("delete", "undelete"):
        return (trash if transition == "delete" else untrash)(repository, saver, doc, user)
    sources, state = TRANSITIONS.get(transition, ((), ""))
    saver.writable(doc, user)
    if doc.state not in sources:
        raise Refusal(500, f"Unable to follow transition {transition} from state {doc.state}")
    repository.change(doc)
    doc.state, doc.checked_out = state, True
    saver.stamp(doc, user)
    repository.tell("lifecycle_transition_event", doc, user.name)
    return doc


def publish(repository: Repository, saver: Saver, doc: Document, section: Document, user: User) -> Document:
    """A proxy in a section to a version of the document, made first if needed; an older proxy goes."""
    require(repository, user, section, "AddChildren")
    if doc.checked_out or not repository.versions_of(doc):
        saver.check_in(doc, "MINOR", user)
    version = repository.versions_of(doc)[-1]
    inside = [repository.docs[uid] for uid in repository.children.get(section.uid, {}).values()]
    for old in [each for each in inside if each.is_proxy and each.live == doc.uid]:
        repository.remove(old)
    return _proxy(repository, doc, version, section, user)


def live_proxy(repository: Repository, doc: Document, target: Document, user: User) -> Document:
    """A proxy to the live document; administrators only."""
    if not user.administrator:
        raise Refusal(404, "", empty=True)
    return _proxy(repository, doc, doc, target, user)


def _proxy(repository: Repository, doc: Document, shown: Document, where: Document, user: User) -> Document:
    made = shown.copy()
    made.uid, made.parent, made.name = repository.new_id(), where.uid, repository.free_name(where.uid, doc.name)
    made.is_version, made.is_proxy, made.live, made.target = False, True, doc.uid, shown.uid
    made.system = made.changes = 0
    made.acls, made.lock, made.catalogue_id = {}, None, ""
    repository.insert(made)
    repository.tell("documentProxyPublished", made, user.name)
    return made


def collectable(repository: Repository, collection: Document, user: User) -> None:
    """Raises 400 for what is not a collection, 403 without the right to write to it."""
    if not repository.types.has_facet(collection, "Collection"):
        raise Refusal(400, f"{collection.uid} is not a collection")
    if not may(repository, user, collection, "WriteProperties"):
        raise Refusal(403, f"Privilege 'WriteProperties' is not granted to '{user.name}'")


def collect(repository: Repository, saver: Saver, doc: Document, collection: Document, user: User) -> Document:
    """Into a collection; its `dc:modified` moves, the member's does not. Raises 400 over the cap."""
    collectable(repository, collection, user)
    require(repository, user, doc, "Read")
    if repository.types.has_facet(doc, "NotCollectionMember") or repository.types.has_facet(doc, "Collection"):
        raise Refusal(400, f"{doc.uid} cannot be added to a collection")
    members = list(collection.props.get("collection:documentIds") or ())
    if doc.uid in members:
        return doc
    if len(members) >= repository.options.collection_most:
        raise Refusal(400, f"The collection {collection.uid} is full")
    repository.change(collection).props["collection:documentIds"] = [*members, doc.uid]
    saver.stamp(collection, user)
    repository.change(doc).facets.add("CollectionMember")
    known = doc.props.get("collectionMember:collectionIds") or []
    doc.props["collectionMember:collectionIds"] = [*known, collection.uid]
    repository.tell("addedToCollection", doc, user.name)
    return doc


def uncollect(repository: Repository, saver: Saver, doc: Document, collection: Document, user: User) -> Document:
    """Out of a collection; safe to repeat."""
    collectable(repository, collection, user)
    if doc.uid in (collection.props.get("collection:documentIds") or ()):
        repository.change(collection)
        repository.change(doc)
        _without(repository, collection.uid, "collection:documentIds", doc.uid)
        _without(repository, doc.uid, "collectionMember:collectionIds", collection.uid)
        saver.stamp(collection, user)
        repository.tell("removedFromCollection", doc, user.name)
    return doc
