"""An emulated tenant of service C: its records and how they are found, kept and seen. No HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from typing import TypeVar

from dam_sync.emulators.c_brandlibrary.accounts import Accounts
from dam_sync.emulators.c_brandlibrary.agenda import Agenda
from dam_sync.emulators.c_brandlibrary.audience_oracle import AudienceOracle
from dam_sync.emulators.c_brandlibrary.index import Index
from dam_sync.emulators.c_brandlibrary.naming import Names, slug_of
from dam_sync.emulators.c_brandlibrary.options import Options
from dam_sync.emulators.c_brandlibrary.records import (
    LEVELS,
    Asset,
    Attachment,
    Collection,
    Key,
    Label,
    Library,
    Organization,
    Refusal,
    Section,
    User,
)
from dam_sync.emulators.c_brandlibrary.tokens import Tokens
from dam_sync.emulators.kit.audience import Audience
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.object_store import ObjectStore

Record = TypeVar("Record")
HOUR = 3_600_000
TELLING = frozenset({"name", "description", "section", "approval", "availability", "tags", "custom_fields"})
"""Edits that fire `asset.update` (spec 001, Events, Service C)."""
Fire = Callable[[str, Asset, int], None]


class Tenant:
    """One organization. Methods raise Refusal as the service refuses: 403 for what is deleted or not to be seen, 404
    for an id that never was."""

    def __init__(self, world: Environment, objects: ObjectStore, options: Options) -> None:
        self.world, self.objects, self.options = world, objects, options
        self.plays = options.plays
        self.audience = Audience(world, AudienceOracle(self))
        self.tokens = Tokens(options.tokens)
        self.names = Names(world)
        self.agenda = Agenda(world)
        self.index = Index(self.agenda)
        self.accounts = Accounts(options, self.names)
        self.organization = Organization(self.names.key(), options.organization, slug_of(options.organization))
        self.libraries: dict[str, Library] = {}
        self.sections: dict[str, Section] = {}
        self.collections: dict[str, Collection] = {}
        self.labels: dict[str, Label] = {}
        self.keys: dict[str, Key] = {}
        self.assets: dict[str, Asset] = {}
        self.homes: dict[str, str] = {}
        self.gone: set[str] = set()
        self.generation = 0
        self._turns = count(1)
        self.fire: Fire | None = None
        self._sections: dict[str, dict[str, None]] = {}
        for name in (options.library, *options.more_libraries):
            known = {"public": options.public_libraries, "stealth": options.stealth_libraries}
            privacy = next((each for each, names in known.items() if name in names), "private")
            library = Library(self.names.key(), self.organization.id, name, slug_of(name), privacy)
            self.libraries[library.id] = library
        self.first = next(iter(self.libraries.values()))

    def now(self) -> int:
        """The world's timestamp in epoch milliseconds."""
        return int(self.world.now().timestamp() * 1000)

    def next_turn(self) -> int:
        """Another number each time."""
        return next(self._turns)

    def settle(self) -> None:
        """Let everything happen whose time has come."""
        self.agenda.settle()

    # -- finding -------------------------------------------------------------------------------------------------------

    def find(self, records: dict[str, Record], key: str) -> Record:
        """A record by its id. Raises Refusal 403 when it is deleted, 404 when it never was."""
        found = records.get(key)
        if found is None:
            if key in self.gone:
                raise Refusal(403, "You do not have permission to access this resource")
            raise Refusal(404, "Record not found")
        return found

    def library(self, key: str, user: User | None, least: str = "guest") -> Library:
        """A library in which the user has at least this level. Raises Refusal."""
        library = self.find(self.libraries, key)
        self.check(self.accounts.level(user, library), least)
        return library

    def collection(self, key: str, user: User | None, least: str = "guest") -> Collection:
        """A collection in which the user has at least this level. Raises Refusal."""
        collection = self.find(self.collections, key)
        library = self.libraries[collection.library]
        self.check(self.accounts.collection_level(user, library, collection), least)
        return collection

    def section(self, key: str, user: User | None) -> Section:
        """A section of a library that the user may read. Raises Refusal."""
        section = self.find(self.sections, key)
        self.library(section.library, user)
        return section

    def asset(self, key: str, user: User | None, least: str = "guest") -> Asset:
        """An asset as it is now, for reading by default. Raises Refusal."""
        asset = self.find(self.assets, key)
        level = self.level(asset, user)
        if not self.accounts.shown(user, asset, level, self.now()):
            raise Refusal(403, "You do not have permission to access this resource")
        self.check(level, least)
        return asset

    def home(self, key: str, user: User | None, least: str = "guest") -> Asset:
        """The asset of an attachment, a tag or a value. Raises Refusal."""
        return self.asset(self.find(self.homes, key), user, least)

    def attachment(self, key: str, user: User | None, least: str = "guest") -> tuple[Asset, Attachment]:
        """An attachment and its asset. Raises Refusal."""
        asset = self.home(key, user, least)
        for each in asset.attachments:
            if each.id == key:
                return asset, each
        raise Refusal(404, "Record not found")

    def level(self, asset: Asset, user: User | None) -> int:
        """What the user may do with an asset, by way of its library or of one of its collections."""
        library = self.libraries[asset.library]
        levels = [self.accounts.level(user, library)]
        levels += [
            self.accounts.collection_level(user, library, self.collections[each])
            for each in asset.collections
            if each in self.collections
        ]
        return max(levels)

    @staticmethod
    def check(level: int, least: str) -> None:
        """Raises Refusal 403 below a level."""
        if level < LEVELS.index(least):
            raise Refusal(403, "You do not have permission to perform this action")

    def of_section(self, section: str) -> list[Asset]:
        """The assets of a section, without those that are deleted."""
        return [self.assets[key] for key in list(self._sections.get(section, ()))]

    def of_library(self, library: str) -> list[Asset]:
        """The assets of a library."""
        own = [each.id for each in self.sections.values() if each.library == library]
        return [asset for section in own for asset in self.of_section(section)]

    def keys_of(self, library: str) -> list[Key]:
        """A library's custom field keys in their order."""
        return sorted((key for key in self.keys.values() if key.library == library), key=lambda key: key.position)

    # -- changing ------------------------------------------------------------------------------------------------------

    def adopt(self, assets: Iterable[Asset]) -> None:
        """Take in many at once, visible to searches immediately."""
        rows = list(assets)
        for asset in rows:
            self._hold(asset)
        self.index.load(asset for asset in rows if asset.deleted is None)

    def keep(self, asset: Asset, at: int | None = None) -> Asset:
        """Take in a new asset or a new state of one; searches see it when the index has caught up."""
        self._hold(asset)
        lag = self.options.lag + self.world.rng.random() * self.options.jitter
        self.index.put(asset, (self.now() if at is None else at) + int(lag * 1000))
        return asset

    def edit(self, asset: Asset, *edits: str, at: int | None = None) -> Asset:
        """Keep a changed asset; if it did change, `updated_at` moves and `asset.update` fires as its kinds say."""
        if self.assets.get(asset.id) == asset:
            return asset
        now = self.now() if at is None else at
        if self.options.touch_asset_on.intersection(edits):
            asset = replace(asset, updated=max(now, asset.updated + 1))
        self.keep(asset, now)
        if TELLING.intersection(edits):
            self.tell("asset.update", asset, now)
        return asset

    def delete(self, asset: Asset, at: int | None = None) -> None:
        """Softly, though nobody can see it any more."""
        now = self.now() if at is None else at
        if self.assets[asset.id].deleted is None:
            self.keep(replace(self.assets[asset.id], deleted=now), now)
            self.tell("asset.delete", asset, now)

    def tell(self, event: str, asset: Asset, at: int) -> None:
        """An event for whoever subscribed."""
        self.world.event(event, asset=asset.id)
        if self.fire is not None:
            self.fire(event, asset, at)

    def drop(self, records: dict[str, Record], key: str) -> None:
        """Delete a record that is not an asset."""
        del records[key]
        self.gone.add(key)
        self.audience.all_changed()
        self.generation += 1

    def _hold(self, asset: Asset) -> None:
        old = self.assets.get(asset.id)
        self.assets[asset.id] = asset
        self.generation += 1
        self.audience.changed(asset.id)
        if old is not None and old.section != asset.section:  # people move assets, no call does
            self._sections[old.section].pop(asset.id, None)
        members = self._sections.setdefault(asset.section, {})
        if asset.deleted is None:
            members[asset.id] = None
        else:
            members.pop(asset.id, None)
        kept = set(_parts(asset))
        for key in _parts(old) if old else ():
            if key not in kept:
                self.homes.pop(key, None)
                self.gone.add(key)
        self.homes.update((key, asset.id) for key in kept)


def _parts(asset: Asset) -> list[str]:
    return [*(x.id for x in asset.attachments), *(x.id for x in asset.tags), *(x.id for x in asset.values)]
