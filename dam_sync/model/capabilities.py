"""What a service can do: one object, asked by the engine, the reference tables and the conformance suite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from dam_sync.model.limits import Limits


class Operation(StrEnum):
    """A method of `Service` that a service may leave out, by its name."""

    FIND = "find"
    MEMBERS = "members"
    TERMS = "terms"
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    REMOVE = "remove"
    CONTAINERS = "containers"
    ENSURE_TERM = "ensure_term"
    ENSURE_CONTAINER = "ensure_container"
    PLACE = "place"
    ATTACH = "attach"
    RELATE = "relate"
    FORECAST = "forecast"


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
    RELATIONS = "relations"
    CREATED = "creation date"
    LINKS = "public links"
    TRASH = "the trash"


@dataclass(frozen=True, slots=True)
class Support:
    """How a feature is supported as a source (`read`) and as a target (`write`): empty = not at all, `yes`, or a few
    words. why: the reason for what is not supported, where there is one to give."""

    read: str = ""
    write: str = ""
    why: str = ""


YES = Support("yes", "yes")
"""Read and written without restriction."""

LIMITED = Limits()  # nothing documented


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a service can do, or one connection to it; a connection never can do more than its service.

    operations: the optional methods that can be called. features: what can be read and written; what is absent is
    neither read nor written. limits: the numbers within which.
    """

    operations: frozenset[Operation] = frozenset()
    features: Mapping[Feature, Support] = field(default_factory=dict)
    limits: Limits = LIMITED

    def __contains__(self, operation: Operation) -> bool:
        """Whether this optional method can be called."""
        return operation in self.operations

    def reads(self, feature: Feature) -> bool:
        """Whether a source gives this out."""
        return feature in self.features and bool(self.features[feature].read)

    def writes(self, feature: Feature) -> bool:
        """Whether a target can be given this."""
        return feature in self.features and bool(self.features[feature].write)

    def without(self, *operations: Operation, writes: Iterable[Feature] = ()) -> Capabilities:
        """The same less these operations, and less the writing of these features."""
        features = {key: replace(self.features[key], write="") for key in writes if key in self.features}
        return replace(self, operations=self.operations.difference(operations), features={**self.features, **features})
