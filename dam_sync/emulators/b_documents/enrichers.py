"""What `contextParameters` can hold (wire B 3)."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from dam_sync.emulators.b_documents.audit import matching
from dam_sync.emulators.b_documents.records import Document
from dam_sync.emulators.b_documents.render import Enricher, View
from dam_sync.emulators.b_documents.security import IMPLIES, lists, may
from dam_sync.emulators.b_documents.server import Server
from dam_sync.emulators.kit.environment import Json

COLLECTIONS_MOST = 100


def enrichers_of(server: Server) -> Mapping[str, Enricher]:
    """Every enricher by its name."""
    repository, plain = server.repository, server.writer.document

    def thin(doc: Document, view: View) -> Json:
        return plain(doc, View(view.user))

    def collections(doc: Document, view: View) -> Json:
        ids = doc.props.get("collectionMember:collectionIds") or ()
        found = [repository.docs[uid] for uid in ids if uid in repository.docs]
        seen = [each for each in found if may(repository, view.user, each, "Read")]
        return [thin(each, view) for each in seen[:COLLECTIONS_MOST]]

    def children(doc: Document, view: View) -> Json:
        inside = [repository.docs[uid] for uid in repository.children.get(doc.uid, {}).values()]
        return {"entity-type": "documents", "entries": [thin(each, view) for each in inside if not each.trashed]}

    def breadcrumb(doc: Document, view: View) -> Json:
        line = [each for each in reversed(list(repository.above(doc))) if each.uid != repository.root]
        return {"entity-type": "documents", "entries": [thin(each, view) for each in [*line, doc]]}

    def permissions(doc: Document, view: View) -> Json:
        return [name for name in (*IMPLIES, "Everything") if may(repository, view.user, doc, name)]

    def audit(doc: Document, view: View) -> Json:
        lines = [line for line in repository.audit.written() if line["docUUID"] == doc.uid]
        return {"entity-type": "logEntries", "entries": matching(lines, {})[::-1][:50]}

    return {
        "acls": lambda doc, view: lists(repository, doc, "aces"),
        "tags": lambda doc, view: [each["label"] for each in doc.props.get("nxtag:tags") or ()],
        "collections": collections,
        "renditions": lambda doc, view: renditions(server, doc),
        "thumbnail": lambda doc, view: {
            "url": f"{server.base()}/api/v1/repo/default/id/{doc.uid}/@rendition/thumbnail"
        },
        "breadcrumb": breadcrumb,
        "children": children,
        "permissions": permissions,
        "audit": audit,
    }


def names_of_renditions(server: Server, doc: Document) -> list[str]:
    """The renditions a document has or will have."""
    if doc.file is None:
        return []
    views = ["Thumbnail", "Small", "Medium"] if server.repository.types.has_facet(doc, "Picture") else []
    return ["thumbnail", *views, "pdf", "zipExport"]


def renditions(server: Server, doc: Document) -> Json:
    """Their list, with addresses."""
    head = f"{server.base()}/api/v1/repo/default/id/{doc.uid}/@rendition"
    names = names_of_renditions(server, doc)
    return [{"name": name, "kind": "", "icon": None, "url": f"{head}/{quote(name)}"} for name in names]
