"""Attachments and links between media: optional, with a clear error if an instance lacks them."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace

from dam_sync.http.client import Request, Response
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Relation, digest_of
from dam_sync.model.connector import Context
from dam_sync.model.errors import NotFound, Rejected, Unsupported
from dam_sync.model.mistyped import size_of_file
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json
from dam_sync.services.a_hypermedia.api.connection import HalRequest, as_number, made_id
from dam_sync.services.a_hypermedia.api.hal import file_url, own_link, same_name, wanted_id
from dam_sync.services.a_hypermedia.source.fetch import MediaReader
from dam_sync.services.a_hypermedia.source.optional_lists import is_gone
from dam_sync.transfer.checked import CheckedContent

ATTACHMENTS = "/{mediaId}/attachments"
LINKS = "/{mediaId}/media-links"
LINKED = "/{mediaId}/media-links/{linkId}/medias"
ONE_LINKED = f"{LINKED}/{{linkedId}}"
LINK, UNLINK, ATTACHMENT = "link", "unlink", "attachment"  # forms that are read back on first use
_MISSING = frozenset({404, 405})
NO_ATTACHMENTS = "set the option `attachments: off` of the target, then `errors JOB --retry`: they are then a loss"


class MediaRelations(MediaReader):
    """Writes attachments and media links (wire A 6.7, 6.9)."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._link_types = dict(self._options.link_types)  # ids by title

    async def attach(self, asset: AssetId, content: Content, journal: Journal) -> None:
        """Announce the file, then send its bytes to the upload link, which needs no credential. No call follows
        the bytes, and they cannot be withdrawn, so they are checked before. Raises IntegrityError."""
        name = f"attachment-{digest_of([content.name, content.size, dict(content.digests)])[:12]}"
        links: list[str] = []

        async def announce() -> Json:
            reply = await self._announce(asset, await CheckedContent.of(content))
            links.append(file_url(own_link(_body(reply), self._api.rels, "upload-link")))
            return {"id": made_id(reply), "online": False}

        equal = int(await journal.get(journal_names.EQUAL_BEFORE) or 0)
        made = await journal.run(name, announce, reconcile=lambda: self._found_attachment(asset, content, equal))
        if made["online"]:
            return
        await self._sent(asset, await CheckedContent.of(content), made["id"], next(filter(None, links), ""))

        async def look() -> bool:
            found = await self._found_attachment(asset, content, equal)
            return found is not None and bool(found["online"])

        if not await self._proofs.holds(ATTACHMENT, look):
            raise Rejected(
                f"the attachment {content.name} was sent, but the media does not have its bytes",
                asset=asset,
                code="not-written",
                hint="add an attachment by hand to see whether the instance accepts any, then `errors JOB --retry`",
            )

    async def _sent(self, asset: str, file: CheckedContent, identity: str, url: str) -> None:
        if url:
            try:
                await self._upload_attachment(asset, file, url)
                return
            except Rejected:
                pass  # it is valid for 15 minutes, and reading the file may have taken longer
        if url := await self._upload_link(asset, identity):
            await self._upload_attachment(asset, file, url)

    async def _upload_attachment(self, asset: str, file: CheckedContent, url: str) -> None:
        content = file.content
        await self._api.client.send(
            Request(
                operation="PUT the attachment",
                method="PUT",
                path=url,
                body=content.blocks,
                size=content.size,
                headers={"Content-Type": content.media_type},
                repeatable=True,
                asset=asset,
                bare=True,  # wire A 6.9
            )
        )

    async def _announce(self, asset: str, file: CheckedContent) -> Response:
        content = file.content
        body = {"fileName": content.name, "mediaType": content.media_type, "fileSize": content.size}
        request = HalRequest("POST", "medias", ATTACHMENTS, (asset,), json=body, asset=asset, accept=frozenset({405}))
        reply = await self._api.call(request)
        if reply.status == 405:
            raise Unsupported(
                "the instance does not accept attachments through its API", asset=asset, hint=NO_ATTACHMENTS
            )
        return reply

    async def _found_attachment(self, asset: str, content: Content, equal: int) -> Json:
        """One with its bytes, if there is one: an announcement that arrived twice leaves another without any. equal:
        how many others of this name have the same bytes."""
        found: Json = None
        for item in await self._items(asset):
            name = item.get("fileName") or item.get("title")
            if same_name(name, content.name) and size_of_file(item.get("fileSize")) == content.size:
                if _is_online(item) and equal > 0:
                    equal -= 1
                    continue
                if _is_online(item):
                    return {"id": wanted_id(item), "online": True}
                found = found or {"id": wanted_id(item), "online": False}
        return found

    async def _items(self, asset: str) -> list[Json]:
        return await _shown(self.attachment_items(asset), asset, "attachments")

    async def _upload_link(self, asset: str, identity: str) -> str:
        """Signed for 15 minutes, so read when needed and never stored. Empty if the bytes are already there."""
        for item in await self._items(asset):
            if wanted_id(item) == identity:
                if _is_online(item):
                    return ""
                url = file_url(own_link(item, self._api.rels, "upload-link"))
                if url:
                    return url
        raise Unsupported("the instance returns no upload link for the attachment", asset=asset, hint=NO_ATTACHMENTS)

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        """Link two media; the type is one of this media, or one seen on another media (wire A 14)."""
        kind = await self._link_type(asset, relation.kind)
        body = {"id": as_number(relation.target)}
        accept = _MISSING | {409}
        reply = await self._api.call(
            HalRequest("POST", "medias", LINKED, (asset, kind), json=body, asset=asset, repeatable=True, accept=accept)
        )
        if reply.status in _MISSING:
            raise Unsupported(f"the link {relation.kind!r} to media {relation.target} was not accepted", asset=asset)

        if not await self._proofs.holds(LINK, lambda: self._is_linked(asset, kind, relation.target)):
            raise Rejected(
                f"the link {relation.kind!r} to media {relation.target} was not written: the service accepted it but "
                "does not return it",
                asset=asset,
                code="not-written",
                hint="create this link by hand to see what prevents it, then run again",
            )

    async def unrelate(self, asset: AssetId, relation: Relation) -> None:
        """Remove a link between two media; 404 where there is none (wire A 6.7)."""
        try:
            kind = await self._link_type(asset, relation.kind)
        except Unsupported:
            return  # the media has no link of this type
        request = HalRequest("DELETE", "medias", ONE_LINKED, (asset, kind, relation.target), asset=asset)
        await self._api.call(replace(request, repeatable=True, accept=_MISSING))

        async def look() -> bool:
            return not await self._is_linked(asset, kind, relation.target)

        if not await self._proofs.holds(UNLINK, look):
            raise Unsupported(
                f"the link {relation.kind!r} to media {relation.target} was not removed",
                asset=asset,
                hint="remove it by hand, or ignore it",
            )

    async def _is_linked(self, asset: str, kind: str, other: str) -> bool:
        request = HalRequest("GET", "medias", LINKED, (asset, kind), [("fields", "id")], asset=asset)
        try:
            return other in map(wanted_id, await self._api.listed(request, "media", counted=False))
        except NotFound:
            return False  # a list without members may not be there

    async def _link_type(self, asset: str, title: str) -> str:
        if title not in self._link_types:
            types = await _shown(self.link_types(asset), asset, "links")
            self._link_types |= {member_text(item, "title"): wanted_id(item) for item in types}
        if title in self._link_types:
            return self._link_types[title]
        if title.isdigit():
            return title
        hint = "create one such link by hand, or map the relation to an existing type"
        raise Unsupported(f"the media has no link type {title!r}", asset=asset, hint=hint)


@interprets_response
def _body(reply: Response) -> Json:
    return reply.json() if reply.body.strip() else {}


async def _shown(reading: Awaitable[list[Json]], asset: str, what: str) -> list[Json]:
    """The list of an optional part of the instance. Raises Unsupported if it does not have it."""
    try:
        return await reading
    except NotFound as error:
        if is_gone(error):
            raise
        raise Unsupported(f"the instance does not list {what} through its API", asset=asset) from error


@interprets_response
def _is_online(attachment: Json) -> bool:
    """Whether its bytes have arrived."""
    return str(attachment.get("status")).upper() == "ONLINE"
