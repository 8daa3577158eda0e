"""What tells one version of a stored file from another, as whoever gives its bytes says it (RFC 9110, 8.8)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Sameness(Enum):
    """Whether two responses are of one version of a file."""

    SAME = "same"
    OTHER = "other"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Validator:
    """The validators of a response; all empty if it has none.

    tag: a strong entity tag, or whatever else changes with every byte. weak: an entity tag that may stay the same for
    other bytes, so that it shows a difference only. modified: the date of the last change; dated: whether it is a
    strong validator, because the response was made later than that second.
    """

    tag: str = ""
    weak: str = ""
    modified: str = ""
    dated: bool = False

    @property
    def is_strong(self) -> bool:
        """Whether a later response can be recognized as one of the same version."""
        return bool(self.tag or self._by_date)

    @property
    def if_range(self) -> str:
        """What `If-Range` may say (RFC 9110, 13.1.5); empty for what it may not: weak tags, uncertain dates, and tags
        without quotes, which are read as dates."""
        if self.tag:
            return self.tag if self.tag.startswith('"') else ""
        return self.modified if self._by_date else ""

    @property
    def key(self) -> tuple[str, str]:
        """What is the same for the same version only; both empty unless strong."""
        return (self.tag, "") if self.tag else ("", self.modified if self._by_date else "")

    @property
    def _by_date(self) -> bool:
        return bool(self.modified) and self.dated and not self.weak

    def compare(self, other: Validator) -> Sameness:
        """Whether a response with the other validators is of the same version. Unknown unless a strong validator says
        so: sizes and weak validators agree for many files."""
        if self.tag and other.tag:
            return Sameness.SAME if self.tag == other.tag else Sameness.OTHER
        if self.modified and other.modified and self.modified != other.modified:
            return Sameness.OTHER
        if self.weak and other.weak and self.weak != other.weak:
            return Sameness.OTHER
        by_date = self._by_date and self.modified == other.modified and not (other.tag or other.weak)
        return Sameness.SAME if by_date else Sameness.UNKNOWN


NO_VALIDATOR = Validator()
