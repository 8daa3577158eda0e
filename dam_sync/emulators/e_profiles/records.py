"""What an emulated tenant of service E keeps. Records never change: a change makes a new one, so that the search index
can go on showing the old one until its lag is over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dam_sync.emulators.kit.object_store import Blob

NOTHING: frozenset[str] = frozenset()


class Refusal(Exception):
    """The service refuses: status, code and words for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass(frozen=True, slots=True)
class Version:
    """One stored file of an asset; `uploaded` in epoch seconds."""

    id: str
    number: int
    filename: str
    blob: Blob
    uploaded: int


@dataclass(frozen=True, slots=True)
class Attachment:
    """A document attached to an asset."""

    id: str
    title: str
    blob: Blob


@dataclass(frozen=True, slots=True)
class Asset:
    """One asset; timestamps in epoch seconds; versions oldest first, never empty; categories and collections by id.

    ready: when its processing is over. conflicted: it sits in the queue of conflicted uploads, invisible to search.
    """

    id: str
    external_id: str
    type: str
    fields: Mapping[str, tuple[str, ...]]
    versions: tuple[Version, ...]
    created: int
    updated: int
    groups: tuple[str, ...] = ()
    release: int | None = None
    expiration: int | None = None
    deleted: int | None = None
    archived: bool = False
    conflicted: bool = False
    tags: tuple[str, ...] = ()
    ai_tags: tuple[str, ...] = ()
    categories: frozenset[str] = NOTHING
    collections: frozenset[str] = NOTHING
    attachments: tuple[Attachment, ...] = ()
    ready: float = 0.0
    preview: bool = False
    catalogue_id: str = ""

    @property
    def current(self) -> Version:
        """The version that counts."""
        return self.versions[-1]

    @property
    def filename(self) -> str:
        """The current version's."""
        return self.versions[-1].filename


@dataclass(slots=True)
class WordList:
    """The ordered values of a controlled field."""

    values: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)

    def add(self, value: str, index: int | None = None) -> None:
        """Insert a new value, at the end by default."""
        self.values.insert(len(self.values) if index is None else index, value)
        self.known.add(value)

    def drop(self, value: str) -> None:
        """Take a value out."""
        self.values.remove(value)
        self.known.discard(value)


@dataclass(slots=True)
class Field:
    """A metadata field: display key, display name, field type (`text_short`, `selection_list`, …)."""

    id: str
    key: str
    label: str
    field_type: str
    types: tuple[str, ...]
    required: bool = False
    editable: bool = True
    words: WordList | None = None

    @property
    def multiple(self) -> bool:
        """Whether it holds several values."""
        return self.field_type in ("selection_list_multi", "checkboxes")


@dataclass(slots=True)
class MetadataType:
    """A field set: its display keys in order."""

    id: str
    name: str
    keys: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Profile:
    """An upload profile: what an upload gets without asking. Times in epoch seconds. immediate: released with the
    upload, where there is no date of release; otherwise not at all."""

    id: str
    name: str
    type: str
    groups: tuple[str, ...]
    version_policy: str
    release: int | None = None
    expiration: int | None = None
    defaults: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    categories: frozenset[str] = NOTHING
    collections: frozenset[str] = NOTHING
    archive: bool = False
    immediate: bool = True


ALL_SIGHT = frozenset({"expired", "unreleased", "archived", "deleted"})
ALL_ORDERS = frozenset({"active", "expired", "unreleased"})


@dataclass(frozen=True, slots=True)
class User:
    """Somebody with a token. groups: asset groups, None for all. sees: kinds of asset beyond the active ones. orders:
    kinds of asset whose original may be downloaded; original: whether the original format is offered at all."""

    id: str
    name: str
    groups: frozenset[str] | None = None
    sees: frozenset[str] = ALL_SIGHT
    orders: frozenset[str] = ALL_ORDERS
    original: bool = True

    @property
    def all_seeing(self) -> bool:
        """Whether nothing is hidden from this user."""
        return self.groups is None and self.sees == ALL_SIGHT

    def may_see(self, asset: Asset, now: int) -> bool:
        """Whether the asset exists for this user; one without any security value exists for nobody (spec 002, States,
        E), and one without a group for those who have all groups."""
        if not (asset.groups or asset.release is not None or asset.expiration is not None):
            return False
        if not (self.groups is None or self.groups.intersection(asset.groups)):
            return False
        return self.all_seeing or self._sees_state(asset, now)

    def may_download(self, asset: Asset, now: int) -> bool:
        """Whether the asset carries a download link for this user; one in the trash has none (wire E 4, 12.7)."""
        if asset.deleted is not None:
            return False
        state = "unreleased" if not released(asset, now) else "expired" if expired(asset, now) else "active"
        return self.original and state in self.orders and self.may_see(asset, now)

    def _sees_state(self, asset: Asset, now: int) -> bool:
        hidden = (
            ("deleted", asset.deleted is not None),
            ("archived", asset.archived),
            ("unreleased", not released(asset, now)),
            ("expired", expired(asset, now)),
        )
        return all(name in self.sees for name, is_so in hidden if is_so)


def released(asset: Asset, now: int) -> bool:
    """Whether its release date has come."""
    return asset.release is not None and asset.release <= now


def expired(asset: Asset, now: int) -> bool:
    """Whether its expiration date has passed."""
    return asset.expiration is not None and asset.expiration <= now


def instant(epoch: int | None) -> str | None:
    """UTC, second precision, literal Z (wire E 1.5)."""
    if epoch is None:
        return None
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def epoch_of(text: object) -> int | None:
    """Epoch seconds of an ISO timestamp or date, None for none. Raises ValueError or TypeError."""
    if text is None or text == "":
        return None
    if not isinstance(text, str):
        raise TypeError("an instant is a string")
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
