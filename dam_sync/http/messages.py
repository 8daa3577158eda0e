"""One call in, one reply out: what services hand to the client and get back."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dam_sync.http.dates import http_date
from dam_sync.http.multipart import FormPart
from dam_sync.http.parsing import NoJson, parsed
from dam_sync.http.redaction import redact
from dam_sync.model.errors import ContractBroken
from dam_sync.model.values import Json

BodyFactory = Callable[[], AsyncIterator[bytes]]

_SAFE = frozenset({"GET", "HEAD"})
_SHOWN = 80  # letters of an unreadable body in an error


@dataclass(frozen=True, slots=True)
class Request:
    """One call. `path` is joined to the base named by `base`, or an absolute http(s) address, possibly signed.

    operation: the endpoint's template, `PUT /v2/assets/{id}/metadata`: key of counters, error rules and texts.
    json, body, form: at most one; a factory as `body` needs `size` and is called again on a retry.
    repeatable: may be sent again when nobody knows whether the first arrived; None means GET and HEAD alone.
    reads: a POST that only reads, so a read-only client sends it. accept: statuses that are returned, not raised.
    timeout: seconds until the answer begins, and again until it is complete; None is the client's own.
    bare: a link that an answer gave for bytes, good by itself: it is sent without our credential and headers, whatever
    its origin, and counts as storage. So is every link with a signature in its query.
    headers: one with an empty value is left out, `Content-Type` too, which else says what the body is.
    """

    operation: str
    method: str
    path: str = field(repr=False)
    params: Sequence[tuple[str, str]] = field(default=(), repr=False)
    json: Json = field(default=None, repr=False)
    body: bytes | BodyFactory | None = field(default=None, repr=False)
    size: int | None = None
    form: Sequence[FormPart] = field(default=(), repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    repeatable: bool | None = None
    reads: bool = False
    accept: frozenset[int] = frozenset()
    asset: str = ""
    timeout: float | None = None
    base: str = ""
    bare: bool = False

    @property
    def again(self) -> bool:
        """Whether it may be repeated after an unknown outcome."""
        return self.method in _SAFE if self.repeatable is None else self.repeatable

    @property
    def harmless(self) -> bool:
        """Whether it changes nothing at the service."""
        return self.reads or self.method in _SAFE


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer; header names in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    service: str = ""
    operation: str = ""
    asset: str = ""

    def json(self) -> Json:
        """The body as JSON. Raises ContractBroken when it is none."""
        try:
            return parsed(self.body)
        except NoJson as problem:
            raise ContractBroken(
                f"answered {self.status} with {str(problem) or self._shape()} where JSON was expected",
                service=self.service,
                operation=self.operation,
                asset=self.asset,
                hint=_HTML_HINT if self.is_html else "",
            ) from None

    def object(self) -> dict[str, Json]:
        """The body as a JSON object. Raises ContractBroken when it is none."""
        data = self.json()
        if not isinstance(data, dict):
            raise ContractBroken(
                f"answered {self.status} with a {type(data).__name__} where an object was expected",
                service=self.service,
                operation=self.operation,
                asset=self.asset,
            )
        return data

    def ahead_of(self, now: datetime) -> timedelta:
        """How far the service's clock is ahead of this, by the whole seconds of its `Date`; none where it has none."""
        theirs = http_date(self.headers.get("date", ""))
        return theirs - now if theirs else timedelta(0)

    @property
    def is_html(self) -> bool:
        """Whether it is a page for people, such as a login form or a proxy's notice."""
        return looks_like_html(self.headers, self.body)

    def _shape(self) -> str:
        if not self.body.strip():
            return "an empty body"
        if self.is_html:
            return "an HTML page"
        shown = redact(self.body[:_SHOWN].decode("utf-8", "replace"))
        return f"{len(self.body)} bytes beginning {shown!r}"


_HTML_HINT = "check the address in the job file; a login page or a proxy may stand between"


def looks_like_html(headers: Mapping[str, str], body: bytes) -> bool:
    """By content type, or by its first letters."""
    if headers.get("content-type", "").lower().startswith("text/html"):
        return True
    return body[:64].lstrip().lower().startswith((b"<!doctype html", b"<html"))
