"""Operations on documents: states, versions, places, collections, tags, files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dam_sync.emulation.world import Json
from dam_sync.services.b_documents.emulator import acts
from dam_sync.services.b_documents.emulator.downloads import without
from dam_sync.services.b_documents.emulator.operations import Job, Result, Wrapped, operation
from dam_sync.services.b_documents.emulator.records import Document, FileBlob, Refusal
from dam_sync.services.b_documents.emulator.saving import Wish
from dam_sync.services.b_documents.emulator.search import Paging, envelope
from dam_sync.services.b_documents.emulator.security import require
from dam_sync.services.b_documents.emulator.values import blob_at

_PAGE = 50
_REFERENCES = "http://purl.org/dc/terms/References"


@operation("Log")
def log(job: Job) -> Result:
    """A line in the server's log."""
    job.call.server.world.event("log", message=str(job.params.get("message", "")))
    return None


@operation("Repository.GetDocument", "Document.Fetch")
def get_document(job: Job) -> Result:
    """The document a value names."""
    doc = job.find("value")
    require(job.call.server.repository, job.call.user, doc, "Read")
    return doc


@operation("Document.GetBlob", "Blob.Get")
def get_blob(job: Job) -> Result:
    """The bytes at an xpath; nothing when there are none."""
    return blob_at(job.document(), job.text("xpath", "file:content"))


@operation("Document.Update")
def update(job: Job) -> Result:
    """Properties, with the same rules as a PUT."""
    server, call = job.call.server, job.call
    given = job.params.get("properties") or {}
    if isinstance(given, str):
        given = dict(line.partition("=")[::2] for line in given.splitlines() if "=" in line)
    token = job.params.get("changeToken")

    def act(doc: Document) -> Document:
        server.saver.writable(doc, call.user)
        props = call.reader.properties(doc, given)
        return server.saver.update(doc, Wish(props, None if token is None else str(token)), call.user)

    return job.each(act)


@operation("Document.Create")
def create(job: Job) -> Result:
    """A child of the input."""
    server, parent = job.call.server, job.document()
    doc = server.saver.blank(job.text("type"))
    given = job.params.get("properties") or {}
    props = job.call.reader.properties(doc, given if isinstance(given, dict) else {})
    return server.saver.create(parent, doc, job.text("name", "Untitled"), props, job.call.user)


@operation("Document.Delete")
def delete(job: Job) -> Result:
    """For good."""
    for doc in job.documents():
        acts.delete(job.call.server.repository, doc, job.call.user)
    return None


@operation("Document.Trash")
def trash(job: Job) -> Result:
    """To the trash."""
    server = job.call.server
    return job.each(lambda doc: acts.trash(server.repository, server.saver, doc, job.call.user))


@operation("Document.Untrash")
def untrash(job: Job) -> Result:
    """Out of the trash."""
    server = job.call.server
    return job.each(lambda doc: acts.untrash(server.repository, server.saver, doc, job.call.user))


@operation("Document.EmptyTrash")
def empty_trash(job: Job) -> Result:
    """Delete what is in the trash of a folder."""
    repository = job.call.server.repository
    parent = job.find("parent") if "parent" in job.params else job.document()
    for uid in list(repository.children.get(parent.uid, {}).values()):
        if repository.docs[uid].trashed:
            acts.delete(repository, repository.docs[uid], job.call.user)
    return None


@operation("Document.FollowLifecycleTransition", "Document.SetLifeCycle")
def follow(job: Job) -> Result:
    """A life cycle transition."""
    server = job.call.server
    return job.each(lambda doc: acts.follow(server.repository, server.saver, doc, job.text("value"), job.call.user))


@operation("Document.Move")
def move(job: Job) -> Result:
    """To another folder, or another name."""
    server, target, name = job.call.server, job.find("target"), str(job.params.get("name") or "")
    return job.each(lambda doc: acts.move(server.repository, server.saver, doc, target, name, job.call.user))


@operation("Document.Copy")
def copy(job: Job) -> Result:
    """A copy elsewhere."""
    server, target, name = job.call.server, job.find("target"), str(job.params.get("name") or "")
    return job.each(lambda doc: acts.copy(server.repository, server.saver, doc, target, name, job.call.user))


@operation("Document.Lock")
def lock(job: Job) -> Result:
    """A lock for the caller."""
    return job.each(lambda doc: acts.lock(job.call.server.repository, doc, job.call.user))


