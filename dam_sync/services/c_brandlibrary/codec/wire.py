"""The JSON of service C and our model: assets, attachments, bodies to send. Pure functions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.asset import Asset, AssetId, Draft, Entry, FileRef, Loss, Patch, Placement, Revision, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.codec import fingerprint
from dam_sync.model.mistyped import is_textual, size_of_file, text_in, unreadable
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.values import Json, Value
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec.envelope import related
from dam_sync.services.c_brandlibrary.codec.fields import DESCRIPTION, NAME, PAYLOAD, Keys, key_of
from dam_sync.services.c_brandlibrary.codec.marks import marked, token_in, unmarked
from dam_sync.services.c_brandlibrary.codec.values import decode, text_of, timestamp_text

INCLUDE = "attachments,section,collections,custom_fields,tags"  # wire C 2.2
RELATIONS = ("attachments", "section", "collections", "custom_field_values", "tags")  # wire C 11.5: as they answer
OWNED = frozenset({"attachments", "section"})  # relations that a file always has
DATES = ("availability_start", "availability_end")
FIELDS = "created_at,updated_at,availability"
ALWAYS_OUT = frozenset({"published", "available", ""})  # availability that says nothing about dates
FILES = frozenset({"", "generic_files"})  # types of assets that are files
OTHERS = facts.TYPES.keys() - FILES
EVERYBODY = Audience()
PENDING, PUBLISHED = "pending", "published"


@dataclass(frozen=True, slots=True)
class AssetDecodeContext:
    """What is needed to read a row: the keys, and the names of sections and collections that were not included."""

    keys: Keys
    names: Mapping[str, str] = field(default_factory=dict)
    view_only: Collection[str] = frozenset()  # ids of assets whose original nobody may download, known by a search


Counts = Mapping[str, int]
"""Number of versions by attachment id, if more than one."""


@interprets_response
def asset_of(row: Json, context: AssetDecodeContext, counts: Counts) -> Asset:
    """A complete asset from a row with its relations."""
    attributes = row["attributes"]
    lost: list[Loss] = []
    files = [file_of(each, row["id"], counts, lost) for each in attachments_of(row)]
    name = text_in(attributes, "name", "fields.name", lost)
    changed = parse_timestamp(attributes.get("updated_at"))
    asset = Asset(
        id=AssetId(row["id"]),
        revision=Revision(""),
        filename=files[0].name if files else name,
        status=PENDING if attributes.get("approved") is False else PUBLISHED,  # absent is a restriction
        form_type=row["type"],
        type=row["type"],
        fields=_fields(row, context.keys, name, lost),
        versions=tuple(files[:1]),
        attachments=tuple(files[1:]),
        placements=frozenset(_placements(row, context, lost)),
        tags=frozenset(_tags(row, lost, machine=False)),
        machine_tags=frozenset(_tags(row, lost, machine=True)),
        rights=Rights(
            parse_timestamp(attributes.get(DATES[0])),
            parse_timestamp(attributes.get(DATES[1])),
            restrictions=restrictions_of(row, context),
        ),
        created_at=parse_timestamp(attributes.get("created_at")),
        changed_at=changed,
        imported_at=parse_timestamp(attributes.get("created_at")),
        losses=(*dict.fromkeys(lost), *_losses(row, counts)),
        token=token_in(attributes.get("description")),
    )
    return replace(asset, revision=Revision(f"{attributes.get('updated_at') or ''}~{fingerprint(asset)[:16]}"))


@interprets_response
def tells_approval(row: Json) -> bool:
    """Whether a row shows if the asset is approved; one that does not may be pending."""
    return isinstance(row["attributes"].get("approved"), bool)


@interprets_response
def restrictions_of(row: Json, context: AssetDecodeContext) -> frozenset[Restriction]:
    """Restrictions of an asset: collections that lists leave out, and view-only, which appears as a file that was
    processed and has no link (wire C 4), or by a search."""
    found = set()
    if not tells_approval(row):
        found.add(Restriction(RestrictionKind.UNRELEASED, "the service does not show whether it is approved"))
    for collection in related(row, "collections"):
        attributes = collection["attributes"]
        flags = [word for word, flag in (("stealth", "stealth"), ("workspace", "is_workspace")) if attributes.get(flag)]
        if flags:
            name = attributes.get("name") or collection["id"]
            found.add(Restriction(RestrictionKind.CONTAINER, f"collection {name} ({', '.join(flags)})"))
    without_link = any(is_ready(each) and not each["attributes"].get("url") for each in attachments_of(row))
    if without_link or row["id"] in context.view_only:
        found.add(Restriction(RestrictionKind.DOWNLOAD, "view-only"))
    return frozenset(found)


def entry_of(asset: Asset) -> Entry:
    """A listed asset."""
    return Entry(asset.id, asset.revision, asset.changed_at, asset)


@interprets_response
def file_of(attachment: Json, asset: str, counts: Counts, lost: list[Loss]) -> FileRef:
    """One attachment; its id changes with every new version, of which only the newest can be read. lost: collects what
    has another shape."""
    attributes = attachment["attributes"]
    return FileRef(
        id=file_id(asset, attachment["id"], counts.get(attachment["id"], 1)),
        name=text_in(attributes, "filename", "filename", lost),
        size=size_of_file(attributes.get("size")),
        media_type=text_in(attributes, "mimetype", "filename", lost),
        link=text_in(attributes, "url", "file", lost),
    )


def file_id(asset: str, attachment: str, count: int) -> str:
    """How files are named in the model: `asset/attachment`, from the second version on with its number."""
    return f"{asset}/{attachment}" + (f"~{count}" if count > 1 else "")


def parts_of(file: str) -> tuple[str, str, int]:
    """Asset, attachment and version number of a file's id."""
    asset, _, rest = file.partition("/")
    attachment, _, count = rest.partition("~")
    return asset, attachment, int(count) if count.isdigit() else 1


