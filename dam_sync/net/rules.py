"""What a status means is a table: the service's own rules first, then what the numbers usually mean."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from dam_sync.model.errors import (
    Conflict,
    ContractBroken,
    DamSyncError,
    Denied,
    InvalidValue,
    NotFound,
    Rejected,
    Throttled,
    TooLarge,
    Transient,
)
from dam_sync.net.redact import redact

LONGEST = 300
WORDS = ("error_description", "message", "error", "detail", "code", "status")
CODES = ("code", "error", "errorCode")


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """status, operation and code (globs, empty matches all) to the error to raise."""

    status: int | range | None
    error: type[DamSyncError]
    operation: str = ""
    code: str = ""
    hint: str = ""

    def fits(self, status: int, operation: str, code: str) -> bool:
        """Whether the rule is about this reply."""
        if self.status is not None and status not in (
            self.status if isinstance(self.status, range) else (self.status,)
        ):
            return False
        if self.operation and not fnmatchcase(operation, self.operation):
            return False
        return not self.code or fnmatchcase(code, self.code)


DEFAULTS: tuple[ErrorRule, ...] = (
    ErrorRule(429, Throttled),
    ErrorRule(503, Throttled),
    ErrorRule(408, Transient),
    ErrorRule(range(500, 600), Transient),
    ErrorRule(401, Denied),
    ErrorRule(403, Denied),
    ErrorRule(404, NotFound),
    ErrorRule(410, NotFound),
    ErrorRule(409, Conflict),
    ErrorRule(412, Conflict),
    ErrorRule(413, TooLarge),
    ErrorRule(400, InvalidValue),
    ErrorRule(422, InvalidValue),
    ErrorRule(range(400, 500), Rejected),
)


def error_for(rules: Sequence[ErrorRule], operation: str, status: int, body: bytes) -> DamSyncError:
    """The error a refused call becomes; its text is what the service said, redacted and cut."""
    told, code = _told(body)
    for rule in (*rules, *DEFAULTS):
        if rule.fits(status, operation, code):
            text = f"the service answered {status}" + (f": {told}" if told else "")
            error = rule.error(text, operation=operation, hint=rule.hint)
            error.code = code if issubclass(rule.error, Rejected) else ""
            return error
    return ContractBroken(f"the service answered {status}, which is not documented", operation=operation)


def _told(body: bytes) -> tuple[str, str]:
    """What the body says, and its code; HTML and empty bodies say little."""
    text = body[:4096].decode("utf-8", "replace").strip()
    try:
        data = json.loads(body)
    except ValueError:
        words = "a page instead of data" if text.startswith("<") else text
        return redact(words)[:LONGEST], ""
    if not isinstance(data, dict):
        return redact(text)[:LONGEST], ""
    return redact(_words(data))[:LONGEST], _first(data, CODES)


def _words(data: Mapping[str, Any]) -> str:
    code, words = _first(data, CODES), _first(data, WORDS)
    return f"{words} ({code})" if code and code != words else words


def _first(data: Mapping[str, Any], names: Sequence[str]) -> str:
    return next((str(data[name]) for name in names if isinstance(data.get(name), str | int) and data[name] != ""), "")
