"""The JSON of service A and our model: listing rows and whole media. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, tzinfo

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import Asset, AssetId, Entry, FileRef, Loss, Placement, Revision, Rights
from dam_sync.model.audience import Restriction, RestrictionKind
from dam_sync.model.mistyped import flag_in, is_textual, size_of_file, text_in, unreadable
from dam_sync.model.values import Json, Localized, Scalar, Value, instant_text
from dam_sync.services.a_hypermedia.api.hal import (
    Rels,
    either,
    embedded_items,
    file_url,
    link,
    own_link,
    tail,
    timestamp_of,
    wanted_id,
    whole,
)
from dam_sync.services.a_hypermedia.codec.forms import MediaForm, MediaForms
from dam_sync.services.a_hypermedia.codec.values import decode, decode_untyped, degrees, is_undecided_day

_SEVERAL = 2
NAMESAKES = "several folders of this path become one"  # the rule of a loss
UNDECIDED = "the day depends on the time zone"  # the rule of a loss


@dataclass(frozen=True, slots=True)
class Status:
    """A custom status: a sub-status, by title, of one base status in lower case (wire A 5.5)."""

    id: str
    title: str
    base: str

    @property
    def custom(self) -> bool:
        """Whether it differs from its base status."""
        return self.title.casefold() != self.base


@dataclass(frozen=True, slots=True)
class MediaDecodeContext:
    """The meaning of ids in one instance: everything needed to read a media."""

    rels: Rels = field(default_factory=Rels)
    forms: MediaForms = field(default_factory=MediaForms)
    statuses: Mapping[str, Status] = field(default_factory=dict)
    folders: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    zone: tzinfo = UTC
    namesakes: frozenset[tuple[str, ...]] = frozenset()  # paths of several folders


DATES = {"creationDate": "created_at", "updateDate": "changed_at", "importDate": "imported_at"}


# -- listings ----------------------------------------------------------------------------------------------------------


@interprets_response
def revision_of(media: Json) -> Revision:
    """Changes with `updateDate` and, as a second sign of a new file version, with the size of the file.

    Both are in the light rows of a search and in the whole media, so both have the same revision.
    """
    when = timestamp_of(media.get("updateDate"))
    size = size_of_file(media.get("fileSize"))
    return Revision(f"{instant_text(when) if when else ''}~{'' if size is None else size}")


@interprets_response
def entry_of(row: Json, asset: Asset | None = None, deleted: bool = False) -> Entry:
    """A search row."""
    changed = timestamp_of(row.get("trashDate") if deleted else None) or timestamp_of(row.get("updateDate"))
    return Entry(AssetId(wanted_id(row)), revision_of(row), changed, asset, deleted)


@interprets_response
def status_of(item: Json) -> Status:
    """A custom status; some have their base status as a link or not at all; then only the title is known."""
    title = member_text(item, "title", "name")
    return Status(wanted_id(item), title, (member_text(item, "status") or title).lower())


# -- one media ---------------------------------------------------------------------------------------------------------


@interprets_response
def asset_of(readings: Sequence[tuple[str, Json]], context: MediaDecodeContext) -> Asset:
    """A media read in one or several languages, the first reading complete; `versions` holds only the current file.

    A reading is (language actually served, JSON). Relations, older versions and attachments take calls of their own.
    """
    media = readings[0][1]
    losses = [
        unreadable(path, media[key], key)
        for key, path in DATES.items()
        if media.get(key) and timestamp_of(media[key]) is None
    ]
    form = context.forms.by_id.get(tail(link(media, context.rels.rel("form"))))
    base, substatus = _status(media, context, losses)
    return Asset(
        id=AssetId(wanted_id(media)),
        revision=revision_of(media),
        filename=text_in(media, "originalFileName", "filename", losses),
        status=base,
        substatus=substatus,
        form_type=text_in(media, "formType", "form_type", losses),
        type=form.name if form else "",
        fields={**_own_fields(media, context, losses), **metadata_of(readings, form, context.zone, losses)},
        versions=current_file(media, context.rels),
        placements=_placements(media, context, losses),
        rights=Rights(restrictions=restrictions_of(media)),
        created_at=timestamp_of(media.get("creationDate")),
        changed_at=timestamp_of(media.get("updateDate")),
        imported_at=timestamp_of(media.get("importDate")),
        losses=tuple(dict.fromkeys((*losses, *file_losses(media)))),
    )


@interprets_response
def restrictions_of(media: Json) -> frozenset[Restriction]:
    """Known restrictions of a media: a download level below the original (wire A 3.1).
    Rights of folders are not (5.1)."""
    level = download_level(media)
    return (
        frozenset() if level == "HD" else frozenset({Restriction(RestrictionKind.DOWNLOAD, f"download level {level}")})
    )


@interprets_response
def download_level(media: Json) -> str:
    """What the user may download of the media: HD is the original (wire A 3.1)."""
    return str(media.get("downloadLevel") or "HD").upper()


@interprets_response
def withheld(media: Json) -> str:
    """Why the user does not get the original; empty if the user does."""
    level = download_level(media)
    reason = "not at all" if level == "NONE" else "only in low definition"
    return "" if level == "HD" else f"the user may download this media {reason} (download level {level})"


@interprets_response
def metadata_of(
    readings: Sequence[tuple[str, Json]], form: MediaForm | None, zone: tzinfo, losses: list[Loss]
) -> dict[str, Value]:
    """The form's values; localized ones collected from all readings, each under the language actually served."""
    values: dict[str, Value] = {}
    for language, media in readings:
        for item in embedded_items(media, "metadata"):
            if not isinstance(item, dict):
                losses.append(unreadable("fields", item, "metadata"))
                continue
            strange: list[Json] = []
            _read_item(values, item, form, zone, language, strange)
            losses += [_left_out(item, raw, form, zone) for raw in strange]
    return values


