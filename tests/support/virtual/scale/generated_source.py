"""A service of the test alone: a library of any size, of which only the number of its assets is stored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from dam_sync.config.options import NoOptions, TokenAuth
from dam_sync.model.asset import Asset, AssetId, Entry, FileRef, Placement, Revision
from dam_sync.model.capabilities import Capabilities
from dam_sync.model.connector import Connector, Context
from dam_sync.model.errors import NotFound
from dam_sync.model.limits import Limits, MeasuredPace, Pace
from dam_sync.model.ports import Stream
from dam_sync.model.probed import Account
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema
from dam_sync.model.service import Batch, Calls, Cursor, Service, Shard, Window
from dam_sync.model.validator import NO_VALIDATOR, Validator

NAME = "generated"
LIST, FETCH = "GET /assets", "GET /assets/{id}"
START = datetime(2020, 1, 1, tzinfo=UTC)
LISTING, FETCHING, OPENING = 0.4, 0.05, 0.05  # seconds that a page, an asset, a file take
FOLDER = 500  # assets in each
TAGGED = 10  # every tenth asset has tags
PAGE = 100
LIMITS = Limits(page=PAGE, pace=Pace(per_second=None, at_once=16, storage_at_once=16))


@dataclass(slots=True)
class Bytes:
    """The bytes of one small file, from some of them on. A `Stream`."""

    data: bytes
    start: int
    validator = Validator(tag="never another")

    @property
    def total(self) -> int:
        """See `Stream.total`."""
        return len(self.data)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.data[self.start :]

    async def aclose(self) -> None:
        """See `Stream.aclose`."""


class Generated(Service):
    """Lists so many assets, whole, in pages; links to files come with the listing, as they do at most services."""

    kind = NAME
    declared = Capabilities(limits=LIMITS)
    size: ClassVar[int] = 0

    def __init__(self, context: Context) -> None:
        self._clock = context.clock
        self._calls: dict[str, int] = {}

    @property
    def calls(self) -> Calls:
        """See `Service.calls`."""
        return dict(self._calls)

    @property
    def measured_pace(self) -> MeasuredPace:
        """See `Service.measured_pace`; as long as one asset or one file takes."""
        return MeasuredPace(self.limits.pace, FETCHING)

    async def probe(self) -> Account:
        """See `Service.probe`."""
        return Account("generated", "nobody", total=self.size)

    async def schema(self) -> Schema:
        """See `Service.schema`."""
        fields = {
            key: Field(key, kind, key, types=frozenset({"Picture"}), multiple=several)
            for key, kind, several in (
                ("title", FieldKind.TEXT, False),
                ("note", FieldKind.LONG_TEXT, False),
                ("keywords", FieldKind.TEXT, True),
            )
        }
        return Schema(fields, types=(AssetType("Picture"),), container_kinds=frozenset({"folder"}))

    async def shards(self, window: Window) -> AsyncIterator[Shard]:
        """See `Service.shards`."""
        yield Shard("all", {}, self.size)

    async def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        """See `Service.crawl`."""
        for first in range(int((cursor or {}).get("next", 1)), self.size + 1, PAGE):
            await self._call(LIST, LISTING)
            behind = min(first + PAGE, self.size + 1)
            assets = [asset_of(number) for number in range(first, behind)]
            entries = tuple(Entry(asset.id, asset.revision, asset.changed_at, asset) for asset in assets)
            yield Batch(entries, {"next": behind} if behind <= self.size else None)

    async def fetch(self, asset: AssetId) -> Asset:
        """See `Service.fetch`."""
        await self._call(FETCH, FETCHING)
        if not asset.isdigit() or not 0 < int(asset) <= self.size:
            raise NotFound(f"there is no asset {asset}")
        return asset_of(int(asset))

    async def open(self, file: FileRef, offset: int = 0, validator: Validator = NO_VALIDATOR) -> Stream:
        """See `Service.open`."""
        await self._clock.sleep(OPENING)
        return Bytes(bytes_of(int(file.id)), offset)

    async def close(self) -> None:
        """See `Service.close`."""

    async def _call(self, operation: str, seconds: float) -> None:
        self._calls[operation] = self._calls.get(operation, 0) + 1
        await self._clock.sleep(seconds)


def asset_of(number: int) -> Asset:
    """The asset of a number, counted from 1."""
    stored = START + timedelta(seconds=31 * number)
    name = f"picture-{number:07d}.jpg"
    fields = {"title": f"Picture no. {number}", "note": f"What is told of number {number}, at some length. " * 4}
    tagged = number % TAGGED == 0
    return Asset(
        id=AssetId(str(number)),
        revision=Revision("1"),
        filename=name,
        status="published",
        form_type="PICTURE",
        type="Picture",
        fields={**fields, "keywords": ("bulk", f"decade {number // 10 % 1000}")} if tagged else fields,
        versions=(FileRef(str(number), name, len(bytes_of(number))),),
        placements=frozenset({Placement("folder", ("Library", f"Folder {(number - 1) // FOLDER}"))}),
        created_at=stored,
        changed_at=stored,
        imported_at=stored,
    )


def bytes_of(number: int) -> bytes:
    """The bytes of its file."""
    return b"picture %d\n" % number


def kind_of(size: int) -> Connector:
    """The kind, its libraries of so many assets."""
    sized = type("Sized", (Generated,), {"size": size})
    return Connector(
        name=NAME,
        summary="a generated library",
        service=lambda: sized,
        options=NoOptions,
        auth={"token": TokenAuth},
    )
