"""What a real run asks of its state: how often each operation is called, and all of them for some assets, so that the
same can be asked for any number of assets (see `replayed_state`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Engine

from dam_sync.model.ledger import LedgerRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.values import Json
from dam_sync.model.write_record import WriteRecord
from dam_sync.store.base import from_text
from dam_sync.store.file.threads import Job, WriteRequest
from tests.support.virtual.group_commit_writer import GroupedWriter

RESERVE, INTEND, RECORD = "FilenameRepository.reserve_name", "StoredJournal._intend", "StoredJournal._record"
COMPLETE, DISCARD = "WorkQueue.complete", "StoredJournal.discard"
OF_AN_ASSET: Final = "asset:"


@dataclass(frozen=True, slots=True)
class Call:
    """One call that writes: the operation, and what it was given, by name."""

    operation: str
    given: Mapping[str, Any]

    @classmethod
    def of(cls, job: Job[Any]) -> Call:
        """From the job that an operation hands to the writer."""
        code: Any = job.__code__
        cells = job.__closure__ or ()
        given = {name: cell.cell_contents for name, cell in zip(code.co_freevars, cells, strict=True)}
        return cls(job.__qualname__.partition(".<locals>")[0], given)

    @property
    def asset(self) -> str:
        """The source asset that it is about; empty if there is none, or several."""
        if self.operation == RESERVE:
            return str(self.given["owner"])
        if self.operation == COMPLETE:
            return str(self.given["work"].asset)
        scope = getattr(self.given.get("self"), "_scope", "")
        return scope.removeprefix(OF_AN_ASSET) if scope.startswith(OF_AN_ASSET) else ""


@dataclass(slots=True)
class Calls:
    """numbers: of calls by operation; kept: the calls of some assets."""

    assets: frozenset[str] = frozenset()
    numbers: Counter[str] = field(default_factory=Counter)
    kept: list[Call] = field(default_factory=list)

    def note(self, job: Job[Any]) -> None:
        """Count it, and keep it if it is about one of the assets."""
        self.numbers[job.__qualname__.partition(".<locals>")[0]] += 1
        if self.assets and (call := Call.of(job)).asset in self.assets:
            self.kept.append(call)

    def writer(self) -> Callable[[Engine, Path], GroupedWriter]:
        """A writer that notes what it is asked for."""

        class Noting(GroupedWriter):
            def _submit(writer, job: Job[Any]) -> WriteRequest:  # noqa: N805 -- self are the calls
                self.note(job)
                return super()._submit(job)

        return Noting

    def script_of(self, asset: str) -> Script:
        """What a run does for an asset. Raises AssertionError for an operation that the replay does not know."""
        calls = [call for call in self.kept if call.asset == asset]
        assert {call.operation for call in calls} <= {RESERVE, INTEND, RECORD, COMPLETE}, calls
        (name,) = (call.given["folded"] for call in calls if call.operation == RESERVE)
        (outcome,) = (call.given["outcome"] for call in calls if call.operation == COMPLETE)
        entries, _ = _entries([call for call in calls if call.operation in (INTEND, RECORD)], "")
        return Script(name, entries, outcome)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """A write by its journal entry. intended: whether an intent is recorded first; record: for the ledger; inner:
    entries made within its call."""

    name: str
    result: Json
    intended: bool
    record: WriteRecord | None
    inner: tuple[JournalEntry, ...]


@dataclass(frozen=True, slots=True)
class Script:
    """What a run does for one asset after it was claimed."""

    filename: str
    entries: tuple[JournalEntry, ...]
    outcome: Outcome


def _entries(calls: Sequence[Call], until: str) -> tuple[tuple[JournalEntry, ...], Sequence[Call]]:
    """The entries of these calls as they are nested, up to the result of one; and the calls after it."""
    found: list[JournalEntry] = []
    while calls and (calls[0].operation == INTEND or calls[0].given["name"] != until):
        call, calls = calls[0], calls[1:]
        inner: tuple[JournalEntry, ...] = ()
        name = call.given["name"]
        if intended := call.operation == INTEND:
            inner, calls = _entries(calls, name)
            call, calls = calls[0], calls[1:]
        result = from_text(call.given["done"].result)
        found.append(JournalEntry(name, result, intended, _record_of(call.given["row"]), inner))
    return tuple(found), calls


def _record_of(row: LedgerRow | None) -> WriteRecord | None:
    if row is None or not row.changes:
        return None
    record = WriteRecord("", row.changes, row.digest, row.size, row.version)
    record.calls.update(row.calls)
    return record
