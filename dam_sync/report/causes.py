"""What each cause of parking means, in a sentence."""

from __future__ import annotations

from collections.abc import Collection

GONE_WHILE_NEW = "the asset is gone from the target: the service removed it as a duplicate, or somebody deleted it"
SENTENCES = (
    ("exposure ", "more people would see the asset at the target than at the source"),
    ("mapping ", "a value of the asset does not fit the target, and no line of the mapping says what to do with it"),
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
    return next((text for begin, text in SENTENCES if cause.startswith(begin)), "")
