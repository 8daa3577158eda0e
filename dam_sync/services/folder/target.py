"""Writing to a folder: every change is one record that is appended durably, after the files that it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from dam_sync.aio.threads import run_sync
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Marker, Patch, Relation, digest_of
from dam_sync.model.errors import ConfigError, NotFound
from dam_sync.model.ports import Content, Journal
from dam_sync.model.service import TRASH
from dam_sync.model.values import Json
from dam_sync.model.write_record import note_version
from dam_sync.services.folder import codec
from dam_sync.services.folder.api.bag import CODE
from dam_sync.services.folder.api.catalogue import ROOM, Record
from dam_sync.services.folder.tenant import Tenant
from dam_sync.services.folder.uploads import Uploader, home

NUMBER = "note: number"
FOUND = "note: detached"
DETACHED = "detached"  # below the trash, beside the folders of removed assets
IDENTITY = "note: id"


@dataclass(slots=True)
class Writer:
    """Writes assets. may_write: asked before each write; raises when it must not be made."""

    tenant: Tenant
    may_write: Callable[[], None]
    uploader: Uploader
    wrote: bool = False
    _marked: dict[str, dict[str, AssetId]] = field(default_factory=dict)  # ids by marker, by field

    # -- finding --------------------------------------------------------------------------------------------------

    async def find(self, marker: Marker) -> AssetId | None:
        """See `Service.find`; the first question about a field reads the whole catalogue."""
        return await run_sync(self._find, marker)

    def _find(self, marker: Marker) -> AssetId | None:
        if marker.field not in self._marked:
            self._marked[marker.field] = {}
            for identity in self.tenant.catalogue.asset_ids():
                record = self.tenant.catalogue.asset(identity)  # which may not fit in its other parts
                fields = record.get("fields")
                if isinstance(fields, dict) and record.get("status") != TRASH:
                    self._note(identity, fields)
        found = self._marked[marker.field].get(marker.value)
        if found is None:
            return None
        record = self.tenant.catalogue.asset(found)
        kept = record.get("fields", {}).get(marker.field)
        return found if record.get("status") != TRASH and kept == marker.value else None

    def _note(self, identity: str, fields: Mapping[str, object]) -> None:
        for key, marked in self._marked.items():
            value = fields.get(key)
            if isinstance(value, str):
                marked[value] = AssetId(identity)

    # -- writing --------------------------------------------------------------------------------------------------

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        """See `Service.create`. The id is recorded first, so that the rest can be repeated."""
        await self.begin()

        async def name() -> str:
            return self.tenant.clock.token()[:24]

        identity = AssetId(await journal.run(IDENTITY, name, idempotent=True))

        async def call() -> str:
            await run_sync(self._expect_room, codec.drafted(draft, identity, None, self.tenant.clock.now()))
            file = await self._stored(identity, "v1", content) if content is not None else None
            asset = codec.drafted(draft, identity, file, self.tenant.clock.now())
            await self._append(lambda: asset)
            return identity

        async def reconcile() -> str | None:
            return identity if await run_sync(self._is_there, identity) else None

        return AssetId(await journal.run("create", call, reconcile=reconcile))

    def _is_there(self, identity: AssetId) -> bool:
        try:
            self.tenant.catalogue.asset(identity)
        except NotFound:
            return False
        return True

    async def update(self, identity: AssetId, patch: Patch) -> None:
        await self.begin()
        now = self.tenant.clock.now()
        await self._append(lambda: codec.patched(self._asset(identity), patch, now))

    async def replace(self, identity: AssetId, content: Content, journal: Journal) -> None:
        await self.begin()

        async def number() -> int:
            return len((await run_sync(self._asset, identity)).versions) + 1

        place = int(await journal.run(NUMBER, number, idempotent=True))

        async def call() -> bool:
            await self._expect_room_in(identity)
            file = await self._stored(identity, f"v{place}", content)
            await self._append(lambda: _with_version(self._asset(identity), place, file))
            return True

        await journal.run("version", call, idempotent=True)
        note_version(str(place))

    async def restore_version(self, identity: AssetId, version: FileRef) -> None:
        await self.begin()
        now = self.tenant.clock.now()
        await self._append(lambda: _with_current(self._asset(identity), version, now))

    async def attach(self, identity: AssetId, content: Content, journal: Journal) -> None:
        await self.begin()
        which = digest_of([content.name, content.size])[:12]

        async def number() -> int:
            return _free_slot((await run_sync(self._asset, identity)).attachments)

        place = int(await journal.run(f"{NUMBER}:{which}", number, idempotent=True))

        async def call() -> bool:
            await self._expect_room_in(identity)
            file = await self._stored(identity, f"a{place}", content)
            await self._append(lambda: _with_attachment(self._asset(identity), file))
            return True

        await journal.run(f"attachment:{which}", call, idempotent=True)

    async def relate(self, identity: AssetId, relation: Relation) -> None:
        """See `Service.relate`. Raises NotFound if either asset is missing."""
        await self.begin()

        def related() -> Asset:
            self._asset(relation.target)
            asset = self._asset(identity)
            return replace(asset, relations=asset.relations | {relation})

        await self._append(related)

    async def detach(self, identity: AssetId, file: FileRef, journal: Journal) -> None:
        """See `Service.detach`: the file moves to the trash folder."""
        await self.begin()
        which = digest_of([file.name, file.size, dict(file.digests)])[:12]

        async def found() -> Json:
            attachments = (await run_sync(self._asset, identity)).attachments
            called = [each for each in attachments if (each.name, each.size) == (file.name, file.size)]
            same = next((each for each in called if each.agrees(file)), None)
            return [same.id, _in_trash(identity, same, which)] if same else None

        paths = await journal.run(f"{FOUND}:{which}", found, idempotent=True)

        async def move() -> bool:
            path, place = paths
            await self._append(lambda: _without_attachment(self._asset(identity), path, self.tenant.clock.now()))
            await run_sync(self._to_trash, path, place)
            return True

        if paths is not None:
            await journal.run(f"detach:{which}", move, idempotent=True)

    async def unrelate(self, identity: AssetId, relation: Relation) -> None:
        await self.begin()

        def unrelated() -> Asset:
            asset = self._asset(identity)
            return replace(asset, relations=asset.relations - {relation})

        if relation in (await run_sync(self._asset, identity)).relations:
            await self._append(unrelated)

    async def remove(self, identity: AssetId) -> None:
        """See `Service.remove`: the files move to the trash folder, the record stays and says so."""
        await self.begin()
        now = self.tenant.clock.now()
        with suppress(NotFound):
            await self._append(lambda: replace(self._asset(identity, trash=True), status=TRASH, changed_at=now))
            await run_sync(self._to_trash, home(identity), home(identity))

    async def restore(self, identity: AssetId, draft: Draft) -> None:
        """See `Service.restore`: the files move back, then the record has the status of the draft."""
        await self.begin()
        now = self.tenant.clock.now()
        if (await run_sync(lambda: self._asset(identity, trash=True))).status == TRASH:
            await run_sync(self._from_trash, identity)
            await self._append(lambda: replace(self._asset(identity, trash=True), status=draft.status, changed_at=now))

    def _from_trash(self, identity: AssetId) -> None:
        place = home(identity)
        with suppress(NotFound):
            self.tenant.disk.rename(self.tenant.trash(place), self.tenant.files(place))

    def _to_trash(self, path: str, place: str) -> None:
        with suppress(NotFound):
            self.tenant.disk.rename(self.tenant.files(path), self.tenant.trash(place))

    def respell(self) -> int:
        """Give files that earlier releases stored names without a code of a manifest; how many assets have such files.
        Safe to repeat: a file is moved before its record says so."""
        found = 0
        for identity in self.tenant.catalogue.asset_ids():
            asset = codec.asset_of(self.tenant.catalogue.asset(identity))
            moved = {file.id: _spelled(file.id) for file in (*asset.versions, *asset.attachments)}
            if any(old != new for old, new in moved.items()):
                for old, new in moved.items():
                    self._move(old, new)
                self.tenant.catalogue.change(partial(self._respelled, identity, moved))
                found += 1
        return found

    def _move(self, old: str, new: str) -> None:
        for place in (self.tenant.files, self.tenant.trash):
            if old != new:
                with suppress(NotFound):
                    self.tenant.disk.rename(place(old), place(new))

    def _respelled(self, identity: str, moved: Mapping[str, str]) -> list[Record]:
        asset = codec.asset_of(self.tenant.catalogue.asset(identity))
        versions, attachments = (
            tuple(replace(file, id=moved.get(file.id, file.id)) for file in files)
            for files in (asset.versions, asset.attachments)
        )
        return [codec.record_of(replace(asset, versions=versions, attachments=attachments))]

    def sweep(self) -> int:
        swept = 0 if self.tenant.read_only else self.uploader.sweep()
        self.wrote = self.wrote or swept > 0
        return swept

    # -- parts ----------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Before each write: whether it may be made, and the folder and its schema if they are not there yet."""
        if self.tenant.read_only:
            raise ConfigError("the folder is opened read-only, and a write came up")
        self.may_write()
        self.wrote = True
        await run_sync(self.tenant.declare)

    def _expect_room(self, asset: Asset) -> None:
        """Raises InvalidValue, before a file is stored, for an asset whose record would be too long to be read."""
        self.tenant.catalogue.line(codec.record_of(asset), ROOM)

    async def _expect_room_in(self, identity: AssetId) -> None:
        await run_sync(lambda: self._expect_room(self._asset(identity)))

    async def _stored(self, identity: AssetId, slot: str, content: Content) -> FileRef:
        return await self.uploader.store(identity, slot, content, self.tenant.clock.now())

    def _asset(self, identity: AssetId, *, trash: bool = False) -> Asset:
        asset = codec.asset_of(self.tenant.catalogue.asset(identity))
        if asset.status == TRASH and not trash:
            raise NotFound(f"{identity} is in the trash", asset=identity)
        return asset

    async def _append(self, edit: Callable[[], Asset]) -> None:
        """Append the asset that `edit` makes; nobody else writes meanwhile."""

        def change() -> None:
            made: list[Asset] = []

            def records() -> list[Record]:
                made.append(edit())
                return [codec.record_of(made[0])]

            self.tenant.catalogue.change(records)
            if made[0].status != TRASH:
                self._note(made[0].id, made[0].fields)

        await run_sync(change)


