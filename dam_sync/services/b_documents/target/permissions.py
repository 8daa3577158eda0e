"""Rights on documents of service B: for some groups only, for nobody, or inherited again (wire B 5.3).

A document that is limited to some inherits nothing. Grant and block go in one call, so that it is open at no moment in
between; what the call left is read out of its response.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dam_sync.http.interpreting import interpreting_response, interprets_response
from dam_sync.model.asset import AssetId
from dam_sync.model.errors import Rejected
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.client import DocumentsApi
from dam_sync.services.b_documents.codec.rights import lists_of, local_grants, strangers
from dam_sync.services.b_documents.codec.wire import document_of
from dam_sync.services.b_documents.tenant import DocumentsTenant

WITH_RIGHTS = {"enrichers-document": "acls"}
ADD, REMOVE = "Document.AddPermission", "Document.RemovePermission"
UNBLOCK = "Document.UnblockPermissionInheritance"
READ, EVERYTHING = "Read", "Everything"


@dataclass(frozen=True, slots=True)
class DocumentsPermissions:
    """Grants and revokes permissions; every method is safe to repeat."""

    api: DocumentsApi
    tenant: DocumentsTenant

    async def give(self, asset: AssetId, groups: frozenset[str]) -> Json:
        """Grant these read permission, and revoke that of others, whether own or inherited. Returns the
        resulting document."""
        user = await self.tenant.user.get()
        if not user.administrator:  # or the job would lose its own right with the inheritance
            await self._add(asset, [user.name], EVERYTHING, block=False)
        row = await self._add(asset, sorted(groups), READ, block=True)
        await self._remove(asset, stale(row, groups))
        return row

    async def give_alone(self, asset: AssetId, groups: frozenset[str]) -> None:
        """Like `give`, for a document that nobody else may read. Raises Rejected if somebody else can."""
        self._refuse_strangers(asset, await self.give(asset, groups), groups, (await self.tenant.user.get()).name)

    async def withdraw(self, asset: AssetId, row: Json, groups: frozenset[str]) -> None:
        """Revoke the document's own `Read` grants from all but these."""
        await self._remove(asset, stale(row, groups))

    async def close(self, asset: AssetId) -> None:
        """Close the document to everybody but the user of the job and administrators. Raises Rejected if somebody else
        can still read it."""
        user = (await self.tenant.user.get()).name
        row = await self._add(asset, [user], EVERYTHING, block=True)
        others = [ace for ace in local_grants(row) if ace.get("username") not in (user, facts.ADMINISTRATORS)]
        if others:
            await self._remove(asset, others)
            row = await self.api.document(asset)
        self._refuse_strangers(asset, row, frozenset(), user)

    async def open(self, asset: AssetId, groups: frozenset[str]) -> None:
        """Reopen the document for these; without groups, for those with inherited permission."""
        if groups:
            await self.give(asset, groups)
        else:
            await self.api.operate(UNBLOCK, f"doc:{asset}", {"acl": "local"}, repeatable=True, asset=asset)

    async def _add(self, asset: AssetId, names: list[str], permission: str, *, block: bool) -> Json:
        """The document, with its rights."""
        params = {"users": names, "permission": permission, "acl": "local", "notify": False}
        if block:
            params["blockInheritance"] = True
        reply = await self.api.operate(ADD, f"doc:{asset}", params, repeatable=True, asset=asset, headers=WITH_RIGHTS)
        row = document_of(reply.object()) if reply.body else {}
        return row if lists_of(row) is not None else await self.api.document(asset)

    async def _remove(self, asset: AssetId, aces: Iterable[Json]) -> None:
        for ace in aces:
            with interpreting_response("the rights of a document"):
                params = {"id": str(ace["id"]), "acl": "local"}
            await self.api.operate(REMOVE, f"doc:{asset}", params, repeatable=True, asset=asset)

    @interprets_response
    def _refuse_strangers(self, asset: AssetId, row: Json, groups: frozenset[str], user: str) -> None:
        if others := strangers(row, groups | {user}):
            raise Rejected(
                f"others can still read the document: {', '.join(sorted(others)[:5])}",
                asset=asset,
                operation=facts.OPERATION + ADD,
                code="not closed",
                hint="grant the user of the job permission to manage permissions there, then `errors JOB --retry`",
            )


@interprets_response
def stale(row: Json, groups: frozenset[str]) -> list[Json]:
    """The document's own `Read` grants to others."""
    return [ace for ace in local_grants(row) if ace.get("permission") == READ and ace.get("username") not in groups]