@interprets_response
def is_ready(attachment: Json) -> bool:
    """Whether the service has processed the bytes (wire C 6.3)."""
    attributes = attachment["attributes"]
    return (
        attributes.get("size") is not None
        and bool(attributes.get("mimetype"))
        and not attributes.get("is_processing", False)
    )


@interprets_response
def is_settled(row: Json) -> bool:
    """Whether every file of an asset with files was processed."""
    return not is_file(row) or all(is_ready(each) for each in attachments_of(row))


@interprets_response
def is_file(row: Json) -> bool:
    """Whether an asset is a file: by its type; one of an unknown type if it has files (wire C 3.1)."""
    return row["type"] in FILES or (row["type"] not in OTHERS and bool(attachments_of(row)))


@interprets_response
def tells_dates(row: Json) -> bool:
    """Whether the availability of an asset results from a date."""
    return str(row["attributes"].get("availability") or "") not in ALWAYS_OUT


@interprets_response
def attachments_of(row: Json) -> list[Json]:
    """The attachments of an asset by position, its file first; an id without attributes does not count (wire C 2)."""
    reported = [each for each in related(row, "attachments") if each["attributes"]]
    return sorted(reported, key=lambda each: each["attributes"].get("position") or 0)


@interprets_response
def is_whole(row: Json, given: Collection[str] = ()) -> bool:
    """Whether every requested relation was returned, with a row for everything it names.

    given: relations that other rows of the same list have, so that one which lacks them has none.
    """
    present = all(name in row["related"] or (name in given and name not in OWNED) for name in RELATIONS)
    return present and all(each["attributes"] for name in RELATIONS for each in related(row, name))


@interprets_response
def count_of(attachment: Json) -> int:
    """The number of versions of an attachment; 1 if not stated."""
    count = attachment["attributes"].get("version_count")
    return count if isinstance(count, int) and count > 0 else 1


def is_fresh(link: str, now: datetime) -> bool:
    """Whether a signed link lives long enough to be used; one without `Expires` counts as valid."""
    left = life_of(link, now)
    return left is None or left > facts.LINK_RESERVE


def life_of(link: str, now: datetime) -> timedelta | None:
    """For how long a signed link opens; None if it does not say so."""
    query = parse_qs(urlsplit(link).query)
    expires = (query.get("Expires") or query.get("expiry") or [""])[0]
    if not expires.isdecimal() or len(expires) > 11:  # none, or beyond the year 5000
        return None
    return datetime.fromtimestamp(int(expires), UTC) - now


# -- bodies ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Upload:
    """The URL of an uploaded object, or a link of the source, and the name for its file."""

    url: str = field(repr=False)
    filename: str


@dataclass(frozen=True, slots=True)
class NewAsset:
    """An asset to be created. hidden: not approved, whatever the draft says; token: whether our token is put into its
    description."""

    draft: Draft
    upload: Upload | None
    hidden: bool = False
    token: bool = True


def create_body(assets: Iterable[NewAsset], section: str) -> Json:
    """One asset or several, whose tokens are in their descriptions (wire C 6.3, 6.9)."""
    return {"data": {"attributes": [_new_attributes(each) for each in assets]}, "section_key": section}


def _new_attributes(new: NewAsset) -> Json:
    draft, upload = new.draft, new.upload
    description, mark = text_at(draft.fields, DESCRIPTION), draft.marker.value if draft.marker else ""
    return {
        "name": name_of(draft) or mark,
        "description": marked(description, draft.marker) if draft.marker and new.token else description,
        **(approval(PENDING) if new.hidden else approval(draft.status)),
        **availability(draft.rights),
        "attachments": [{"url": upload.url, "filename": upload.filename}] if upload else [],
    }


def name_of(draft: Draft) -> str:
    """The name of a new asset."""
    return text_at(draft.fields, NAME) or draft.filename


