"""What an emulated tenant of service D keeps. Asset records never change: a change makes a new one, so that the search
index can go on showing the old one until its lag is over."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob

NIL = "00000000-0000-0000-0000-000000000000"
CUSTOMER = "1568000000000"


class Refusal(Exception):
    """The service refuses: a status and a body, which may be a bare string."""

    def __init__(self, status: int, body: Json) -> None:
        super().__init__(str(body))
        self.status, self.body = status, body


def refused(status: int, message: str) -> Refusal:
    """`{"message"}`."""
    return Refusal(status, {"message": message})


def failed(status: int, message: str) -> Refusal:
    """`{"status": "error", "message"}`."""
    return Refusal(status, {"status": "error", "message": message})


def broken() -> Refusal:
    """What the gateway says when the backend could not make sense of a call (wire D 7)."""
    return refused(502, "Internal server error")


@dataclass(slots=True)
class Attribute:
    """An attribute: text, date, controlledVocabulary, tableAttribute, cascade or externalContent. `children` are the
    ids of a table's columns or a cascade's levels, in order."""

    id: str
    name: str
    slug: str
    type: str
    area: bool = False
    length: int = 250
    required: bool = False
    multiple: bool = False
    vocabulary: str = ""
    facetable: bool = True
    searchable: bool = True
    typeahead: bool = False
    sensitive: bool = False
    single_row: bool = False
    children: tuple[str, ...] = ()
    system: bool = False
    created: int = 0
    updated: int = 0


@dataclass(slots=True)
class Group:
    """A metadata group: attributes in order."""

    id: str
    name: str
    slug: str
    attributes: list[str] = field(default_factory=list)
    visible: bool = True
    created: int = 0
    updated: int = 0


@dataclass(slots=True)
class Template:
    """A metadata template: groups in order; the system group comes on top of them."""

    id: str
    name: str
    groups: list[str] = field(default_factory=list)
    types: tuple[str, ...] = ("default",)
    defaults: Json = ()
    created: int = 0
    updated: int = 0


@dataclass(slots=True)
class Vocabulary:
    """A controlled vocabulary. values: as read; applied: as used by writes and denormalised reads; gone: names of
    values that were taken out."""

    id: str
    name: str
    slug: str
    values: dict[str, str] = field(default_factory=dict)
    applied: dict[str, str] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)
    created: int = 0
    updated: int = 0

    @property
    def system(self) -> bool:
        """Kept by the service itself."""
        return self.name.startswith("System ")

    def shown(self, value: str) -> str | None:
        """The name of a value in denormalised reads."""
        return self.applied.get(value) or self.gone.get(value)


@dataclass(slots=True)
class SecurityTemplate:
    """Which groups may do what, by permission id. opens: viewers it opens an asset to, None: by its name."""

    id: str
    name: str
    grants: dict[str, frozenset[str]] = field(default_factory=dict)
    opens: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a password; admin: may read and write the templates."""

    id: str
    username: str
    password: str
    groups: tuple[str, ...]
    admin: bool = True
    sensitive: bool = True

    @property
    def shown(self) -> str:
        """As denormalised reads name them."""
        return f"{self.first} {self.last} ({self.email})"

    @property
    def first(self) -> str:
        """The first name."""
        return self.username.split("-", 1)[0].capitalize()

    @property
    def last(self) -> str:
        """The last name."""
        return self.username.split("-", 1)[-1].capitalize()

    @property
    def email(self) -> str:
        """The address."""
        return f"{self.username}@example.test"


@dataclass(frozen=True, slots=True)
class Record:
    """One version record; timestamps in epoch milliseconds. values: attribute id to the written form, `rows` of tables
    under the same key. blob: the stored file; processed: whether its technical metadata is there."""

    object_id: str
    file_id: str
    original: str
    filename: str
    template: str
    values: Mapping[str, Json]
    security: tuple[str, ...]
    created: int
    created_by: str
    updated: int
    updated_by: str
    number: int
    order: int
    current: bool = True
    deleted: int | None = None
    deleted_by: str = ""
    blob: Blob | None = None
    etag: str = ""
    processed: bool = False
    content_path: str = ""
    technical: Json = None
    kind: str = "Asset"
    catalogue_id: str = ""

    @property
    def federated(self) -> bool:
        """Whether its file lies outside."""
        return bool(self.content_path)


@dataclass(slots=True)
class Collection:
    """A flat collection of file ids."""

    id: str
    name: str
    type: str
    owner: str
    members: list[str]
    template: str
    metadata: Json
    security: tuple[str, ...]
    created: int
    updated: int
    updated_by: str

    @property
    def shared(self) -> bool:
        """Whether others see it."""
        return self.type == "secured"


@dataclass(frozen=True, slots=True)
class Link:
    """A directed relation of two records."""

    primary: str
    secondary: str
    kind: str
    created: int

    @property
    def id(self) -> str:
        """Deterministic (wire D 3.4)."""
        return f"{self.primary}-{self.secondary}"


def slug_of(name: str) -> str:
    """The search field made from a name (wire D 5.2)."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "attribute"


def instant(epoch: int | None) -> str | None:
    """RFC 3339 in UTC, milliseconds only if there are any."""
    if epoch is None:
        return None
    text = datetime.fromtimestamp(epoch / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z").replace(".000Z", "Z")


def long_instant(epoch: int) -> str:
    """The same, always with milliseconds."""
    return datetime.fromtimestamp(epoch / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
