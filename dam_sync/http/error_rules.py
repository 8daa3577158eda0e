"""Maps refusals to errors: a table of status, operation and code, followed by defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from http import HTTPStatus

from dam_sync.http.bounds import EXPLAINED
from dam_sync.http.messages import looks_like_html
from dam_sync.http.parsing import InvalidJson, parsed
from dam_sync.http.redaction import excerpt
from dam_sync.model.errors import (
    ConfigError,
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
    Unsupported,
)
from dam_sync.model.values import Json

_REVOKED = (
    "the service refuses {} in the job file: the secret may be wrong, expired or revoked; put a valid one where the "
    "job file refers to, and run the same command again"
)
_LINK_REFUSED = (
    "this host, not the service, refuses a link that the service gave: it may have expired, or a proxy or firewall "
    "refuses the host; `errors JOB --retry` and the next run ask for a new link"
)
_LONGEST = 300  # characters of an error text
_LONGEST_CODE = 80  # characters of a code
_MESSAGE_KEYS = ("error_description", "message", "error", "detail")
_CODE_KEYS = ("code", "status", "error")


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """Status (one, a range, None for any), operation (prefix, or glob where it has a `*`) and code (glob) -> error."""

    status: int | range | None
    error: type[DamSyncError]
    operation: str = ""
    code: str = ""
    hint: str = ""

    def fits(self, status: int, operation: str, code: str) -> bool:
        """Whether the rule matches a refusal."""
        if isinstance(self.status, int) and status != self.status:
            return False
        if isinstance(self.status, range) and status not in self.status:
            return False
        return _matches(self.operation, operation) and (not self.code or fnmatchcase(code, self.code))


@dataclass(frozen=True, slots=True)
class Refusal:
    """A response that is not a success. where: for signed URLs, a text that names only the host. credential: see
    `Context`; empty if the request carried none."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    service: str = ""
    operation: str = ""
    asset: str = ""
    where: str = ""
    credential: str = ""
    retry_after: float | None = None


DEFAULTS: tuple[ErrorRule, ...] = (
    ErrorRule(400, InvalidValue),
    ErrorRule(422, InvalidValue),
    ErrorRule(401, Denied),
    ErrorRule(403, Denied),
    ErrorRule(404, NotFound),
    ErrorRule(410, NotFound),
    ErrorRule(405, ContractBroken),
    ErrorRule(406, ContractBroken),
    ErrorRule(407, ConfigError, hint="a proxy requires a login"),
    ErrorRule(409, Conflict),
    ErrorRule(412, Conflict),
    ErrorRule(413, TooLarge),
    ErrorRule(408, Transient),
    ErrorRule(425, Transient),
    ErrorRule(429, Throttled),
    ErrorRule(501, Unsupported),
    ErrorRule(range(500, 600), Transient),
    ErrorRule(range(400, 500), Rejected),
    ErrorRule(None, ContractBroken),
)


def error_for(rules: Sequence[ErrorRule], refusal: Refusal) -> DamSyncError:
    """The error of the first matching rule; rules of the service come before the defaults. The text is taken from the
    body (JSON, HTML, XML or empty), redacted, at most 300 characters."""
    message, code = explanation(refusal.headers, refusal.body)
    rule = next(r for r in (*rules, *DEFAULTS) if r.fits(refusal.status, refusal.operation, code))
    text = f"{refusal.where + ' ' if refusal.where else ''}returned {_named(refusal.status)}"
    text = _short(f"{text}: {message}" if message else text)
    context = {
        "service": refusal.service,
        "operation": refusal.operation,
        "asset": refusal.asset,
        "hint": _of_link(refusal) or rule.hint or _revoked(rule, refusal),
        "code": shown_code(code),
    }
    error = rule.error(text, **context)
    if isinstance(error, Transient):
        error.retry_after = refusal.retry_after
    error.status, error.is_page = refusal.status, looks_like_html(refusal.headers, refusal.body)
    return error


