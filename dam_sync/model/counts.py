"""What a service counts by itself, in a few calls instead of a listing of all assets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.model.asset import Placement
from dam_sync.model.values import Term


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of assets, without those in the trash; what a service cannot count is absent.

    assets: all of them. bytes: of all files. types, statuses: by name, as `Asset.type` and `Asset.status` have it.
    years: by year of creation. filled: assets with a value, by field. terms: each term, by its id or its label, with
    the number of its assets, by field; only of fields whose values were all returned. containers: assets that are
    directly in a container. not_moved: by `NotMoved.counted`. notes: what the service refused to count, as sentences.
    """

    assets: int | None = None
    bytes: int | None = None
    types: Mapping[str, int] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)
    years: Mapping[str, int] = field(default_factory=dict)
    filled: Mapping[str, int] = field(default_factory=dict)
    terms: Mapping[str, Sequence[tuple[Term, int]]] = field(default_factory=dict)
    containers: Mapping[Placement, int] = field(default_factory=dict)
    not_moved: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
