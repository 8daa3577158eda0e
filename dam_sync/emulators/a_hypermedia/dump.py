"""The ground truth: what the instance holds, in the neutral form, with every file's digests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from dam_sync.emulators.a_hypermedia.records import Attachment, Media, Version, instant
from dam_sync.emulators.a_hypermedia.schema import FormField
from dam_sync.emulators.a_hypermedia.state import Library
from dam_sync.emulators.kit.environment import Json


def ground_truth(library: Library) -> Iterator[dict[str, Json]]:
    """One neutral asset per media, trashed ones included, in order of id; ids are this instance's own."""
    for media in list(library.medias.values()):
        yield _asset(library, media)


def _asset(library: Library, media: Media) -> dict[str, Json]:
    form, file = library.form(media), media.file
    title, base = library.schema.statuses[media.status]
    return {
        "id": str(media.id),
        "catalogue_id": media.catalogue_id,
        "filename": file.name if file else "",
        "status": base.lower(),
        "substatus": "" if title == base.capitalize() else title,
        "form_type": form.type,
        "type": form.title,
        "fields": {
            key: _value(library, form.fields[key], kept) for key, kept in media.values.items() if kept not in (None, [])
        },
        "versions": [_file(version) for version in media.versions],
        "current": str(media.current) if media.current else "",
        "attachments": [_attachment(one) for one in media.attachments],
        "placements": _placements(library, media),
        "tags": [],
        "machine_tags": [],
        "rights": {"release_at": None, "expires_at": None, "groups": []},
        "relations": [
            {"kind": library.schema.link_types[kind], "target": str(target)}
            for kind, targets in media.links.items()
            for target in targets
        ],
        "created_at": instant_text(media.created),
        "changed_at": instant_text(media.updated),
        "imported_at": instant_text(media.imported) if media.imported else None,
    }


def instant_text(moment: datetime) -> str:
    """RFC 3339 with milliseconds only if there are any, as the neutral form has it."""
    return instant(moment).replace(".000Z", "Z")


def _placements(library: Library, media: Media) -> list[Json]:
    folders = [{"kind": "folder", "path": list(library.folders.path(at)), "id": str(at)} for at in media.folders]
    labels = [{"kind": "label", "path": [library.schema.labels[at]], "id": str(at)} for at in media.labels]
    return folders + labels


def _file(version: Version) -> dict[str, Json]:
    sums = version.blob.digests()
    return {
        "id": str(version.id),
        "name": version.name,
        "size": version.blob.size,
        "media_type": version.media_type,
        "digests": {"md5": sums.md5, "sha256": sums.sha256, "crc32": sums.crc32},
        "created_at": instant_text(version.created),
    }


def _attachment(one: Attachment) -> dict[str, Json]:
    sums = one.blob.digests() if one.blob else None
    digests = {"md5": sums.md5, "sha256": sums.sha256} if sums else {}
    return {"id": str(one.id), "name": one.name, "size": one.size, "media_type": one.media_type, "digests": digests}


def _value(library: Library, field: FormField, kept: Json) -> Json:
    if field.localized:
        return {"texts": dict(kept)}
    neutral = _NEUTRAL.get(field.type)
    return neutral(library, field, kept) if neutral else kept


def _choice(library: Library, field: FormField, kept: Json) -> Json:
    return {"id": str(kept), "label": library.schema.lookups[field.lookup].values[kept]}


def _persons(library: Library, field: FormField, kept: Json) -> Json:
    titles = library.schema.lookups[field.lookup].values
    return [{"person": titles[one], "id": str(one)} for one in kept]


def _terms(library: Library, field: FormField, kept: Json) -> Json:
    return [_term(library, one) for one in kept if one in library.thesauri.nodes]


def _place(library: Library, field: FormField, kept: Json) -> Json:
    return {key: kept.get(key) for key in ("latitude", "longitude")} | {"address": kept.get("address", "")}


_NEUTRAL: Mapping[str, Callable[[Library, FormField, Json], Json]] = {
    "DATE": lambda library, field, kept: {"date": kept.isoformat()},
    "DATETIME": lambda library, field, kept: {"instant": instant_text(kept)},
    "SIMPLE_LIST": _choice,
    "PERSON_LIST": _persons,
    "THESAURUS": _terms,
    "FIELD_SET": lambda library, field, kept: [{"row": row} for row in kept],
    "GEO": _place,
}


def _term(library: Library, number: int) -> dict[str, Json]:
    node, language = library.thesauri.nodes[number], library.languages[0]
    return {
        "id": str(number),
        "catalogue_id": node.catalogue_id,
        "label": node.titles.get(language) or next(iter(node.titles.values())),
        "path": list(library.thesauri.path(number, language)),
        "labels": dict(node.titles),
        "synonyms": {language: list(words) for language, words in node.synonyms.items()},
    }
