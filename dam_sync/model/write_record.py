"""What one write to a target did, collected while it is made, for its row in the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from dam_sync.model.values import Json

_CURRENT: ContextVar[WriteRecord | None] = ContextVar("write_record", default=None)


@dataclass(slots=True)
class WriteRecord:
    """One write. The engine says what it changes, the store claims it for the step that makes the write, the HTTP layer
    counts the calls, and a service may add the version that the target returned.

    target: the id at the target. changes: key -> [value before, value after]; null where there is none, or where it is
    not known without another call. calls: API calls by endpoint. digest: `algorithm:value`. size: bytes sent.
    """

    target: str = ""
    changes: Mapping[str, Json] = field(default_factory=dict)
    digest: str = ""
    size: int | None = None
    version: str = ""
    calls: Counter[str] = field(default_factory=Counter)
    step: str = ""

    def claimed_by(self, step: str) -> bool:
        """Whether this record belongs to a step: the first that asks, so that steps inside it have none."""
        self.step = self.step or step
        return self.step == step


@contextmanager
def recording(record: WriteRecord) -> Iterator[WriteRecord]:
    """The calls made inside, also by tasks begun inside, belong to this write."""
    token = _CURRENT.set(record)
    try:
        yield record
    finally:
        _CURRENT.reset(token)


def current_record() -> WriteRecord | None:
    """The write that is being made here; None outside of one."""
    return _CURRENT.get()


def count_call(operation: str) -> None:
    """One API call of the write that is being made here, if any."""
    record = _CURRENT.get()
    if record is not None:
        record.calls[operation] += 1


def note_target(target: str) -> None:
    """The id of what this write made, where the result of its step is more than an id."""
    record = _CURRENT.get()
    if record is not None:
        record.target = target


def note_version(version: str) -> None:
    """The version, revision or change token that the target returned for the write that is being made here."""
    record = _CURRENT.get()
    if record is not None and version:
        record.version = version