def _left_out(item: Json, raw: Json, form: MediaForm | None, zone: tzinfo) -> Loss:
    """The loss of a value that cannot be read."""
    path = f"fields.{item.get('id')}"
    known = form.fields.get(member_text(item, "id")) if form else None
    if known and is_undecided_day(known, raw, zone):
        return Loss(path, UNDECIDED, f"{raw} is midnight in zones on both sides of the date line; set `timezone`")
    return unreadable(path, raw, "value")


def _read_item(
    values: dict[str, Value], item: Json, form: MediaForm | None, zone: tzinfo, language: str, strange: list[Json]
) -> None:
    name = member_text(item, "id")
    known = form.fields.get(name) if form else None
    if known and known.localized:
        _add_language(values, known.key, language, decode(known, item, zone, strange))
    elif (key := known.key if known else name) not in values:
        value = decode(known, item, zone, strange) if known else decode_untyped(item, strange)
        if value is not None:
            values[key] = value


def _add_language(values: dict[str, Value], key: str, language: str, value: Value | None) -> None:
    """One text per language; in a list each element keeps its language."""
    if isinstance(value, tuple):
        before = values.get(key) or ()
        more: tuple[Scalar, ...] = tuple(Localized({language: item}) for item in value if isinstance(item, str))
        if isinstance(before, tuple) and more:
            values[key] = before + more
    elif isinstance(value, str):
        known = values.get(key)
        texts = known.texts if isinstance(known, Localized) else {}
        values[key] = Localized({**texts, language: texts.get(language, value)})
    elif value is not None:
        values.setdefault(key, value)


@interprets_response
def current_file(media: Json, rels: Rels) -> tuple[FileRef, ...]:
    """The file of the media; None for a media without a file."""
    name, size = text_in(media, "originalFileName", "filename", []), size_of_file(media.get("fileSize"))
    if not name and not size:
        return ()
    version = tail(link(media, "current"))
    identity = wanted_id(media) + (f"/{version}" if version else "")
    file = _file(media, identity, name, link(media, rels.rel("hires")))
    return (replace(file, withheld="" if file.link else withheld(media)),)


@interprets_response
def version_of(media: str, item: Json, rels: Rels) -> FileRef:
    """One item of the list of file versions (wire A 3.2)."""
    name = text_in(item, "originalFileName", "filename", [])
    return _file(item, f"{media}/{wanted_id(item)}", name, link(item, rels.rel("hires")))


@interprets_response
def version_order(item: Json, current: str) -> tuple[bool, int, float, str]:
    """Sorts file versions oldest first, the current one last; by number, else by date, else by id (wire A 3.2)."""
    is_current = flag_in(item, "current") or wanted_id(item) == current
    made = timestamp_of(item.get("creationDate"))
    number = whole(item.get("versionNumber")) or 0
    return (is_current, number, made.timestamp() if made else 0.0, wanted_id(item).zfill(20))


@interprets_response
def attachment_of(media: str, item: Json, rels: Rels) -> FileRef:
    """One attachment (wire A 3.2, 6.9); the title may be its only name."""
    name = text_in(item, "fileName", "attachments", []) or text_in(item, "title", "attachments", [])
    return _file(item, f"{media}/attachments/{wanted_id(item)}", name, own_link(item, rels, "download-link"))


@interprets_response
def is_online(item: Json) -> bool:
    """Whether an attachment can be downloaded; one without a state can (wire A 3.2)."""
    return str(item.get("status") or "ONLINE").upper() == "ONLINE"


@interprets_response
def offline_loss(item: Json) -> Loss:
    """The loss of an attachment that the service does not return."""
    name = str(item.get("fileName") or item.get("title") or item.get("id"))
    return Loss("attachments", "not online", f"{name}, {str(item.get('status')).lower()}")


@interprets_response
def file_losses(item: Json, path: str = "filename") -> list[Loss]:
    """Losses of file properties that cannot be read."""
    losses: list[Loss] = []
    for key in ("originalFileName", "fileName", "mediaType"):
        text_in(item, key, path, losses)
    sums = item.get("checkSums")
    if sums is not None and not (isinstance(sums, dict) and is_textual(sums.get("md5", ""))):
        losses.append(unreadable("digests", sums, "checkSums"))
    return losses


