"""What service D counts itself: totals and facets of a scan that returns one record (wire D 2.1, 2.4)."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.http.interpreting import interprets_response
from dam_sync.model.counts import Counts
from dam_sync.model.errors import Denied, NotFound, Rejected
from dam_sync.model.values import Json
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.wire import total_of
from dam_sync.services.d_templates.not_moved import REQUESTS, TRASHED
from dam_sync.services.d_templates.tenant import TemplatesPart, count_body

LIVE = {"includeDeleted": False, "includeVersions": False}
TEMPLATES = "System Metadata Templates"  # wire D 2.4: a facet that every template has


class TemplatesCounts(TemplatesPart):
    """Counts of what the credential sees. No call tells how many assets have a value in an attribute."""

    async def counts(self, fields: Sequence[str]) -> Counts:
        """One scan for total and facets, two for the recycle bin, one call for requests."""
        reply = await self.api.ask(facts.SCAN, json=count_body(LIVE))
        total = total_of(reply)
        if total is None:
            return Counts(notes=("the scan reports no total",))
        apart = {TRASHED: await self.tenant.binned(), REQUESTS: await self._count_requests()}
        not_moved = {name: number for name, number in apart.items() if number is not None}
        return Counts(assets=total, types=types_of(reply, total), not_moved=not_moved)

    async def _count_requests(self) -> int | None:
        """None if the user may not list requests, or the release has none."""
        try:
            reply = await self.api.ask(facts.REQUESTS, json={"from": 0, "limit": 1})
        except (Denied, NotFound, Rejected):
            return None
        total = reply.get("total") if isinstance(reply, dict) else None
        return total if isinstance(total, int) else None


@interprets_response
def types_of(reply: Json, total: int) -> dict[str, int]:
    """Assets by metadata template; nothing if the facet does not add up, which it could if it were cut."""
    envelope = reply[0] if isinstance(reply, list) and reply else reply
    facets = {str(one["facet_name"]): one["values"] for one in envelope.get("facets") or ()}
    found = {str(value["key"]): int(value["doc_count"]) for value in facets.get(TEMPLATES, ())}
    return found if sum(found.values()) == total else {}
