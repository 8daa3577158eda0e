"""Differences planted at a target: twelve kinds, each on an asset of its own, through the service's own calls or in the
records and bytes of its emulator."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

from dam_sync.emulators.kit.object_store import Blob
from dam_sync.model.asset import Asset, AssetId, Patch
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import DamSyncError
from dam_sync.model.values import Json, Localized, Value, value_from_json
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.virtual.state_location import ask
from tests.support.virtual.target_edits import CONTAINERS, UNRELATE, Hand
from tests.support.virtual.target_edits import library as rich
from tests.support.virtual.two_tenants import TwoTenants

FIELDS, DIGEST = "fields", "digest"  # levels of `verify`
SIZE = 900  # bytes of every version: only their digests differ
SHIFT = timedelta(hours=2)
TRIED = 2  # assets on which a kind is tried: the last of a library leads to no other


@dataclass(frozen=True, slots=True)
class Planted:
    """What a verification must report of an asset, and nothing else. level: the lowest at which it can."""

    kind: str
    path: str
    extra: bool = False
    level: str = FIELDS
    pattern: str = ""

    def matches(self, difference: Mapping[str, Any]) -> bool:
        """Whether this is the difference."""
        place = difference["path"].startswith(self.path)
        return place and difference["extra"] == self.extra and self.pattern in difference["pattern"]


@dataclass(frozen=True, slots=True)
class Ground:
    """An asset of the target, what a run wrote to it, and the kind and name of each container it is in."""

    hand: Hand
    asset: Asset
    draft: Mapping[str, Value]
    inside: frozenset[tuple[str, str]]

    def fields(self, *kinds: type) -> Iterator[tuple[str, Value]]:
        """Fields that were written and hold such a value, the longest texts first."""
        marker = OWN_MARKS
        found = [(key, self.asset.fields[key]) for key in self.draft if key in self.asset.fields and marker not in key]
        for key, value in sorted(found, key=lambda pair: (-len(str(pair[1])), pair[0])):
            if isinstance(value, kinds) and not (isinstance(value, datetime) and datetime not in kinds):
                yield key, value

    async def write(self, key: str, value: Value) -> None:
        """Write one field."""
        await self.hand.service.update(self.asset.id, Patch(fields={key: value}))

    async def written(self, key: str, value: Value) -> bool:
        """Whether the target accepts such a value of the field, and has it then."""
        try:
            await self.write(key, value)
        except DamSyncError:
            return False
        return (await self.hand.service.fetch(self.asset.id)).fields.get(key) != self.asset.fields[key]


Plant = Callable[[Ground], Awaitable[Planted | None]]
"""Changes the target; None if the service has nothing of the kind."""


def library(size: int) -> list[Json]:
    """The assets of `target_edits.library`, whose versions have one size."""
    return [_of_one_size(row) if row["record"] == "asset" else row for row in rich(size)]


def _of_one_size(row: Json) -> Json:
    files = [{**file, "generate": {**file["generate"], "size": SIZE}} for file in row["versions"]]
    return {**row, "versions": files}


# -- values ------------------------------------------------------------------------------------------------------------


def _texts(change: Callable[[str], str], kind: str, pattern: str = "") -> Plant:
    async def plant(ground: Ground) -> Planted | None:
        for key, value in ground.fields(str, Localized):
            if isinstance(value, Localized):
                locale = next(iter(value.texts))
                changed: Value = Localized({**value.texts, locale: change(value.texts[locale])})
            else:
                changed = change(str(value))
            if await ground.written(key, changed):
                return Planted(kind, f"fields.{key}", pattern=pattern)
        return None

    return plant


async def wrong_language(ground: Ground) -> Planted | None:
    """The texts of two languages swapped; where the target has one, another language in it."""
    for key, value in ground.fields(Localized):
        if isinstance(value, Localized) and len(value.texts) > 1:
            locales, texts = list(value.texts), list(value.texts.values())
            if await ground.written(key, Localized(dict(zip(locales, texts[::-1], strict=True)))):
                return Planted("wrong language", f"fields.{key}", pattern="another language")
    for key, value in ground.fields(str, Localized):
        text = next(iter(value.texts.values())) if isinstance(value, Localized) else str(value)
        if text.startswith("Picture ") and await ground.written(key, text.replace("Picture", "Image")):
            return Planted("wrong language", f"fields.{key}")
    return None


async def missing_term(ground: Ground) -> Planted | None:
    """One value of several is missing; a tag where no field has several."""
    for key, value in ground.fields(tuple):
        if isinstance(value, tuple) and len(value) > 1 and await ground.written(key, value[1:]):
            return Planted("missing term", f"fields.{key}", pattern="missing")
    if ground.asset.tags and ground.hand.service.capabilities.writes(Feature.TAGS):
        await ground.hand.service.update(ground.asset.id, Patch(tags_remove=frozenset(sorted(ground.asset.tags)[:1])))
        return Planted("missing term", "tags", pattern="missing")
    return None


async def shifted_date(ground: Ground) -> Planted | None:
    """Two hours later, as by a wrong time zone; a day earlier where there is no time of day."""
    for key, value in ground.fields(datetime):
        if isinstance(value, datetime) and await ground.written(key, value + SHIFT):
            return Planted("shifted date", f"fields.{key}", pattern="shifted by +2 h")
    for key, value in ground.fields(date):
        if isinstance(value, date) and await ground.written(key, value - timedelta(days=1)):
            return Planted("shifted date", f"fields.{key}", pattern="shifted by -1 day")
    expires = ground.asset.rights.expires_at
    if expires is None or not ground.hand.service.capabilities.writes(Feature.EXPIRY):
        return None
    whole_days = ground.hand.service.limits.precision >= timedelta(days=1)
    await ground.hand.rights(ground.asset, expires_at=expires - (timedelta(days=1) if whole_days else SHIFT))
    return Planted("shifted date", "expiry")


async def widened_group(ground: Ground) -> Planted | None:
    """Everybody may see it."""
    groups = ground.asset.rights.groups
    if not groups or "public" in groups or not ground.hand.service.capabilities.writes(Feature.GROUPS):
        return None
    await ground.hand.rights(ground.asset, groups=groups | {"public"})
    return Planted("widened group", "groups", extra=True, pattern="added")


# -- containers and relations ------------------------------------------------------------------------------------------


def _member(kind: str, *, extra: bool) -> Plant:
    async def plant(ground: Ground) -> Planted | None:
        for container in reversed(CONTAINERS):  # an asset can be in one folder only at some targets
            if (container, "Ours") not in ground.inside:
                continue
            into, out_of = ("Spare", "") if extra else ("", "Ours")
            try:
                await ground.hand.move(ground.asset, container, into=into, out_of=out_of)
            except DamSyncError:
                continue
            return Planted(kind, "placements", extra=extra, pattern=container)
        return None

    return plant


async def lost_relation(ground: Ground) -> Planted | None:
    """No relation is left."""
    if not ground.asset.relations or ground.hand.kind[0] not in UNRELATE:
        return None
    UNRELATE[ground.hand.kind[0]](ground.hand.state, ground.asset)
    return Planted("lost relation", "relations", pattern="missing")


# -- bytes -------------------------------------------------------------------------------------------------------------


async def swapped_file(ground: Ground) -> Planted | None:
    """Other bytes, as many."""
    blob = blobs_of(ground)[-1]
    _become(blob, Blob("", blob.size, seed=f"somebody else's {ground.asset.id}"))
    return Planted("swapped file", "file", level=DIGEST, pattern="other bytes")


async def truncated_file(ground: Ground) -> Planted | None:
    """The end is missing."""
    blob = blobs_of(ground)[-1]
    kept = Blob("", blob.size // 2, parts=(replace(blob),))
    _become(blob, kept)
    return Planted("truncated file", "file.size", pattern="shorter file")


async def wrong_order(ground: Ground) -> Planted | None:
    """The older version is the current one. Reported as another order if both services publish digests."""
    blobs = blobs_of(ground)
    if len(blobs) < 2 or len(ground.asset.versions) < 2:
        return None
    first, last = replace(blobs[0]), replace(blobs[-1])
    _become(blobs[0], last)
    _become(blobs[-1], first)
    return Planted("wrong version order", "", level=DIGEST, pattern="other")


def blobs_of(ground: Ground) -> list[Blob]:
    """The stored files of its versions, oldest first."""
    return _BLOBS[ground.hand.kind[0]](ground.hand.state, ground.asset.id)


def _become(blob: Blob, other: Blob) -> None:
    blob.size, blob.path, blob.seed, blob.parts, blob.known = other.size, other.path, other.seed, other.parts, None


def _blobs_b(state: Any, asset: AssetId) -> list[Blob]:
    repository = state.server.repository
    holders = [*repository.versions_of(repository.get(asset)), repository.get(asset)]
    files = [each.file.blob for each in holders if each.file is not None]
    return list({id(blob): blob for blob in files}.values())


def _blobs_d(state: Any, asset: AssetId) -> list[Blob]:
    records = [state.tenant.records[each] for each in state.tenant.families[asset]]
    return [record.blob for record in records if record.blob is not None]


_BLOBS: Mapping[str, Callable[[Any, AssetId], list[Blob]]] = {
    "a": lambda state, asset: [each.blob for each in state.instance.library.medias[int(asset)].versions],
    "b": _blobs_b,
    "c": lambda state, asset: [each.blob for each in state.tenant.assets[asset].attachments[0].versions],
    "d": _blobs_d,
    "e": lambda state, asset: [each.blob for each in state.tenant.assets[asset].versions],
}

PLANTS: Mapping[str, Plant] = {
    "changed value": _texts(lambda text: f"{text[:2]}-planted", "changed value"),
    "missing term": missing_term,
    "swapped file": swapped_file,
    "truncated file": truncated_file,
    "wrong version order": wrong_order,
    "lost membership": _member("lost membership", extra=False),
    "added membership": _member("added membership", extra=True),
    "widened group": widened_group,
    "shifted date": shifted_date,
    "cut text": _texts(lambda text: text[: len(text) * 2 // 3].rstrip(), "cut text", "cut at"),
    "wrong language": wrong_language,
    "lost relation": lost_relation,
}


# -- all of them -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Garden:
    """A library that was moved, and what was planted in it, by target id."""

    scene: TwoTenants
    planted: dict[str, Planted] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)  # kinds that this target has nothing of

    def plant(self, number: int) -> None:
        """So many differences, of every kind in turn, each on an asset of its own."""
        self.scene.universe.do(self._plant(number))
        self.scene.universe.do(self.scene.settle())

    async def _plant(self, number: int) -> None:
        async with self.scene.service() as service:
            await service.schema()
            target, left = self.scene.target, self._drafts()
            hand = Hand(service, target.kind, target.app.state, ())
            kinds = list(PLANTS)
            while kinds and len(self.planted) < number:
                kind = kinds.pop(0)
                for asset in list(left)[:TRIED]:
                    inside = frozenset(self._inside(asset))
                    ground = Ground(hand, await service.fetch(AssetId(asset)), left[asset], inside)
                    planted = await PLANTS[kind](ground)
                    if planted is not None:
                        self.planted[asset] = planted
                        del left[asset]
                        kinds.append(kind)
                        break
                else:
                    self.absent.add(kind)

    def _inside(self, asset: str) -> Iterator[tuple[str, str]]:
        (row,) = [row for row in self.scene.target.assets if row["id"] == asset]
        return ((place["kind"], place["path"][-1]) for place in row["placements"])

    def _drafts(self) -> dict[str, dict[str, Value]]:
        """The fields that were written, by target id."""
        rows = ask(self.scene.job, "SELECT target, draft FROM link ORDER BY source")
        return {
            target: {key: value_from_json(value) for key, value in json.loads(draft)["fields"].items()}
            for target, draft in rows
        }

    def unlike(self, verdict: Mapping[str, Any], level: str) -> Sequence[str]:
        """What was planted and is not reported at a level, and what is reported and was not planted."""
        told: dict[str, list[Mapping[str, Any]]] = {}
        for _, target, difference in (*verdict["differences"], *verdict["extras"]):
            told.setdefault(target, []).append(difference)
        wrong = []
        for target, planted in self.planted.items():
            found = told.pop(target, [])
            due = level != FIELDS or planted.level == FIELDS
            if due and not any(planted.matches(each) for each in found):
                wrong.append(f"{planted} of {target} is not reported: {found}")
            wrong += [f"{planted.kind} is reported as {each}" for each in found if not planted.matches(each)]
        return [*wrong, *(f"{target} is as it was, and is reported: {found}" for target, found in told.items())]
