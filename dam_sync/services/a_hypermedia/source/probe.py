"""Checks made before anything is read: credential, release, number of media, schema."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from dam_sync.model.asset import Placement
from dam_sync.model.connector import Context
from dam_sync.model.library import Library
from dam_sync.model.probed import Account
from dam_sync.model.schema import Schema
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.codec.fields import schema_of
from dam_sync.services.a_hypermedia.source.baskets import BasketReader


class HypermediaProbe(BasketReader):
    """Proves the connection and describes the instance."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._host = urlsplit(context.base_url).netloc
        self._read_only = context.read_only

    async def probe(self) -> Account:
        """Read both entry points, the own user and a count; 401 is Denied (spec 000, Authentication 2)."""
        entry = await self._api.entry.get()
        user, notes = await self._api.user()
        if not entry.has(facts.CHUNKS):
            most = facts.ONE_REQUEST_BYTES
            self.limits = replace(self.limits, parts=None, single_bytes=most, largest_bytes=most)
            notes = (
                *notes,
                "this release is older than 4.31.0 and does not support chunks: files above 50 MB are parked",
            )
        ask = self._read_only and "baskets" not in self._options.model_fields_set
        unread = await self._unread_baskets() if ask else ()
        return Account(
            tenant=self._host,
            user=user,
            release=".".join(map(str, entry.release)),
            total=await self._media_search.count([]),
            clock_skew=entry.skew,
            notes=notes,
            undecided_as_source=unread,
        )

    async def library(self) -> Library:
        """See `Service.library`: an instance has a URL of its own (spec 000, Authentication 1)."""
        return Library.of_server(facts.NAME, self._api.base_url, facts.API_PATHS)

    async def schema(self) -> Schema:
        """Fields, vocabularies, required flags of this instance."""
        offer = await self._tenant.offer()
        schema = schema_of(await self._tenant.forms.get(), offer)
        staging = frozenset({Placement("folder", (self._options.staging_folder,))})
        return replace(schema, container_staging=staging, capabilities=self.capabilities)
