"""A folder, connected."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

from dam_sync.aio.threads import run_sync
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Marker, Patch, Placement, Relation
from dam_sync.model.audience import Audience
from dam_sync.model.connector import Context
from dam_sync.model.costs import Amounts, PlanMemory
from dam_sync.model.errors import ConfigError, DamSyncError, Denied
from dam_sync.model.exposure_options import ExposureOptions
from dam_sync.model.library import Library
from dam_sync.model.ports import Content, IsReferenced, Journal, Stream
from dam_sync.model.probed import Account
from dam_sync.model.schema import Schema
from dam_sync.model.service import Batch, Calls, Cursor, Published, Service, Shard, Window
from dam_sync.model.validator import NO_VALIDATOR, Validator
from dam_sync.model.values import Term
from dam_sync.model.wording import path_hint
from dam_sync.model.writes import Change
from dam_sync.services.folder import facts
from dam_sync.services.folder.api.alike import ComparedFiles
from dam_sync.services.folder.api.archive import Unpacked, is_archive, named_as_archive
from dam_sync.services.folder.api.bag import CodedName, seal
from dam_sync.services.folder.api.disk import (
    FILE_SYSTEM,
    PERMISSIONS,
    Disk,
    FileSystem,
    explained,
    folder_mode,
    shortened,
)
from dam_sync.services.folder.api.place import library_at
from dam_sync.services.folder.api.walk import FileTree, Odd
from dam_sync.services.folder.estimate import amounts_of
from dam_sync.services.folder.options import FolderOptions
from dam_sync.services.folder.source import Reader
from dam_sync.services.folder.target import Writer
from dam_sync.services.folder.taxonomy import Taxonomy
from dam_sync.services.folder.tenant import Tenant
from dam_sync.services.folder.uploads import Uploader

UNNAMED = "dam-sync did not make this folder: it is known by its path, so moving it makes it another library"
Seal = Callable[[Disk, date], None]
TREE = "it has no catalogue: every file is an asset"
SIDECARS = "files with the names of sidecars whose file is not beside them, and which are assets: {:,}"
AS_ASSETS = "; with `options: {sidecars: assets}` sidecars are assets too"

ALIKE = "files that the catalogue spells in another case or form of Unicode than the disk: {:,}, {} for {} for one"
BAG = "it is a BagIt bag: each file is compared with the digests of its manifests while it is moved"
UNLISTED = "files below `files` that the catalogue names at no asset, and that are left out: {}"

READ_ONLY = "this user may not write to it: a run that has something to write stops with exit code 7"


class FolderService(Service):
    """One folder. Nobody sees what lies in it but those who may read the disk."""

    kind = facts.NAME
    declared = facts.CAPABILITIES

    def __init__(self, context: Context, system: FileSystem = FILE_SYSTEM, seal: Seal = seal) -> None:
        """system, seal: what changes the folder; a test passes others."""
        options: FolderOptions = context.options
        self.limits = context.limited(facts.LIMITS)
        self._root, self._bag, self._seal = options.root_of(context), options.bag, seal
        self._begins = options.where_it_begins(context)
        disk, sheet, sidecars = Disk(self._root, system), options.format == "csv", options.sidecars == "assets"
        self._tenant = Tenant(disk, context.clock, context.read_only, sheet, sidecars)
        self._code_page = options.code_page
        self._unpacked: Unpacked | None = None
        self._found = False  # whether `probe` was allowed to make it a target
        self._everybody = options.everybody
        self._reader = Reader(self._tenant, self.limits.page, self._everybody)
        self._writer = Writer(self._tenant, context.may_write or _permitted, Uploader(self._tenant))
        self._taxonomy = Taxonomy(self._tenant, self._writer)

    @property
    def calls(self) -> Calls:
        """None: there is no API."""
        return {}

    async def probe(self) -> Account:
        """The folder is there and can be read. Raises ConfigError, Denied."""
        return await run_sync(self._probe)

    def _probe(self) -> Account:
        root, tenant = self._root, self._tenant
        refused = _refused_as_target(root, tenant.disk.system)
        if refused is not None and not tenant.read_only:
            raise refused
        if is_archive(root):
            root = self._unpack(root)
        if not root.is_dir():
            if root.exists() or not root.parent.is_dir():
                wrong = "is not a folder" if root.exists() else "cannot be made: the folder above it is not there"
                raise ConfigError(f"{root} {wrong}", hint=path_hint(str(root), "correct `path` or `base_url`"))
            if tenant.read_only:
                missing = ConfigError(f"{tenant.known_as} is not there", hint=path_hint(str(root), self._begins))
                made = ("the folder is not there yet: the first run makes it",)
                return Account(
                    tenant.unnamed,
                    as_target=made,
                    former=tenant.former,
                    refused_as_source=missing,
                    refused_as_target=refused,
                )
            with explained(str(root)):
                root.mkdir(mode=folder_mode(root.parent.stat()))
        if not tenant.read_only:
            tenant.found()
            self._found = True
        closed = () if tenant.disk.system.may_write(root) else (READ_ONLY,)
        total, notes = len(tenant.listing.asset_ids()), (*_notes(tenant), *self._notes_of_archive())
        former = "" if tenant.is_ours else tenant.former
        return Account(
            tenant.identity(),
            total=total,
            notes=notes,
            as_target=closed,
            unnamed=tenant.unnamed,
            former=former,
            refused_as_target=refused,
        )

    def _notes_of_archive(self) -> Iterator[str]:
        if self._unpacked is not None:
            yield from self._unpacked.names.notes()

    def _unpack(self, archive: Path) -> Path:
        if self._unpacked is None:
            self._unpacked = Unpacked(archive, code_page=self._code_page)
            self._tenant.look(Disk(self._unpacked.root))
        return self._unpacked.root

    async def library(self) -> Library | None:
        """See `Service.library`; an archive is only read, and lies where it pleases."""
        return None if is_archive(self._root) else await run_sync(library_at, self._root)

    async def adopt_schema(self, source: Schema) -> None:
        self._tenant.adopt(source)

    async def schema(self) -> Schema:
        return replace(await run_sync(self._tenant.schema), capabilities=self.capabilities)

    def shards(self, window: Window) -> AsyncIterator[Shard]:
        return self._reader.shards(window)

    def crawl(self, shard: Shard, cursor: Cursor | None) -> AsyncIterator[Batch]:
        return self._reader.crawl(shard, cursor)

    async def open(self, file: FileRef, offset: int = 0, validator: Validator = NO_VALIDATOR) -> Stream:
        return await self._reader.open(file, offset)

    async def fetch(self, asset: AssetId) -> Asset:
        return await self._reader.fetch(asset)

    async def public_links(self, asset: AssetId) -> Mapping[str, str]:
        """Those that the asset had at the service it was exported from. Raises NotFound."""
        return (await self.published(asset)).links

    async def published(self, asset: AssetId) -> Published:
        """By one reading. Raises NotFound."""
        found = await self._reader.fetch(asset)
        return Published(found, dict(found.source_links))

    async def close(self) -> None:
        """Make a bag of what was written, by this connection or by one that was killed. See `Service.close`. What goes
        wrong while another error is on its way is a note to that one."""
        wrote, self._writer.wrote = self._writer.wrote, False
        running = sys.exception()
        try:
            if self._found:
                await run_sync(self._finish, wrote)
        except DamSyncError as error:
            if running is None:
                raise
            running.add_note(f"afterwards: {error.message}")
        finally:
            self._tenant.catalogue.close()
            if self._unpacked is not None:
                await run_sync(self._unpacked.close)

    def _finish(self, wrote: bool) -> None:
        tenant, bag = self._tenant, self._bag and bool(self._tenant.base)
        if wrote or tenant.is_behind(bag=bag):
            tenant.catalogue.compact()
            tenant.write_sheet()
            if bag:
                self._make_bag()

    def _make_bag(self) -> None:
        tenant, today = self._tenant, self._tenant.clock.now().date()
        try:
            self._seal(tenant.disk, today)
        except CodedName:
            if not self._writer.respell():
                raise
            tenant.catalogue.compact()
            tenant.write_sheet()
            self._seal(tenant.disk, today)

    async def find(self, marker: Marker) -> AssetId | None:
        return await self._writer.find(marker)

    def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        return self._taxonomy.terms(vocabulary)

    def containers(self) -> AsyncIterator[Placement]:
        return self._taxonomy.containers()

    async def create(self, draft: Draft, content: Content | None, journal: Journal) -> AssetId:
        return await self._writer.create(draft, content, journal)

    async def update(self, asset: AssetId, patch: Patch) -> None:
        await self._writer.update(asset, patch)

    async def replace(self, asset: AssetId, content: Content, journal: Journal) -> None:
        await self._writer.replace(asset, content, journal)

    async def restore_version(self, asset: AssetId, version: FileRef) -> None:
        await self._writer.restore_version(asset, version)

    async def attach(self, asset: AssetId, content: Content, journal: Journal) -> None:
        await self._writer.attach(asset, content, journal)

    async def relate(self, asset: AssetId, relation: Relation) -> None:
        await self._writer.relate(asset, relation)

    async def detach(self, asset: AssetId, file: FileRef, journal: Journal) -> None:
        await self._writer.detach(asset, file, journal)

    async def unrelate(self, asset: AssetId, relation: Relation) -> None:
        await self._writer.unrelate(asset, relation)

    async def remove(self, asset: AssetId) -> None:
        await self._writer.remove(asset)

    async def restore(self, asset: AssetId, draft: Draft) -> None:
        await self._writer.restore(asset, draft)

    async def ensure_term(self, vocabulary: str, term: Term) -> Term:
        return await self._taxonomy.ensure_term(vocabulary, term)

    async def ensure_container(self, kind: str, path: Sequence[str], parent: str = "") -> Placement:
        return await self._taxonomy.ensure_container(kind, path)

    def audience(self, draft: Draft) -> Audience:
        """Nobody, in the normal use of a library: there are no users."""
        return Audience(hidden="it lies in a folder")

    def exposure_options(self) -> ExposureOptions:
        return ExposureOptions("everybody", self._everybody)

    async def sweep(self, recorded: IsReferenced) -> int:
        """Remove half-written files that are older than a day. See `Service.sweep`."""
        return await run_sync(self._writer.sweep)

    def amounts(self, change: Change, counted: Amounts, planned: PlanMemory) -> Amounts:
        """Of nothing that takes a call. Raises NotFound for a file that does not exist."""
        return amounts_of(change, counted, self._reader)


def _refused_as_target(root: Path, system: FileSystem) -> DamSyncError | None:
    if named_as_archive(root) and not root.is_dir():
        return ConfigError(f"{root} is an archive, which is only read", hint="write to a folder and pack it afterwards")
    if not root.exists() and root.parent.is_dir() and not system.may_write(root.parent):
        return Denied(f"{root} cannot be made: {root.parent} is read-only for this user", hint=PERMISSIONS)
    return None


def _notes(tenant: Tenant) -> Iterator[str]:
    if not tenant.is_ours:
        yield UNNAMED
    if tenant.tree is not None:
        yield from _about_tree(tenant.tree)
    if tenant.bag is not None:
        yield BAG
        yield from tenant.bag.manifests.notes
    if tenant.read_only:
        yield from _about_files(tenant.compare_files())
    if tenant.tree is None:
        yield from tenant.unplaced.notes()


def _about_files(files: ComparedFiles) -> Iterator[str]:
    if files.alike:
        named, found = min(files.alike.items())
        yield ALIKE.format(len(files.alike), ascii(shortened(named)), ascii(shortened(found)))
    if files.unlisted:
        yield UNLISTED.format(files.unlisted)


def _about_tree(tree: FileTree) -> Iterator[str]:
    left = [f"{tree.left_out[odd]:,} {odd.value}" for odd in Odd if tree.left_out[odd]]
    option = AS_ASSETS if tree.left_out[Odd.SIDECAR] else ""
    yield f"{TREE}; left out: {', '.join(left)}{option}" if left else TREE
    if tree.lone:
        yield SIDECARS.format(tree.lone)


def _permitted() -> None:
    """Where the run has no lease to ask for."""
