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
from dam_sync.services.b_documents.codec.rights import is_blocked, lists_of, local_grants, strangers
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
        resulting document. Raises Rejected if it still inherits, or still grants others `Read`."""
        user = await self.tenant.user.get()
        if not user.administrator:  # or the job would lose its own right with the inheritance
            await self._add(asset, [user.name], EVERYTHING, block=False)
        row = await self._add(asset, sorted(groups), READ, block=True)
        self._refuse_inherited(asset, row)
        return await self.withdraw(asset, row, groups)

    async def give_alone(self, asset: AssetId, groups: frozenset[str]) -> None:
        """Like `give`, for a document that nobody else may read. Raises Rejected if somebody else can."""
        self._refuse_strangers(asset, await self.give(asset, groups), groups, (await self.tenant.user.get()).name)

    async def withdraw(self, asset: AssetId, row: Json, groups: frozenset[str]) -> Json:
        """Revoke the document's own `Read` grants from all but these. Returns the resulting document. Raises Rejected
        if one stays."""
        if others := stale(row, groups):
            row = await self._remove(asset, others)
            self._refuse(asset, [str(ace.get("username")) for ace in stale(row, groups)], REMOVE)
        return row

    async def close(self, asset: AssetId) -> None:
        """Close the document to everybody but the user of the job and administrators. Raises Rejected if somebody else
        can still read it."""
        user = (await self.tenant.user.get()).name
        row = await self._add(asset, [user], EVERYTHING, block=True)
        others = [ace for ace in local_grants(row) if ace.get("username") not in (user, facts.ADMINISTRATORS)]
        if others:
            row = await self._remove(asset, others)
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
        return await self._changed(asset, ADD, params)

    async def _remove(self, asset: AssetId, aces: Iterable[Json]) -> Json:
        """The document, with its rights, without these entries."""
        row: Json = {}
        for ace in aces:
            with interpreting_response("the rights of a document"):
                params = {"id": str(ace["id"]), "acl": "local"}
            row = await self._changed(asset, REMOVE, params)
        return row

    async def _changed(self, asset: AssetId, operation: str, params: Json) -> Json:
        """The document, with its rights, after a change of these."""
        reply = await self.api.operate(
            operation, f"doc:{asset}", params, repeatable=True, asset=asset, headers=WITH_RIGHTS
        )
        row = document_of(reply.object()) if reply.body else {}
        return row if lists_of(row) is not None else await self.api.document(asset)

    def _refuse_inherited(self, asset: AssetId, row: Json) -> None:
        """Assumed: granting and blocking work in one call (assumption 10)."""
        if not is_blocked(row):
            self._refuse(asset, ["those from whom it inherits, although this was blocked"], ADD)

    @interprets_response
    def _refuse_strangers(self, asset: AssetId, row: Json, groups: frozenset[str], user: str) -> None:
        self._refuse(asset, sorted(strangers(row, groups | {user})), ADD)

    def _refuse(self, asset: AssetId, others: list[str], operation: str) -> None:
        if others:
            raise Rejected(
                f"others can still read the document: {', '.join(others[:5])}",
                asset=asset,
                operation=facts.OPERATION + operation,
                code="not closed",
                hint="grant the user of the job permission to manage permissions there, then `errors JOB --retry`",
            )


@interprets_response
def stale(row: Json, groups: frozenset[str]) -> list[Json]:
    """The document's own `Read` grants to others."""
    return [ace for ace in local_grants(row) if ace.get("permission") == READ and ace.get("username") not in groups]
