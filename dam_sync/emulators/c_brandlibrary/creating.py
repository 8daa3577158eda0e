"""Assets come into being, get further attachments and newer versions; their bytes are fetched afterwards (wire C 6.3 to
6.5, 12 lines 12 to 17). No HTTP of the API."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import unquote, urlsplit

from dam_sync.emulators.c_brandlibrary.links import Links
from dam_sync.emulators.c_brandlibrary.records import (
    ASSET_TYPES,
    Asset,
    Attachment,
    Refusal,
    Section,
    Stored,
    Tag,
    User,
)
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.c_brandlibrary.uploads import Uploads
from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.fetching import UNREACHABLE
from dam_sync.emulators.kit.object_store import Blob
from dam_sync.emulators.kit.timestamps import milliseconds

ATTACHMENTS_MOST = 75
DUPLICATE_MS = 600_000
AUTO_TAG_MS = 20_000
_VISUAL = ("image/", "video/")
SHORT_NAME = 40  # characters, where names are cut


class Creator:
    """Makes and fills assets."""

    def __init__(self, tenant: Tenant, uploads: Uploads, links: Links) -> None:
        self._tenant, self._uploads, self._links = tenant, uploads, links
        self._fetching: set[asyncio.Task[None]] = set()

    def create(self, rows: Json, section: Section, user: User, collection: str = "") -> list[Asset]:
        """New assets, all of them or none. Raises Refusal 422."""
        if not isinstance(rows, list) or not rows:
            raise Refusal(422, "`attributes` must be an array of assets")
        made = [self._made(row, section, user, collection) for row in rows]
        for asset in made:
            self._tenant.keep(asset)
            self._tenant.tell("asset.create", asset, asset.created)
            for attachment in asset.attachments:
                self._expect(attachment)
        return made

    def update(self, asset: Asset, sent: Mapping[str, Json]) -> Asset:
        """Only what is sent changes; attachments are added, never replaced. Raises Refusal 422."""
        edits = _edits(sent)
        taken = _plain(sent, self._tenant.plays)
        if "edits_approval" in self._tenant.plays:
            taken.pop("approved", None)
        if "edits_dates" in self._tenant.plays:
            taken = {name: value for name, value in taken.items() if name not in ("start", "end")}
        changed = replace(asset, **taken)
        added = self._attachments(sent, asset)
        if added:
            changed = replace(changed, attachments=(*asset.attachments, *added))
        asset = self._tenant.edit(changed, *edits) if edits else asset
        for attachment in added:
            self._expect(attachment)
        return asset

    def replace(self, asset: Asset, attachment: Attachment, sent: Mapping[str, Json]) -> Attachment:
        """Another file name, or another version: the old bytes cannot be reached any more. Raises Refusal 422."""
        now = self._tenant.now()
        changed = replace(attachment, updated=now)
        if "filename" in sent:
            changed = replace(changed, filename=_text(sent["filename"], "filename"))
        if "url" in sent:
            url = _address(sent["url"])
            changed = replace(changed, coming=url, number=attachment.number + self._tenant.world.rng.randint(1, 50))
        self._put(asset, changed)
        if "url" in sent:
            self._expect(changed)
        return changed

    def remove(self, asset: Asset, attachment: Attachment) -> None:
        """Take an attachment away; the others keep their order."""
        kept = tuple(each for each in asset.attachments if each.id != attachment.id)
        self._tenant.edit(replace(asset, attachments=kept), "attachments")

    # -- making --------------------------------------------------------------------------------------------------------

    def _made(self, row: Json, section: Section, user: User, collection: str) -> Asset:
        if not isinstance(row, dict):
            raise Refusal(422, "An asset must be an object")
        tenant, now = self._tenant, self._tenant.now()
        attachments = self._attachments(row, None)
        name = row.get("name")
        if not name:
            if "name_required" in tenant.plays or not attachments:
                raise Refusal(422, "Name can't be blank")
            name = attachments[0].filename.rpartition(".")[0] or attachments[0].filename
        plain = {"approved": True, **_plain(row, tenant.plays), "name": _text(name, "name")}
        if "no_approval" in tenant.plays:
            plain["approved"] = False
        return Asset(
            id=tenant.names.key(),
            library=section.library,
            section=section.id,
            description=plain.pop("description", None),
            created=now,
            updated=now,
            type=ASSET_TYPES[section.default_asset_type],
            attachments=attachments,
            collections=(collection,) if collection else (),
            creator=user.id,
            position=len(tenant.assets),
            **plain,
        )

    def _attachments(self, sent: Mapping[str, Json], asset: Asset | None) -> tuple[Attachment, ...]:
        rows = sent.get("attachments") or []
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise Refusal(422, "`attachments` must be an array")
        if len(rows) + (len(asset.attachments) if asset else 0) > ATTACHMENTS_MOST:
            raise Refusal(422, f"An asset can have at most {ATTACHMENTS_MOST} attachments")
        return tuple(self._attachment(row) for row in rows)

    def _attachment(self, row: Mapping[str, Json]) -> Attachment:
        url = _address(row.get("url"))
        name = row.get("filename") or unquote(urlsplit(url).path.rpartition("/")[2]) or "file"
        now = self._tenant.now()
        number = self._tenant.world.rng.randint(1_000_000, 1_999_999)
        return Attachment(self._tenant.names.key(), _text(name, "filename"), now, now, number, coming=url)

    # -- filling -------------------------------------------------------------------------------------------------------

    def _expect(self, attachment: Attachment) -> None:
        """Fetch the bytes after a while."""
        due = self._tenant.now() + int(self._tenant.options.processing * 1000)
        self._tenant.agenda.at(due, lambda at: self._fetch(attachment, at))

    def _fetch(self, attachment: Attachment, at: int) -> None:
        """From our own object store at once; from elsewhere next to the calls, which may never come to an end."""
        key = self._links.object_key(attachment.coming)
        if key is not None:
            blob = self._uploads.use(key, at)
            if blob is not None:
                self._fill(attachment, blob, at)
            return
        try:
            task = asyncio.get_running_loop().create_task(self._pull(attachment))
        except RuntimeError:  # asked for by the dump, outside any loop: the next call will see to it
            self._tenant.agenda.at(self._tenant.now() + 1, partial(self._fetch, attachment))
            return
        self._fetching.add(task)
        task.add_done_callback(self._fetching.discard)

    async def _pull(self, attachment: Attachment) -> None:
        self._tenant.world.fetches += 1
        try:
            blob = await self._tenant.objects.put(self._tenant.world.fetch(attachment.coming))
        except UNREACHABLE:
            return  # the source cannot be reached: nobody is notified, the attachment stays as it is
        self._fill(attachment, blob, self._tenant.now())

    def _fill(self, attachment: Attachment, blob: Blob, at: int) -> None:
        """The bytes have come: attributes are filled, `updated_at` moves, `asset.update` fires."""
        asset = self._tenant.assets.get(self._tenant.homes.get(attachment.id, ""))
        if asset is None or asset.deleted is not None:
            return
        for each in asset.attachments:
            if each.id == attachment.id and each.number == attachment.number:
                stored = stored_of(blob, each.filename, at)
                filled = replace(each, versions=(*each.versions, stored), coming="", updated=at)
                asset = self._put(asset, filled, at)
                self._tenant.tell("asset.update", asset, at)
                self._look_for_twin(asset, stored)
                if "auto_tags" in self._tenant.plays:
                    self._tenant.agenda.at(at + AUTO_TAG_MS, partial(self._tag, asset.id))

    def _put(self, asset: Asset, changed: Attachment, at: int | None = None) -> Asset:
        attachments = tuple(changed if each.id == changed.id else each for each in asset.attachments)
        return self._tenant.edit(replace(asset, attachments=attachments), "attachments", at=at)

    def _tag(self, key: str, at: int) -> None:
        """What a machine sees in the picture."""
        asset = self._tenant.assets[key]
        if asset.deleted is None and not any(tag.auto_generated for tag in asset.tags):
            tag = Tag(self._tenant.names.key(), "harbour", True, "vision")
            self._tenant.edit(replace(asset, tags=(*asset.tags, tag)), "tags", at=at)

    def _look_for_twin(self, asset: Asset, stored: Stored) -> None:
        """Duplicate detection: the newcomer goes, ten minutes after it was made, silently (wire C 6.9)."""
        if "duplicates" not in self._tenant.plays:
            return
        digest = stored.blob.digests().sha256
        for other in self._tenant.of_library(asset.library):
            if other.id != asset.id and any(digest in _digests(each) for each in other.attachments):
                self.doom([asset])
                return

    def doom(self, assets: Sequence[Asset]) -> None:
        """They are taken for duplicates: what becomes of them by then does not help them (wire C 6.9)."""
        for asset in assets:
            self._tenant.agenda.at(asset.created + DUPLICATE_MS, partial(self._removed, asset.id))

    def _removed(self, key: str, at: int) -> None:
        self._tenant.delete(self._tenant.assets[key], at)


def stored_of(blob: Blob, filename: str, at: int) -> Stored:
    """What processing finds out about bytes; width and height of pictures and films are made up."""
    mimetype = mimetypes.guess_type(filename, strict=False)[0] or "application/octet-stream"
    visual = mimetype.startswith(_VISUAL) and blob.size > 0
    width, height = (320 + blob.size % 3_000, 240 + blob.size % 1_999) if visual else (None, None)
    return Stored(blob, filename, mimetype, width, height, at)


def _digests(attachment: Attachment) -> list[str]:
    return [attachment.current.blob.digests().sha256] if attachment.current else []


def _address(url: Json) -> str:
    if not isinstance(url, str) or urlsplit(url).scheme not in ("http", "https"):
        raise Refusal(422, "An attachment needs a fully formed `url`")
    return url


def _text(text: Json, what: str) -> str:
    if not isinstance(text, str) or not text.strip():
        raise Refusal(422, f"{what.title()} can't be blank")
    return text


def _edits(sent: Mapping[str, Json]) -> Sequence[str]:
    """The kinds of edit that a body asks for."""
    found = [name for name in ("name", "description") if name in sent]
    found += ["approval"] if "approved" in sent else []
    found += ["availability"] if {"availability_start", "availability_end"} & set(sent) else []
    return [*found, "attachments"] if sent.get("attachments") else found


def _plain(sent: Mapping[str, Json], plays: frozenset[str]) -> dict[str, Json]:
    """The attributes that a body sets, by their names in our records. Raises Refusal 422."""
    found: dict[str, Json] = {}
    if "name" in sent:
        name = _text(sent["name"], "name")
        found["name"] = name[:SHORT_NAME] if "short_names" in plays else name
    if "description" in sent:
        if sent["description"] is not None and not isinstance(sent["description"], str):
            raise Refusal(422, "Description must be a string")
        found["description"] = sent["description"]
    if "approved" in sent:
        if not isinstance(sent["approved"], bool):
            raise Refusal(422, "Approved must be true or false")
        found["approved"] = sent["approved"]
    for name, member in (("availability_start", "start"), ("availability_end", "end")):
        if name in sent and "no_dates" not in plays:
            found[member] = _moment(sent[name], name)
    return found


def _moment(text: Json, name: str) -> int | None:
    try:
        return milliseconds(text)
    except (TypeError, ValueError):
        raise Refusal(422, f"{name} is no instant") from None