@operation("Document.Unlock")
def unlock(job: Job) -> Result:
    """No lock any more."""
    return job.each(lambda doc: acts.unlock(job.call.server.repository, doc, job.call.user))


@operation("Document.AddFacet")
def add_facet(job: Job) -> Result:
    """A dynamic facet and its schemas. Raises 400 for an unknown one."""
    server, facet = job.call.server, job.text("facet")
    if facet not in server.repository.types.facets:
        raise Refusal(400, f"No such facet: {facet}")

    def act(doc: Document) -> Document:
        server.saver.writable(doc, job.call.user)
        server.repository.change(doc).facets.add(facet)
        server.saver.stamp(doc, job.call.user)
        return doc

    return job.each(act)


@operation("Document.RemoveFacet")
def remove_facet(job: Job) -> Result:
    """A dynamic facet goes."""
    server, facet = job.call.server, job.text("facet")

    def act(doc: Document) -> Document:
        server.saver.writable(doc, job.call.user)
        server.repository.change(doc).facets.discard(facet)
        return doc

    return job.each(act)


# versions


@operation("Document.CreateVersion")
def create_version(job: Job) -> Result:
    """Check in; gives the live document. `None` makes a version under the same label, or none (wire B 13)."""
    server, increment = job.call.server, job.text("increment", "None").upper()
    if increment not in ("NONE", "MINOR", "MAJOR"):
        raise Refusal(400, f"Invalid increment: {increment}")

    def act(doc: Document) -> Document:
        server.saver.writable(doc, job.call.user)
        if increment != "NONE" or "no_empty_version" not in server.options.plays:
            server.saver.check_in(doc, increment, job.call.user)
        return doc

    return job.each(act)


@operation("Document.CheckIn")
def check_in(job: Job) -> Result:
    """Check in with a comment, which becomes the version's description."""
    server, increment = job.call.server, job.text("version", "minor").upper()
    if increment not in ("NONE", "MINOR", "MAJOR"):
        raise Refusal(400, f"Invalid version: {increment}")

    def act(doc: Document) -> Document:
        server.saver.writable(doc, job.call.user)
        server.saver.check_in(doc, increment, job.call.user, str(job.params.get("comment") or ""))
        return doc

    return job.each(act)


@operation("Document.CheckOut")
def check_out(job: Job) -> Result:
    """Check out; safe to repeat."""
    repository = job.call.server.repository

    def act(doc: Document) -> Document:
        job.call.server.saver.writable(doc, job.call.user)
        if not doc.checked_out:
            repository.change(doc).checked_out = True
            repository.tell("documentCheckedOut", doc, job.call.user.name)
        return doc

    return job.each(act)


@operation("Document.RestoreVersion")
def restore(job: Job) -> Result:
    """The live document becomes what a version was."""
    server, version = job.call.server, job.document()
    live = server.repository.docs.get(version.live)
    if not version.is_version or live is None:
        raise Refusal(400, f"{version.uid} is not a version")
    server.saver.writable(live, job.call.user)
    server.repository.change(live)
    live.props = dict(version.props)
    server.saver.stamp(live, job.call.user)
    return live


@operation("Document.GetVersions")
def versions(job: Job) -> Result:
    """Every version, oldest first."""
    return job.call.server.repository.versions_of(job.document())


@operation("Document.GetLastVersion")
def last_version(job: Job) -> Result:
    """The newest version; nothing without any."""
    found = job.call.server.repository.versions_of(job.document())
    return found[-1] if found else None


@operation("Document.PublishToSection")
def publish(job: Job) -> Result:
    """A proxy in a section."""
    server, section = job.call.server, job.find("target")
    return job.each(lambda doc: acts.publish(server.repository, server.saver, doc, section, job.call.user))


@operation("Document.CreateLiveProxy", admin=True)
def live_proxy(job: Job) -> Result:
    """A proxy to the live document."""
    target = job.find("Destination Path")
    return job.each(lambda doc: acts.live_proxy(job.call.server.repository, doc, target, job.call.user))


# collections


@operation("Collection.Create", "Collection.CreateCollection")
def create_collection(job: Job) -> Result:
    """A collection in the user's collection root."""
    server = job.call.server
    root = server.repository.get(server.repository.collections)
    doc = server.saver.blank("Collection")
    name = job.text("name")
    props = {"dc:title": name, "dc:description": str(job.params.get("description") or "") or None}
    return server.saver.create(root, doc, name, props, job.call.user)


