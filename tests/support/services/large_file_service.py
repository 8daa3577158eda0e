"""A service of the test alone, for libraries of large files: all its bytes come from, and go to, a storage that does as
little as it can (`storage_process`), over TLS. Installed for other processes by `installed`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import Field

from dam_sync.config.options import Count, Options, Switch, TokenAuth
from dam_sync.http.auth.base import Bearer
from dam_sync.http.client import Client, ClientConfig
from dam_sync.http.messages import Request
from dam_sync.model.asset import Asset, AssetId, Draft, Entry, FileRef, Revision
from dam_sync.model.capabilities import Capabilities, Feature, Support
from dam_sync.model.connector import Connector, Context
from dam_sync.model.limits import MIB, Limits, Pace, PartBounds
from dam_sync.model.ports import Content, Journal, Stream
from dam_sync.model.probed import Account
from dam_sync.model.schema import Field as SchemaField
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.model.service import Batch, Calls, Cursor, Service, Shard, Window
from dam_sync.model.validator import NO_VALIDATOR, Validator
from dam_sync.model.values import Json
from dam_sync.transfer.upload import send_parts
from tests.support.network.storage_process import BLOCK, PEM
from tests.support.network.storage_requests import StorageRequests

NAME = "films"
MEMORY = 128 * MIB
PARTS = PartBounds(10 * MIB, MIB, at_once=4)
LIMITS = Limits(page=100, pace=Pace(at_once=8, storage_at_once=8), single_bytes=0, parts=PARTS)
BOTH = Support("yes", "yes")
SCHEMA = Schema(fields={"title": SchemaField("title", FieldKind.TEXT, "Title")})


class FilmOptions(Options):
    """The library."""

    files: Count = Field(0, ge=0, description="how many")
    bytes: Count = Field(1, ge=1, description="of each")
    digests: Switch = Field(True, description="whether the source publishes MD5")


class FilmService(Service):
    """One library."""

    kind = NAME
    declared = Capabilities(
        features=dict.fromkeys((Feature.TEXT, Feature.DIGESTS, Feature.SAME_NAMES), BOTH), limits=LIMITS
    )

    def __init__(self, context: Context) -> None:
        self._options, self._budget = context.options, context.budget
        self._client = Client(ClientConfig.of(context, NAME, Bearer(context.auth.token), (), LIMITS.pace))

    @property
    def calls(self) -> Calls:
        """See `Service.calls`."""
        return self._client.calls

    async def probe(self) -> Account:
        """See `Service.probe`."""
        return Account(tenant=NAME, total=self._options.files)

    async def schema(self) -> Schema:
        """See `Service.schema`."""
        return replace(SCHEMA, capabilities=self.capabilities)

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        """See `Service.shards`."""
        yield Shard("all", {}, self._options.files)

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """See `Service.crawl`."""
        assets = [self._asset(number) for number in range(1, self._options.files + 1)]
        yield Batch(tuple(Entry(asset.id, asset.revision, None, asset) for asset in assets), None)

    async def fetch(self, asset: AssetId) -> Asset:
        """See `Service.fetch`."""
        return self._asset(int(asset))

    async def open(self, file: FileRef, offset: int = 0, validator: Validator = NO_VALIDATOR) -> Stream:
        """See `Service.open`."""
        assert offset == 0, "a broken connection to a storage of this machine"
        return await self._client.stream(Request("GET /file", "GET", f"/{file.size}"))

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """See `Service.create`."""
        assert content is not None
        assert self._budget is not None
        await send_parts(content, StorageRequests(self._client), PARTS, journal, self._budget)
        await content.check()

        async def call() -> Json:
            return f"copy of {draft.filename}"

        return AssetId(str(await journal.run("create", call, idempotent=True)))

    async def close(self) -> None:
        """See `Service.close`."""
        await self._client.close()

    def _asset(self, number: int) -> Asset:
        name, size = f"film-{number}.mov", self._options.bytes
        digests = {"md5": md5_of(size)} if self._options.digests else {}
        file = FileRef(str(number), name, size, "video/quicktime", digests)
        return Asset(
            AssetId(str(number)), Revision("1"), name, status="published", fields={"title": name}, versions=(file,)
        )


CONNECTOR = Connector(
    name=NAME,
    summary="large files",
    service=lambda: FilmService,
    options=FilmOptions,
    auth={"token": TokenAuth},
)


@cache
def md5_of(size: int) -> str:
    """Of the bytes that the storage gives."""
    digest, (whole, rest) = hashlib.md5(usedforsecurity=False), divmod(size, len(BLOCK))
    for _ in range(whole):
        digest.update(BLOCK)
    digest.update(BLOCK[:rest])
    return digest.hexdigest()


def installed(folder: Path) -> dict[str, str]:
    """The environment of processes that know this service, and trust the certificate of the storage."""
    about = folder / "site" / "films-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: films\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[dam_sync.services]\n{NAME} = {__name__}:CONNECTOR\n")
    root = Path(__file__).parents[3]
    path = f"{about.parent}{os.pathsep}{root}"
    return {**os.environ, "PYTHONPATH": path, "SSL_CERT_FILE": str(PEM), "FILMS": "token"}
