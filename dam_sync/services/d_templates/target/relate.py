"""Typed links between assets; every response is 200 and carries the outcome (wire D 6.7)."""

from __future__ import annotations

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import AssetId, Relation
from dam_sync.model.errors import Conflict, ContractBroken, InvalidValue, NotFound, Unsupported
from dam_sync.model.values import Json
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.wire import listed, message_of
from dam_sync.services.d_templates.source.fetch import kind_of_link
from dam_sync.services.d_templates.tenant import TemplatesPart

_NOT_THERE = "relationship retrieval failed"  # wire D 6.7
_THERE = ("relationship exists", "item already exists")  # wire D 6.7: both mean it is done


class TemplatesRelate(TemplatesPart):
    """Links current records."""

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        """Raises Unsupported for an unknown kind, Conflict for a cycle, which the service refuses. Safe to repeat."""
        kind = kind_of_link(relation.kind)
        if kind not in facts.KINDS_OF_LINK:
            hint = f"map relations to {', '.join(facts.KINDS_OF_LINK)}"
            raise Unsupported(f"the service has no relations of kind {relation.kind!r}", asset=asset, hint=hint)
        own, other = await self.version_groups.known(asset), await self.version_groups.known(relation.target)
        text = await self._linked(asset, own.object, other.object, kind)
        if text and kind in facts.HYPHENED and "circular" not in text.casefold():
            text = await self._linked(asset, own.object, other.object, facts.HYPHENED[kind])
        if "circular" in text.casefold():
            hint = "remove one relation of the cycle at the source"
            raise Conflict(f"{kind} to {relation.target} would close a cycle", asset=asset, code="circle", hint=hint)
        if text:
            raise InvalidValue(text[:200], asset=asset, operation=facts.RELATE)

    async def unrelate(self, asset: AssetId, relation: Relation) -> None:
        """Remove a relation from the newest version that has it, because older records keep theirs (assumption 10).
        Safe to repeat."""
        kind = kind_of_link(relation.kind)
        try:
            own = await self.version_groups.load(asset)
            other = await self.version_groups.load(relation.target)
        except NotFound:
            return  # a relation ends with either asset
        theirs = {record.object for record in other.records}
        for record in reversed(own.living):
            found = [
                (member_text(row, "secondaryId"), member_text(row, "linkType"))
                for row in listed(await self.api.ask(facts.LINKS, record.object, asset=asset), "links")
                if member_text(row, "primaryId", "primaryID") == record.object
            ]
            ours = [pair for pair in found if pair[0] in theirs and kind_of_link(pair[1]) == kind]
            for secondary, spelled in ours:
                await self._unlinked(asset, record.object, secondary, spelled)
            if ours:
                return

    async def _unlinked(self, asset: AssetId, primary: str, secondary: str, kind: str) -> None:
        body = {"secondaryIds": [{"id": secondary, "linkType": kind}]}
        entry = _entry((await self.api.write(facts.UNRELATE, primary, body, asset=asset)).json())
        text = message_of(entry) or "the removal of a link was refused"
        if entry.get("status") != "success" and _NOT_THERE not in text.casefold():
            raise InvalidValue(text[:200], asset=asset, operation=facts.UNRELATE)

    async def _linked(self, asset: AssetId, own: str, other: str, kind: str) -> str:
        """Empty if the link exists, otherwise the message of the service. Two records have at most one link, so an
        existing one is read: it may be of another kind (wire D 3.4)."""
        body = {"secondaryIds": [{"id": other, "linkType": kind}]}
        reply = (await self.api.write(facts.RELATE, own, body, asset=asset)).json()
        entry = _entry(reply)
        if entry.get("status") == "success":
            return ""
        text = message_of(entry) or "the link was refused"
        if any(there in text.casefold() for there in _THERE):
            await self._see(asset, own, other, kind_of_link(kind))
            return ""
        return text

    async def _see(self, asset: AssetId, own: str, other: str, kind: str) -> None:
        rows = listed(await self.api.ask(facts.LINKS, own, asset=asset), "links")
        between = [row for row in rows if {own, other} == {row.get("primaryId"), row.get("secondaryId")}]
        kinds = {kind_of_link(member_text(row, "linkType")) for row in between}
        if kinds and kind not in kinds:
            raise Conflict(
                f"there is a link of kind {', '.join(sorted(kinds))} between them already, and only one is possible",
                asset=asset,
                code="other link",
                hint="choose one of the two relations in the mapping",
            )


@interprets_response
def _entry(reply: Json) -> dict[str, Json]:
    entry = reply[0] if isinstance(reply, list) and len(reply) == 1 else reply
    if not isinstance(entry, dict):
        raise ContractBroken("the response to a link has no documented shape", operation=facts.RELATE)
    return entry