@operation("Document.AddToCollection", "Collection.AddToCollection")
def add_to_collection(job: Job) -> Result:
    """Into a collection; adding twice changes nothing."""
    server, collection = job.call.server, job.find("collection")
    return job.each(lambda doc: acts.collect(server.repository, server.saver, doc, collection, job.call.user))


@operation("Collection.RemoveFromCollection")
def remove_from_collection(job: Job) -> Result:
    """Out of a collection."""
    server, collection = job.call.server, job.find("collection")
    return job.each(lambda doc: acts.uncollect(server.repository, server.saver, doc, collection, job.call.user))


@operation("Document.MoveCollectionMember", "Collection.MoveMember")
def move_member(job: Job) -> Result:
    """Before another member; at the start without one."""
    repository, collection = job.call.server.repository, job.document()
    acts.collectable(repository, collection, job.call.user)
    members = list(collection.props.get("collection:documentIds") or ())
    member, before = job.text("member1"), str(job.params.get("member2") or "")
    if member not in members:
        return Wrapped({"entity-type": "boolean", "value": False})
    members.remove(member)
    members.insert(members.index(before) if before in members else 0, member)
    repository.change(collection).props["collection:documentIds"] = members
    return Wrapped({"entity-type": "boolean", "value": True})


@operation("Collection.GetDocumentsFromCollection")
def collected(job: Job) -> Result:
    """The members that exist, 50 a page."""
    repository, collection = job.call.server.repository, job.document()
    ids: Sequence[str] = collection.props.get("collection:documentIds") or ()
    found = [repository.docs[uid] for uid in ids if uid in repository.docs]
    return paged(job, found)


def paged(job: Job, found: Sequence[Document]) -> Result:
    """A page of documents in its envelope."""
    call, most = job.call, job.call.server.options.max_page_size
    size = job.number("pageSize", _PAGE)
    paging = Paging(size, size * job.number("currentPageIndex", 0))
    taken = found[paging.offset : paging.offset + min(size or most, most)]
    made = envelope(len(found), len(taken), paging, most)
    return Wrapped(call.server.writer.documents(taken, call.view, **made))


# tags


@operation("Services.TagDocument")
def tag(job: Job) -> Result:
    """Tags, lower-cased and stripped; `dc:modified` stays. Raises 500 for one with nothing left, or on a proxy."""
    return job.each(lambda doc: _tagged(job, doc, _labels(job), keep=True))


@operation("Services.UntagDocument")
def untag(job: Job) -> Result:
    """These tags go."""
    return job.each(lambda doc: _tagged(job, doc, _labels(job), keep=False))


@operation("Services.RemoveDocumentTags")
def untag_all(job: Job) -> Result:
    """Every tag goes."""

    def act(doc: Document) -> Document:
        return _tagged(job, doc, [each["label"] for each in doc.props.get("nxtag:tags") or ()], keep=False)

    return job.each(act)


def _labels(job: Job) -> list[str]:
    given = job.params.get("tags")
    parts: Sequence[Json] = given if isinstance(given, list) else job.text("tags").split(",")
    labels = [clean_tag(str(part)) for part in parts if not isinstance(part, str) or part.strip()]
    if not labels or not all(labels):
        raise Refusal(500, "Tag label is empty")
    return labels


def clean_tag(text: str) -> str:
    """A label as the tag service keeps it."""
    return re.sub(r"[\s/\\'%]", "", text.lower())


def _tagged(job: Job, doc: Document, labels: Sequence[str], *, keep: bool) -> Document:
    repository, user = job.call.server.repository, job.call.user
    if doc.is_proxy or not repository.types.has_facet(doc, "NXTag"):
        raise Refusal(500, "Cannot tag this document")
    known: list[Json] = list(doc.props.get("nxtag:tags") or ())
    if keep:
        missing = [label for label in dict.fromkeys(labels) if label not in [each["label"] for each in known]]
        kept = [*known, *({"label": label, "username": user.name} for label in missing)]
    else:
        kept = [each for each in known if each["label"] not in labels]
    if kept != known:
        repository.change(doc).props["nxtag:tags"] = kept
        if not kept:
            del doc.props["nxtag:tags"]
    return doc


