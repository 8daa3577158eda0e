"""What a library can hold, as words: the rows of the capability table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Feature(StrEnum):
    """One thing a library may hold; the value is what people read."""

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
    """How a feature is held: empty = not at all, `yes`, or how in a few words (`one for each asset`).

    read: as a source. write: as a target. why: the reason for what is not held, where there is one to tell.
    """

    read: str = ""
    write: str = ""
    why: str = ""


YES = Support("yes", "yes")
"""Read and written without reserve."""
