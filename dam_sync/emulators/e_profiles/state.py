"""An emulated tenant of service E: its assets and what may be done to them. No HTTP."""

from __future__ import annotations

import unicodedata
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from dam_sync.emulators.e_profiles.audience_oracle import AudienceOracle
from dam_sync.emulators.e_profiles.index import Index
from dam_sync.emulators.e_profiles.metadata import Metadata
from dam_sync.emulators.e_profiles.options import Options
from dam_sync.emulators.e_profiles.records import Asset, Profile, Refusal, User, Version, epoch_of
from dam_sync.emulators.e_profiles.search import Search
from dam_sync.emulators.e_profiles.taxonomy import Category, Collection, Taxonomy
from dam_sync.emulators.e_profiles.webhooks import Webhooks
from dam_sync.emulators.kit.audience import Audience
from dam_sync.emulators.kit.environment import Environment, Json
from dam_sync.emulators.kit.object_store import Blob, ObjectStore

AVOIDED = frozenset('<>:"/\\|?*,+%#()[]{}')
DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))})
NAME_LETTERS = 128
SECURITY = ("asset_groups", "release_date", "expiration_date")


class Tenant:
    """Everything one customer has. Methods raise Refusal as the service refuses."""

    def __init__(self, world: Environment, objects: ObjectStore, options: Options) -> None:
        self.world, self.objects, self.options = world, objects, options
        plays = options.plays
        self.audience = Audience(world, AudienceOracle(self))
        self.metadata = Metadata(
            ignore_unknown="ignore_unknown" in plays,
            empty_required="empty_required" in plays,
            patch_empties="patch_empties" in plays,
        )
        self.taxonomy = Taxonomy(subtree="subtree" in plays)
        self.index = Index()
        self.search = Search(
            world, self.index, self.metadata.fields, self.taxonomy,
            inclusive="exclusive" not in plays, keep_alive=options.scroll_timeout,
        )  # fmt: skip
        self.groups: dict[str, str] = {}
        self.profiles: dict[str, Profile] = {}
        self.assets: dict[str, Asset] = {}
        self.integration_links: dict[str, dict[str, Json]] = {}
        self.webhooks = Webhooks(world)
        self.embeds: dict[str, str] = {}
        self._names: dict[str, dict[str, None]] = {}
        self._coming: deque[tuple[float, Callable[[], object]]] = deque()

    def after(self, seconds: float, work: Callable[[], object]) -> None:
        """Do this when so many seconds of the world have passed; always the same number of seconds."""
        self._coming.append((self.world.elapsed() + seconds, work))

    def settle(self) -> None:
        """Let everything happen whose time has come."""
        while self._coming and self._coming[0][0] <= self.world.elapsed():
            self._coming.popleft()[1]()

    def now(self) -> int:
        """The world's timestamp in epoch seconds."""
        return int(self.world.now().timestamp())

    def uuid(self) -> str:
        """A new id."""
        return str(uuid.UUID(int=self.world.rng.getrandbits(128), version=4))

    def asset(self, asset_id: str, user: User) -> Asset:
        """The asset as it is now. Raises Refusal 404 when it is gone or hidden from the user."""
        found = self.assets.get(asset_id)
        unavailable = found is not None and not found.groups and "groupless_unavailable" in self.options.plays
        if found is None or unavailable or not user.may_see(found, self.now()):
            raise Refusal(404, "not_found", "Asset not found")
        return found

    def version(self, asset: Asset, version_id: str) -> Version:
        """One version of an asset. Raises Refusal 404."""
        for version in asset.versions:
            if version.id == version_id:
                return version
        raise Refusal(404, "not_found", "Version not found")

    def named(self, filename: str) -> Asset | None:
        """The newest asset outside the trash whose file name is this one, characters of any case (wire E 6.7)."""
        found = [self.assets[each] for each in self._names.get(filename.casefold(), ())]
        if not found and "names_loosely" in self.options.plays:
            alike = (ids for name, ids in self._names.items() if _loosely(name) == _loosely(filename))
            found = [self.assets[each] for ids in alike for each in ids]
        return max(found, key=lambda asset: asset.created, default=None)

    def keep(self, asset: Asset) -> Asset:
        """Take in a new asset or a new state of one; searches see it when the index has caught up."""
        self.audience.changed(asset.id)
        self._unname(self.assets.get(asset.id))
        self.assets[asset.id] = asset
        self.embeds[asset.external_id] = asset.id
        if asset.deleted is None and not asset.conflicted:
            self._names.setdefault(asset.filename.casefold(), {})[asset.id] = None
        self.index.put(asset.id, asset, self.world.elapsed() + self.options.lag)
        return asset

    def adopt(self, assets: Iterable[Asset]) -> None:
        """Take in many at once, visible to searches immediately."""
        rows = list(assets)
        for asset in rows:
            self.assets[asset.id] = asset
            self.embeds[asset.external_id] = asset.id
            if asset.deleted is None:
                self._names.setdefault(asset.filename.casefold(), {})[asset.id] = None
        self.index.load(rows)

    def touched(self, asset: Asset) -> Asset:
        """Keep it with `last_update_date` = now."""
        return self.keep(replace(asset, updated=max(self.now(), asset.updated)))

    def delete(self, asset: Asset, user: User) -> None:
        """To the trash; safe to repeat."""
        if ("delete_twice_purges" if asset.deleted else "delete_purges") in self.options.plays:
            self.purge(replace(asset, deleted=self.now()), user)
        elif asset.deleted is None:
            now = self.now()
            self.keep(replace(asset, deleted=now, updated=now))
            self.webhooks.deleted(asset.id, now, user)

    def purge(self, asset: Asset, user: User) -> None:
        """Permanently, only from the trash (spec 002, States, E)."""
        if asset.deleted is None:
            raise Refusal(409, "conflict", "The asset is not in the trash")
        self.audience.changed(asset.id)
        del self.assets[asset.id]
        self.embeds.pop(asset.external_id, None)
        for collection in asset.collections:
            self.taxonomy.collections[collection].assets.discard(asset.id)
        self.index.put(asset.id, None, self.world.elapsed() + self.options.lag)
        if "purge_event" in self.options.plays:
            self.webhooks.deleted(asset.id, self.now(), user)

    def rename(self, asset: Asset, filename: Json) -> None:
        """A new file name; one that exists is allowed."""
        name = self.checked_name(filename, "filename")
        self.touched(replace(asset, versions=(*asset.versions[:-1], replace(asset.current, filename=name))))

    def checked_name(self, name: Json, what: str) -> str:
        """A file, category or collection name. Raises Refusal 400."""
        if not isinstance(name, str) or not name.strip():
            raise Refusal(400, "invalid_request", f"`{what}` is missing")
        if "strict_names" in self.options.plays and _to_avoid(name):
            raise Refusal(400, "invalid_name", f"`{what}` has letters that are not allowed, or too many")
        return name

    def write_metadata(self, asset: Asset, sent: Json, patch: Sequence[str] | None, user: User) -> None:
        """Only what is sent and, where `patch` is given, listed changes (spec 002, Endpoints, E)."""
        changes = self.metadata.read(asset.type, sent, patch)
        changed = {key: values for key, values in changes.items() if asset.fields.get(key, ()) != values}
        self.touched(replace(asset, fields={**asset.fields, **changes}))
        if changed:
            self.webhooks.metadata(asset, {key: self.metadata.fields[key] for key in changed}, changed, user)

    def write_security(self, asset: Asset, sent: Mapping[str, Json], patch: Sequence[str] | None, user: User) -> None:
        """`all` nulls what was not sent; a group, when groups are written, is required (spec 002, Limits, E)."""
        names = self._security_names(sent, patch)
        changes: dict[str, Json] = {}
        for name, member in (("release_date", "release"), ("expiration_date", "expiration")):
            if name in names:
                changes[member] = _moment(sent.get(name), name)
        if "null_unheeded" in self.options.plays and changes.get("release", 0) is None:
            del changes["release"]
        if "asset_groups" in names:
            changes["groups"] = self._checked_groups(sent) if "asset_groups" in sent else ()
        after = self.touched(replace(asset, **changes))
        self.webhooks.security(asset, after, self.groups, user)

    def _security_names(self, sent: Mapping[str, Json], patch: Sequence[str] | None) -> frozenset[str]:
        names = frozenset(sent if patch is None else patch)
        if patch is not None:
            unknown = names.difference(SECURITY, ("all",))
            if unknown:
                raise Refusal(400, "invalid_request", f"`patch` cannot name {', '.join(sorted(unknown))}")
        if "all" in names:
            return frozenset(SECURITY)
        if "patch_empties" not in self.options.plays:
            names = names.intersection(sent)
        return names.intersection(SECURITY)

    def _checked_groups(self, sent: Mapping[str, Json]) -> tuple[str, ...]:
        groups = sent["asset_groups"]
        if not isinstance(groups, list) or not groups:
            raise Refusal(400, "invalid_request", "At least one asset group is required")
        unknown = [group for group in groups if group not in self.groups]
        if unknown:
            raise Refusal(400, "invalid_request", f"Unknown asset group {unknown[0]}")
        return tuple(dict.fromkeys(groups))

    def write_tags(self, asset: Asset, sent: Json, user: User, *, remove: bool) -> None:
        """Human tags only; adding one that is there, or removing one that is not, changes nothing."""
        if not isinstance(sent, list) or not all(isinstance(tag, str) and tag.strip() for tag in sent):
            raise Refusal(400, "invalid_request", "`tags` takes a list of strings")
        given = [] if "tags_unheeded" in self.options.plays else [tag.strip() for tag in sent]
        tags = (
            tuple(tag for tag in asset.tags if tag not in given)
            if remove
            else tuple(dict.fromkeys((*asset.tags, *given)))
        )
        self.touched(replace(asset, tags=tags))
        if tags != asset.tags:
            self.webhooks.tags(asset, tags, user)

    def change_type(self, asset: Asset, type_id: str) -> None:
        """Another metadata type; values of fields that it has not are lost (wire E 5.2)."""
        name = self.metadata.type_of_id(type_id).name
        self.touched(replace(asset, type=name, fields=self.metadata.complete(name, asset.fields)))

    def place(self, assets: Iterable[Asset], add: frozenset[str], remove: frozenset[str], user: User) -> None:
        """In and out of categories; twice is as once."""
        for each in assets:
            asset = self.assets[each.id]
            categories = (asset.categories | add) - remove
            if categories != asset.categories:
                self.touched(replace(asset, categories=categories))
                self.webhooks.categories(asset, categories, self.taxonomy, user)

    def collect(self, collection: Collection, assets: Iterable[Asset], *, inside: bool) -> int:
        """In or out of a collection, which does not move `last_update_date` (wire E 2.5); how many changed."""
        count = 0
        for asset in assets:
            if (asset.id in collection.assets) == inside:
                continue
            count += 1
            (collection.assets.add if inside else collection.assets.discard)(asset.id)
            held = asset.collections | {collection.id} if inside else asset.collections - {collection.id}
            self.keep(replace(asset, collections=held))
        return count

    def reworded(self, key: str, old: str, new: str | None) -> None:
        """A word was renamed or removed: on all assets at once (wire E 5.3)."""
        if "rename_list_only" in self.options.plays:
            return
        for asset in list(self.assets.values()):
            values = asset.fields.get(key, ())
            if old in values:
                kept = tuple(new if value == old else value for value in values if value != old or new is not None)
                self.keep(replace(asset, fields={**asset.fields, key: tuple(filter(None, kept))}))

    def new_category(self, title: str, parent: str, **more: Json) -> Category:
        """A category that can be placed into. Raises Refusal 409 for a title its parent has."""
        before = str(more.pop("before", ""))
        category = Category(self.uuid(), len(self.taxonomy.categories) + 1, title, parent, **more)
        return self.taxonomy.add(category, before)

    def first_version(self, filename: str, blob: Blob, at: int) -> Version:
        """Version 1 of a new asset."""
        return Version(self.uuid(), 1, filename, blob, at)

    def _unname(self, old: Asset | None) -> None:
        held = self._names.get(old.filename.casefold()) if old else None
        if old and held is not None:
            held.pop(old.id, None)
            if not held:
                del self._names[old.filename.casefold()]


def _to_avoid(name: str) -> bool:
    """Whether the documents say to avoid a name (wire E 8, `filename`)."""
    stem = name.rpartition(".")[0] or name
    ends = name != name.strip() or name.endswith(".") or stem != stem.rstrip()
    return bool(AVOIDED.intersection(name)) or len(name) > NAME_LETTERS or ends or stem.casefold() in DEVICES


def _loosely(name: str) -> str:
    """A file name without its extension and without accents."""
    plain = unicodedata.normalize("NFD", name.rpartition(".")[0] or name)
    return "".join(letter for letter in plain if not unicodedata.combining(letter)).casefold()


def _moment(text: Json, name: str) -> int | None:
    try:
        return epoch_of(text)
    except (ValueError, TypeError):
        raise Refusal(400, "invalid_request", f"`{name}` must be an ISO instant") from None
