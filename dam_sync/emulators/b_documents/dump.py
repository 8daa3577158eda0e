"""The ground truth of an emulated server in the catalogue's neutral form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dam_sync.emulators.b_documents.configuring import PREFIX
from dam_sync.emulators.b_documents.records import Document, FileBlob
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.b_documents.types import Field
from dam_sync.emulators.kit.environment import Json

CHANGED = "dc:modified"
STATUSES: Mapping[str, str] = {"approved": "published", "obsolete": "archived", "project": "draft"}


def ground_truth(repository: Repository) -> Iterator[dict[str, Json]]:
    """Every live asset, those in the trash too; folders, collections, versions and proxies are none."""
    for doc in list(repository.docs.values()):
        if is_asset(repository, doc):
            yield _asset(repository, doc)


def is_asset(repository: Repository, doc: Document) -> bool:
    """Whether a document is one of the library's own: neither a place, nor a version, nor technical."""
    types = repository.types
    apart = ("Folderish", "Collection", "HiddenInNavigation", "SystemDocument")
    return not doc.is_version and not doc.is_proxy and not any(types.has_facet(doc, each) for each in apart)


def _asset(repository: Repository, doc: Document) -> dict[str, Json]:
    options, file = repository.options, doc.file
    elsewhere = (CHANGED, options.release_field, options.expiry_field)  # in the row
    return {
        "record": "asset",
        "id": doc.uid,
        "catalogue_id": doc.catalogue_id,
        "filename": file.name if file else "",
        "status": "trash" if doc.trashed else _status(repository, doc),
        "state": doc.state,
        "form_type": doc.type,
        "type": doc.type,
        "name": doc.name,
        "path": repository.path(doc),
        "fields": _fields(repository, doc),
        "properties": {
            key: value for key, value in doc.props.items() if key.startswith("dc:") and key not in elsewhere
        },
        "versions": _versions(repository, doc),
        "attachments": [_file(doc.uid, each["file"]) for each in doc.props.get("files:files") or () if each["file"]],
        "placements": _placements(repository, doc),
        "tags": sorted(each["label"] for each in doc.props.get("nxtag:tags") or ()),
        "machine_tags": [],
        "rights": {
            "release_at": _short(doc.props.get(options.release_field)),
            "expires_at": _short(doc.props.get(options.expiry_field)),
            "groups": sorted(
                ace.username for ace in doc.acls.get("local", ()) if ace.granted and ace.permission == "Read"
            ),
        },
        "relations": [
            {"kind": kind, "target": target} for source, kind, target in repository.relations if source == doc.uid
        ],
        "created_at": _short(doc.props.get("dc:created")),
        "changed_at": _short(doc.props.get("dc:modified")),
        "imported_at": _short(doc.props.get("dc:created")),
        "source_links": {},
    }


def _status(repository: Repository, doc: Document) -> str:
    """By whatever keeps it on this server."""
    kept = repository.options.status
    if kept == "lifecycle":
        return STATUSES.get(doc.state, doc.state)
    if kept == "section":
        return "published" if any(each.parent for each in proxies_of(repository, doc)) else "draft"
    return str(doc.props.get(kept) or "draft")


def proxies_of(repository: Repository, doc: Document) -> list[Document]:
    """The proxies of a document and of its versions."""
    shown = [doc.uid, *repository.versions.get(doc.uid, ())]
    return [repository.docs[uid] for each in shown for uid in sorted(repository.proxies.get(each, ()))]


def _versions(repository: Repository, doc: Document) -> list[Json]:
    """Files oldest first, ending with the current one; a version that has the very file of the next adds nothing, one
    with the same bytes from another upload does."""
    holders = [each for each in [*repository.versions_of(doc), doc] if each.file is not None]
    files = [(each.uid, each.file) for each in holders if each.file]
    later = [file for _, file in files[1:]]
    return [
        _file(uid, file) for (uid, file), after in zip(files, [*later, None], strict=False) if file is not after
    ]  # fmt: skip


def _placements(repository: Repository, doc: Document) -> list[Json]:
    rows: list[dict[str, Json]] = []
    above = list(repository.above(doc))
    inside = [each.uid for each in above]
    if repository.workspaces in inside:
        folders = above[: inside.index(repository.workspaces)]
        if folders:
            rows.append({"kind": "folder", "path": [each.title for each in reversed(folders)], "id": folders[0].uid})
    for uid in doc.props.get("collectionMember:collectionIds") or ():
        collection = repository.docs.get(uid)
        if collection is not None:
            rows.append({"kind": "collection", "path": [collection.title], "id": uid})
    for proxy in proxies_of(repository, doc):
        line = [each for each in repository.above(proxy) if each.type == "Section"]
        if line:
            rows.append({"kind": "section", "path": [each.title for each in reversed(line)], "id": line[0].uid})
    return sorted(rows, key=lambda row: (row["kind"] != "folder", row["kind"], row["path"]))


def _fields(repository: Repository, doc: Document) -> dict[str, Json]:
    """The catalogue's own fields; `dc:` ones stand in `properties`."""
    fields = repository.types.fields_of(doc)
    return {
        key: _value(repository, fields[key], value)
        for key, value in doc.props.items()
        if key.startswith(f"{PREFIX}:") and key in fields
    }


def _value(repository: Repository, field: Field, value: Json) -> Json:
    if field.many:
        return [_scalar(repository, field, each) for each in value]
    return _scalar(repository, field, value)


def _scalar(repository: Repository, field: Field, value: Json) -> Json:
    if field.type == "date":
        return {"date": str(value)[:10]} if field.meant == "date" else {"instant": _short(value)}
    if field.meant == "place":
        return {key: value.get(key) for key in ("latitude", "longitude", "address")}
    if field.type == "complex":
        return {"row": {key: cell for key, cell in value.items() if cell not in (None, "")}}
    return _term(repository, field, value) if field.directory else value


def _term(repository: Repository, field: Field, value: str) -> Json:
    directories = repository.directories
    directory = directories.by_name[field.directory]
    key = value.rpartition(field.separator)[2] if directory.parent and value not in directory.entries else value
    entry = directory.entries.get(key)
    if entry is None:
        return {"id": value, "label": value}
    path = [*directories.above(directory, key), key] if directory.parent else [key]
    labels = {k.removeprefix("label_"): text for k, text in entry.items() if k.startswith("label_") and text}
    return {
        "id": value, "catalogue_id": key, "label": directory.text(entry),
        "path": [directory.text(directory.entries[each]) for each in path], "labels": labels,
    }  # fmt: skip


def _file(key: str, file: FileBlob) -> dict[str, Json]:
    digests = file.blob.digests()
    return {
        "id": key, "name": file.name, "size": file.blob.size, "media_type": file.media_type,
        "digests": {"md5": digests.md5, "sha256": digests.sha256, "crc32": digests.crc32},
    }  # fmt: skip


def _short(text: Json) -> str | None:
    return str(text).replace(".000Z", "Z") if text else None