def patch_attributes(patch: Patch) -> dict[str, Json]:
    """The members of a PUT; empty if the patch concerns none of them. `null` clears a date (wire C 6.4). A patch that
    closes removes the approval; one that opens restores it later, see `opening`."""
    attributes: dict[str, Json] = {
        key: text_at(patch.fields, key) for key in (NAME, DESCRIPTION) if key in patch.fields
    }
    if patch.closed:
        attributes |= approval(PENDING)
    elif patch.closed is None and patch.status is not None:
        attributes |= approval(patch.status)
    for name, cleared in zip(DATES, ("release", "expiry"), strict=True):
        if cleared in patch.cleared:
            attributes[name] = None
    return attributes | (availability(patch.rights) if patch.rights is not None else {})


def opening(patch: Patch) -> dict[str, Json]:
    """What makes an asset that was closed visible again: the last call of an update."""
    return approval(patch.status or PUBLISHED) if patch.closed is False else {}


def approval(status: str) -> dict[str, Json]:
    """Empty if there is no status."""
    return {"approved": status == PUBLISHED} if status else {}


def audience_of(draft: Draft) -> Audience:
    """Who would see an asset created from this draft: everybody in the library, unless it is not approved (wire C
    3.1)."""
    hidden = "it is not approved" if draft.closed or draft.status == PENDING else ""
    return Audience(hidden, draft.rights.release_at, draft.rights.expires_at)


def availability(rights: Rights) -> dict[str, Json]:
    """The dates, if any."""
    pairs = zip(DATES, (rights.release_at, rights.expires_at), strict=True)
    return {name: timestamp_text(when) for name, when in pairs if when is not None}


def values_body(rows: Iterable[tuple[str, str]]) -> Json:
    """New records of one key, each a value and its asset; here `data` is the array (wire C 6.7)."""
    return {"data": [{"attributes": {"value": value}, "relationships": _owner(asset)} for value, asset in rows]}


def _owner(asset: str) -> Json:
    return {"asset": {"data": {"type": "assets", "id": asset}}}


def text_at(fields: Mapping[str, Value | None], key: str) -> str:
    """One built-in text; several values or languages become one."""
    value = fields.get(key)
    if value is None:
        return ""
    rows = value if isinstance(value, tuple) else (value,)
    return "; ".join(text_of(row) for row in rows)


# -- parts -------------------------------------------------------------------------------------------------------------


def _fields(row: Json, keys: Keys, title: str, lost: list[Loss]) -> dict[str, Value]:
    attributes = row["attributes"]
    described = unmarked(text_in(attributes, "description", f"fields.{DESCRIPTION}", lost))
    found: dict[str, Value] = {name: text for name, text in ((NAME, title), (DESCRIPTION, described)) if text}
    if attributes.get(PAYLOAD) and not is_file(row):
        found[PAYLOAD] = json.dumps(attributes[PAYLOAD], ensure_ascii=False, sort_keys=True)
    lost += [unreadable(f"fields.{key_of(name)}", raw, "value") for name, raw in _strange_values(row)]
    for name, texts in values_of(row).items():
        key = key_of(name)
        in_order = sorted(texts.values())  # no order is promised, and another one would count as a change
        value = decode(keys.fields.get(key) or Field(key, FieldKind.TEXT), in_order)
        if value is not None:
            found[key] = value
    return found


@interprets_response
def values_of(row: Json) -> dict[str, dict[str, str]]:
    """Records of custom fields by name of their key: id and text of each (wire C 3.1)."""
    found: dict[str, dict[str, str]] = {}
    for record in related(row, "custom_field_values"):
        attributes = record["attributes"]
        if is_textual(attributes.get("key")) and is_textual(attributes.get("value")):
            found.setdefault(str(attributes["key"]).strip(), {})[record["id"]] = str(attributes["value"])
    return found


def _strange_values(row: Json) -> Iterable[tuple[str, Json]]:
    """Records that hold no text, by the name of their key."""
    for record in related(row, "custom_field_values"):
        key, value = record["attributes"].get("key"), record["attributes"].get("value")
        if value is not None and not (is_textual(key) and is_textual(value)):
            yield str(key), value


def _tags(row: Json, lost: list[Loss], *, machine: bool) -> Iterable[str]:
    for tag in related(row, "tags"):
        name = text_in(tag["attributes"], "name", "tags", lost)
        if name and bool(tag["attributes"].get("auto_generated")) == machine:
            yield name


def _placements(row: Json, context: AssetDecodeContext, lost: list[Loss]) -> Iterable[Placement]:
    for section in related(row, "section"):
        name = text_in(section["attributes"], "name", "section", lost) or context.names.get(section["id"])
        if name:
            yield Placement("section", (name,), section["id"])
    for collection in related(row, "collections"):
        if name := text_in(collection["attributes"], "name", "collection", lost):
            yield Placement("collection", (name,), collection["id"])


def _losses(row: Json, counts: Counts) -> Iterable[Loss]:
    for number, attachment in enumerate(attachments_of(row)):
        older = counts.get(attachment["id"], 1) - 1
        if older > 0:
            yield Loss("attachments.versions" if number else "versions", "not given out", f"{older} older")
    if not row["attributes"].get(PAYLOAD) and not is_file(row):
        yield Loss("payload", "not given out", facts.TYPES.get(row["type"], row["type"]))
