"""The envelope of service C: rows with their relations resolved, whatever the page left out (wire C 2). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.errors import ContractBroken
from dam_sync.model.mistyped import is_textual
from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class ApiDocument:
    """The contents of one response. more: whether another page follows, None if not stated.

    A row is `{"id", "type", "attributes", "related": {name: [rows]}}`; a related row that was not included has empty
    attributes.
    """

    rows: tuple[Json, ...]
    total: int | None = None
    more: bool | None = None
    refused: int = 0

    def ends(self, before: int, now: int) -> bool:
        """Whether a list ends with this page, given the number of distinct rows so far; its length says
        nothing, because the service may return fewer rows per page than requested (wire C 2)."""
        return now == before or self.more is False or (self.total is not None and now >= self.total)

    @property
    def single(self) -> Json:
        """The one resource. Raises ContractBroken if there is not exactly one."""
        if len(self.rows) != 1:
            raise ContractBroken(f"one resource was requested and {len(self.rows)} were returned")
        return self.rows[0]


@interprets_response
def document_of(reply: Json, operation: str) -> ApiDocument:
    """A document from a response; `data` may be one resource, a list, or absent around one. Raises ContractBroken."""
    if not isinstance(reply, dict):
        raise ContractBroken("the response has no `data`", operation=operation)
    data = reply["data"] if "data" in reply else _bare(reply)
    if isinstance(data, dict):
        data = [data]
    if not isinstance(data, list) or not all(map(_is_resource, data)):
        raise ContractBroken("the response has no `data` of resources with ids", operation=operation)
    around = reply.get("included") or []
    if not isinstance(around, list) or not all(map(_is_resource, around)):
        raise ContractBroken(
            "`included` contains something that is not a resource with an id and a type", operation=operation
        )
    included = {(row.get("type"), str(row["id"])): row for row in around}
    meta = reply.get("meta") or {}
    total = meta.get("total_count")
    more = meta["next_page"] is not None if "next_page" in meta else None
    return ApiDocument(tuple(_row(row, included) for row in data), total if isinstance(total, int) else None, more)


@interprets_response
def made_of(reply: Json, operation: str) -> Json:
    """The resource in the response to a write: the first object with an id, however it is wrapped (wire C 11.39)."""
    waiting = [reply]
    while waiting:
        part = waiting.pop(0)
        if isinstance(part, list):
            waiting = [*part, *waiting]
        elif isinstance(part, dict):
            if part.get("id") and isinstance(part.get("attributes"), dict):
                return _row(part, {})
            waiting += list(part.values())
    raise ContractBroken("the response to a write names no resource", operation=operation)


@interprets_response
def related(row: Json, name: str) -> list[Json]:
    """The related rows of that name; none if not included."""
    found: list[Json] = row["related"].get(name, [])
    return found


def _is_resource(row: Json) -> bool:
    """Whether it has an id, and a type that is a text if it has one: relations are matched by both."""
    named = isinstance(row, dict) and bool(row.get("id")) and is_textual(row["id"])
    return named and (row.get("type") is None or is_textual(row["type"]))


def _bare(reply: Mapping[str, Json]) -> Json:
    """A resource whose wrapper has another name, or none."""
    if reply.get("id"):
        return reply
    return next((part for part in reply.values() if isinstance(part, dict) and part.get("id")), None)


def _row(row: Json, included: Mapping[tuple[Json, str], Json]) -> Json:
    if not isinstance(row.get("attributes") or {}, dict):
        raise ContractBroken("the attributes of a resource are not an object")
    return {
        "id": str(row["id"]),
        "type": member_text(row, "type"),
        "attributes": row.get("attributes") or {},
        "related": {
            name: _related(part, included)
            for name, part in (row.get("relationships") or {}).items()
            if not isinstance(part, dict) or "data" in part or "id" in part
        },
    }


def _related(part: Json, included: Mapping[tuple[Json, str], Json]) -> list[Json]:
    """Identifiers may come twice, without the `data` around them, or with nothing included (wire C 2)."""
    data = part.get("data", part) if isinstance(part, dict) else part
    rows = data if isinstance(data, list) else [data] if data else []
    for row in rows:
        if not _is_resource(row):
            raise ContractBroken(f"a relationship names {row!r:.60}, which has no id")
    named = {str(row["id"]): row.get("type") for row in rows}
    return [
        {"id": key, "type": str(kind or ""), "attributes": (included.get((kind, key)) or {}).get("attributes") or {}}
        for key, kind in named.items()
    ]
