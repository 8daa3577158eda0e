"""Operations on documents: values, states, places, versions."""

from __future__ import annotations

from dam_sync.emulators.b_documents import acts
from dam_sync.emulators.b_documents.operations import Job, Result, operation
from dam_sync.emulators.b_documents.records import Document, Refusal
from dam_sync.emulators.b_documents.saving import Wish
from dam_sync.emulators.b_documents.security import require
from dam_sync.emulators.b_documents.values import blob_at


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
    if not isinstance(given, dict):
        raise Refusal(400, "properties must be a map")
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
    """Permanently."""
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
    """Check in; gives the live document. `None` makes none, or one under the same label (wire B 13)."""
    server, increment = job.call.server, job.text("increment", "None").upper()
    if increment not in ("NONE", "MINOR", "MAJOR"):
        raise Refusal(400, f"Invalid increment: {increment}")

    def act(doc: Document) -> Document:
        server.saver.writable(doc, job.call.user)
        plays = server.options.plays
        if (increment != "NONE" or "empty_version" in plays) and "minor_ignored" not in plays:
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
