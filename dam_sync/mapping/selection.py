"""Which assets are moved: the conditions of `select`, and which of them leaves an asset out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from dam_sync.mapping.expressions import Expression
from dam_sync.mapping.paths import AssetPath
from dam_sync.mapping.results import LanguagePreference
from dam_sync.mapping.spec import Period
from dam_sync.mapping.vocabulary import normal, path_text
from dam_sync.model.asset import Asset
from dam_sync.model.values import Localized, Scalar, Term


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
    """Which assets are selected; empty conditions match all. dates: periods by what must be in them; values: by field,
    one of which the asset must have."""

    ids: frozenset[str] | None = None
    statuses: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    containers: tuple[tuple[str, ...], ...] = ()
    dates: Mapping[AssetPath, Period] = field(default_factory=dict)
    values: Mapping[AssetPath, frozenset[str]] = field(default_factory=dict)
    where: Expression | None = None

    def judge(self, asset: Asset, languages: LanguagePreference) -> SelectionVerdict:
        """Whether all conditions hold. `where` is tried last, so that the others protect it from assets that it is not
        written for."""
        left = next(self._unmet(asset, languages), "")
        if left or self.where is None:
            return SelectionVerdict(left) if left else TAKEN
        held = self.where.holds(asset, languages)
        if isinstance(held, str):
            return SelectionVerdict(fault=held)
        return TAKEN if held else SelectionVerdict("where")

    def _unmet(self, asset: Asset, languages: LanguagePreference) -> Iterator[str]:
        if self.ids is not None and asset.id not in self.ids:
            yield "ids"
        if self.statuses and asset.status not in self.statuses:
            yield "status"
        if self.types and not self.types & {asset.type, asset.form_type}:
            yield "types"
        paths = [placement.path for placement in asset.placements]
        if self.containers and not any(path[: len(top)] == top for path in paths for top in self.containers):
            yield "containers"
        yield from self._unmet_values(asset, languages)

    def _unmet_values(self, asset: Asset, languages: LanguagePreference) -> Iterator[str]:
        for path, period in self.dates.items():
            moments = (found.value for found in path.read(asset, languages))
            if not any(isinstance(moment, date) and period.contains(moment) for moment in moments):
                yield f"dates.{path.text}"
        for path, wanted in self.values.items():
            held = path.read(asset, languages, all_languages=True)
            if not any(wanted & names_of(found.value, languages) for found in held):
                yield path.text


def names_of(value: Scalar, languages: LanguagePreference) -> set[str]:
    """Everything by which `select.fields` may name a value: a term by its id, path or label in any language, a text in
    any language, a flag as true or false."""
    match value:
        case bool():
            return {str(value).lower()}
        case Term():
            return {value.id, path_text(value), *map(normal, (value.label, *value.labels.values()))} - {""}
        case Localized(texts):
            return {normal(text) for text in texts.values()}
        case _:
            text = languages.text(value)
            return set() if text is None else {normal(text)}
