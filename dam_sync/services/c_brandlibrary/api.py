"""One connection to service C: its options, its key, its calls; an empty list is never trusted without proof."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.aio.just_read import JustRead
from dam_sync.crawl.held_list import HeldList
from dam_sync.http.auth.base import Bearer
from dam_sync.http.client import Client, ClientConfig, Request, Response
from dam_sync.http.interpreting import interpreting_response, member_text
from dam_sync.model.clock import Clock
from dam_sync.model.connector import Context
from dam_sync.model.errors import DamSyncError, Denied, InvalidValue, NotFound, TruncatedListing
from dam_sync.model.limits import Limits
from dam_sync.model.values import Json
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec.envelope import ApiDocument, document_of, made_of
from dam_sync.services.c_brandlibrary.options import BrandLibraryOptions, limits_of

ROOT = "/api/v4"
JSON_HEADERS = {"Accept": "application/json", "Content-Type": "application/json"}  # spec 001, Endpoints, Service C
_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")  # wire C 1
Pairs = Sequence[tuple[str, str]]


@dataclass(slots=True)
class BrandLibraryApi:
    """The calls of one connection."""

    client: Client
    clock: Clock
    options: BrandLibraryOptions
    limits: Limits
    read_only: bool
    just_read: JustRead[Json]  # assets of a target, with everything that can be included
    keep_waiting: Callable[[], None]  # see `Context.keep_waiting`
    _proven: float | None = field(default=None)
    _requires_name: bool = False  # in every change, as one was refused without it

    @classmethod
    def open(cls, context: Context) -> BrandLibraryApi:
        """Raises ConfigError for a URL, options or a credential that cannot be used."""
        options: BrandLibraryOptions = context.options
        limits = limits_of(context, options)
        wiring = ClientConfig.of(context, facts.NAME, Bearer(context.auth.token), facts.RULES, limits.pace)
        wiring = replace(wiring, headers=JSON_HEADERS)
        read = JustRead[Json](context.clock)
        return cls(Client(wiring), context.clock, options, limits, context.read_only, read, context.keep_waiting)

    @property
    def made_at_once(self) -> int:
        """Assets created concurrently, which share calls."""
        return max(self.limits.pace.most, facts.MADE_AT_ONCE)

    async def listed(
        self, operation: str, ids: Sequence[str] = (), params: Pairs = (), *, accept: frozenset[int] = frozenset()
    ) -> ApiDocument:
        """One page of a list; if it is empty, the key is verified first, because an invalid one gets empty lists (wire
        C 1).

        An accepted refusal is a document that says so by `refused`.
        """
        request = replace(self.reading(operation, ids, params), accept=accept, timeout=facts.LIST_SECONDS)
        reply = await self.client.send(request)
        if reply.status in accept:
            return ApiDocument((), refused=reply.status)
        document = document_of(reply.json(), operation)
        if not document.rows and not document.total:
            await self.prove()
        return document

    async def everything(
        self, operation: str, ids: Sequence[str] = (), params: Pairs = (), *, accept: frozenset[int] = frozenset()
    ) -> list[Json]:
        """All rows of a short list, in pages of 3,000; none if it is refused as accepted, and the key is valid. Raises
        TruncatedListing if it has fewer rows than its total."""
        rows: dict[str, Json] = {}
        held = HeldList()
        number = 1
        while True:
            asked = (*params, ("page", str(number)), ("per", str(facts.LONG_PAGE)))
            document = await self.listed(operation, ids, asked, accept=accept)
            if document.refused:
                await self.prove()
                return []
            before = len(rows)
            held.take(document.rows)
            with interpreting_response("the rows of a list"):
                rows |= {str(row["id"]): row for row in document.rows}
            if document.ends(before, len(rows)):
                break
            number += 1
        if len(rows) < (document.total or 0):
            raise TruncatedListing(
                f"a listing counts {document.total} rows but returned {len(rows)}",
                operation=operation,
                hint="run the same command again while nobody changes the structure of the library",
            )
        return list(rows.values())

    async def one(self, operation: str, ids: Sequence[str], params: Pairs = (), *, asset: str = "") -> Json:
        """One resource, its relations resolved."""
        try:
            request = replace(self.reading(operation, ids, params), asset=asset)
            return document_of((await self.client.send(request)).json(), operation).single
        except DamSyncError as error:
            raise error.within(asset=asset) from None

    def reading(self, operation: str, ids: Sequence[str] = (), params: Pairs = ()) -> Request:
        """A GET request."""
        return Request(operation, "GET", self.path(operation, ids), params=tuple(params))

    async def write(
        self,
        operation: str,
        ids: Sequence[str],
        body: Json = None,
        *,
        asset: str = "",
        repeatable: bool = False,
        accept: frozenset[int] = frozenset(),
    ) -> Response:
        """Send JSON with the operation's method; `repeatable`: safe to repeat."""
        method = operation.partition(" ")[0]
        try:
            path = self.path(operation, ids)
        except NotFound as error:
            raise error.within(asset=asset) from None
        return await self.client.send(
            Request(operation, method, path, json=body, asset=asset, repeatable=repeatable, accept=accept)
        )

    async def edit(self, asset: str, attributes: Mapping[str, Json], *, repeatable: bool = False) -> Json:
        """Change an asset's own attributes; returns the asset of the response. Raises ContractBroken if there
        is none, because then nothing proves the change (wire C 6.4). A published schema requires the name in every
        change (wire C, last section): a change refused without it is sent again with the asset's current name, and so
        are the following ones at once."""
        if "name" not in attributes and self._requires_name:
            return await self._edit(asset, await self._with_name(asset, attributes), repeatable=repeatable)
        try:
            return await self._edit(asset, attributes, repeatable=repeatable)
        except InvalidValue:
            if "name" in attributes or "name" not in (named := await self._with_name(asset, attributes)):
                raise
            edited = await self._edit(asset, named, repeatable=repeatable)
        self._requires_name = True
        return edited

    async def _with_name(self, asset: str, attributes: Mapping[str, Json]) -> Mapping[str, Json]:
        """With the current name of the asset, if it has one."""
        row = await self.one(facts.ASSET, (asset,), (), asset=asset)
        name = member_text(row["attributes"], "name")
        return {"name": name, **attributes} if name else attributes

    async def _edit(self, asset: str, attributes: Mapping[str, Json], *, repeatable: bool) -> Json:
        body = {"data": {"attributes": dict(attributes)}}
        reply = await self.write(facts.PUT_ASSET, (asset,), body, asset=asset, repeatable=repeatable)
        return made_of(reply.json(), facts.PUT_ASSET)

    def path(self, operation: str, ids: Sequence[str]) -> str:
        """The path of an endpoint, its slots filled in order. Raises NotFound for an invalid id."""
        for each in ids:
            if not _ID.fullmatch(each):
                raise NotFound(f"{each[:80]!r} is not an id of this service", operation=operation)
        parts = operation.partition(" ")[2].replace("/libraries", f"/{self.options.libraries_word}").split("{id}")
        return "".join(text for pair in zip(parts, [*ids, ""], strict=True) for text in pair)

    async def prove(self) -> None:
        """Read the user of the key, unless that was done recently. Raises Denied."""
        if self._proven is not None and self.clock.monotonic() - self._proven < facts.PROOF_SECONDS:
            return
        await self.whoami()

    async def whoami(self) -> Response:
        """The user of the key. Raises Denied; the service returns 404 for an invalid key (spec 001, Authentication)."""
        try:
            reply = await self.client.send(self.reading(facts.WHOAMI))
        except NotFound as error:
            raise Denied(
                f"the API key is unknown: {error.message}",
                operation=facts.WHOAMI,
                hint="check the API key in the job, and that `base_url` is the URL of the service",
            ) from error
        self._proven = self.clock.monotonic()
        return reply


def newest_first(number: int, size: int) -> Pairs:
    """The parameters of a page of assets in the order of their creation, the newest first."""
    return (("page", str(number)), ("per", str(size)), ("sort_by", "created_at"), ("order", "DESC"))
