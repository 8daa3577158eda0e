"""Files that service C fetches by a link of the source (wire C 6.3): given to a create, waited for, and sent by us
where they did not come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from dam_sync.aio.polling import poll_until
from dam_sync.http.interpreting import interprets_response
from dam_sync.model.asset import AssetId, FileLink
from dam_sync.model.journal import note_fact
from dam_sync.model.ports import Content, Journal
from dam_sync.model.values import Json, instant_text, parse_instant
from dam_sync.model.waits import FETCHED, PROCESSED
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.api import BrandLibraryApi
from dam_sync.services.c_brandlibrary.codec import wire
from dam_sync.services.c_brandlibrary.target.update import VERSION_FIELDS
from dam_sync.services.c_brandlibrary.uploads import BrandLibraryUploads
from dam_sync.transfer.linked import opened

PULL = "pull"  # the journal entry that names the file whose link a create was given, and when
SENT_INSTEAD = "sent instead"
USED = "used"  # the upload that a call was given, and may have used up (wire C 6.9)


async def link_for_create(content: Content, journal: Journal, now: datetime) -> FileLink | None:
    """The link that a create is given, whose file is recorded before; None if the bytes are sent."""
    begun = await journal.get(PULL)
    link = content.link
    if begun is not None:
        await journal.discard(PULL)
    if link is not None:
        await note_fact(journal, PULL, {"file": link.file, "at": instant_text(now)})
    return link


async def is_sent(journal: Journal) -> bool:
    """Whether an upload of the file was begun."""
    return await journal.get("file") is not None or await journal.get("file:begin") is not None


async def is_pulled(journal: Journal) -> bool:
    """Whether the create was given a link."""
    return await journal.get(PULL) is not None


@dataclass(frozen=True, slots=True)
class Arrival:
    """The file of a new asset that the service fetches. read: the asset as it is now."""

    api: BrandLibraryApi
    uploads: BrandLibraryUploads
    read: Callable[[AssetId], Awaitable[Json]]

    async def complete(self, row: Json, content: Content, journal: Journal) -> tuple[Json, int]:
        """The asset once its file has arrived with its size, and how often it got a file from us: by the link, and once
        more where that brought nothing, something else, or a file that the source no longer has. Safe to repeat."""
        made = AssetId(row["id"])
        pulled = await journal.get(PULL)
        file = pulled["file"] if isinstance(pulled, dict) else pulled
        meant = content.link is not None and file == content.link.file
        if await journal.get(SENT_INSTEAD) is None:
            row = await self._waited(row, made, content, self._left(pulled), fetched=True)
            if meant and has_arrived(row, content):
                return row, 1
            files = wire.attachments_of(row)
            if not files or await self._has_more_versions(row, files[0]["id"]):
                return row, 1  # somebody removed it, or added a version: that stays
            await journal.run(SENT_INSTEAD, lambda: self._send(made, files[0]["id"], content, journal), idempotent=True)
            row = await self.read(made)
        return await self._waited(row, made, content, facts.READY_SECONDS), 2

    def _left(self, pulled: Json) -> float:
        """Seconds for which the service is waited for; an earlier run may have waited already."""
        most = self.api.options.fetch_seconds
        if not isinstance(pulled, dict):  # a state of an older release
            return most
        since = (self.api.clock.now() - parse_instant(pulled["at"])).total_seconds()
        return min(most, max(most - since, facts.LEAST_FETCH_SECONDS))

    async def _waited(
        self, row: Json, made: AssetId, content: Content, seconds: float, *, fetched: bool = False
    ) -> Json:
        """The asset with its file, or as it is when time is up. fetched: by the service, also if it is another file;
        raises StillFetching then if the run is to end soon."""
        last = row

        async def look() -> Json:
            nonlocal last
            last = await self.read(made)
            return last if has_arrived(last, content, any_size=fetched) else None

        if not has_arrived(row, content, any_size=fetched):
            wanted = self.api.keep_waiting if fetched else None
            waits, what = facts.READY_WAITS, FETCHED if fetched else PROCESSED
            await poll_until(self.api.clock, look, seconds, waits[1:], what, delay=waits[0], look=wanted)
        return last

    async def _send(self, made: AssetId, attachment: str, content: Content, journal: Journal) -> Json:
        """Safe to repeat: after an interrupted call the asset is looked at, because its file may be processed still; an
        upload that the call may have used up without effect is sent again (wire C 6.9)."""
        url = await self.uploads.send(await opened(content), journal)
        if url == await journal.get(USED):
            was_sent = partial(self._was_sent, made, attachment, content)
            if await poll_until(self.api.clock, was_sent, facts.READY_SECONDS, facts.READY_WAITS, PROCESSED):
                return True
            await self.uploads.discard(journal)
            url = await self.uploads.send(await opened(content), journal)
        await journal.discard(USED)
        await note_fact(journal, USED, url)
        body = {"data": {"attributes": {"url": url, "filename": content.name}}}
        await self.api.write(facts.PUT_ATTACHMENT, (attachment,), body, asset=made, repeatable=True)
        return True

    async def _was_sent(self, made: AssetId, attachment: str, content: Content) -> Json:
        row = await self.read(made)
        return True if has_arrived(row, content) or await self._has_more_versions(row, attachment) else None

    async def _has_more_versions(self, row: Json, attachment: str) -> bool:
        asked = (("fields", VERSION_FIELDS),)
        return wire.count_of(await self.api.one(facts.ATTACHMENT, (attachment,), asked, asset=row["id"])) > 1


@interprets_response
def has_arrived(row: Json, content: Content, *, any_size: bool = False) -> bool:
    """Whether the asset has its first file, with the size of the content."""
    files = wire.attachments_of(row)
    size = files[0]["attributes"].get("size") if files else None
    return bool(files) and wire.is_settled(row) and size is not None and (any_size or size == content.size)
