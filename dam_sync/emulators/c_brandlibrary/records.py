"""What an emulated tenant of service C keeps. Timestamps are epoch milliseconds.

An asset never changes: a change makes a new one, so that the search index can go on showing the old one for a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob

ASSET_TYPES: Mapping[str, str] = {
    "GenericFile": "generic_files",
    "Color": "colors",
    "Font": "fonts",
    "ExternalMedium": "external_media",
    "Person": "people",
    "Press": "presses",
    "Text": "texts",
}
"""`default_asset_type` of a section, and the JSON type of the assets in it (wire C 3.1)."""
LEVELS = ("guest", "collaborator", "admin", "owner")


class Refusal(Exception):
    """The service refuses: status and words for people."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass(frozen=True, slots=True)
class Stored:
    """The bytes of one version of an attachment, as processing found them."""

    blob: Blob
    filename: str
    mimetype: str
    width: int | None
    height: int | None
    at: int


@dataclass(frozen=True, slots=True)
class Attachment:
    """One file of an asset. versions: oldest first, only those that are there. number: in the address of its bytes,
    another with each new version. coming: the address whose bytes are being fetched, empty when nothing is."""

    id: str
    filename: str
    created: int
    updated: int
    number: int
    versions: tuple[Stored, ...] = ()
    coming: str = ""

    @property
    def current(self) -> Stored | None:
        """The version that counts, None before the first is there."""
        return self.versions[-1] if self.versions else None


@dataclass(frozen=True, slots=True)
class Tag:
    """One tag of one asset; `source` names the machine that made it."""

    id: str
    name: str
    auto_generated: bool = False
    source: str | None = None


@dataclass(frozen=True, slots=True)
class FieldValue:
    """One value of one asset under a custom field key, which is held by its id."""

    id: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Asset:
    """One asset; everything else by id. deleted: when it went, None while it is there."""

    id: str
    library: str
    section: str
    name: str
    description: str | None
    approved: bool
    created: int
    updated: int
    type: str = "generic_files"
    start: int | None = None
    end: int | None = None
    attachments: tuple[Attachment, ...] = ()
    tags: tuple[Tag, ...] = ()
    values: tuple[FieldValue, ...] = ()
    collections: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    creator: str = ""
    view_only: bool = False
    deleted: int | None = None
    position: int = 0
    catalogue_id: str = ""
    payload: Mapping[str, Json] | None = None

    def state(self, now: int) -> str:
        """published, unpublished, expired or pending approval, which outranks the dates (wire C 3.1)."""
        if not self.approved:
            return "pending approval"
        if self.start is not None and self.start > now:
            return "unpublished"
        return "expired" if self.end is not None and self.end <= now else "published"


@dataclass(slots=True)
class Organization:
    """The top of everything."""

    id: str
    name: str
    slug: str
    tagline: str = ""


@dataclass(slots=True)
class Library:
    """A library of the organization."""

    id: str
    organization: str
    name: str
    slug: str
    privacy: str = "private"
    tagline: str = ""


@dataclass(slots=True)
class Section:
    """Where an asset lives, permanently."""

    id: str
    library: str
    name: str
    default_asset_type: str
    position: int


@dataclass(slots=True)
class Collection:
    """A set of assets of a library."""

    id: str
    library: str
    name: str
    slug: str
    tagline: str = ""
    public: bool = False
    stealth: bool = False


@dataclass(slots=True)
class Label:
    """A node of a library's tree of labels; `parent` is empty at the root."""

    id: str
    library: str
    name: str
    parent: str
    position: int


@dataclass(slots=True)
class Key:
    """A custom field key. multiple: the product's own switch, which the API never shows (wire C 5.1)."""

    id: str
    library: str
    name: str
    allowed: list[str] = field(default_factory=list)
    restricted: bool = False
    required: bool = False
    prioritized: bool = False
    position: int = 0
    multiple: bool = False


@dataclass(slots=True)
class Permission:
    """What a user may do somewhere. kind: organizations, libraries or collections; name: of the record there."""

    id: str
    user: str
    level: str
    kind: str
    name: str


@dataclass(slots=True)
class User:
    """Somebody with an API key."""

    id: str
    email: str
    first_name: str
    last_name: str
    token: str


def instant(at: int | None) -> str | None:
    """ISO 8601 in UTC with milliseconds and a literal Z (spec 001, Resources, Service C)."""
    if at is None:
        return None
    moment = datetime.fromtimestamp(at // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at % 1000:03d}Z"
