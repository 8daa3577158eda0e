"""Every reason for which an asset is parked: what it is called, what it means, and what to do about it.

A cause is a type. Its text is what the state keeps, what `errors --cause` takes and what reports say, so the texts must
not change; `park_cause` is the only place that recognises them, those of earlier releases included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

RETRY = "fix what the message names, then run `errors JOB --retry` and `run JOB`"
_FILE = "if it happens again, check the file at the source"
_REPLACED = "a file was replaced at the source while it was read"
_NOBODY_REPLACES = "run the same command again when nobody replaces the file, and the connection holds"
_PERMISSION = "grant the user of the job the permission, or correct the mapping; the next run tries again"
_ANOTHER_MAPPING = "another mapping tries it again"
_MAPPING, _EXPOSURE, _FAILING = "mapping ", "exposure: ", "keeps failing: "


class ParkReason(StrEnum):
    """A reason that needs no data. meaning: in a sentence; to_do: what a person does about it; called: in words, where
    its text is the name of an error."""

    meaning: str
    to_do: str
    called: str

    def __new__(cls, text: str, meaning: str, to_do: str, called: str = "") -> ParkReason:
        """The value is the text alone."""
        member = str.__new__(cls, text)
        member._value_ = text
        member.meaning, member.to_do, member.called = meaning, to_do, called or text
        return member

    SELECT = (
        "mapping select.where",
        "the condition of `select` cannot be decided for the asset",
        f"change the condition in the mapping file; {_ANOTHER_MAPPING}",
    )
    WAVE = (
        "waves select.where",
        "the condition of a wave cannot be decided for the asset",
        "change the condition of the wave in the job file; the next run tries it again",
    )
    CONFLICT = (
        "conflict",
        "a value changed at both services, and neither a person nor the policy decided which one stands",
        "`conflicts JOB` shows both sides and takes a decision",
    )
    GONE = (
        "gone",
        "the asset disappeared from the source after it was listed, or from the target",
        "restore it there, or leave it; then `errors JOB --retry` and run again",
    )
    GONE_WHILE_NEW = (
        "gone within the time in which duplicates are removed",
        "the asset is gone from the target: the service removed it as a duplicate, or somebody deleted it",
        "look at the target for an asset with the same file, and into its trash: the service may have removed this one "
        "as a duplicate, or somebody deleted it. If it is wanted, switch off duplicate detection there where that was "
        'it, then `errors JOB --cause "gone within the time in which duplicates are removed" --retry`',
    )
    UPLOAD_QUEUED = (
        "upload queued",
        "the target keeps the upload in a queue until a person decides about it, and shows it to nobody",
        "take the upload as an asset of its own, or discard it, in the queue of uploads at the target, then "
        '`errors JOB --cause "upload queued" --retry`',
    )
    CHANGED_AT_TARGET = (
        "changed at the target",
        "somebody else changed the asset at the target, so that it is neither removed there nor completed",
        "remove it at the target by hand, or keep it there; to remove it after all, undo the change and "
        '`errors JOB --cause "changed at the target" --retry`',
    )
    STILL_IN_TRASH = (
        "in the trash of the target",
        "the asset was moved to the trash of the target, is at the source again, and cannot be taken out of the trash",
        'take it out of the trash by hand, then `errors JOB --cause "in the trash of the target" --retry`; a retry '
        "while it is still there creates it again as another asset",
    )
    CAME_FROM_TARGET = (
        "came from the target",
        "another job made the asset from one of the target, which is still there: a run would create a second one",
        "`adopt JOB` links both, and later runs keep them in sync (`dam-sync help operations`); to leave such assets "
        "out, exclude them by `select` in the mapping file",
    )
    MEMBERSHIP_REFUSED = (
        "membership refused",
        "the asset was moved, and the target refused to put it into a container",
        _PERMISSION,
    )
    RELATION_REFUSED = (
        "relation refused",
        "the asset was moved, and the target refused one of its relations",
        _PERMISSION,
    )
    REPLACED = ("replaced", _REPLACED, _NOBODY_REPLACES)
    UNKNOWN_VERSION = (
        "unknown version",
        "the service does not say which version of a file it sends, and sends it in pieces",
        _NOBODY_REPLACES,
    )
    LENGTH = ("length", "a file is shorter or longer than the source announced", _FILE)
    DIGEST = ("digest", "the content of a file is not what the source announced", _FILE)
    ENCODING = (
        "content-encoding",
        "a file arrives encoded, and cannot be decoded, or nothing shows in which of both forms it is the file",
        _FILE,
    )
    CONFLICTING = (
        "Conflict",
        "the asset conflicts with something at the target, such as a file of the same name",
        RETRY,
        "in conflict at the target",
    )
    INVALID_VALUE = (
        "InvalidValue",
        "the target does not accept a value of the asset",
        "change the value at the source or its line in the mapping file, then run `errors JOB --retry`",
        "value not accepted",
    )
    TOO_LARGE = ("TooLarge", "the file is larger than the target accepts", RETRY, "file too large")
    NOT_FOUND = (
        "NotFound",
        "something that the asset needs does not exist, or this user may not see it",
        "check that it exists and is visible to this credential, then run `errors JOB --retry` and `run JOB`",
        "not found",
    )
    UNSUPPORTED = ("Unsupported", "the target cannot store what the asset needs", RETRY, "not possible at the target")
    UNCERTAIN = (
        "Uncertain",
        "a write was started and its outcome is unknown; check the target before you retry",
        "look for the asset at the target by name and date, then let the next run try it again: "
        "`errors JOB --cause Uncertain --retry`",
        "outcome unknown",
    )
    INTEGRITY = (
        "IntegrityError",
        "the bytes that arrived are not those that the source announced",
        _FILE,
        "bytes do not match",
    )
    FILE_REPLACED = ("FileReplaced", _REPLACED, _NOBODY_REPLACES, "file replaced while it is read")
    OTHER_VERSION = ("OtherVersion", _REPLACED, _NOBODY_REPLACES, "another version of the file")
    TRUNCATED_LISTING = (
        "TruncatedListing",
        "a listing for this asset lacks rows",
        "run the same command again; if it happens again, the index of the service is incomplete",
        "listing without all rows",
    )
    SESSION_GONE = (
        "SessionGone",
        "the service ended the upload repeatedly",
        "run the same command again; the next run tries it again",
        "upload ended by the service",
    )
    REJECTED = ("Rejected", "a service refused a call about this asset", RETRY, "refused")


OF_MAPPING_RULES: Final[Mapping[str, str]] = {
    "too long": "{part} is longer than {most}",
    "truncate": "{part} is longer than {most}",
    "not in the list": "{part} has a value that is not in the list of the target",
    "vocabulary": "{part} has a value for which the target has no term",
    "lookup": "{part} has a value that is not in the table of its `lookup`",
    "wrong kind": "{part} has a value of another kind than the target accepts",
    "several values": "{part} has several values, and the target accepts one",
    "language": "{part} has no text in a language of the target",
    "required": "{part} has no value, and needs one",
    "cases": "{part} has a value that is none of its `cases`",
    "cel": "the expression (`cel`) of {part} fails",
    "when": "the condition (`when`) of {part} cannot be decided",
    "date": "{part} has a value that is not a date as its line reads them",
    "datetime": "{part} has a value that is not a timestamp as its line reads them",
    "number": "{part} has a value that is not a number",
    "flag": "{part} has a value that is neither yes nor no",
}
"""What a `MappingCause` with this rule means."""


@dataclass(frozen=True, slots=True)
class MappingCause:
    """A line of the mapping parks the asset. place: of the line, as `fields.title`; rule: of `OF_MAPPING_RULES`, or
    the name of a transform."""

    place: str
    rule: str
    meaning = "a line of the mapping file parks assets with such a value"
    to_do = f"change the value at the source or the rule in the mapping file; {_ANOTHER_MAPPING}"

    def __str__(self) -> str:
        return f"{_MAPPING}{self.place}: {self.rule}"


@dataclass(frozen=True, slots=True)
class ExposureCause:
    """More people would see the asset. rules: of `ExposureRule`; one of another release by its name."""

    rules: tuple[str, ...]
    meaning = "more people would see the asset at the target than at the source"
    to_do = "what keeps such assets closed is in the hint, by rule (`dam-sync help exposure`)"

    def __str__(self) -> str:
        return f"{_EXPOSURE}{', '.join(self.rules)}"


@dataclass(frozen=True, slots=True)
class KeepsFailing:
    """Calls for this asset failed again and again for this cause, while others succeeded."""

    cause: ParkCause
    meaning = "calls for this asset failed again and again while others succeeded"
    to_do = "the next runs try it again; after five of them, `errors JOB --retry` does"

    def __str__(self) -> str:
        return f"{_FAILING}{self.cause}"


@dataclass(frozen=True, slots=True)
class OtherCause:
    """What a service or a connector calls it: the code of a refusal, or the name of an error that is not listed here.
    Its message and its hint say the rest."""

    code: str
    meaning = "a service or its connector refuses the asset with a code of its own"
    to_do = "what the message and the hint say"

    def __str__(self) -> str:
        return self.code


ParkCause: TypeAlias = ParkReason | MappingCause | ExposureCause | KeepsFailing | OtherCause
"""Why an asset is parked. Decisions are made on the type and its data; `str` is for people and for the state."""


class SkipReason(StrEnum):
    """Why an asset is left out: the cause of an outcome that is not parked."""

    NOT_SELECTED = "not selected"  # by `select` in the mapping, or of another wave
    DELETED = "deleted"  # in the trash of the source, or gone from it
    GONE = "gone"  # from the source since a webhook named it
    LINKED = "linked"  # before `adopt` looked for its counterpart
    AMBIGUOUS = "ambiguous"  # `adopt` found several counterparts
    NO_COUNTERPART = "no counterpart"  # `adopt` found none


Cause: TypeAlias = ParkCause | SkipReason
_REASONS: Final[Mapping[str, ParkReason]] = {reason.value: reason for reason in ParkReason}
_SKIPPED: Final[Mapping[str, SkipReason]] = {reason.value: reason for reason in SkipReason}
_FORMER: Final[Mapping[str, ParkReason]] = {"removed by the service as a duplicate": ParkReason.GONE_WHILE_NEW}
"""Texts that only earlier releases wrote."""


def park_cause(text: str) -> ParkCause:
    """The cause with this text, as this release or an earlier one wrote it."""
    if (reason := _REASONS.get(text) or _FORMER.get(text)) is not None:
        return reason
    place, colon, rule = text.removeprefix(_MAPPING).rpartition(": ")
    if text.startswith(_MAPPING) and colon:
        return MappingCause(place, rule)
    if text.startswith(_EXPOSURE):
        return ExposureCause(tuple(text.removeprefix(_EXPOSURE).split(", ")))
    if text.startswith(_FAILING):
        return KeepsFailing(park_cause(text.removeprefix(_FAILING)))
    return OtherCause(text)


def cause_of_row(text: str, *, parked: bool) -> Cause | None:
    """The cause of a stored outcome; None if it has none."""
    if not text:
        return None
    return park_cause(text) if parked else _SKIPPED.get(text, OtherCause(text))


def stored_texts(cause: Cause) -> tuple[str, ...]:
    """What the state may call this cause: its text, and those of earlier releases."""
    return (str(cause), *(text for text, reason in _FORMER.items() if reason is cause))


def cause_of_error(code: str, name: str) -> ParkCause:
    """The cause of an error of this class name. code: a `ParkReason` if dam-sync gave it; a text comes from a service,
    and does not count where it reads like a cause of ours."""
    if isinstance(code, ParkReason):
        return code
    given = park_cause(code) if code and code not in _SKIPPED else None
    return given if isinstance(given, OtherCause) else park_cause(name)
