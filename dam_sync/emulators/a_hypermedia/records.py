"""The records of an instance. Media never change: a write replaces them, so an index may keep the old one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob

Values: TypeAlias = Mapping[str, Json]
"""By internal name. Localized fields: {language: value}. Thesaurus: list of node ids. Simple list: item id. Persons:
list of ids. Date: `date`. Date and time: `datetime`. The other types as they are read."""

BASES = ("IMPORT", "BASKET", "DRAFT", "PUBLISHED", "ARCHIVED", "TRASH")
LEVELS = ("NONE", "BD", "HD")
FORM_TYPES = ("PICTURE", "DOCUMENT", "VIDEO", "SOUND", "RICH_MEDIA", "OTHER")


@dataclass(frozen=True, slots=True)
class Version:
    """One file of a media."""

    id: int
    number: int
    name: str
    media_type: str
    blob: Blob
    created: datetime


@dataclass(frozen=True, slots=True)
class Attachment:
    """A side file; `blob` is None until its bytes have come."""

    id: int
    name: str
    media_type: str
    size: int
    blob: Blob | None = None


@dataclass(frozen=True, slots=True)
class Media:
    """One media; versions oldest first. `links`: ids of other media by link type."""

    id: int
    form: int
    status: int
    values: Values
    created: datetime
    updated: datetime
    imported: datetime | None
    status_updated: datetime
    versions: tuple[Version, ...] = ()
    current: int = 0  # id of the current version
    folders: tuple[int, ...] = ()
    foldered: datetime | None = None
    labels: tuple[int, ...] = ()
    links: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    trashed: datetime | None = None
    importer: int = 2
    updater: int = 2
    annotation: str = "NONE"
    orientation: str = ""
    duplication: str = "NO_DUPLICATES"
    interest: Mapping[str, float] | None = None
    ready: datetime | None = None  # when its renditions are there; None = at once
    xmp_id: str = ""
    catalogue_id: str = ""
    download: str = "HD"  # the most that anybody may download of it

    def level(self, user: User) -> str:
        """What a user may download of it: nothing, a low definition, the original."""
        return min(self.download, user.download, key=LEVELS.index)

    @property
    def file(self) -> Version | None:
        """The current version; None for a media without file."""
        return next((version for version in reversed(self.versions) if version.id == self.current), None)


@dataclass(slots=True)
class Node:
    """A thesaurus or one of its terms; texts by language. `parent` is 0 for a root."""

    id: int
    parent: int
    titles: dict[str, str]
    descriptions: dict[str, str] = field(default_factory=dict)
    synonyms: dict[str, list[str]] = field(default_factory=dict)
    children: list[int] = field(default_factory=list)
    catalogue_id: str = ""


@dataclass(slots=True)
class Folder:
    """A folder of the classification plan."""

    id: int
    parent: int
    title: str
    description: str = ""
    children: list[int] = field(default_factory=list)
    members: set[int] = field(default_factory=set)
    groups: frozenset[str] = frozenset()  # whose users may see it; empty: everybody's


@dataclass(frozen=True, slots=True)
class User:
    """Somebody who may call. `folders`: ids of the folders whose subtrees are visible; None = everything."""

    id: int
    login: str
    password: str
    permission: str = "ADMIN"
    download: str = "HD"
    folders: frozenset[int] | None = None
    active: bool = True

    def may(self, *rights: str) -> bool:
        """Whether the user holds one of these rights; ADMIN holds all."""
        return self.permission == "ADMIN" or self.permission in rights


def instant(moment: datetime) -> str:
    """RFC 3339 in UTC with milliseconds."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z"


def millis(moment: datetime) -> int:
    """Milliseconds since the epoch: the precision the service keeps."""
    return int(moment.timestamp() * 1000 + 0.0005)


def form_type_of(media_type: str) -> str:
    """The class of document a file belongs to."""
    family = media_type.partition("/")[0]
    known = {"image": "PICTURE", "video": "VIDEO", "audio": "SOUND", "text": "DOCUMENT"}
    if media_type in ("text/html", "application/zip", "application/x-shockwave-flash"):
        return "RICH_MEDIA"
    if media_type == "application/pdf" or "document" in media_type or "msword" in media_type or "office" in media_type:
        return "DOCUMENT"
    return known.get(family, "OTHER")
