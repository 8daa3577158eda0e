"""Logs: events with fields on stderr, redacted."""

from __future__ import annotations

import sys
from typing import Any

import structlog

from dam_sync.http.redaction import redact, redacting_processor
from dam_sync.model.errors import ConfigError, DamSyncError, InternalError

_log = structlog.get_logger()
LEVELS = {0: 40, 1: 20}  # errors; with -v also events; with -vv every call


def set_up_logs(verbose: int, log_format: str) -> None:
    """Configure structlog for this process. Raises ConfigError for an unknown format."""
    if log_format not in ("console", "json"):
        raise ConfigError(f"--log-format expects console or json, not {log_format}")
    renderer: Any = structlog.processors.JSONRenderer()
    if log_format == "console":
        renderer = structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            redacting_processor,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS.get(verbose, 10)),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def reported(error: Exception) -> DamSyncError:
    """An error as it is printed. A bug of ours becomes an InternalError; its redacted traceback is always logged."""
    if isinstance(error, DamSyncError) and not isinstance(error, InternalError):
        return error
    internal = error if isinstance(error, InternalError) else InternalError.of(error)
    _log.error("internal.error", exc_info=internal.problem or internal)
    internal.message = redact(internal.message)
    return internal
