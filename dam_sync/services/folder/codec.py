"""Records of the catalogue to and from our model; pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches

from pydantic import ValidationError

from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Patch, Placement, Revision, Rights, digest_of
from dam_sync.model.codec import asset_from_json, asset_to_json
from dam_sync.model.errors import ContractBroken
from dam_sync.model.naming import Naming
from dam_sync.model.schema import Field, FieldKind, Vocabulary
from dam_sync.model.values import Json, Term, Value, parse_instant
from dam_sync.services.folder.api.catalogue import Record
from dam_sync.services.folder.api.records import AssetRecord, RightsForm
from dam_sync.services.folder.api.unplaced import label_of, tree_of
from dam_sync.services.folder.facts import CREATED, FILENAME_BYTES

# Not `%` either: in the manifests of a bag it begins a code, which programs take differently (RFC 8493, 2.1.3)
NAMING = Naming(frozenset('<>:"/\\|?*%'), FILENAME_BYTES)
UNKNOWN_LANGUAGE = "und"
KEYS = frozenset({*AssetRecord.model_fields, "revision"})
RIGHTS = frozenset(RightsForm.model_fields)
FLAGS = ("multiple", "localized", "required", "editable", "indexed", "coordinates")


def asset_of(record: Record) -> Asset:
    """Raises ContractBroken for a record that is not in the neutral form."""
    try:
        AssetRecord.model_validate({key: record[key] for key in record if key in AssetRecord.model_fields})
        asset = asset_from_json(record)
        versions, attachments = (tuple(map(_file_of, record.get(key, ()))) for key in ("versions", "attachments"))
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))[:200]
        message = f"the record is not in the neutral form: {place}: {first['msg']}"
        raise ContractBroken(message, asset=str(record.get("id"))) from None
    except (ValueError, LookupError, TypeError, AttributeError) as problem:
        message = f"the record is not in the neutral form: {type(problem).__name__}: {problem}"
        raise ContractBroken(message, asset=str(record.get("id"))) from None
    return replace(asset, revision=Revision(digest_of(record)), versions=versions, attachments=attachments)


def refuse_unknown_keys(record: Record) -> None:
    """Raises ContractBroken if nobody reads a part of an asset: what a misspelt key says, who may see it for one, would
    be lost silently."""
    rights = record.get("rights")
    inner = rights if isinstance(rights, dict) else {}
    unknown = [_unknown(key, "", KEYS) for key in record if key not in KEYS]
    unknown += [_unknown(key, "rights.", RIGHTS) for key in inner if key not in RIGHTS]
    if unknown:
        raise ContractBroken(f"the record has unknown keys: {'; '.join(unknown)[:300]}", asset=str(record.get("id")))


def _unknown(key: str, within: str, known: frozenset[str]) -> str:
    if not within and key in RIGHTS:
        return f"{key}, which is a key of `rights`"
    close = get_close_matches(key.casefold(), sorted(known), n=1)
    return f"{within}{key}, perhaps {close[0]}" if close else f"{within}{key}"


def _file_of(item: Record) -> FileRef:
    """The id of a file is its path below the folder of files."""
    digests, size = item.get("digests") or {}, item.get("size")
    path, name = str(item.get("file") or ""), str(item.get("name") or "")
    media_type, stored = item.get("media_type") or "", item.get("created_at")
    stored_at = parse_instant(stored) if stored else None
    return FileRef(path, name or path.rpartition("/")[2], size, media_type, dict(digests), stored_at)


def record_of(asset: Asset) -> Record:
    """The inverse of `asset_of`, but for the revision, which follows from the record."""
    data = {"record": "asset", **asset_to_json(asset)}
    del data["revision"]
    for key in ("versions", "attachments"):
        data[key] = [{**item, "file": item["id"]} for item in data[key]]
    return data


def drafted(draft: Draft, identity: AssetId, file: FileRef | None, now: datetime) -> Asset:
    """What a draft becomes."""
    created = draft.fields.get(CREATED)
    return Asset(
        id=identity,
        revision=Revision(""),
        filename=draft.filename,
        status=draft.status,
        type=draft.profile,
        fields=dict(draft.fields),
        versions=(file,) if file is not None else (),
        placements=draft.placements,
        tags=draft.tags,
        rights=draft.rights,
        created_at=created if isinstance(created, datetime) else None,
        changed_at=now,
        imported_at=now,
    )


def patched(asset: Asset, patch: Patch, now: datetime) -> Asset:
    """The asset with the changes; applying them twice changes nothing more."""
    fields: dict[str, Value] = {key: value for key, value in asset.fields.items() if key not in patch.fields}
    fields |= {key: value for key, value in patch.fields.items() if value is not None}
    created = patch.fields.get(CREATED, asset.created_at)
    return replace(
        asset,
        fields=fields,
        filename=asset.filename if patch.filename is None else patch.filename,
        status=asset.status if patch.status is None else patch.status,
        placements=(asset.placements - patch.placements_remove) | patch.placements_add,
        tags=(asset.tags - patch.tags_remove) | patch.tags_add,
        rights=_rights(asset.rights, patch),
        created_at=created if isinstance(created, datetime) else None,
        changed_at=now,
    )


def _rights(old: Rights, patch: Patch) -> Rights:
    new = patch.rights or Rights(groups=old.groups, restrictions=old.restrictions)
    release = None if "release" in patch.cleared else old.release_at
    expiry = None if "expiry" in patch.cleared else old.expires_at
    return replace(new, release_at=new.release_at or release, expires_at=new.expires_at or expiry)


def safe_name(name: str) -> str:
    """A name that any file system takes; different names may become one."""
    safe = NAMING.filename(name)
    while len(safe.encode("utf-8", "replace")) > FILENAME_BYTES:
        stem, dot, extension = safe.rpartition(".")
        safe = f"{stem[:-1]}{dot}{extension}" if len(stem) > 1 else safe[:-1]
    return safe.encode("utf-8", "replace").decode()


def field_of(record: Record) -> Field:
    """A field as the catalogue declares it; what it does not say, any value may have."""
    try:
        kind = FieldKind(record["kind"])
    except ValueError:
        raise ContractBroken(f"the field {record['key']} has the unknown kind {record['kind']!r}") from None
    flags = {name: bool(record[name]) for name in FLAGS if name in record}
    flags |= {"multiple": True} if kind is FieldKind.ROWS else {}  # a field set has any number of rows
    cells = frozenset(str(cell["key"]) for cell in record.get("fields") or ())
    return Field(
        key=str(record["key"]),
        kind=kind,
        label=str(record.get("label") or ""),
        max_length=record.get("max_length"),
        vocabulary=str(record.get("vocabulary") or ""),
        types=frozenset(map(str, record.get("types") or ())),
        cells=cells,
        cell_kinds={},
        **flags,
    )


def field_record(known: Field) -> Record:
    """A field of another service, as a folder takes it: nothing is required, fixed or too long."""
    record: dict[str, Json] = {"record": "field", "key": known.key, "label": known.label, "kind": known.kind.value}
    record |= {name: True for name in ("multiple", "localized") if getattr(known, name)}
    record |= {"vocabulary": known.vocabulary} if known.vocabulary else {}
    record |= {"fields": [{"key": cell, "kind": "text"} for cell in sorted(known.cells)]} if known.cells else {}
    return record


def vocabulary_of(record: Record) -> Vocabulary:
    """A vocabulary as the catalogue declares it."""
    flags = {name: bool(record.get(name)) for name in ("closed", "hierarchical", "localized")}
    return Vocabulary(str(record["key"]), str(record.get("label") or ""), synonyms=True, **flags)


def vocabulary_record(known: Vocabulary) -> Record:
    """A vocabulary of another service, as a folder takes it: terms can be added."""
    flags = {name: True for name in ("hierarchical", "localized") if getattr(known, name)}
    return {"record": "vocabulary", "key": known.key, "label": known.label, **flags}


def terms_of(records: Collection[Record]) -> Iterator[Term]:
    """The terms of one vocabulary with their paths, parents before children."""
    tree, own = tree_of(records), {str(record["id"]): record for record in records}
    made: dict[str, Term] = {}
    for key in tree.order:
        made[key] = _term_of(own[key], made.get(tree.parent(key)))
        yield made[key]


def _term_of(record: Record, parent: Term | None) -> Term:
    labels = dict(record.get("labels") or {})
    label = label_of(record)
    labels.pop(UNKNOWN_LANGUAGE, None)
    above, path = (parent.id, parent.path) if parent is not None else ("", ())
    synonyms = {locale: tuple(words) for locale, words in (record.get("synonyms") or {}).items()}
    descriptions = dict(record.get("descriptions") or {})
    return Term(label, str(record["id"]), (*path, label), above, labels, synonyms, descriptions)


def term_record(vocabulary: str, term: Term) -> Record:
    """A term with its id."""
    record: dict[str, Json] = {"record": "term", "vocabulary": vocabulary, "id": term.id, "label": term.label}
    record |= {"labels": dict(term.labels) or {UNKNOWN_LANGUAGE: term.label}}
    record |= {"parent": term.parent} if term.parent else {}
    record |= {"synonyms": {k: list(v) for k, v in term.synonyms.items()}} if term.synonyms else {}
    return record | ({"descriptions": dict(term.descriptions)} if term.descriptions else {})


def completed(known: Term, term: Term) -> Term:
    """A term with what another one has besides."""
    labels, synonyms = {**term.labels, **known.labels}, {**term.synonyms, **known.synonyms}
    return replace(known, labels=labels, synonyms=synonyms, descriptions={**term.descriptions, **known.descriptions})


def container_of(record: Record) -> Placement:
    """A container; one without an id gets one that follows from its path."""
    kind, path = str(record["kind"]), tuple(map(str, record["path"]))
    return Placement(kind, path, str(record.get("id") or container_id(kind, path)))


def container_id(kind: str, path: tuple[str, ...]) -> str:
    """The id of a container that was made here."""
    return digest_of([kind, list(path)])[:16]


def term_id(vocabulary: str, parent: str, label: str) -> str:
    """The id of a term that was made here."""
    return digest_of([vocabulary, parent, label])[:16]
