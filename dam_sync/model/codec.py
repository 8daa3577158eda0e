"""Assets and drafts as JSON: for the store, catalogues and reports. Signed links never go in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from dam_sync.model.asset import (
    Asset,
    AssetId,
    Draft,
    FileRef,
    Loss,
    Marker,
    Placement,
    Relation,
    Revision,
    Rights,
    digest_of,
)
from dam_sync.model.audience import Restriction, RestrictionKind
from dam_sync.model.values import Json, instant_text, parse_instant, value_from_json, value_to_json


def asset_to_json(asset: Asset) -> Json:
    """Everything but links, in the neutral form that catalogues use."""
    return {
        "id": asset.id,
        "revision": asset.revision,
        "filename": asset.filename,
        "status": asset.status,
        "substatus": asset.substatus,
        "form_type": asset.form_type,
        "type": asset.type,
        "fields": {key: value_to_json(value) for key, value in asset.fields.items()},
        "versions": [file_to_json(file) for file in asset.versions],
        "attachments": [file_to_json(file) for file in asset.attachments],
        "placements": placements_to_json(asset.placements),
        "tags": sorted(asset.tags),
        "machine_tags": sorted(asset.machine_tags),
        "rights": rights_to_json(asset.rights),
        "relations": sorted([{"kind": r.kind, "target": r.target} for r in asset.relations], key=str),
        "created_at": _when(asset.created_at),
        "changed_at": _when(asset.changed_at),
        "imported_at": _when(asset.imported_at),
        "source_links": dict(asset.source_links),
        "losses": [{"path": loss.path, "rule": loss.rule, "detail": loss.detail} for loss in asset.losses],
    }


def asset_from_json(data: Json) -> Asset:
    """The inverse; absent members take their defaults, so catalogues may be sparse."""
    return Asset(
        id=AssetId(str(data["id"])),
        revision=Revision(str(data.get("revision", ""))),
        filename=data.get("filename", ""),
        status=data.get("status", ""),
        substatus=data.get("substatus", ""),
        form_type=data.get("form_type", ""),
        type=data.get("type", ""),
        fields={key: value_from_json(value) for key, value in data.get("fields", {}).items()},
        versions=tuple(file_from_json(item) for item in data.get("versions", ())),
        attachments=tuple(file_from_json(item) for item in data.get("attachments", ())),
        placements=placements_from_json(data.get("placements", ())),
        tags=frozenset(data.get("tags", ())),
        machine_tags=frozenset(data.get("machine_tags", ())),
        rights=rights_from_json(data.get("rights", {})),
        relations=frozenset(Relation(r["kind"], AssetId(str(r["target"]))) for r in data.get("relations", ())),
        created_at=_moment(data.get("created_at")),
        changed_at=_moment(data.get("changed_at")),
        imported_at=_moment(data.get("imported_at")),
        source_links=dict(data.get("source_links", {})),
        losses=tuple(Loss(row["path"], row["rule"], row.get("detail", "")) for row in data.get("losses", ())),
    )


def draft_to_json(draft: Draft) -> Json:
    """A draft, for fingerprints and plans."""
    return {
        "marker": draft.marker and {"field": draft.marker.field, "value": draft.marker.value},
        "filename": draft.filename,
        "profile": draft.profile,
        "status": draft.status,
        "fields": {key: value_to_json(value) for key, value in draft.fields.items()},
        "placements": placements_to_json(draft.placements),
        "tags": sorted(draft.tags),
        "rights": rights_to_json(draft.rights),
        **({"closed": True} if draft.closed else {}),  # absent otherwise: drafts of older states have no such member
    }


def draft_from_json(data: Mapping[str, Json]) -> Draft:
    """The inverse of `draft_to_json`."""
    marker = data.get("marker")
    return Draft(
        marker=Marker(marker["field"], marker["value"]) if marker else None,
        filename=data["filename"],
        profile=data.get("profile", ""),
        status=data["status"],
        fields={key: value_from_json(value) for key, value in data["fields"].items()},
        placements=placements_from_json(data["placements"]),
        tags=frozenset(data["tags"]),
        rights=rights_from_json(data["rights"]),
        closed=bool(data.get("closed")),
    )


def fingerprint(asset: Asset) -> str:
    """A digest of everything in the asset that a mapping can read; the revision and the dates of change are left
    out."""
    data = asset_to_json(asset)
    for volatile in ("revision", "changed_at", "source_links", "losses"):
        del data[volatile]
    return digest_of(data)


def file_to_json(file: FileRef) -> Json:
    """A file without its link; `withheld` and `repeats` only if there are any."""
    data = {
        "id": file.id,
        "name": file.name,
        "size": file.size,
        "media_type": file.media_type,
        "digests": dict(file.digests),
        "created_at": _when(file.created_at),
    }
    more: dict[str, Json] = {"withheld": file.withheld, "repeats": list(file.repeats)}
    return {**data, **{name: value for name, value in more.items() if value}}


def file_from_json(data: Json) -> FileRef:
    """The inverse of `file_to_json`."""
    return FileRef(
        id=str(data.get("id", "")),
        name=data.get("name", ""),
        size=data.get("size"),
        media_type=data.get("media_type") or "",
        digests=dict(data.get("digests") or {}),
        created_at=_moment(data.get("created_at")),
        withheld=str(data.get("withheld") or ""),
        repeats=tuple(data.get("repeats") or ()),
    )


def placements_to_json(placements: Iterable[Placement]) -> Json:
    """Sorted, so that equal sets give equal text."""
    return sorted([{"kind": p.kind, "path": list(p.path), "id": p.id} for p in placements], key=str)


def placements_from_json(data: Json) -> frozenset[Placement]:
    """The inverse of `placements_to_json`."""
    return frozenset(Placement(p["kind"], tuple(p["path"]), str(p.get("id", ""))) for p in data)


def rights_to_json(rights: Rights) -> Json:
    """Timestamps as RFC 3339 text; `restrictions` only if there are any."""
    data: dict[str, Json] = {
        "release_at": _when(rights.release_at),
        "expires_at": _when(rights.expires_at),
        "groups": sorted(rights.groups),
    }
    if rights.restrictions:
        data["restrictions"] = [{"kind": one.kind.value, "detail": one.detail} for one in sorted(rights.restrictions)]
    return data


def rights_from_json(data: Mapping[str, Json]) -> Rights:
    """The inverse of `rights_to_json`."""
    return Rights(
        release_at=_moment(data.get("release_at")),
        expires_at=_moment(data.get("expires_at")),
        groups=frozenset(data.get("groups", ())),
        restrictions=frozenset(
            Restriction(RestrictionKind(row["kind"]), row.get("detail", "")) for row in data.get("restrictions", ())
        ),
    )


def _when(moment: datetime | None) -> str | None:
    return instant_text(moment) if moment else None


def _moment(text: str | None) -> datetime | None:
    return parse_instant(text) if text else None
