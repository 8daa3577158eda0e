"""The envelopes of service A: links, embedded items, URLs, counts and timestamps, read tolerantly. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from dam_sync.http.interpreting import interprets_response
from dam_sync.model.errors import ContractBroken
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.url_forms import is_loopback
from dam_sync.model.values import Json, parse_instant

_ORIGIN = re.compile(r"^https?://[^/?#]*")
_SLASHES = re.compile(r"/{2,}")
_EPOCH_MS = 100_000_000_000  # a smaller number is seconds


@dataclass(frozen=True, slots=True)
class Rels:
    """Names that differ by deployment: prefix of link relations, prefix of request headers (wire A 13)."""

    prefix: str = "svc"
    header_prefix: str = "X-SVC-"

    def rel(self, name: str) -> str:
        """A relation of the service's own: `svc:form`."""
        return f"{self.prefix}:{name}"

    def header(self, name: str) -> str:
        """A request header of the service's own: `X-SVC-Base64FileName`."""
        return f"{self.header_prefix}{name}"


@interprets_response
def link(resource: Json, relation: str) -> str:
    """The URL under a relation; a bare string and an array are read too (wire A 11.4). Empty when absent."""
    found = (resource.get("_links") or {}).get(relation) if isinstance(resource, dict) else None
    if isinstance(found, list):
        found = found[0] if found else None
    if isinstance(found, dict):
        found = found.get("href")
    return found if isinstance(found, str) else ""


@interprets_response
def own_link(resource: Json, rels: Rels, name: str) -> str:
    """The URL under a relation of the service's own, whose name comes with the prefix or bare (wire A 3.2)."""
    return link(resource, rels.rel(name)) or link(resource, name)


@interprets_response
def embedded(resource: Json, key: str) -> list[dict[str, Any]]:
    """The objects embedded under a key. Raises ContractBroken for anything else."""
    rows = embedded_items(resource, key)
    for row in rows:
        if not isinstance(row, dict):
            raise TypeError(f"_embedded.{key} holds {row!r:.40} where an object is documented")
    return rows


@interprets_response
def embedded_items(resource: Json, key: str) -> list[Any]:
    """What is embedded under a key, always as a list: one item, an array or nothing (wire A 0, 11.1)."""
    found = (resource.get("_embedded") or {}).get(key) if isinstance(resource, dict) else None
    if found is None:
        return []
    return list(found) if isinstance(found, list) else [found]


@interprets_response
def either(resource: Json, key: str) -> list[dict[str, Any]]:
    """The embedded objects under the singular or the plural of an undocumented key (wire A 0)."""
    return embedded(resource, key) or embedded(resource, f"{key}s")


@interprets_response
def oddity(resource: Json) -> str:
    """Why a response is not a HAL resource (wire A 0); empty when it is one. A response from a proxy or an error
    must not count as an empty list."""
    if not isinstance(resource, dict):
        return "the response is not a JSON object"
    for name in ("_links", "_embedded"):
        if not isinstance(resource.get(name, {}), dict):
            return f"`{name}` of the response is not an object"
    if not any(name in resource for name in ("_links", "_embedded", "id", "totalCount", "childrenCount")):
        return "the response has neither links nor an id nor a count"
    return ""


@interprets_response
def total_of(page: Json) -> int | None:
    """`totalCount`, or `childrenCount` of a tree."""
    return whole(page.get("totalCount", page.get("childrenCount"))) if isinstance(page, dict) else None


def api_path(href: str) -> str:
    """Path and query of an API URL, without scheme, host and doubled slashes (wire A 11.5)."""
    path, mark, query = _ORIGIN.sub("", href).partition("?")
    return _SLASHES.sub("/", "/" + path) + mark + query


def collection_path(href: str) -> str:
    """The path of a collection, without the template or query of its link (wire A 0)."""
    return api_path(href).partition("?")[0].partition("{")[0].rstrip("/")


def tail(href: str) -> str:
    """The last segment of a URL: the id."""
    path = urlsplit(api_path(href)).path.rstrip("/")
    return unquote(path.rpartition("/")[2])


def file_url(href: str) -> str:
    """A URL of bytes on a static host; http is changed to https except for the local host (wire A 11.5)."""
    parts = urlsplit(href)
    if not parts.netloc:
        return ""
    scheme = parts.scheme
    if scheme == "http" and not is_loopback(parts.hostname or ""):
        scheme = "https"
    return parts._replace(scheme=scheme, path=_SLASHES.sub("/", parts.path)).geturl()


@interprets_response
def whole(value: Json) -> int | None:
    """A count; which some releases send as text (wire A 6.1)."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


@interprets_response
def timestamp_of(value: Json) -> datetime | None:
    """A timestamp in RFC 3339, or in seconds or milliseconds since 1970."""
    if not value or isinstance(value, bool):
        return None
    try:
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value / 1000 if value >= _EPOCH_MS else value, UTC)
        return parse_instant(str(value))
    except (ValueError, OverflowError, OSError):
        return None


def timestamp_text(when: datetime) -> str:
    """RFC 3339 UTC with milliseconds, always (wire A 0)."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@interprets_response
def same_name(one: Json, other: str) -> bool:
    """Whether two names differ only in their Unicode form, which a service may change."""
    return nfc(str(one or "")) == nfc(other)


@interprets_response
def wanted_id(row: Json) -> str:
    """The id of a row. Raises ContractBroken if it has none."""
    found = row.get("id") if isinstance(row, dict) else None
    if found is None or found == "":
        raise ContractBroken("a listed media has no id")
    return str(found)
