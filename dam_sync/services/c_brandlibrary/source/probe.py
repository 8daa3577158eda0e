"""Checks made before anything is read: the key, the library, the user's role, the schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dam_sync.http.client import Response
from dam_sync.http.interpreting import MISREAD, interprets_response, member_text
from dam_sync.model.errors import ContractBroken, Denied, Rejected, TruncatedListing
from dam_sync.model.library import Library
from dam_sync.model.probed import Account
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec import fields
from dam_sync.services.c_brandlibrary.codec.envelope import document_of, related
from dam_sync.services.c_brandlibrary.tenant import BrandLibraryBase, ChosenLibrary

DUPLICATES = "switch off the account's duplicate detection: it deletes identical files ten minutes after upload"


class BrandLibraryProbe(BrandLibraryBase):
    """Proves the key and describes the library."""

    async def probe(self) -> Account:
        """Prove the key on its own user and on an organization it must see (wire C 1). Raises Denied."""
        reply = await self._api.whoami()
        user, email = _user_of(reply)
        if not (await self._api.listed(facts.ORGANIZATIONS)).rows:
            raise Denied(
                "the key sees no organization",
                operation=facts.ORGANIZATIONS,
                hint="use the key of an owner or administrator of the organization",
            )
        library = await self._tenant.chosen.get()
        counted = await self._api.one(facts.LIBRARY, (library.id,), (("fields", "asset_count"),))
        total = counted["attributes"].get("asset_count")
        self._tenant.counted = total if isinstance(total, int) else None
        return Account(
            tenant=library.id,
            user=email or user,
            release="v4",
            total=self._tenant.counted,
            clock_skew=reply.ahead_of(self._api.clock.now()),
            notes=tuple(await self._notes(library, user)),
            as_target=(*self._duplicates(), *self._openness(counted["attributes"])),
        )

    async def library(self) -> Library | None:
        """See `Service.library`: all customers have one host, and libraries have ids (wire C 0)."""
        chosen = self._tenant.chosen.now
        return None if chosen is None else Library.of_customer(facts.NAME, [self._base_url], chosen.id)

    async def schema(self) -> Schema:
        """Fields, vocabularies, and what an asset can store."""
        keys, payload = await self._tenant.keys.get(), await self._tenant.has_payload()
        options = self._api.options
        schema = fields.schema_of(keys, extends=options.extend_lists, payload=payload, section=options.section)
        return replace(schema, capabilities=self.capabilities)

    async def _notes(self, library: ChosenLibrary, user: str) -> list[str]:
        role = await self._role(library, user)
        notes = []
        if role in facts.ROLES:
            pass
        elif role:
            notes.append(
                f"the key's user is {role} in this library: pending, draft and expired assets are not visible; "
                "use the key of an administrator"
            )
        else:
            notes.append("the role of the key's user cannot be seen; only administrators see every asset")
        return notes

    def _duplicates(self) -> tuple[str, ...]:
        """What to do about duplicate detection, unless the job says that it is off."""
        return (DUPLICATES,) if self._api.options.duplicate_window else ()

    def _openness(self, attributes: Mapping[str, Json]) -> list[str]:
        """What a target makes visible without a login."""
        privacy = member_text(attributes, "privacy")
        if privacy in ("", "private"):
            return []
        whom = "anyone with its URL" if privacy == "public" else "anyone who was given its URL"
        return [f"the library is {privacy}: {whom} sees its published assets without a login"]

    async def _role(self, library: ChosenLibrary, user: str) -> str:
        """The user's permission level, of the library or above; empty if not returned (wire C 13)."""
        if not user:
            return ""
        try:
            rows = await self._api.everything(facts.PERMISSIONS, (library.id,))
        except (Denied, Rejected, TruncatedListing):
            return ""
        levels = [
            str(row["attributes"].get("permission_level") or "")
            for row in rows
            if any(each["id"] == user for each in related(row, "user"))
        ]
        return next((level for level in (*facts.ROLES, *levels) if level in levels), "")


@interprets_response
def _user_of(reply: Response) -> tuple[str, str]:
    """Id and email of the key's user, as far as they are reported: this response is undocumented (wire C 1)."""
    try:
        rows = document_of(reply.json(), facts.WHOAMI).rows
    except (ContractBroken, *MISREAD):
        return "", ""
    if len(rows) != 1:
        return "", ""
    return rows[0]["id"], str(rows[0]["attributes"].get("email") or "")
