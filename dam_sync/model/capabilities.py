"""What a service can do: one object, used by the engine, the reference tables and the conformance suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from dam_sync.model.costs import Costs
from dam_sync.model.limits import Limits


class Operation(StrEnum):
    """A method of `Service` that a service may leave out, by its name."""

    FIND = "find"
    MEMBERS = "members"
    COUNTS = "counts"
    TERMS = "terms"
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    RESTORE_VERSION = "restore_version"
    REMOVE = "remove"
    RESTORE = "restore"
    CONTAINERS = "containers"
    ENSURE_TERM = "ensure_term"
    ENSURE_CONTAINER = "ensure_container"
    RENAME_TERM = "rename_term"
    RENAME_CONTAINER = "rename_container"
    PLACE = "place"
    ATTACH = "attach"
    DETACH = "detach"
    RELATE = "relate"
    UNRELATE = "unrelate"
    PUBLIC_LINKS = "public_links"
    DOWNLOAD_LINK = "download_link"
    SUBSCRIBE = "subscribe"


class Feature(StrEnum):
    """What a library may hold; the value is the text of the reference tables."""

    FILELESS = "assets without a file"
    VERSIONS = "file versions"
    ATTACHMENTS = "attachments"
    DIGESTS = "checksums of files"
    TEXT = "text fields"
    LONG_TEXT = "long text fields"
    HTML = "formatted text fields"
    NUMBER = "number fields"
    FLAG = "yes/no fields"
    DATE = "date fields"
    INSTANT = "date-time fields"
    TERM = "vocabulary fields"
    PLACE = "places"
    PERSON = "persons"
    EMAIL = "e-mail fields"
    URL = "link fields"
    ROWS = "field sets"
    MULTIPLE = "several values in a field"
    LOCALIZED = "fields in several languages"
    TERMS = "vocabulary terms"
    HIERARCHY = "vocabulary hierarchy"
    TERM_LOCALES = "terms in several languages"
    SYNONYMS = "synonyms of terms"
    FOLDER = "folders"
    CATEGORY = "categories"
    COLLECTION = "collections"
    SECTION = "sections"
    LABEL = "labels"
    TAGS = "tags"
    MACHINE_TAGS = "machine tags"
    STATUS = "status"
    RELEASE = "release date"
    EXPIRY = "expiry date"
    GROUPS = "access groups"
    RESTRICTIONS = "other restrictions of access"
    RELATIONS = "relations"
    CREATED = "creation date"
    LINKS = "public links"
    TRASH = "the trash"
    FILENAME = "changed file names"
    SAME_NAMES = "several assets with one file name"
    CLOSED = "assets hidden from ordinary users"
    TIME_OF_DAY = "time of day of release and expiry"
    CYCLES = "relations that lead back to their beginning"
    OUTER_WHITESPACE = "whitespace at the ends of texts"
    RENAMED_TERMS = "renamed terms"
    RENAMED_CONTAINERS = "renamed containers"
    MOVED_CONTAINERS = "containers moved to another parent"


@dataclass(frozen=True, slots=True)
class Support:
    """How a feature is supported as a source (`read`) and as a target (`write`): empty = not at all, `yes`, or a few
    words. why: the reason for what is not supported, if there is one to give."""

    read: str = ""
    write: str = ""
    why: str = ""


YES = Support("yes", "yes")
"""Read and written without restriction."""

PARTS = frozenset(
    {
        Feature.TAGS,
        Feature.STATUS,
        Feature.RELEASE,
        Feature.EXPIRY,
        Feature.GROUPS,
        Feature.RESTRICTIONS,
        Feature.VERSIONS,
        Feature.ATTACHMENTS,
        Feature.RELATIONS,
        Feature.CREATED,
        Feature.FILENAME,
    }
)
"""Parts of an asset besides fields and containers that a mapping writes only where the target can be given them."""
LIMITED = Limits()  # nothing documented


class MembershipWrite(StrEnum):
    """When an asset is added to containers of one kind."""

    WITH_ASSET = "by `create` and `update`"
    AT_CREATION = "by `create`; it stays there"
    IN_BULK = "by `place`, once all assets exist"


@dataclass(frozen=True, slots=True)
class LinkAccess:
    """Who can open the public links of a service. login: nobody without a login, and then those who see the asset;
    dates: nobody after the expiry of the asset. Without both: whoever has the link."""

    login: bool = False
    dates: bool = False


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a service can do, or one connection to it; a connection can never do more than its service.

    operations: the optional methods that can be called. features: what can be read and written; what is absent is
    neither read nor written. limits: numeric limits. memberships: how assets get into containers, by kind;
    kinds that are absent are filled by `place` if the service has it, otherwise by `create` and `update`.
    members_by_asset: `members_of` costs less than reading all memberships. renames,
    moves: the kinds of containers that `rename_container` renames, and moves to another parent. batch: assets that the
    engine writes at once, so that their calls can be shared; each keeps its own journal and outcome. fetches: the
    target fetches the file of a new asset from a URL itself, which must stay reachable for this long; None if it does
    not. links: who can open what `public_links` returns. costs: the API calls of writes and of opening files, by their
    parts; None if the service does not state them, so that plans leave its calls out.
    """

    operations: frozenset[Operation] = frozenset()
    features: Mapping[Feature, Support] = field(default_factory=dict)
    limits: Limits = LIMITED
    memberships: Mapping[str, MembershipWrite] = field(default_factory=dict)
    members_by_asset: bool = False
    renames: frozenset[str] = frozenset()
    moves: frozenset[str] = frozenset()
    batch: int = 1
    fetches: timedelta | None = None
    links: LinkAccess = LinkAccess()
    costs: Costs | None = None

    @property
    def writers(self) -> int:
        """Assets written at once: as many as may call, or as many as share calls."""
        return max(self.limits.pace.most, self.batch)

    def __contains__(self, operation: Operation) -> bool:
        """Whether this optional method can be called."""
        return operation in self.operations

    def reads(self, feature: Feature) -> bool:
        """Whether a source returns this."""
        return feature in self.features and bool(self.features[feature].read)

    def writes(self, feature: Feature) -> bool:
        """Whether a target can store this."""
        return feature in self.features and bool(self.features[feature].write)

    @property
    def parts(self) -> frozenset[str]:
        """The parts of an asset, see `PARTS`, that a target can store; others become named losses."""
        return frozenset(part.name.lower() for part in PARTS if self.writes(part))

    def membership(self, kind: str) -> MembershipWrite:
        """How an asset gets into containers of this kind."""
        usual = MembershipWrite.IN_BULK if Operation.PLACE in self else MembershipWrite.WITH_ASSET
        return self.memberships.get(kind, usual)

    @property
    def irreversible(self) -> Mapping[str, tuple[str, ...]]:
        """What nothing takes back at this target, by the kind of write (see `journal_names.kind_of`)."""
        fixed = sorted(kind for kind, how in self.memberships.items() if how is MembershipWrite.AT_CREATION)
        found = (
            (
                "create",
                Operation.REMOVE not in self,
                "a created asset cannot be moved to the trash: the target has none",
            ),
            ("create", not self.writes(Feature.FILENAME), "a created asset keeps its file name: it cannot be renamed"),
            ("create", bool(fixed), f"a created asset stays where it was created ({', '.join(fixed)})"),
            ("version", True, "an added file version cannot be removed"),
            ("term", True, "a created term stays in its vocabulary"),
            ("container", True, "a created container stays, also without assets"),
            ("attach", Operation.DETACH not in self, "an added attachment cannot be removed"),
            ("detach", True, "a removed attachment is not put back"),
            ("relate", Operation.UNRELATE not in self, "a written relation cannot be removed"),
            ("remove", Operation.RESTORE not in self, "an asset in the trash of the target cannot be taken out of it"),
        )
        made: dict[str, tuple[str, ...]] = {}
        for kind, holds, text in found:
            if holds:
                made[kind] = (*made.get(kind, ()), text)
        return made

    def without(
        self, *operations: Operation, writes: Iterable[Feature] = (), reads: Iterable[Feature] = ()
    ) -> Capabilities:
        """A copy without these operations, and without the writing or the reading of these features."""
        features = dict(self.features)
        features |= {key: replace(features[key], write="") for key in writes if key in features}
        features |= {key: replace(features[key], read="") for key in reads if key in features}
        return replace(self, operations=self.operations.difference(operations), features=features)
