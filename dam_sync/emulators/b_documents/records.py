"""The records of a server: documents, blobs, rights, people. No HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeAlias

from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.object_store import Blob

Props: TypeAlias = dict[str, Json]
"""By full name (`dc:title`). Dates are texts in UTC with milliseconds; blobs are `FileBlob`; complex ones are dicts."""


class Refusal(Exception):
    """The service refuses: a status, a message, and a JSON body or header where there is a special one."""

    def __init__(self, status: int, message: str = "", *, body: Json = None, empty: bool = False) -> None:
        super().__init__(message)
        self.status, self.message, self.body, self.empty = status, message, body, empty


@dataclass(frozen=True, slots=True)
class FileBlob:
    """A stored file as a property holds it. known: from when on its digest is known, as epoch seconds."""

    name: str
    media_type: str
    blob: Blob
    encoding: str | None = None
    known: float = 0.0


@dataclass(frozen=True, slots=True)
class Ace:
    """One entry of a local ACL; begin and end as texts of timestamps."""

    username: str
    permission: str
    granted: bool = True
    creator: str | None = None
    begin: str | None = None
    end: str | None = None

    @property
    def id(self) -> str:
        """`user:permission:granted:creator:begin:end`, the dates as epoch milliseconds or empty."""
        begin, end = (str(epoch_ms(each)) if each else "" for each in (self.begin, self.end))
        granted = "true" if self.granted else "false"
        return f"{self.username}:{self.permission}:{granted}:{self.creator or ''}:{begin}:{end}"

    def status(self, now: str) -> str:
        """`pending`, `effective` or `archived` at that instant."""
        if self.begin and now < self.begin:
            return "pending"
        return "archived" if self.end and now > self.end else "effective"


@dataclass(slots=True, eq=False)
class Document:
    """One document, version or proxy. `parent` is empty for the root, versions and unplaced ones.

    live: the id of the live document, for versions and proxies. target: what a proxy points to. `acls`: local entries
    by the list's name. lock: (owner, since).
    """

    uid: str
    type: str
    name: str
    parent: str
    props: Props
    state: str = "project"
    facets: set[str] = field(default_factory=set)
    acls: dict[str, list[Ace]] = field(default_factory=dict)
    system: int = 0
    changes: int = 0
    trashed: bool = False
    lock: tuple[str, str] | None = None
    checked_out: bool = True
    is_version: bool = False
    is_proxy: bool = False
    live: str = ""
    target: str = ""
    major: int = 0
    minor: int = 0
    version_created: str = ""
    version_description: str = ""
    position: int = 0
    catalogue_id: str = ""

    @property
    def token(self) -> str:
        """The change token, system part first."""
        return f"{self.system}-{self.changes}"

    @property
    def title(self) -> str:
        """What people read."""
        return str(self.props.get("dc:title") or self.name)

    @property
    def label(self) -> str:
        """The version label, empty before the first check-in."""
        return f"{self.major}.{self.minor}" if self.major or self.minor else ""

    @property
    def file(self) -> FileBlob | None:
        """The main file."""
        found = self.props.get("file:content")
        return found if isinstance(found, FileBlob) else None

    def copy(self) -> Document:
        """The same again; property values are never changed in place, so they may be shared."""
        return Document(
            self.uid, self.type, self.name, self.parent, dict(self.props), self.state, set(self.facets),
            {name: list(aces) for name, aces in self.acls.items()}, self.system, self.changes, self.trashed, self.lock,
            self.checked_out, self.is_version, self.is_proxy, self.live, self.target, self.major, self.minor,
            self.version_created, self.version_description, self.position, self.catalogue_id,
        )  # fmt: skip


@dataclass(slots=True)
class User:
    """Somebody who may call."""

    name: str
    password: str
    groups: list[str] = field(default_factory=list)
    properties: Mapping[str, Json] = field(default_factory=dict)

    @property
    def administrator(self) -> bool:
        """Whether every right is theirs."""
        return "administrators" in self.groups

    @property
    def principals(self) -> frozenset[str]:
        """Every name by which a right may be granted to them."""
        return frozenset({self.name, "Everyone", *self.groups})


@dataclass(slots=True)
class Group:
    """A group of users."""

    name: str
    label: str
    groups: list[str] = field(default_factory=list)


def instant(moment: datetime) -> str:
    """ISO in UTC with milliseconds, the only form of a date here."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}Z".rjust(24, "0")


def moment_of(text: str) -> datetime:
    """An aware timestamp from any ISO form; no offset is read as UTC. Raises ValueError."""
    moment = datetime.fromisoformat(text.strip().replace(" ", "T"))
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def epoch_ms(text: str) -> int:
    """Epoch milliseconds of a timestamp's text."""
    return round(moment_of(text).timestamp() * 1000)
