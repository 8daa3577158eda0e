"""What is in the libraries of a job, as data: the result of `inspect`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class Distinct:
    """Different values. exceeded: there are more than `number`, which is then the bound of the counter."""

    number: int = 0
    exceeded: bool = False


@dataclass(frozen=True, slots=True)
class FieldInventory:
    """One field. assets: those that can have it, of which `filled` have a value; counted: both are of the whole
    library, otherwise of the assets that were read. most: values of one asset. longest: characters of the longest text
    or label. languages: assets by language of a text. common: the most frequent values and their assets."""

    key: str
    label: str
    kind: str
    vocabulary: str = ""
    multiple: bool = False
    localized: bool = False
    required: bool = False
    editable: bool = True
    max_length: int | None = None
    types: tuple[str, ...] = ()
    assets: int = 0
    filled: int = 0
    counted: bool = False
    distinct: Distinct = Distinct()
    most: int = 0
    longest: int = 0
    languages: Mapping[str, int] = field(default_factory=dict)
    common: tuple[tuple[str, int], ...] = ()
    samples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TermUse:
    """A term: its path from the root, and how many assets have it, None if that is unknown."""

    path: str
    assets: int | None = None


@dataclass(frozen=True, slots=True)
class NearTerms:
    """Terms below the same parent that may mean the same. why: same label, case, whitespace, punctuation, accents,
    plural or spelling."""

    why: str
    terms: tuple[TermUse, ...]


@dataclass(frozen=True, slots=True)
class VocabularyInventory:
    """One vocabulary. unused: terms that no asset has, the first of `unused_number`, which is None if it is unknown.
    unlisted: values of assets that are not among its terms. spelled: whether spellings were compared; that is left out
    for very large vocabularies. fields: those that hold its terms; without one, no asset can have a term."""

    key: str
    label: str
    fields: tuple[str, ...]
    terms: Distinct
    closed: bool = False
    hierarchical: bool = False
    languages: Mapping[str, int] = field(default_factory=dict)
    unused_number: int | None = None
    unused: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    near: tuple[NearTerms, ...] = ()
    spelled: bool = True
    common: tuple[TermUse, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerInventory:
    """A container: assets directly in it, None if that is unknown."""

    kind: str
    path: str
    assets: int | None = None


@dataclass(frozen=True, slots=True)
class Amount:
    """assets: how many; bytes: of all their files, None if unknown. counted: of the whole library, otherwise of the
    assets that were read."""

    assets: int
    bytes: int | None = None
    counted: bool = False


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """Assets with the same current file."""

    name: str
    size: int | None
    assets: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Assets with equal files. by: `digest`, or `name and size` where the service publishes no digest. compared: files
    with enough known to compare; exceeded: later files were compared only with the first of so many. surplus: files,
    and bytes, beyond the first of each group."""

    by: str
    compared: int = 0
    exceeded: bool = False
    groups: int = 0
    surplus: int = 0
    bytes: int = 0
    examples: tuple[DuplicateGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class Risk:
    """A finding about rights, expiry or what cannot be seen: how many assets, None if unknown, and the first of
    them."""

    what: str
    assets: int | None
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that is not moved; number: how much of it there is, None if no cheap call tells."""

    what: str
    why: str
    where: str
    number: int | None = None


@dataclass(frozen=True, slots=True)
class SideInventory:
    """One library. total: assets by the service's own count; read: those whose values were read; trashed: listed as in
    the trash. reading: how the assets were chosen, as a sentence. whole: all assets were read. by_type, by_status,
    by_year: of the assets. undecided: what is left behind until an option of the job says what becomes of it, with what
    to write. calls: API calls that this took. not_used: parts of the API, with the reason."""

    role: str
    kind: str
    tenant: str
    user: str
    release: str
    reading: str
    whole: bool
    total: int | None
    read: int
    trashed: int
    bytes: int | None
    fields: tuple[FieldInventory, ...]
    vocabularies: tuple[VocabularyInventory, ...]
    containers: tuple[ContainerInventory, ...]
    containers_number: Distinct
    by_type: Mapping[str, Amount]
    by_status: Mapping[str, Amount]
    by_year: Mapping[str, Amount]
    duplicates: Duplicates
    rights: tuple[Risk, ...]
    unseen: tuple[Risk, ...]
    not_moved: tuple[LeftOut, ...]
    notes: tuple[str, ...] = ()
    undecided: tuple[tuple[str, str], ...] = ()
    not_used: tuple[LeftOut, ...] = ()
    calls: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The inventory of a job."""

    job: str
    started: str
    ended: str
    sides: tuple[SideInventory, ...]

    def as_json(self) -> dict[str, Json]:
        """For `--json`."""
        return asdict(self)
