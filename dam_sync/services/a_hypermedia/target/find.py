"""Finds media that we created: by marker, and after a lost response by folder and content (wire A 6.12)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from dam_sync.aio.single_flight import SingleFlight
from dam_sync.http.dates import parse_timestamp
from dam_sync.http.interpreting import member_text
from dam_sync.model import journal_names
from dam_sync.model.asset import AssetId, Marker
from dam_sync.model.connector import Context
from dam_sync.model.errors import DamSyncError, SessionGone
from dam_sync.model.journal import note_fact
from dam_sync.model.mistyped import size_of_file
from dam_sync.model.ports import Content, Journal
from dam_sync.model.service import Window
from dam_sync.model.values import Json
from dam_sync.model.waits import INDEX, sleep_for
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.connection import HalRequest, made_id
from dam_sync.services.a_hypermedia.api.hal import embedded, timestamp_text, wanted_id
from dam_sync.services.a_hypermedia.api.search import between
from dam_sync.services.a_hypermedia.target.members import FOLDER_MEDIAS, MEDIA
from dam_sync.services.a_hypermedia.target.update import METADATA, resembles
from dam_sync.services.a_hypermedia.tenant import HypermediaBase
from dam_sync.transfer.digests import md5_of

CREATE = "create"  # the journal entry of the call that must not happen twice
SENT = journal_names.silent("sent ")  # what that call sends, recorded before; one entry for each time, by number
_POLLS = (0.0, 0.05, 0.1, 0.25, 0.5, 1.0)  # when to check again, as fractions of the lag


@dataclass(frozen=True, slots=True)
class SentMedia:
    """What a create sends, by which its media is recognized while it has no marker. folder: where it is created, empty
    in an older release; at: when, by the clock of the service, empty in the journal of an older dam-sync, which created
    all media in the staging folder; size: None without a file."""

    folder: str = ""
    at: str = ""
    name: str = ""
    size: int | None = None
    md5: str = ""


class MediaFinder(HypermediaBase):
    """Finds media of ours. `_claims` says which unmarked media belongs to which marker."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._claims: dict[str, str] = {}
        self._staging = SingleFlight(self._staging_folder)

    async def find(self, marker: Marker) -> AssetId | None:
        """The media with the marker; the oldest of several. Waits out the lag before returning None."""
        for attempt in range(len(_POLLS)):
            await self._wait(attempt)
            if (found := await self.look_for(marker)) is not None:
                return found
        return None

    async def look_for(self, marker: Marker) -> AssetId | None:
        """The same without waiting."""
        for asset in await self._search([("f", f"{marker.field}:{quoted(marker.value)}")]):
            if await self._marked(asset, marker.field) == marker.value:
                return AssetId(asset)
        return None

    async def find_partial(self, marker: Marker, journal: Journal, *, unmarked: bool = False) -> AssetId | None:
        """The media that an interrupted `create` left. Before it has a marker, only the journal knows its id; if the
        response was lost, too, it is recognized by its content."""
        made = await journal.get(CREATE)
        if made is not None:
            return AssetId(str(made["id"]))
        found, sent = await self.find(marker), await _sent_before(journal)
        if found is not None or not sent or not unmarked:
            return found
        for asset in await self._unmarked(sent[-1], marker, journal):
            if self._claims.setdefault(asset, marker.value) == marker.value:  # else it is cleared up for a twin
                return AssetId(asset)
        return None

    async def _marked(self, asset: str, field: str) -> str:
        """The current content of the marker field; reading by id is not delayed like the index."""
        accept = frozenset({404})
        reply = await self._api.call(HalRequest("GET", "medias", METADATA, (asset, field), asset=asset, accept=accept))
        if reply.status == 404 or not reply.body.strip():
            return ""
        return str(reply.object().get("value") or "")

    async def _note_sent(self, folder: str, content: Content | None, journal: Journal) -> None:
        """Record what is about to be sent, durably. What an earlier attempt sent was looked for before."""
        now = self._api.clock.now() + (await self._api.entry.get()).skew
        sent = SentMedia(folder, timestamp_text(now))
        if content is not None:
            sent = replace(sent, name=content.name, size=content.size, md5=content.digests.get("md5", ""))
        await note_fact(journal, f"{SENT}{len(await _sent_before(journal)) + 1}", asdict(sent))

    async def _created(self, content: Content | None, marker: Marker | None, journal: Journal) -> str:
        """A media with this content, unmarked and unclaimed, and therefore the one whose response was lost; empty if
        the lag has passed without one. It is claimed at once."""
        owner = marker.value if marker else ""
        sent = (await _sent_before(journal) or [SentMedia()])[-1]
        if content is not None:
            sent = replace(sent, name=content.name, size=content.size, md5=await md5_of(content))
        for attempt in range(len(_POLLS)):
            await self._wait(attempt)
            for asset in await self._unmarked(sent, marker, journal):
                if self._claims.setdefault(asset, owner) == owner:
                    return asset
        return ""

    async def _unmarked(self, sent: SentMedia, marker: Marker | None, journal: Journal) -> list[str]:
        """Media with this content that have no marker, or this one, and that no other asset claims or has recorded.
        Outside of the staging folder they may be of other users (see `_is_ours`)."""
        owner, staged = marker.value if marker else "", await self._staged()
        found = []
        for asset in sorted({*staged, *await self._new_in(sent)}, key=lambda asset: asset.zfill(20)):
            if self._claims.get(asset, owner) != owner or (asset in self._claims and not owner):
                continue
            if not await self._fits(asset, sent, ours=asset in staged):
                continue
            mark = await self._marked(asset, marker.field) if marker else ""
            if mark in ("", owner) and not await journal.is_recorded(f'"{_resource(asset)}"'):
                found.append(asset)
        return found

    async def _claim(self, asset: str, marker: Marker | None, journal: Journal, resumed: bool) -> None:
        """Claim the media before it is marked. Raises SessionGone if another work item took it over."""
        owner = marker.value if marker else ""
        taken = self._claims.setdefault(asset, owner) != owner
        if not taken and resumed and marker:
            taken = await self._marked(asset, marker.field) not in ("", owner)
            if taken:
                self._release(asset)
        if taken:
            await journal.discard(CREATE, f"{SENT}*", "file*")
            raise SessionGone(
                "the media created for this asset was claimed for an identical asset; it is created again", asset=asset
            )

    def _release(self, asset: str) -> None:
        """Release the claim: the marker now identifies the media."""
        self._claims.pop(asset, None)

    async def _creates_in_folders(self) -> bool:
        """An older release creates media outside of folders (wire A 10)."""
        return (await self._api.entry.get()).has(facts.FOLDER_CREATE)

    async def _new_in(self, sent: SentMedia) -> list[str]:
        """Media of about the time of a create in its folder; in an older release, in all folders. A search shows them
        whatever their status (wire A 2.1), at the latest after the lag."""
        at = parse_timestamp(sent.at)
        if at is None:
            window = Window(self._api.clock.now() - facts.AHEAD)
            return [] if await self._creates_in_folders() else await self._search([between("importDate", window)])
        window = Window(at - facts.OVERLAP, at + facts.OVERLAP)
        scope = [("fq", f"folderId:{sent.folder}")] if sent.folder else []
        return await self._search([between("importDate", window), *scope], sent.size)

    async def _staged(self) -> list[str]:
        """Members of the staging folder, if there is one: from the folder and from the search (wire A 14), because the
        folder may return fewer than it counts (wire A 2.1)."""
        folder = await self._known_staging()
        if not folder:
            return []
        request = HalRequest("GET", "folders", FOLDER_MEDIAS, (folder,), [("fields", "id")])
        direct = [wanted_id(row) for row in await self._api.listed(request, "media", counted=False)]
        return [*direct, *await self._search([("fq", f"folderId:{folder}")])]

    async def _fits(self, asset: str, sent: SentMedia, *, ours: bool) -> bool:
        accept = frozenset({403, 404})
        reply = await self._api.call(HalRequest("GET", "medias", MEDIA, (asset,), asset=asset, accept=accept))
        if reply.status != 200:
            return False
        media = reply.object()
        if member_text(media, "status").upper() == "TRASH" or not (ours or await self._is_ours(media)):
            return False
        if sent.size is None:
            return not media.get("originalFileName") and not media.get("fileSize")
        return resembles(media, sent.name, sent.size, sent.md5)

    async def _is_ours(self, media: Json) -> bool:
        """Outside of a staging folder another user's media may look the same; its importer decides, if both that
        and who we are is known."""
        importers = {str(user.get("id")) for user in embedded(media, "importUser") if user.get("id") is not None}
        own = (await self._api.entry.get()).user
        return not (importers and own.isdigit()) or own in importers

    async def _search(self, filters: list[tuple[str, str]], size: int | None = None) -> list[str]:
        """Ids in ascending order. size: without media that have a file of another size."""
        facets = [("facet-fields", "[]")] if (await self._api.entry.get()).has(facts.FACET_FIELDS) else []
        request = HalRequest("GET", "media-search", params=[*filters, ("fields", "id,fileSize"), *facets])
        rows = await self._api.listed(request, "media")
        ids = [wanted_id(row) for row in rows if size is None or size_of_file(row.get("fileSize")) in (None, size)]
        return sorted(ids, key=lambda asset: asset.zfill(20))

    async def _wait(self, attempt: int) -> None:
        """Before each attempt: none at first; at the last one the index can no longer be behind."""
        earlier = _POLLS[attempt - 1] if attempt else 0.0
        await sleep_for(self._api.clock, self._options.index_lag * (_POLLS[attempt] - earlier), INDEX, "target")

    async def _known_staging(self) -> str:
        """The staging folder; empty if there is none."""
        if self._staging.now is not None:
            return self._staging.now
        top = await self._tenant.top.get() if await self._creates_in_folders() else {}
        children = embedded(top, "child")
        return next((wanted_id(one) for one in children if one.get("title") == self._options.staging_folder), "")

    async def _staging_folder(self) -> str:
        """The folder for new media that get no other, at the top of the tree; created if missing."""
        if known := await self._known_staging():
            return known
        try:
            return made_id(
                await self._api.call(HalRequest("POST", "folder-tree", json={"title": self._options.staging_folder}))
            )
        except DamSyncError:  # it may have been created: the next attempt checks again
            self._tenant.top.forget()
            raise


def created_media(asset: str) -> Json:
    """The journal's result of a create. A folder may have the same id, hence `resource`."""
    return {"id": asset, "resource": _resource(asset)}


def _resource(asset: str) -> str:
    return f"media {asset}"


async def _sent_before(journal: Journal) -> list[SentMedia]:
    """What earlier attempts sent, the last one last."""
    found: list[SentMedia] = []
    while (noted := await journal.get(f"{SENT}{len(found) + 1}")) is not None:
        found.append(SentMedia(**noted))
    return found


def quoted(text: str) -> str:
    """A phrase of the query syntax: always quoted, because `-` and `:` have a meaning (wire A 11.21)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
