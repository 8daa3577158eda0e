"""The rules of losses that dam-sync itself names, with what each means.

`Loss.rule` is one of these, the name of a transform of the mapping, or what a connector says of its service. The values
are stored and reported, so their spelling must not change.
"""

from __future__ import annotations

from enum import StrEnum


class LossRule(StrEnum):
    """Why a value is not carried as it is. words: what it means to somebody who has not read the mapping file."""

    words: str

    def __new__(cls, text: str, words: str = "") -> LossRule:
        """The value is the text alone; without words it explains itself."""
        member = str.__new__(cls, text)
        member._value_ = text
        member.words = words or text
        return member

    # what no line of the mapping carries
    NOT_MAPPED = "not mapped", "no line of the mapping reads it"
    NOT_USED = "not used", "its line of the mapping took another value, or it lacks the part that is read"
    NOT_HELD = "target cannot hold", "the target has no place for it"
    OTHER_LANGUAGE = "language not carried", "its line of the mapping carries another language"
    OTHER_TYPE = "not in this type", "the type that the asset gets at the target has no such field"
    CONDITION = "only in conditions", "only conditions of the mapping read it"
    IGNORED = "ignored by the mapping", "the mapping names it under `ignore`"
    QUIET = "unmapped: ignore", "no line of the mapping reads it, and it says `unmapped: ignore`"
    # what a line of the mapping cannot give as it is
    REQUIRED = "required"
    CEL = "cel"
    WHEN = "when", "the condition (`when`) of its line does not hold"
    LENGTH = "too long"
    CLOSED = "not in the list", "the list of the target has no such value"
    KIND = "wrong kind"
    SEVERAL = "several values", "the target takes one value"
    LANGUAGE = "language"
    TRIMMED = "whitespace trimmed"
    AVOIDED = (
        "characters that the target avoids",
        "the target avoids some characters of it, so that the asset gets another",
    )
    ROUNDED = "rounded"
    FOLDED = "differs from another in case alone"
    FLATTENED = "flattened", "levels are joined, because the target has fewer of them"
    NO_DAY = "no day in the date", "it names no day, so that the first one of its month or year is written"
    DAYS_ONLY = "days only", "the time of day is lost, because the target stores days"
    # what the target does not take, or does not change
    NAME_TAKEN = "name taken", "another asset of the target has the name, so that this one gets another"
    NO_FILE = "no file", "the target gives a name only to files, and the asset has none"
    FIXED = "fixed", "the target cannot change it once the asset exists"
    BEHIND = (
        "behind the current one",
        "it came before a version that was moved, and the target adds new versions last",
    )
    SAME_PATH = "same path", "another one of the source has the same path, so that both become one"
    CURRENT_ONLY = "policy versions: current", "the job moves current files only"
    NOT_COUNTED = "not counted", "the service was not asked how many there are, or has no such list"
    STAYS = "left the source, stays at the target"
    KEEPS_NAME = "renamed at the source, keeps its name"
    CREATED_AGAIN = "created again, because it could not be taken out of the trash of the target"
    CHANGED_AT_TARGET = "changed at the target"
    NOT_REPAIRED = "not repaired"
    LISTED_TERMS = "in lists of the target"


ON_PURPOSE = frozenset({LossRule.IGNORED, LossRule.QUIET, LossRule.WHEN})
"""Rules of values that the mapping file leaves out because somebody wrote it so."""
