"""Lists: parameters, order, pages and their envelope (wire C 2)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from dam_sync.emulators.c_brandlibrary.calls import Call, Reply
from dam_sync.emulators.c_brandlibrary.records import Asset, Refusal
from dam_sync.emulators.c_brandlibrary.render import Document
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.kit.environment import Json

Row = TypeVar("Row")
PER_DEFAULT, PER_MOST, PER_SHORT = 100, 3000, 10
SORTS: Mapping[str, Callable[[Asset], Json]] = {
    "name": lambda asset: asset.name.casefold(),
    "score": lambda asset: 0,
    "position": lambda asset: asset.position,
    "updated_at": lambda asset: asset.updated,
    "created_at": lambda asset: asset.created,
}
_ORDERS = ("ASC", "DESC")
_KNOWN = frozenset({"page", "per", "fields", "include", "search", "sort_by", "order"})


@dataclass(frozen=True, slots=True)
class Wanted:
    """The extra fields and the includes of a call that its endpoint knows."""

    fields: frozenset[str]
    include: tuple[str, ...]


def wanted(tenant: Tenant, call: Call, fields: Collection[str], include: Collection[str]) -> Wanted:
    """What is requested; unknown names are passed over, or refused with 400 by strict tenants."""
    if "strict" in tenant.plays:
        strange = set(call.query) - _KNOWN
        strange |= set(call.names("fields")) - set(fields)
        strange |= set(call.names("include")) - set(include)
        if strange:
            raise Refusal(400, f"Invalid parameter: {', '.join(sorted(strange))}")
    found = tuple(dict.fromkeys(name for name in call.names("include") if name in include))
    return Wanted(frozenset(call.names("fields")).intersection(fields), found)


def page_of(tenant: Tenant, call: Call, rows: Sequence[Row], reach: int | None = None) -> tuple[Sequence[Row], Json]:
    """The rows of the page requested, and its `meta`. Raises Refusal 400."""
    per = min(call.number("per", PER_DEFAULT), PER_SHORT if "short_pages" in tenant.plays else PER_MOST)
    page = call.number("page", 1)
    if reach is not None and page * per > max(reach, per):
        raise Refusal(400, f"Only the first {reach} results can be reached")
    pages = -(-len(rows) // per)
    meta: Json = {"total_count": len(rows)}
    if "count_only" not in tenant.plays:
        meta = {
            "current_page": page,
            "next_page": page + 1 if page < pages else None,
            "prev_page": page - 1 if page > 1 else None,
            "total_pages": pages,
            "total_count": len(rows),
        }
    return rows[(page - 1) * per : page * per], meta


def listed(
    tenant: Tenant, call: Call, rows: Iterable[Row], show: Callable[[Document, Row], Json], document: Document
) -> Reply:
    """A list in its envelope."""
    page, meta = page_of(tenant, call, list(rows))
    data = [show(document, row) for row in page]
    return Reply(json=document.envelope(data, meta))


def in_order(tenant: Tenant, call: Call, assets: Iterable[Asset]) -> list[Asset]:
    """The order requested, by default the newest first; equal ones by id. Raises Refusal 400 for half an order."""
    sort, order = call.query.get("sort_by"), call.query.get("order")
    if (sort is None) != (order is None):
        raise Refusal(400, "`sort_by` and `order` go together")
    if sort is not None and (sort not in SORTS or (order or "").upper() not in _ORDERS):
        raise Refusal(400, "`sort_by` or `order` is unknown")
    rows = sorted(assets, key=lambda asset: asset.id)
    if "shuffled" in tenant.plays:
        tenant.world.rng.shuffle(rows)
    rows.sort(key=SORTS[sort or "created_at"], reverse=(order or "DESC").upper() == "DESC")
    return rows
