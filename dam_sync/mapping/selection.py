"""Which assets are moved: the conditions of `select`, and which of them leaves an asset out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dam_sync.mapping.expressions import Expression
from dam_sync.mapping.results import LanguagePreference
from dam_sync.model.asset import Asset


@dataclass(frozen=True, slots=True)
class SelectionVerdict:
    """Whether an asset is selected. condition: the key of `select` that leaves it out; fault: why `where` cannot be
    decided for it, so that it is neither selected nor left out."""

    condition: str = ""
    fault: str = ""

    def __bool__(self) -> bool:
        return not self.condition and not self.fault


TAKEN = SelectionVerdict()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which assets are selected; empty conditions match all."""

    statuses: frozenset[str] = frozenset()
    containers: tuple[tuple[str, ...], ...] = ()
    where: Expression | None = None

    def judge(self, asset: Asset, languages: LanguagePreference) -> SelectionVerdict:
        """Whether all conditions hold. `where` is tried last, so that the others protect it from assets that it is not
        written for."""
        left = next(self._unmet(asset), "")
        if left or self.where is None:
            return SelectionVerdict(left) if left else TAKEN
        held = self.where.holds(asset, languages)
        if isinstance(held, str):
            return SelectionVerdict(fault=held)
        return TAKEN if held else SelectionVerdict("where")

    def _unmet(self, asset: Asset) -> Iterator[str]:
        if self.statuses and asset.status not in self.statuses:
            yield "status"
        paths = [placement.path for placement in asset.placements]
        if self.containers and not any(path[: len(top)] == top for path in paths for top in self.containers):
            yield "containers"