def _spelled(path: str) -> str:
    above, _, name = path.rpartition("/")
    return f"{above}/{codec.safe_name(name)}" if CODE.search(name) else path


def _with_version(asset: Asset, place: int, file: FileRef) -> Asset:
    versions = (*asset.versions[: place - 1], file, *asset.versions[place:])
    return replace(asset, versions=versions, changed_at=file.created_at)


def _with_current(asset: Asset, version: FileRef, now: datetime) -> Asset:
    """The others keep their order. Raises NotFound."""
    current = next((file for file in asset.versions if file.id == version.id), None)
    if current is None:
        raise NotFound(f"there is no version {version.id}", asset=asset.id)
    if current == asset.versions[-1]:
        return asset
    others = tuple(file for file in asset.versions if file.id != current.id)
    return replace(asset, versions=(*others, current), changed_at=now)


def _with_attachment(asset: Asset, file: FileRef) -> Asset:
    kept = tuple(each for each in asset.attachments if each.id != file.id)
    return replace(asset, attachments=(*kept, file), changed_at=file.created_at)


def _without_attachment(asset: Asset, path: str, now: datetime) -> Asset:
    kept = tuple(each for each in asset.attachments if each.id != path)
    return asset if kept == asset.attachments else replace(asset, attachments=kept, changed_at=now)


def _in_trash(identity: AssetId, file: FileRef, which: str) -> str:
    """Where a removed attachment lies: only a file with the same content replaces another there."""
    content = digest_of([which, sorted(file.digests.items())])[:12]
    return f"{DETACHED}/{home(identity)}/{content}/{file.id.rpartition('/')[2]}"


def _free_slot(attachments: Sequence[FileRef]) -> int:
    """A slot behind all that are used: a removed attachment leaves its own empty."""
    slots = [each.id.split("/")[-2:-1] for each in attachments]
    return max((int(slot[0][1:]) for slot in slots if slot and slot[0][1:].isdecimal()), default=0) + 1
