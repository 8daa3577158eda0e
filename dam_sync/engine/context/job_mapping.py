"""The mapping of a job as its runs apply it: with the values that people gave for single assets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dam_sync.engine.context.libraries import Target
from dam_sync.engine.context.value_samples import ValueSamples
from dam_sync.mapping.crosswalk import Crosswalk, Drafted
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.asset import Asset, AssetId, Draft
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Person

if TYPE_CHECKING:  # a job file is checked without a database layer
    from dam_sync.store.store import SqlStore


@dataclass(slots=True)
class JobMapping:
    """store: has the values that people gave; samples: of what was mapped, for the report; corrected: whether there are
    such values, None: not asked yet."""

    crosswalk: Crosswalk
    store: SqlStore
    samples: ValueSamples = field(default_factory=ValueSamples)
    corrected: bool | None = None

    async def of(self, asset: AssetId) -> Crosswalk:
        """The mapping, with the values that people gave for this asset."""
        if self.corrected is None:
            self.corrected = (await self.store.correction_count())[0] > 0
        if not self.corrected:
            return self.crosswalk
        return replace(self.crosswalk, corrections=await self.store.corrections_of(asset))

    async def draft(self, target: Target, asset: Asset, marker: str, terms: Mapping[str, TermIndex]) -> Drafted:
        """The asset as mapped: see `drafted_for`."""
        return await drafted_for(target.service, target.schema, await self.of(asset.id), asset, marker, terms)


async def drafted_for(
    target: Service, schema: Schema, crosswalk: Crosswalk, asset: Asset, marker: str, terms: Mapping[str, TermIndex]
) -> Drafted:
    """The asset as mapped; groups and users unknown to the target are dropped or park it, according to their rule."""
    names = crosswalk.groups_of(asset, terms) if schema.groups is None else frozenset()
    unknown = await target.unknown_groups(names) if names else frozenset()
    drafted = crosswalk.draft(asset, marker, terms, unknown)
    people = _people(drafted.draft)
    strangers = await target.unknown_people(people) if people else frozenset()
    return crosswalk.draft(asset, marker, terms, unknown, strangers) if strangers else drafted


def _people(draft: Draft) -> frozenset[str]:
    """The names of the persons in its fields."""
    values = (value if isinstance(value, tuple) else (value,) for value in draft.fields.values())
    return frozenset(each.name for some in values for each in some if isinstance(each, Person))
