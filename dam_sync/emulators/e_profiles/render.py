"""Assets as the JSON of v2 (wire E 3.1)."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.emulators.e_profiles.formats import format_of, pixels_of
from dam_sync.emulators.e_profiles.links import SIZES, THUMBNAIL_SECONDS, Links
from dam_sync.emulators.e_profiles.records import (
    Asset,
    Field,
    Refusal,
    User,
    Version,
    expired,
    instant,
    released,
)
from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.kit.environment import Json

EXPANDS = (
    "ai_tags",
    "asset_properties",
    "embeds",
    "file_properties",
    "metadata",
    "metadata_info",
    "metadata_vocabulary",
    "security",
    "tags",
    "thumbnails",
)
DETAIL = (*EXPANDS, "status")
_ALL = "%2C".join(EXPANDS)
_NEWER = ("version_id", "current_version", "tags", "ai_tags")


def expands_of(text: str, known: tuple[str, ...], *, older: bool = False) -> frozenset[str]:
    """The names in a comma list. Raises Refusal 400 for an unknown one, as those of a later release are to an older
    one (wire E 7, 10)."""
    names = frozenset(name.strip() for name in text.split(",")) - {"", "download_link"}
    unknown = names.difference(known) | (names.intersection(_NEWER) if older else frozenset())
    if unknown:
        raise Refusal(400, "invalid_request", f"Unknown expand {', '.join(sorted(unknown))}")
    return names


class Renderer:
    """Makes the JSON of assets."""

    def __init__(self, tenant: Tenant, links: Links) -> None:
        self._tenant = tenant
        self._links = links
        self._older = "older" in tenant.options.plays

    def asset(
        self, asset: Asset, expand: frozenset[str], user: User, version: Version | None = None
    ) -> dict[str, Json]:
        """The fixed members, `null` for those not expanded; one version of it when given."""
        shown = version or asset.current
        now = self._tenant.now()
        address = f"{self._tenant.world.api_origin}/v2/assets/{asset.id}"
        links = {"self": address, "self_all": f"{address}?expand={_ALL}"}
        if user.may_download(asset, now):
            links["download"] = self._links.download(shown.blob, shown.filename)
        data: dict[str, Json] = {
            "id": asset.id,
            "external_id": asset.external_id,
            "version_id": shown.id,
            "current_version": shown is asset.current,
            "filename": shown.filename,
            "created_date": instant(asset.created),
            "last_update_date": instant(asset.updated),
            "file_upload_date": instant(shown.uploaded),
            "deleted_date": instant(asset.deleted),
            "released_and_not_expired": self._released(asset, now) and not expired(asset, now),
            **self._members(asset, shown, expand),
            "expanded": {name: name in expand for name in EXPANDS},
            "_links": links,
        }
        if {"tags_unshown", "tags_unheeded"} & self._tenant.options.plays:
            data["tags"] = None
        if self._older:
            for name in _NEWER:
                del data[name]
            data["expanded"] = {name: name in expand for name in DETAIL if name not in _NEWER}
        return data

    def _released(self, asset: Asset, now: int) -> bool:
        return released(asset, now) or (asset.release is None and "null_is_public" in self._tenant.options.plays)

    def security(self, asset: Asset) -> Json:
        """The three members of `…/security`."""
        shown = {
            "asset_groups": list(asset.groups),
            "release_date": instant(asset.release),
            "expiration_date": instant(asset.expiration),
        }
        if "no_nulls" in self._tenant.options.plays:
            return {name: value for name, value in shown.items() if value is not None}
        return shown

    def _members(self, asset: Asset, version: Version, expand: frozenset[str]) -> dict[str, Json]:
        return {
            "asset_properties": {"cutline_caption": "", "favorite": False, "popularity": 0}
            if "asset_properties" in expand
            else None,
            "file_properties": self._file(asset, version) if "file_properties" in expand else None,
            "metadata": {"fields": asset.fields} if "metadata" in expand else None,
            "metadata_info": self._info(asset, "metadata_vocabulary" in expand) if "metadata_info" in expand else None,
            "security": self.security(asset) if "security" in expand else None,
            "status": {"upload_progress": self._progress(asset)} if "status" in expand else None,
            "tags": asset.tags if "tags" in expand else None,
            "ai_tags": asset.ai_tags if "ai_tags" in expand else None,
            "thumbnails": self._thumbnails(version) if "thumbnails" in expand else None,
            "embeds": self._embeds(asset, version) if "embeds" in expand else None,
        }

    def _progress(self, asset: Asset) -> str:
        left = asset.ready - self._tenant.world.now().timestamp()
        if asset.conflicted or left > self._tenant.options.processing / 2:
            return "pending"
        return "verifying" if left > 0 else "complete"

    def _file(self, asset: Asset, version: Version) -> Json:
        """Nothing of it is known before the file was checked, its pixels not before it is complete."""
        kind = format_of(version.filename)
        progress = self._progress(asset) if version is asset.current else "complete"
        size = None if progress == "pending" else version.blob.size
        data: dict[str, Json] = {
            "format": kind.name,
            "format_type": kind.type,
            "size_in_bytes": size,
            "size_in_kbytes": None if size is None else round(size / 1024),
            "image_properties": _image(version) if kind.type == "image" and progress == "complete" else None,
            "video_properties": {"width": None, "height": None, "aspect_ratio": None, "duration": None}
            if kind.type == "video" and progress == "complete"
            else None,
        }
        if self._older:
            del data["size_in_bytes"]
        return data

    def _info(self, asset: Asset, vocabulary: bool) -> Json:
        fields = self._tenant.metadata.fields
        rows = [_field(fields[key], vocabulary) for key in self._tenant.metadata.types[asset.type].keys]
        return {"field_set": asset.type, "field_set_fields": rows}

    def _thumbnails(self, version: Version) -> Json:
        until = instant(self._tenant.now() + THUMBNAIL_SECONDS)
        return {size: {"url": self._links.thumbnail(version, size), "valid_until": until} for size in SIZES}

    def _embeds(self, asset: Asset, version: Version) -> Json:
        """Renditions by names that a tenant may give as it likes (wire E 3.1)."""
        name = version.filename
        picture = name.rpartition(".")[0] + ".jpeg"
        original = self._links.embed(asset, "original", name, "u=lv0nkk&download=true")
        wide = self._links.embed(asset, "jpeg", picture, "w=640&keep=c&crop=yes&color=cccccc&quality=80&u=lv0nkk")
        odd = self._links.embed(asset, "web", picture, "w=1200&u=lv0nkk")
        return {
            "original": _embed(original, f'<a href="{original}" target="_blank">{name}</a>'),
            "640px-landscape": _embed(wide, f'<img src="{wide}">'),
            "Web / (large)*": _embed(odd, f'<img src="{odd}">'),
            "templated": {
                "url": self._links.embed(asset, "{size}px@{scale}x", picture, "q={quality}&x.template=y"),
                "html": None,
                "share": None,
                "apps": [],
            },
        }


def vocabulary_row(origin: str, key: str, value: str, index: int, path: str) -> Mapping[str, Json]:
    """One value of `…/vocabulary/{value}`."""
    base = f"{origin}/v2/metadata/{key}/vocabulary"
    return {"_links": {"self": f"{base}/{path}", "vocabulary": base}, "index": index, "value": value}


def _field(field: Field, vocabulary: bool) -> Json:
    return {
        "key": field.key,
        "label": field.label,
        "type": field.field_type,
        "field_type": field.field_type,
        "required": field.required,
        "editable": field.editable,
        "controlled_vocabulary": field.words is not None,
        "vocabulary": field.words.values if field.words is not None and vocabulary else None,
    }


def _image(version: Version) -> Json:
    size = pixels_of(version.blob)
    if size is None or not size[1]:
        return {"width": None, "height": None, "aspect_ratio": None}
    return {"width": float(size[0]), "height": float(size[1]), "aspect_ratio": round(size[0] / size[1], 4)}


def _embed(url: str, html: str) -> Json:
    return {"url": url, "html": html, "share": url.replace("&download=true", "") + "&x.share=t", "apps": []}
