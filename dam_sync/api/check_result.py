"""One line of a check, and what the lines before it found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from dam_sync.api.service_notes import ServiceNote
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import ConfigError, DamSyncError, Rejected, Transient
from dam_sync.model.probed import Account
from dam_sync.model.run_options import RunOptions
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of a check. An exit code above 0 makes it a fault; `warns`: to be reviewed before anything moves."""

    subject: str
    message: str
    hint: str = ""
    exit_code: int = 0
    warns: bool = False
    file: str = ""
    line: int = 0
    column: int = 0

    @classmethod
    def of(cls, subject: str, error: DamSyncError) -> Iterator[CheckResult]:
        """One result, or one for each diagnostic. An error that would park an asset in a run counts as a configuration
        error here."""
        diagnostics: tuple[Diagnostic, ...] = getattr(error, "diagnostics", ())
        for each in diagnostics:
            message = f"{each.where}: {each.message}"
            yield cls(subject, message, each.hint, error.exit_code, file=each.file, line=each.line, column=each.column)
        if not diagnostics:
            code = ConfigError.exit_code if error.exit_code == Rejected.exit_code else error.exit_code
            yield cls(subject, str(error), error.hint, code)

    @classmethod
    def noted(cls, note: ServiceNote) -> CheckResult:
        """What a service, or the comparison of two, says."""
        return cls(note.subject, note.text, note.hint, warns=note.warns)

    @property
    def mark(self) -> str:
        """`OK`, `WARN` or `FAULT`."""
        return "FAULT" if self.exit_code else "WARN" if self.warns else "OK"

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"mark": self.mark, **asdict(self), "ok": not self.exit_code}


def exit_code_of(found: Iterable[CheckResult]) -> int:
    """The highest of several, but for that of temporary faults: running again is what to do only if nothing has to be
    changed first."""
    codes = {each.exit_code for each in found}
    return max(codes - {Transient.exit_code} - {0}, default=max(codes, default=0))


@dataclass(slots=True)
class CheckedSides:
    """The services that responded, with their schemas, and the compiled mapping if there is one."""

    services: dict[str, tuple[Service, Schema]] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    crosswalk: Crosswalk | None = None
    linked: bool = False  # whether the state has links
    lookup: bool = True  # whether hosts may be looked up
    options: RunOptions = field(default_factory=RunOptions)