def _file(item: Json, identity: str, name: str, address: str) -> FileRef:
    sums = item.get("checkSums")
    md5 = sums.get("md5") if isinstance(sums, dict) else None
    return FileRef(
        id=identity,
        name=name,
        size=size_of_file(item.get("fileSize")),
        media_type=text_in(item, "mediaType", "media_type", []),
        digests={"md5": md5.lower()} if isinstance(md5, str) and md5 else {},
        created_at=timestamp_of(item.get("creationDate")),
        link=file_url(address),
    )


@interprets_response
def folder_ids(media: Json) -> list[str]:
    """Folders the media is directly in."""
    return [wanted_id(folder) for folder in placed_in(media, "folder")]


@interprets_response
def placed_in(media: Json, kind: str) -> list[Json]:
    """The folders or labels embedded in a media (wire A 3.1)."""
    return either(media, kind)


@interprets_response
def has_full_shape(row: Json) -> bool:
    """Whether a row has what only complete media have (wire A 2.5)."""
    return all(key in row for key in ("status", "originalFileName", "fileVersionCount")) and bool(
        embedded_items(row, "metadata")
    )


@interprets_response
def has_counts_of(row: Json, media: Json) -> bool:
    """Whether a row counts versions, attachments and links like the complete media; one without counts would hide
    them (wire A 2.5)."""
    counts = ("fileVersionCount", "attachmentCounts", "mediaLinkCount")
    return all(key in row and row[key] == media.get(key) for key in counts)


@interprets_response
def needs_more_calls(media: Json) -> bool:
    """Whether versions, attachments or links of a media need calls of their own (wire A 3.3)."""
    return version_count(media) > 1 or attachment_count(media) > 0 or relation_count(media) > 0


@interprets_response
def version_count(media: Json) -> int:
    """How many file versions the media says it has."""
    return _count(media.get("fileVersionCount"))


@interprets_response
def attachment_count(media: Json) -> int:
    """Number of attachments in any state."""
    counts = media.get("attachmentCounts")
    return sum(map(_count, counts.values())) if isinstance(counts, dict) else _count(counts)


@interprets_response
def relation_count(media: Json) -> int:
    """Number of links to other media."""
    return _count(media.get("mediaLinkCount"))


def _count(value: Json) -> int:
    """0 if missing. An unreadable count means several, so that the list itself is read."""
    return 0 if value is None else _SEVERAL if (number := whole(value)) is None else number


def _status(media: Json, context: MediaDecodeContext, losses: list[Loss]) -> tuple[str, str]:
    known = context.statuses.get(tail(link(media, context.rels.rel("custom-status"))))
    base = (text_in(media, "status", "status", losses) or (known.base if known else "")).lower()
    return base, known.title if known and known.custom else ""


def _placements(media: Json, context: MediaDecodeContext, losses: list[Loss]) -> frozenset[Placement]:
    """Folders by their path, labels by their title."""
    places = set()
    for folder in placed_in(media, "folder"):
        path = context.folders.get(wanted_id(folder)) or (
            text_in(folder, "title", "folder", losses) or wanted_id(folder),
        )
        places.add(Placement("folder", path, wanted_id(folder)))
        if path in context.namesakes:
            losses.append(Loss("placements.folder[]", NAMESAKES, Placement("folder", path).text))
    for label in placed_in(media, "label"):
        places.add(
            Placement("label", (text_in(label, "title", "label", losses) or wanted_id(label),), wanted_id(label))
        )
    return frozenset(places)


def _own_fields(media: Json, context: MediaDecodeContext, losses: list[Loss]) -> dict[str, Value]:
    """Properties of the media itself that are shown as fields; without absent and unset ones."""
    point = media.get("pointOfInterest") or {}
    if not isinstance(point, dict) or not all(is_textual(part) for part in point.values()):
        losses.append(unreadable("fields.point_of_interest", point, "pointOfInterest"))
        point = {}
    annotation = text_in(media, "annotation", "fields.annotation", losses)
    own: dict[str, Value | None] = {
        "stat_views": whole(media.get("statViews")),
        "stat_downloads": whole(media.get("statDownloads")),
        "width": whole(media.get("width")) or None,
        "height": whole(media.get("height")) or None,
        "resolution": whole(media.get("resolution")) or None,
        "orientation": text_in(media, "orientation", "fields.orientation", losses) or None,
        "color_space": text_in(media, "colorSpace", "fields.color_space", losses) or None,
        "page_count": whole(media.get("pageCount")) or None,
        "duration": _seconds(media.get("durationInSeconds")),
        "latitude": degrees(media.get("latitude")),
        "longitude": degrees(media.get("longitude")),
        "address": text_in(media, "address", "fields.address", losses) or None,
        "point_of_interest": f"{point['x']},{point['y']}" if "x" in point and "y" in point else None,
        "annotation": annotation if annotation not in ("", "NONE") else None,
    }
    return {context.forms.own_key(key): value for key, value in own.items() if value is not None}


def _seconds(value: Json) -> float | int | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None
