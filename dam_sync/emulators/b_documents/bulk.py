"""The rows of a csvExport: lossy on purpose, as the service's are (wire B 2.7)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping

from dam_sync.emulators.b_documents.lexicon import Lexicon
from dam_sync.emulators.b_documents.records import Document, FileBlob
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.kit.environment import Json

COLUMNS = (
    *("repository", "uid", "path", "type", "state", "parentRef", "isCheckedOut", "isVersion", "isProxy"),
    *("proxyTargetId", "versionableId", "changeToken", "isTrashed", "title", "versionLabel", "lockOwner"),
    *("lockCreated", "lastModified", "isRecord", "retainUntil", "hasLegalHold", "isUnderRetentionOrLegalHold"),
)


def csv_of(repository: Repository, docs: Iterable[Document], body: Mapping[str, Json]) -> str:
    """The whole file; schemas and xpaths of the body add columns."""
    names = [str(each) for each in body.get("xpaths") or ()]
    for wanted in body.get("schemas") or ():
        schema = repository.types.schemas.get(str(wanted))
        if schema is not None:
            names += [f"{schema.key}:{each.name}" for each in schema.fields if each.type != "complex"]
    lexicon, out = Lexicon(repository, index=True), io.StringIO()
    lines = csv.writer(out)
    lines.writerow([*COLUMNS, *names])
    ordered = sorted(docs, key=repository.path) if body.get("sort", True) else docs
    for doc in ordered:
        lines.writerow([*_head(repository, doc), *(_cell(lexicon, doc, name) for name in names)])
    return out.getvalue()


def _head(repository: Repository, doc: Document) -> list[str]:
    read: Mapping[str, Callable[[], Json]] = {
        "repository": lambda: "default", "uid": lambda: doc.uid, "path": lambda: repository.path(doc),
        "type": lambda: doc.type, "state": lambda: doc.state, "parentRef": lambda: doc.parent,
        "isCheckedOut": lambda: doc.checked_out, "isVersion": lambda: doc.is_version, "isProxy": lambda: doc.is_proxy,
        "proxyTargetId": lambda: doc.target, "versionableId": lambda: doc.live, "changeToken": lambda: doc.token,
        "isTrashed": lambda: doc.trashed, "title": lambda: doc.title, "versionLabel": lambda: doc.label,
        "lockOwner": lambda: doc.lock[0] if doc.lock else "", "lockCreated": lambda: doc.lock[1] if doc.lock else "",
        "lastModified": lambda: doc.props.get("dc:modified"),
    }  # fmt: skip
    never = {"isRecord": False, "hasLegalHold": False, "isUnderRetentionOrLegalHold": False, "retainUntil": ""}
    return [_text(read[name]() if name in read else never[name]) for name in COLUMNS]


def _cell(lexicon: Lexicon, doc: Document, name: str) -> str:
    return " | ".join(_text(each) for each in lexicon.term(name).read(doc))


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, FileBlob):
        value = value.name
    if isinstance(value, list):
        return " | ".join(_text(each) for each in value)
    return "" if value is None else str(value).replace("\r", " ").replace("\n", " ")
