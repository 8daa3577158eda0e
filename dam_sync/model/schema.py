"""What one instance of a service can store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dam_sync.model.asset import Placement
from dam_sync.model.capabilities import Capabilities
from dam_sync.model.name_bounds import LONGEST_NAME
from dam_sync.model.naming import Naming

NOTHING = Capabilities()


class FieldKind(StrEnum):
    """The kinds of field; whether a field takes several values is `Field.multiple`."""

    TEXT = "text"
    LONG_TEXT = "long_text"
    HTML = "html"
    NUMBER = "number"
    FLAG = "flag"
    DATE = "date"
    INSTANT = "instant"
    TERM = "term"  # one of a vocabulary, hierarchical or not; a closed list is a vocabulary that is `closed`
    PERSON = "person"
    PLACE = "place"
    EMAIL = "email"
    URL = "url"
    ROWS = "rows"  # a field set


@dataclass(frozen=True, slots=True)
class Field:
    """One metadata field; `key` never changes, `label` is what people read.

    types: names of the asset types (forms, metadata types) that have it, empty = all. coordinates: a place needs both
    coordinates, an address alone is refused. cells: names of the cells of its rows, empty if any is accepted;
    cell_kinds: their kinds, as far as they are known. `derived` fields follow from the bytes (width, duration) and need
    no field rule. `system` fields are maintained by the service and cannot be written. `accounts`: holds names of the
    service's users, who may have nothing to do with the picture.
    """

    key: str
    kind: FieldKind
    label: str = ""
    multiple: bool = False
    localized: bool = False
    required: bool = False
    editable: bool = True
    indexed: bool = True  # can be searched exactly, so it can hold the marker
    max_length: int | None = None
    vocabulary: str = ""
    types: frozenset[str] = frozenset()
    coordinates: bool = False
    cells: frozenset[str] = frozenset()
    cell_kinds: Mapping[str, FieldKind] = field(default_factory=dict, hash=False)
    system: bool = False
    derived: bool = False
    accounts: bool = False


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A list or tree of terms; `closed`: no term can be added; `least_depth`: the level in the tree from which on terms
    can be values of a field, 1 for all of them. The terms are read by `Service.terms`."""

    key: str
    label: str = ""
    closed: bool = False
    hierarchical: bool = False
    localized: bool = False
    max_length: int | None = None
    synonyms: bool = False  # its terms may have synonyms
    least_depth: int = 1


@dataclass(frozen=True, slots=True)
class AssetType:
    """A form or metadata type; `profile` is the name to use as `Draft.profile` to create an asset of it. groups: who
    sees such an asset until its rights are written, None if that is not known; releases: whether anybody does."""

    name: str
    profile: str = ""
    media: frozenset[str] = frozenset()  # PICTURE, VIDEO, … or empty for any
    groups: frozenset[str] | None = field(default=None, compare=False)
    releases: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class Schema:
    """Fields by key, vocabularies by key, and the closed lists an asset may refer to. `None` lists mean: any text."""

    fields: Mapping[str, Field]
    vocabularies: Mapping[str, Vocabulary] = field(default_factory=dict)
    types: tuple[AssetType, ...] = ()
    closing_types: tuple[AssetType, ...] = ()  # that the service alone uses, for assets that nobody may see at first
    statuses: frozenset[str] | None = None
    groups: frozenset[str] | None = None
    labels: frozenset[str] | None = None
    locales: tuple[str, ...] = ()
    container_kinds: frozenset[str] = (
        frozenset()
    )  # placements that it can store: folder, category, collection, label, …
    container_depth: Mapping[str, int] = field(default_factory=dict)  # maximum levels of a kind; absent: any number
    container_most: Mapping[str, int] = field(default_factory=dict)  # maximum containers of a kind for one asset
    container_default: frozenset[Placement] = frozenset()  # where an asset without a container of that kind is put
    container_staging: frozenset[Placement] = frozenset()  # where an asset may be until its create is complete
    group_staging: frozenset[str] = frozenset()  # groups that alone may see it until then
    status_staging: Mapping[str, frozenset[str]] = field(
        default_factory=dict
    )  # by status: which an asset may have until its create has given it that one; absent: not known
    status_ways: Mapping[tuple[str, str], frozenset[str]] = field(
        default_factory=dict
    )  # by status before and after, in lower case: those that an asset has in between, if that takes several calls
    status_hides: bool = True  # ordinary users see an asset in a visible status only; else a status is a plain value
    always_released: bool = False  # nobody sees an asset without a release date, so each gets one
    relation_kinds: frozenset[str] | None = None  # kinds of relation that it can store; None: any
    held_by: Mapping[str, frozenset[str]] = field(default_factory=dict)  # asset types that have a part; absent: all
    needs: frozenset[str] = frozenset()  # what each asset must have: any of profile, groups
    folds_tags: bool = False  # of tags that differ in case alone, an asset has one
    naming: Naming | None = None  # restrictions of file and container names; None: any name is accepted
    capabilities: Capabilities = NOTHING  # those of the service when it returned this schema; required for a target

    def __post_init__(self) -> None:
        """A field whose key is longer than any name is none: assets lose its values by name. Nor is such a vocabulary:
        its terms would be asked for by its key."""
        for part, keyed in (("fields", self.fields), ("vocabularies", self.vocabularies)):
            if any(len(key) > LONGEST_NAME for key in keyed):
                object.__setattr__(self, part, {key: each for key, each in keyed.items() if len(key) <= LONGEST_NAME})
