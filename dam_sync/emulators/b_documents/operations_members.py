"""Operations on what documents belong to and carry: collections, tags, files, relations."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dam_sync.emulators.b_documents import acts
from dam_sync.emulators.b_documents.downloads import without
from dam_sync.emulators.b_documents.operations import Job, Result, Wrapped, operation
from dam_sync.emulators.b_documents.records import Document, FileBlob, Refusal
from dam_sync.emulators.b_documents.saving import Wish
from dam_sync.emulators.b_documents.search import Paging, envelope
from dam_sync.emulators.b_documents.security import require
from dam_sync.emulators.b_documents.values import blob_at
from dam_sync.emulators.kit.environment import Json

_PAGE = 50
_REFERENCES = "http://purl.org/dc/terms/References"


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


@operation("Document.AddToCollection")
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
    value: Json = files[-1]
    if field.many:
        value = [*(doc.props.get(xpath) or ()), *({"file": file} for file in files)]
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
