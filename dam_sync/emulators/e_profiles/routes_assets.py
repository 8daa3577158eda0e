"""v2: search, one asset, and what is written to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dam_sync.emulators.e_profiles.calls import Call, Reply
from dam_sync.emulators.e_profiles.forms import read_form
from dam_sync.emulators.e_profiles.records import Asset, Refusal
from dam_sync.emulators.e_profiles.render import DETAIL, EXPANDS, Renderer, expands_of
from dam_sync.emulators.e_profiles.search import FACETS, Hits, Question
from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.kit.environment import Json

REACH = 10_000
PAGE = 100


class AssetCalls:
    """Handlers under `/v2/assets`."""

    def __init__(self, tenant: Tenant, render: Renderer) -> None:
        self._tenant = tenant
        self._render = render
        plays = tenant.options.plays
        self._sum = "window" in plays
        self._done = {"status": "success"} if "void_json" in plays else None
        self._older = "older" in plays

    def done(self, status: int = 200) -> Reply:
        """A call without a result: an empty body, or a JSON one in the other mode (wire E 12)."""
        return Reply(200, self._done) if self._done else Reply(status)

    async def search(self, call: Call) -> Reply:
        """`GET /v2/assets/search`; with a `scroll_id` it is a scroll call."""
        if call.query.get("scroll_id"):
            return await self.scroll(call)
        scrolls = call.flag("scroll")
        expand = self._expands(call, EXPANDS)
        limit = call.number("limit", PAGE if scrolls else 10, 1, PAGE)
        offset = call.number("offset", 0, 0, REACH)
        if self._sum and offset + limit > REACH:
            raise Refusal(400, "invalid_request", f"`offset` + `limit` must not pass {REACH}")
        wanted = call.names("facet") or []
        if not set(wanted) <= set(FACETS):
            raise Refusal(400, "invalid_request", f"`facet` takes {', '.join(FACETS)}")
        hits = self._tenant.search.hits(_question(call), call.user)
        scroll_id = None
        if scrolls:
            offset = 0
            scroll_id, rows = self._tenant.search.open(hits, call.user, limit)
        else:
            rows = self._tenant.search.page(hits, offset, limit)
        envelope = self._envelope(hits, scroll_id, offset, limit)
        envelope["facets"] = self._tenant.search.facets(hits, wanted) if wanted else None
        return self._page(call, envelope, rows, expand)

    async def scroll(self, call: Call) -> Reply:
        """`GET /v2/assets/search/scroll`: the next page; the position is the server's."""
        expand = self._expands(call, EXPANDS)
        scroll_id, scroll, rows = self._tenant.search.scroll(call.query.get("scroll_id", ""), call.user)
        envelope = self._envelope(scroll.hits, scroll_id, 0, scroll.limit)
        return self._page(call, envelope, rows, expand)

    async def read(self, call: Call) -> Reply:
        """`GET /v2/assets/{id}`: the truth, without the index's lag."""
        expand = self._expands(call, DETAIL)
        return Reply(200, self._render.asset(self._asset(call), expand, call.user))

    async def delete(self, call: Call) -> Reply:
        """`DELETE /v2/assets/{id}`: to the trash."""
        self._tenant.delete(self._asset(call), call.user)
        return self.done(204)

    async def purge(self, call: Call) -> Reply:
        """`DELETE /v2/assets/{id}/permanent`: from the trash only."""
        self._tenant.purge(self._asset(call), call.user)
        return self.done(204)

    async def versions(self, call: Call) -> Reply:
        """`GET /v2/assets/{id}/versions`: newest first."""
        asset = self._asset(call)
        expand = self._expands(call, DETAIL)
        items = [self._render.asset(asset, expand, call.user, version) for version in reversed(asset.versions)]
        return Reply(200, {"item_type": "asset", "total_count": len(items), "items": items})

    async def version(self, call: Call) -> Reply:
        """`GET /v2/assets/{id}/versions/{version_id}`."""
        asset = self._asset(call)
        version = self._tenant.version(asset, call.params["version"])
        expand = self._expands(call, DETAIL)
        return Reply(200, self._render.asset(asset, expand, call.user, version))

    async def rename(self, call: Call) -> Reply:
        """`PUT /v2/assets/{id}/filename`."""
        self._asset(call)
        sent = await call.json()
        self._tenant.rename(self._asset(call), sent.get("filename"))
        return self.done()

    async def read_metadata(self, call: Call) -> Reply:
        """`GET /v2/assets/{id}/metadata`."""
        return Reply(200, {"fields": self._asset(call).fields})

    async def write_metadata(self, call: Call) -> Reply:
        """`PUT /v2/assets/{id}/metadata`."""
        self._asset(call)
        sent = await call.json()
        if "fields" not in sent:
            raise Refusal(400, "invalid_request", "`fields` is missing")
        self._tenant.write_metadata(self._asset(call), sent["fields"], call.names("patch"), call.user)
        return self.done()

    async def read_security(self, call: Call) -> Reply:
        """`GET /v2/assets/{id}/security`."""
        shown = self._render.security(self._asset(call))
        if "null_unheeded" in self._tenant.options.plays:
            del shown["release_date"]
        return Reply(200, shown)

    async def write_security(self, call: Call) -> Reply:
        """`PUT /v2/assets/{id}/security`."""
        self._asset(call)
        sent = await call.json()
        self._tenant.write_security(self._asset(call), sent, call.names("patch"), call.user)
        return self.done()

    async def add_tags(self, call: Call) -> Reply:
        """`PUT /v2/assets/{id}/tags/add`."""
        return await self._tags(call, remove=False)

    async def remove_tags(self, call: Call) -> Reply:
        """`POST /v2/assets/{id}/tags/remove`."""
        return await self._tags(call, remove=True)

    async def add_preview(self, call: Call) -> Reply:
        """`POST /v2/assets/{id}/alternatepreview`, a form with `file`."""
        self._asset(call)
        options = self._tenant.options
        form = await read_form(call.header("content-type"), call.body(), self._tenant.objects, options.form_most)
        if form.blob is None:
            raise Refusal(400, "invalid_request", "The part `file` is missing")
        self._tenant.touched(replace(self._asset(call), preview=True))
        return self.done()

    async def drop_preview(self, call: Call) -> Reply:
        """`DELETE /v2/assets/{id}/alternatepreview`."""
        self._tenant.touched(replace(self._asset(call), preview=False))
        return self.done(204)

    async def groups(self, call: Call) -> Reply:
        """`GET /v2/assets/assetgroups`: those the user may view."""
        rows = [
            {"uuid": key, "name": name}
            for name, key in self._tenant.groups.items()
            if call.user.groups is None or name in call.user.groups
        ]
        return Reply(200, {"item_type": "assetgroup", "total_count": len(rows), "items": rows})

    async def _tags(self, call: Call, *, remove: bool) -> Reply:
        self._asset(call)
        sent = await call.json()
        self._tenant.write_tags(self._asset(call), sent.get("tags"), call.user, remove=remove)
        return self.done()

    def _asset(self, call: Call) -> Asset:
        return self._tenant.asset(call.params["id"], call.user)

    def _envelope(self, hits: Hits, scroll_id: str | None, offset: int, limit: int) -> dict[str, Json]:
        asked = hits.question
        timeout = self._tenant.options.scroll_timeout
        return {
            "query": asked.query,
            "sort": asked.sort,
            "query_explained": hits.explained,
            "sort_explained": self._tenant.search.explain_sort(asked.sort),
            "query_syntax_ok": hits.ok,
            "scroll_id": scroll_id,
            "scroll_timeout": str(round(timeout * 1000)) if scroll_id else None,
            "include_archived": asked.archived,
            "include_deleted": asked.deleted,
            "facets": None,
            "item_type": "asset",
            "total_count": len(hits.assets),
            "offset": offset,
            "limit": limit,
        }

    def _expands(self, call: Call, known: tuple[str, ...]) -> frozenset[str]:
        return expands_of(call.query.get("expand", ""), known, older=self._older)

    def _page(self, call: Call, envelope: dict[str, Json], rows: Sequence[Asset], expand: frozenset[str]) -> Reply:
        envelope["items"] = [self._render.asset(row, expand, call.user) for row in rows]
        return Reply(200, envelope)


def _question(call: Call) -> Question:
    return Question(
        call.query.get("query") or None,
        call.query.get("sort") or "-created_date",
        call.flag("include_deleted"),
        call.flag("include_archived"),
    )
