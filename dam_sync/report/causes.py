"""What each cause of parking means, in a sentence."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dam_sync.model.exposure import EXPOSURE, REFUSED, meaning_of
from dam_sync.model.wording import counted
from dam_sync.report.loss_words import parts_in_words

GONE_WHILE_NEW = "the asset is gone from the target: the service removed it as a duplicate, or somebody deleted it"
MAPPING = "mapping "
SENTENCES = (
    ("mapping select.where", "the condition of `select` cannot be decided for the asset"),
    ("waves select.where", "the condition of a wave cannot be decided for the asset"),
    ("keeps failing", "calls for this asset failed again and again while others succeeded"),
    ("gone within the time", GONE_WHILE_NEW),
    ("gone", "the asset disappeared from the source after it was listed, or from the target"),
    ("upload queued", "the target keeps the upload in a queue until a person decides about it, and shows it to nobody"),
    ("removed by the service", GONE_WHILE_NEW),  # as earlier releases said it
    ("conflict", "a value changed at both services, and neither a person nor the policy decided which one stands"),
    ("Conflict", "the asset conflicts with something at the target, such as a file of the same name"),
    ("InvalidValue", "the target does not accept a value of the asset"),
    ("TooLarge", "the file is larger than the target accepts"),
    ("NotFound", "something that the asset needs does not exist, or this user may not see it"),
    ("Unsupported", "the target cannot store what the asset needs"),
    ("Uncertain", "a write was started and its outcome is unknown; check the target before you retry"),
    ("IntegrityError", "the bytes that arrived are not those that the source announced"),
    ("replaced", "a file was replaced at the source each time while it was read"),
    ("unknown version", "the service does not say which version of a file it sends, and sends it in pieces"),
    ("TruncatedListing", "a listing for this asset lacks rows"),
    ("SessionGone", "the service ended the upload repeatedly"),
    ("length", "a file is shorter or longer than the source announced"),
    ("digest", "the content of a file is not what the source announced"),
    ("membership refused", "the asset was moved, and the target refused to put it into a container"),
    ("relation refused", "the asset was moved, and the target refused one of its relations"),
    ("Rejected", "a service refused a call about this asset"),
)
OF_MAPPING = {
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
"""Of each rule of a field for which an asset is parked."""

CALLED = {
    "Conflict": "in conflict at the target",
    "ContractBroken": "undocumented response",
    "Denied": "access denied",
    "FileReplaced": "file replaced while it is read",
    "IntegrityError": "bytes do not match",
    "InvalidValue": "value not accepted",
    "NotFound": "not found",
    "OtherVersion": "another version of the file",
    "Rejected": "refused",
    "SessionGone": "upload ended by the service",
    "Throttled": "rate limit",
    "TooLarge": "file too large",
    "Transient": "no usable response",
    "TruncatedListing": "listing without all rows",
    "Uncertain": "outcome unknown",
    "Unsupported": "not possible at the target",
}
"""What causes are called that have only the name of an error."""


def cause_in_words(cause: str) -> str:
    """A cause as people read it: the name of an error in words. The words are the cause in options, too."""
    head, colon, name = cause.rpartition(": ")
    return f"{head}{colon}{CALLED.get(name, name)}"


def cause_of(words: str, causes: Collection[str]) -> str:
    """The cause among these that is called so; otherwise what was given."""
    return next((cause for cause in causes if words == cause_in_words(cause)), words)


def sentence(cause: str) -> str:
    """The meaning of a cause; empty if it explains itself."""
    if cause.startswith(f"{EXPOSURE}: "):
        rules = cause.removeprefix(f"{EXPOSURE}: ").split(", ")
        return f"more people would see the asset: {'; '.join(meaning_of(rule, REFUSED) for rule in rules)}"
    if (found := mapping_cause(cause)) is not None:
        return mapping_sentence(*found)
    return next((text for begin, text in SENTENCES if cause.startswith(begin)), "")


def why_parked(row: Mapping[str, Any]) -> str:
    """The meaning of a row of parked assets of a report; that of an older release has none."""
    return row.get("text") or sentence(row["cause"])


def mapping_cause(cause: str) -> tuple[str, str] | None:
    """The place in the mapping and the rule, of a cause that says that a line of the mapping parks the asset."""
    place, colon, rule = cause.removeprefix(MAPPING).rpartition(": ")
    return (place, rule) if cause.startswith(MAPPING) and colon else None


def mapping_sentence(place: str, rule: str, said: str = "", most: int | None = None) -> str:
    """Why a line of the mapping parks: `technique is longer than 40 characters, and the mapping says `on_cut: park``.
    said: what the mapping says; most: characters that are allowed; both as far as they are known."""
    part = parts_in_words(place.removesuffix(".when") if rule == "when" else place)
    allowed = counted(most, "character") if most is not None else "the target or the mapping allows"
    words = OF_MAPPING.get(rule, "{part} has a value that `{rule}` cannot convert")
    text = words.replace("{rule}", rule).replace("{most}", allowed).replace("{part}", part)
    return f"{text}, and the mapping says `{said}`" if said else text
