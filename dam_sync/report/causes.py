"""What a cause by which assets are parked means, in a sentence."""

from __future__ import annotations

SENTENCES = (
    ("exposure ", "more people would see the asset at the target than at the source"),
    ("mapping ", "a value of the asset does not fit the target, and no line of the mapping says what to do with it"),
    ("keeps failing", "a call about this asset failed again and again, though others got through"),
    ("gone", "the asset vanished between its listing and its turn"),
    ("removed by the service", "the target removed the asset as a duplicate of another"),
    ("conflict", "somebody else changed at the target what this run was about to change"),
    ("Conflict", "the target holds something that stands in the way, such as a file of the same name"),
    ("InvalidValue", "the target does not take a value of the asset"),
    ("TooLarge", "the file is larger than the target takes"),
    ("NotFound", "something that the asset needs is not there any more"),
    ("Unsupported", "the target cannot hold what the asset needs"),
    ("Uncertain", "a write was begun and its outcome is not known; look at the target before it is tried again"),
    ("IntegrityError", "bytes that arrived are not those that the source announced"),
    ("TruncatedListing", "a listing about this asset lacks rows"),
    ("SessionGone", "the service ended the upload again and again"),
    ("length", "a file is shorter or longer than the source announced"),
    ("digest", "a file is not the one that the source announced"),
    ("membership refused", "the asset was moved, and the target refused to put it into a container"),
    ("relation refused", "the asset was moved, and the target refused a relation of it"),
    ("Rejected", "a service refused a call about this asset"),
)


def sentence(cause: str) -> str:
    """The meaning of a cause; empty for one that says it all by itself."""
    return next((text for begin, text in SENTENCES if cause.startswith(begin)), "")