# files


@operation("Blob.AttachOnDocument", "Blob.Attach", "BlobHolder.AttachOnCurrentDocument")
def attach(job: Job) -> Result:
    """The blob of the input onto a document; in a list it is appended, again and again."""
    server, doc = job.call.server, job.find("document")
    xpath = job.text("xpath", "file:content")
    files = job.files()
    if not files:
        raise Refusal(400, "No blob as input")
    field = server.repository.types.fields_of(doc).get(xpath.partition("/")[0])
    if field is None:
        raise Refusal(400, f"No such property: {xpath}")
    server.saver.writable(doc, job.call.user)
    many: list[Json] = list(doc.props.get(xpath) or ())
    value: Json = [*many, *({"file": file} for file in files)] if field.many else files[-1]
    server.saver.update(doc, Wish({xpath: value}), job.call.user)
    return files[-1]


@operation("Blob.RemoveFromDocument", "Blob.Remove")
def remove_blob(job: Job) -> Result:
    """The blob at an xpath goes."""
    server, xpath = job.call.server, job.text("xpath", "file:content")

    def act(doc: Document) -> Document:
        if blob_at(doc, xpath) is not None:
            server.saver.update(doc, Wish(without(doc, xpath)), job.call.user)
        return doc

    return job.each(act)


@operation("FileManager.Import", "FileManager.ImportWithProperties")
def import_file(job: Job) -> Result:
    """A document of a type chosen by the media type, named after the file; every call makes another one."""
    server, context = job.call.server, job.call.body.get("context") or {}
    parent = server.repository.find(str(context.get("currentDocument") or ""))
    require(server.repository, job.call.user, parent, "AddChildren")
    made = [_imported(job, parent, file) for file in job.files()]
    return made[0] if len(made) == 1 else made


def _imported(job: Job, parent: Document, file: FileBlob) -> Document:
    saver, overwrite = job.call.server.saver, job.flag("overwrite") or job.flag("overwite")
    family = file.media_type.partition("/")[0]
    kind = {"image": "Picture", "video": "Video", "audio": "Audio"}.get(family, "File")
    doc = saver.blank(kind)
    given = job.params.get("properties") or {}
    more = job.call.reader.properties(doc, given if isinstance(given, dict) else {})
    known = job.call.server.repository.children.get(parent.uid, {}).get(saver.name_of(file.name))
    if overwrite and known:
        return saver.update(job.call.server.repository.get(known), Wish({"file:content": file, **more}), job.call.user)
    return saver.create(parent, doc, file.name, {"dc:title": file.name, "file:content": file, **more}, job.call.user)


# relations


@operation("Document.AddRelation", "Relations.CreateRelation")
def add_relation(job: Job) -> Result:
    """A relation; without `outgoing` it comes in from the object (wire B 13)."""
    server, doc = job.call.server, job.document()
    default = "outgoing" in server.options.plays
    other, predicate = job.find("object").uid, job.text("predicate", _REFERENCES)
    pair = (doc.uid, other) if job.flag("outgoing", default=default) else (other, doc.uid)
    line = (pair[0], predicate, pair[1])
    if line not in server.repository.relations:
        server.repository.relations.append(line)
    return doc


@operation("Document.DeleteRelation", "Relations.DeleteRelation")
def delete_relation(job: Job) -> Result:
    """A relation goes, as it was made."""
    server, doc = job.call.server, job.document()
    default = "outgoing" in server.options.plays
    other, predicate = job.find("object").uid, job.text("predicate", _REFERENCES)
    pair = (doc.uid, other) if job.flag("outgoing", default=default) else (other, doc.uid)
    line = (pair[0], predicate, pair[1])
    if line in server.repository.relations:
        server.repository.relations.remove(line)
    return doc


@operation("Document.GetLinkedDocuments", "Relations.GetRelations")
def linked(job: Job) -> Result:
    """The documents a relation of one kind leads to."""
    server, doc = job.call.server, job.document()
    predicate = job.text("predicate", _REFERENCES)
    outgoing = job.flag("outgoing", default=True)
    found = [
        end if outgoing else start
        for start, kind, end in server.repository.relations
        if kind == predicate and (start if outgoing else end) == doc.uid
    ]
    return [server.repository.docs[uid] for uid in found if uid in server.repository.docs]
