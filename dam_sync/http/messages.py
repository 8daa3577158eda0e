"""Requests and responses as services see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from dam_sync.http.dates import http_date
from dam_sync.http.multipart import BodyFactory, FormPart
from dam_sync.http.parsing import InvalidJson, parsed
from dam_sync.http.redaction import excerpt
from dam_sync.model.errors import ContractBroken, Transient
from dam_sync.model.values import Json

_SAFE = frozenset({"GET", "HEAD"})
_SHOWN = 80  # characters of an unreadable body in an error


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    path: joined to the base URL named by `base`, or an absolute URL, possibly signed. operation: endpoint template such
    as `PUT /v2/assets/{id}/metadata`; key of counters, error rules and messages. json, body, form: at most one; a
    factory as `body` needs `size` and is called again on a retry. repeatable: may be sent again if it is unknown
    whether the first one arrived; None means only for GET and HEAD. reads: a POST that only reads, allowed for a
    read-only client. accept: statuses that are returned instead of raised. timeout: seconds until the response begins,
    and again until it is complete; None is the client's default. bare: a self-contained URL from a response, sent
    without our credential and headers whatever its origin, and counted as storage; so is every URL with a signature in
    its query. headers: an empty value removes a header, including `Content-Type`.
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
    def retryable(self) -> bool:
        """Whether it may be sent again after an unknown outcome."""
        return self.method in _SAFE if self.repeatable is None else self.repeatable

    @property
    def read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.reads or self.method in _SAFE


@dataclass(frozen=True, slots=True)
class Response:
    """A complete response; header names in lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    service: str = ""
    operation: str = ""
    asset: str = ""
    parsed: list[Json] = field(default_factory=list, repr=False)  # the body, until it is asked for
    of_write: bool = False  # of an API call that changes something

    def json(self) -> Json:
        """The body as JSON. Raises ContractBroken if it is not JSON; of a write Transient, because the outcome of that
        one write is unknown."""
        try:
            return self.parsed.pop() if self.parsed else parsed(self.body)
        except InvalidJson as problem:
            kind = Transient if self.of_write else ContractBroken
            raise kind(
                f"returned {self.status} with {str(problem) or self._shape()} where JSON was expected",
                service=self.service,
                operation=self.operation,
                asset=self.asset,
                hint=HTML_HINT if self.is_html else "",
            ) from None

    def looked_at(self) -> Json:
        """The body as JSON, which the next call of `json` returns without parsing it again. Raises ContractBroken."""
        data = self.json()
        self.parsed.append(data)
        return data

    def object(self) -> dict[str, Json]:
        """The body as a JSON object. Raises ContractBroken if it is not one."""
        data = self.json()
        if not isinstance(data, dict):
            raise ContractBroken(
                f"returned {self.status} with a {type(data).__name__} where an object was expected",
                service=self.service,
                operation=self.operation,
                asset=self.asset,
            )
        return data

    def ahead_of(self, now: datetime) -> timedelta:
        """How far the service's clock is ahead of `now`, by its `Date` header in whole seconds; zero without one."""
        theirs = http_date(self.headers.get("date", ""))
        return theirs - now if theirs else timedelta(0)

    @property
    def is_html(self) -> bool:
        """Whether it is an HTML page, such as a login form or a proxy's notice."""
        return looks_like_html(self.headers, self.body)

    def _shape(self) -> str:
        if not self.body.strip():
            return "an empty body"
        if self.is_html:
            return "an HTML page"
        shown = excerpt(self.body[:_SHOWN].decode("utf-8", "replace"), _SHOWN)
        return f"{len(self.body)} bytes beginning {shown!r}"


HTML_HINT = "check the URL in the job file; there may be a login page or a proxy in between"


def looks_like_html(headers: Mapping[str, str], body: bytes) -> bool:
    """By content type or first characters."""
    if headers.get("content-type", "").lower().startswith("text/html"):
        return True
    return body[:64].lstrip().lower().startswith((b"<!doctype html", b"<html"))
