"""The record of one write to a target, collected while it is made, for its row in the ledger."""

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
    """One write. The engine adds what it changes, the store claims it for the journal entry of the write, the HTTP
    layer counts the calls, and a service may add the version that the target returned.

    target: the id at the target. changes: key -> [value before, value after]; null if there is none, or if it is
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
        """Claim this record for a journal entry: the first one gets it, so that entries inside it have none."""
        self.step = self.step or step
        return self.step == step


@contextmanager
def recording(record: WriteRecord) -> Iterator[WriteRecord]:
    """Calls made inside, including those of tasks started inside, belong to this write."""
    token = _CURRENT.set(record)
    try:
        yield record
    finally:
        _CURRENT.reset(token)


def current_record() -> WriteRecord | None:
    """The write in progress; None outside of one."""
    return _CURRENT.get()


def count_call(operation: str) -> None:
    """Count an API call for the write in progress, if any."""
    record = _CURRENT.get()
    if record is not None:
        record.calls[operation] += 1


def note_target(target: str) -> None:
    """Record the id that this write created, if the result of its journal entry is more than an id."""
    record = _CURRENT.get()
    if record is not None:
        record.target = target


def note_version(version: str) -> None:
    """Record the version, revision or change token that the target returned for the write in progress."""
    record = _CURRENT.get()
    if record is not None and version:
        record.version = version