def _of_link(refusal: Refusal) -> str:
    """What to do about a signed link that is refused: rules of the service speak of rights in the service, which a
    redirect from one of its calls to a storage does not check."""
    return _LINK_REFUSED if refusal.where and refusal.status == HTTPStatus.FORBIDDEN else ""


def _revoked(rule: ErrorRule, refusal: Refusal) -> str:
    """What to do about a credential that the service does not know, or knows no longer; empty for other refusals."""
    unknown = rule.error is Denied and refusal.status == HTTPStatus.UNAUTHORIZED and refusal.credential
    return _REVOKED.format(refusal.credential) if unknown else ""


def explanation(headers: Mapping[str, str], body: bytes) -> tuple[str, str]:
    """The message and the error code of a body, as far as it has them."""
    text = body[:EXPLAINED].decode("utf-8", "replace").strip()
    if not text:
        return "", ""
    if looks_like_html(headers, body):
        title = _line(_between(text, "<title", "</title>").partition(">")[2])
        return (f"an HTML page, “{title}”" if title else "an HTML page"), ""
    if text.startswith("<"):
        return _xml(text, "Message"), _xml(text, "Code")
    try:
        data = parsed(body)
    except InvalidJson:
        return _line(text), ""
    return _message(data)[:EXPLAINED], _code(data)[:EXPLAINED]


def shown_code(code: str) -> str:
    """A code as shown in errors: redacted, then shortened."""
    return excerpt(code, _LONGEST_CODE)


def _message(data: Json, depth: int = 3) -> str:
    """Also looks into lists of `errors` or `violations` and an `error` object; the first key with text wins."""
    if isinstance(data, str):
        return _line(data)
    if depth == 0:
        return ""
    if isinstance(data, list):
        return "; ".join(part for part in (_message(item, depth - 1) for item in data[:3]) if part)
    if not isinstance(data, dict):
        return ""
    for key in (*_MESSAGE_KEYS, "errors", "violations", "title", "messageKey", "code", "status"):
        found = _message(data.get(key), depth - 1)
        if found:
            return f"{_place(data)}{found}"
    return ""


def _place(data: Mapping[str, Json]) -> str:
    """Which property a violation concerns, as `path: [{"field_name": ...}]` says (wire B 7.2); empty otherwise."""
    path = data.get("path")
    parts = [part.get("field_name") for part in path if isinstance(part, dict)] if isinstance(path, list) else []
    named = [_line(part) for part in parts if isinstance(part, str)]
    return f"{'/'.join(named)}: " if named else ""


def _code(data: Json, depth: int = 4) -> str:
    if depth == 0:
        return ""
    if isinstance(data, list):
        return _code(data[0], depth - 1) if data else ""
    if not isinstance(data, dict):
        return ""
    for key in _CODE_KEYS:
        value = data.get(key)
        if isinstance(value, str) and value and not value.isdigit() and " " not in value:
            return value
        if isinstance(value, int) and not isinstance(value, bool) and key == "code":
            return str(value)[:_LONGEST_CODE]
    return _code(data.get("error"), depth - 1) or _code(data.get("errors"), depth - 1)


def _xml(text: str, tag: str) -> str:
    return _line(_between(text, f"<{tag}>", f"</{tag}>"))


def _between(text: str, opening: str, closing: str) -> str:
    """Text between the first `opening` and the following `closing`, case-insensitive; empty if either is missing."""
    plain = text.lower() if len(text.lower()) == len(text) else text
    start = plain.find(opening.lower())
    end = plain.find(closing.lower(), start)
    return text[start + len(opening) : end] if 0 <= start < end else ""


def _line(text: str) -> str:
    return " ".join(text.split())


def _short(text: str) -> str:
    clean = excerpt(text, _LONGEST + 1)
    return clean if len(clean) <= _LONGEST else clean[: _LONGEST - 1] + "…"


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _matches(pattern: str, operation: str) -> bool:
    return fnmatchcase(operation, pattern) if "*" in pattern else operation.startswith(pattern)
