"""The service: a listing by id with a cursor, records, and files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import date
from typing import Any

from pydantic import Field

from dam_sync.config.options import Count, Options
from dam_sync.http.auth.base import Bearer
from dam_sync.http.client import Client, ClientConfig, Request
from dam_sync.model.asset import Asset, AssetId, Entry, FileRef, Revision
from dam_sync.model.capabilities import Capabilities, Feature, Support
from dam_sync.model.connector import Context
from dam_sync.model.costs import Cost, CostPart
from dam_sync.model.errors import ContractBroken
from dam_sync.model.limits import Limits, Pace
from dam_sync.model.ports import Stream
from dam_sync.model.probed import Account
from dam_sync.model.schema import Field as SchemaField
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.model.service import Batch, Calls, Cursor, Service, Shard, Window
from dam_sync.model.validator import NO_VALIDATOR, Validator
from dam_sync.model.values import instant_text, parse_instant

NAME = "acme_gallery"
PAGE = 100
LIMITS = Limits(page=PAGE, pace=Pace(at_once=4))
READ = Support("yes")
FILE = "GET /items/{id}/file"
COSTS = (Cost(CostPart.OPENED, FILE),)  # the third of the three endpoints; the rest comes with the listing
SCHEMA = Schema(
    fields={
        "title": SchemaField("title", FieldKind.TEXT, "Title"),
        "caption": SchemaField("caption", FieldKind.LONG_TEXT, "Caption"),
        "keywords": SchemaField("keywords", FieldKind.TEXT, "Keywords", multiple=True),
        "taken": SchemaField("taken", FieldKind.DATE, "Taken on"),
    }
)


class GalleryOptions(Options):
    """What a job may say about a gallery."""

    page: Count = Field(PAGE, ge=1, description="items a page (default 100)")


class GalleryService(Service):
    """One gallery. Everything is public there, so assets have no rights; nothing can be written."""

    kind = NAME
    declared = Capabilities(
        features=dict.fromkeys((Feature.TEXT, Feature.DATE, Feature.MULTIPLE, Feature.DIGESTS), READ),
        limits=LIMITS,
        costs=COSTS,
    )

    def __init__(self, context: Context) -> None:
        self._page = context.options.page
        self._client = Client(ClientConfig.of(context, NAME, Bearer(context.auth.token), (), LIMITS.pace))

    @property
    def calls(self) -> Calls:
        return self._client.calls

    async def probe(self) -> Account:
        answer = await self._listed([("limit", "1")])
        return Account(tenant=str(answer["gallery"]), total=int(answer["total"]))

    async def schema(self) -> Schema:
        return SCHEMA

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        yield Shard("all", {"since": instant_text(window.since)} if window.since else {})

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        after = cursor["after"] if cursor else ""
        while after is not None:
            answer = await self._listed(
                [("limit", str(self._page)), ("after", after), ("since", shard.params.get("since", ""))]
            )
            assets = [asset_of(item) for item in answer["items"]]
            after = answer["next"]
            entries = tuple(Entry(asset.id, asset.revision, asset.changed_at, asset) for asset in assets)
            yield Batch(entries, None if after is None else {"after": after})

    async def fetch(self, asset: AssetId) -> Asset:
        request = Request("GET /items/{id}", "GET", f"/items/{asset}", asset=asset)
        return asset_of((await self._client.send(request)).object())

    async def open(self, file: FileRef, offset: int = 0, validator: Validator = NO_VALIDATOR) -> Stream:
        request = Request(FILE, "GET", f"/items/{file.id}/file")
        return await self._client.stream(request, offset, validator)

    async def close(self) -> None:
        await self._client.close()

    async def _listed(self, params: Sequence[tuple[str, str]]) -> dict[str, Any]:
        given = [(key, value) for key, value in params if value]
        return (await self._client.send(Request("GET /items", "GET", "/items", params=given))).object()


def asset_of(item: dict[str, Any]) -> Asset:
    """Raises ContractBroken for an item that is not as documented."""
    try:
        changed = parse_instant(item["updated"])
        fields = {key: item[key] for key in ("title", "caption") if item.get(key)}
        if item.get("keywords"):
            fields["keywords"] = tuple(item["keywords"])
        if item.get("taken"):
            fields["taken"] = date.fromisoformat(item["taken"])
        file = item["file"]
        ref = FileRef(str(item["id"]), file["name"], file["size"], file["type"], {"md5": file["md5"]})
        return Asset(
            id=AssetId(str(item["id"])),
            revision=Revision(item["updated"]),
            filename=file["name"],
            status="published",
            fields=fields,
            versions=(ref,),
            changed_at=changed,
        )
    except (LookupError, TypeError, ValueError) as problem:
        raise ContractBroken(f"an item is not as documented: {type(problem).__name__}: {problem}") from None
