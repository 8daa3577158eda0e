"""Uploads to the storage of `storage_process`, by the clients of the product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dam_sync.http.client import Client
from dam_sync.http.messages import Request
from dam_sync.model.limits import Part
from dam_sync.model.values import Json
from dam_sync.transfer.part_sender import Blocks


@dataclass(frozen=True, slots=True)
class StorageRequests:
    """The parts of an upload, each as a request to `storage_process`."""

    client: Client

    async def begin(self, size: int, parts: int) -> Json:
        return None

    async def received(self, ticket: Json) -> Mapping[int, Json]:
        return {}

    async def put(self, ticket: Json, part: Part, body: Blocks) -> Json:
        path = f"/{part.number}"
        await self.client.send(Request("PUT /part", "PUT", path, body=body, size=part.size, repeatable=True))
        return part.number

    async def finish(self, ticket: Json, receipts: Sequence[Json]) -> Json:
        return list(receipts)

    async def abort(self, ticket: Json) -> None:
        return None
