"""Logs: events with fields on stderr or in a file, redacted."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

import structlog

from dam_sync.http.redaction import redact, redacting_processor
from dam_sync.model.errors import ConfigError, DamSyncError, InternalError, first_cause, too_long_name
from dam_sync.model.safe_text import visible, visible_lines
from dam_sync.report.streams import MessageStream

_log = structlog.get_logger()
LEVELS = {0: 40, 1: 20}  # errors; with -v also events; with -vv every call
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def logging_to(path: Path | None, verbose: int, log_format: str) -> Iterator[None]:
    """Log to this file, or to stderr. Raises ConfigError for an unknown format or a file that cannot be written."""
    if path is None:
        set_up_logs(verbose, log_format)
        yield
        return
    file = LogFile(path)
    try:
        set_up_logs(verbose, log_format, cast("TextIO", MessageStream(cast("TextIO", file))))
        yield
    finally:
        structlog.reset_defaults()
        file.close()


class LogFile:
    """A file that lines are appended to. After it was renamed or removed, as logrotate does while `watch` goes on, the
    next line begins a new one. Raises ConfigError if it cannot be written at first."""

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, _opened(path)

    def write(self, text: str) -> int:
        """Append it, to the file that now has the name."""
        if not self._is_at_its_path():
            with suppress(ConfigError):  # the old file is kept
                self._file, old = _opened(self._path), self._file
                _close(old)
        return self._file.write(text)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """See `TextIO.close`. Lines that a full disk has no room for are lost: no command fails for them."""
        _close(self._file)

    def _is_at_its_path(self) -> bool:
        try:
            return os.path.samestat(os.lstat(self._path), os.fstat(self._file.fileno()))
        except OSError:
            return False


def set_up_logs(verbose: int, log_format: str, file: TextIO | None = None) -> None:
    """Configure structlog for this process. Raises ConfigError for an unknown format."""
    if log_format not in ("console", "json"):
        raise ConfigError(f"--log-format expects console or json, not {log_format}")
    renderers: list[Any] = [structlog.processors.JSONRenderer()]
    if log_format == "console":
        renderers = [_made_visible, structlog.dev.ConsoleRenderer(colors=False)]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            redacting_processor,
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS.get(verbose, 10)),
        logger_factory=structlog.PrintLoggerFactory(file or sys.stderr),
    )


def _made_visible(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """structlog processor for lines that a terminal shows: names that a service chose must not control it."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = (visible_lines if key == "exception" else visible)(value)
    return event


def _close(file: TextIO) -> None:
    with suppress(OSError):
        file.close()


def _opened(path: Path) -> TextIO:
    """The file to append to, which only its owner may read."""
    try:
        descriptor = os.open(path, APPEND | NO_LINK, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ConfigError(f"--log-file {path} is not a file", hint="give the path of a file")
            os.fchmod(descriptor, 0o600)
            return os.fdopen(descriptor, "a", encoding="utf-8", errors="backslashreplace", buffering=1)
        except BaseException:
            os.close(descriptor)
            raise
    except OSError as error:
        hint = "give the path of a file, not of a symbolic link, in a folder where files can be written"
        raise ConfigError(f"--log-file {path} cannot be written: {error.strerror}", hint=hint) from error


def reported(error: Exception) -> DamSyncError:
    """An error as it is printed. A bug of ours becomes an InternalError; its redacted traceback is always logged."""
    if isinstance(error, DamSyncError) and not isinstance(error, InternalError):
        return error
    if path_error := too_long_name(first_cause(error)):
        return path_error
    internal = error if isinstance(error, InternalError) else InternalError.of(error)
    _log.error("internal.error", exc_info=internal.problem or internal)
    internal.message = redact(internal.message)
    return internal
