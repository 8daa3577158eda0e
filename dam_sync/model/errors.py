"""The error tree: what happened, to which asset, on which call, what to do next, and what the run does about it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Self

from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.parking import ParkCause, ParkReason, cause_of_error

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})  # file system errors that mean a full disk


class Disposition(StrEnum):
    """What the engine does with an error."""

    STOP = "stop"  # the run ends
    RETRY = "retry"  # the same work again, later
    RESTART = "restart"  # discard the journal of this work, then start over
    PARK = "park"  # this asset is set aside with its reason; the run continues


class StopKind(StrEnum):
    """Why a call stops before it is complete."""

    ASKED = "asked"  # by whoever called
    SIGNAL = "signal"
    ASSETS = "assets"  # as many as were to be taken were begun
    DURATION = "duration"
    FREEZE = "freeze"  # the freeze window of the wave ended
    HOURS = "hours"  # those of a job that is watched ended
    ENDING = "ending"  # `watch` ends
    DAILY_BUDGET = "calls_per_day"  # used up
    MONTHLY_ALLOWANCE = "calls_per_month"  # used up
    MAX_CALLS = "max_calls"  # of the run, used up


OF_CALLS = frozenset({StopKind.DAILY_BUDGET, StopKind.MONTHLY_ALLOWANCE, StopKind.MAX_CALLS})
"""No call is left. The code of such an error names the budget."""


class DamSyncError(Exception):
    """Base class of all errors. Messages never contain a secret or a signed URL."""

    disposition: ClassVar[Disposition] = Disposition.STOP
    exit_code: ClassVar[int] = 1
    default_hint: ClassVar[str] = ""
    passing: ClassVar[bool] = False  # temporary: an asset parked for it may succeed in a later run
    of_run: ClassVar[bool] = False  # it is about the run, whichever asset was at work when it came up
    status = 0  # of the HTTP response that was refused or could not be used
    is_page = False  # a web page came, or something else that no API returns

    def __init__(
        self, message: str, *, service: str = "", operation: str = "", asset: str = "", hint: str = "", code: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.service = service
        self.operation = operation
        self.asset = asset
        self.code = code
        self._hint = hint
        self.public = ""  # the message without names and values of assets, where it has some
        self.after_write = False  # raised after a write that was made, or may have been: the journal keeps its intent

    def within(self, *, service: str = "", operation: str = "", asset: str = "", hint: str = "") -> Self:
        """Fill in context that is still empty, replacing a default hint; returns itself, so `raise
        error.within(asset=…)` reads well."""
        self.service = self.service or service
        self.operation = self.operation or operation
        self.asset = self.asset or ("" if self.of_run else asset)
        self._hint = self._hint or hint
        return self

    @property
    def hint(self) -> str:
        """What to do: as it was given, else what helps with errors of this class."""
        return self._hint or self.default_hint

    @hint.setter
    def hint(self, hint: str) -> None:
        self._hint = hint

    @property
    def cause(self) -> ParkCause:
        """What assets are grouped by that are parked for it."""
        return cause_of_error(self.code, type(self).__name__)

    def __str__(self) -> str:
        where = [part for part in (self.service, self.operation) if part]
        if self.asset:
            where.append(f"asset {self.asset}")
        prefix = f"{', '.join(where)}: " if where else ""
        return f"{prefix}{self.message}"

    def as_json(self) -> dict[str, Any]:
        """For `--json` and reports."""
        return {
            "error": type(self).__name__,
            "message": self.message,
            "service": self.service,
            "operation": self.operation,
            "asset": self.asset,
            "code": str(self.code),
            "hint": self.hint,
            **({"public": self.public} if self.public else {}),
        }


class ConfigError(DamSyncError):
    """The job file, a secret or an option has to be corrected."""

    exit_code = 2
    diagnostics: tuple[Diagnostic, ...] = ()

    @classmethod
    def of(cls, diagnostics: Iterable[Diagnostic]) -> Self:
        """One error for all diagnostics of a file, one line each, in the order of the file."""
        ordered = tuple(sorted(diagnostics, key=lambda each: (each.file, each.rank, each.line)))
        error = cls("\n".join(map(str, ordered)))
        error.diagnostics = ordered
        return error


def too_long_name(problem: BaseException) -> ConfigError | None:
    """The error for a path that is longer than the file system allows; None for any other problem. Not for names of
    assets, which are shortened."""
    if not isinstance(problem, OSError) or problem.errno != errno.ENAMETOOLONG:
        return None
    path = os.fsdecode(problem.filename or "")
    longest = max(path.split(os.sep), key=len)
    found = f"the path …{longest[:20]}… is too long: one of its names has {len(os.fsencode(longest)):,} bytes"
    return ConfigError(found, hint="most file systems allow 255 bytes for a name and 4,096 for a path")


class MappingError(ConfigError):
    """The mapping file has to be corrected."""


class SafetyStop(DamSyncError):
    """A guard stopped the run; continuing needs an explicit flag."""

    exit_code = 6


class WrongClock(SafetyStop):
    """Clocks differ, so that assets would be shown or removed at the wrong time."""

    passing = True  # `watch` tries again


class InternalError(DamSyncError):
    """A bug in dam-sync, not in a service.

    problem: the exception that was raised; `__cause__` may become an exception group.
    """

    problem: BaseException | None = None
    default_hint = "this is a bug in dam-sync; please report it with the traceback from the log"

    @classmethod
    def of(cls, problem: BaseException) -> Self:
        """The error for a bug, with the exception as its cause; of a group, its first exception."""
        while isinstance(problem, BaseExceptionGroup):
            problem = problem.exceptions[0]
        if isinstance(problem, cls):
            return problem
        error = cls(f"internal error in dam-sync ({type(problem).__name__}: {problem})")
        error.__cause__ = error.problem = problem
        return error


class ContractBroken(DamSyncError):
    """A response matches no documented shape."""

    default_hint = "the service may have changed; run again with -v and send the call named here to the maintainers"


class OversizedResponse(ContractBroken):
    """A response is larger than anything that is read into memory. A page of a listing is then asked for without the
    values of its assets, which are read one by one; an asset that is that large by itself is parked."""

    default_hint = "shorten the longest texts at the source: values of an asset, or a name that many assets have"


class Denied(DamSyncError):
    """The credential lacks permission; never retried."""

    exit_code = 7
    default_hint = "check the credential in the job file and the permissions of its user"


class Transient(DamSyncError):
    """Network trouble or a server error; the same call may succeed later."""

    disposition = Disposition.RETRY
    exit_code = 5
    passing = True
    default_hint = "run the same command again; it resumes where it stopped"

    def __init__(self, message: str, *, retry_after: float | None = None, **context: str) -> None:
        super().__init__(message, **context)
        self.retry_after = retry_after


class Throttled(Transient):
    """The service asked for fewer requests; `retry_after` in seconds if it said how long."""


class StoreBusy(Transient):
    """Another process holds the state."""


class WorkerLost(Transient):
    """The worker process that wrote an asset ended, or cannot be reached: another one writes the asset.

    What was begun is in the journal."""


class StillFetching(Transient):
    """The run is to end soon, and the target still fetches a file by its link: the next run looks for it.

    What was begun is in the journal."""


class WorkersGone(DamSyncError):
    """No worker process is left, or their scheduler cannot be reached."""

    of_run = True
    exit_code = 5
    default_hint = "run the same command again; it resumes where it stopped"


class StoreUnreachable(DamSyncError):
    """The database server that holds the state does not respond, or the connection to it was lost."""

    of_run = True
    exit_code = 5
    default_hint = "check the server and the network, then run the same command again; it resumes where it stopped"


class SessionGone(DamSyncError):
    """An upload session ended at the service: its journal entries are discarded and it starts over."""

    disposition = Disposition.RESTART
    exit_code = 5
    passing = True


class Rejected(DamSyncError):
    """The service refused this asset; the run continues without it."""

    disposition = Disposition.PARK
    exit_code = 4
    default_hint = ParkReason.REJECTED.to_do


class NotFound(Rejected):
    """The asset or container does not exist, or is not visible to this credential."""

    default_hint = ParkReason.NOT_FOUND.to_do


class Conflict(Rejected):
    """Somebody else changed it, or it already exists."""


class TooLarge(Rejected):
    """The file is larger than the service accepts."""


class InvalidValue(Rejected):
    """The service does not accept a value."""

    default_hint = ParkReason.INVALID_VALUE.to_do


class Unsupported(Rejected):
    """The service cannot store or do this."""


class Uncertain(Rejected):
    """The outcome of a write is unknown; the write is never blindly repeated."""

    default_hint = ParkReason.UNCERTAIN.to_do


class IntegrityError(DamSyncError):
    """Bytes or counts do not match; the asset is never marked as done."""

    disposition = Disposition.PARK
    exit_code = 4
    passing = True
    default_hint = ParkReason.INTEGRITY.to_do


class FileReplaced(IntegrityError):
    """No version of a file could be read as a whole: it was replaced while it was read, each time or by one that its
    record does not announce, or nothing showed that its parts are of the same version."""

    default_hint = ParkReason.REPLACED.to_do

    def __init__(self, message: str, *, code: str = ParkReason.REPLACED, **context: str) -> None:
        super().__init__(message, code=code, **context)


class OtherVersion(FileReplaced):
    """The bytes that come are of another version of the file than those taken before, or nothing shows that they are of
    the same: what was taken, or sent, is discarded, and reading begins again."""

    disposition = Disposition.RESTART


class TruncatedListing(IntegrityError):
    """A listing returned fewer rows than it announced; the whole run stops."""

    disposition = Disposition.STOP
    exit_code = 6
    default_hint = ParkReason.TRUNCATED_LISTING.to_do


class DiskFull(DamSyncError):
    """No space left for the spool or the state file. path: what could not be written, if that is known."""

    exit_code = 1
    default_hint = "free some space in the state folder and run the same command again"

    def __init__(self, message: str, *, path: Path | None = None, **context: str) -> None:
        super().__init__(message, **context)
        self.path = path


class StopRequested(DamSyncError):
    """A limit set by the operator was reached.

    kind: which one, or what else asked to stop. report: of what a run did until then, if it stopped after the number of
    assets that was asked for.
    """

    of_run = True
    exit_code = 8
    report: Any = None

    def __init__(self, message: str, *, kind: StopKind = StopKind.ASKED, **context: str) -> None:
        super().__init__(message, code=str(kind) if kind in OF_CALLS else "", **context)
        self.kind = kind


def first_cause(several: BaseException) -> BaseException:
    """The most informative error of a group: a DamSyncError if there is one."""
    flat = list(_flatten(several))
    ours = [error for error in flat if isinstance(error, DamSyncError)]
    return (ours or flat)[0]


def _flatten(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in _flatten(part)]
    return [error]
