"""The waves of a job: what each selects, compiled like `select` of a mapping file, and to which an asset belongs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dam_sync.config.diagnostics import KeyPath, SourceMap
from dam_sync.mapping.document import MappingDocument, MappingReading, reading_of
from dam_sync.mapping.results import LanguagePreference
from dam_sync.mapping.rule_compiler import Builder
from dam_sync.mapping.selection import Selection, SelectionVerdict
from dam_sync.mapping.selection_compiler import compile_selection
from dam_sync.model.asset import Asset, digest_of
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import ConfigError
from dam_sync.model.schema import Schema

SELECT = "select"


@dataclass(frozen=True, slots=True)
class WaveSelections:
    """What each wave selects, in their order. digest: of all of it, with the lists of ids."""

    selections: tuple[tuple[str, Selection], ...]
    languages: LanguagePreference
    digest: str

    @property
    def names(self) -> tuple[str, ...]:
        """The waves, in their order."""
        return tuple(name for name, _ in self.selections)

    def wave_of(self, asset: Asset) -> tuple[str, SelectionVerdict]:
        """The first wave that selects the asset, empty for none; the verdict tells if it cannot be decided."""
        for name, selection in self.selections:
            verdict = selection.judge(asset, self.languages)
            if verdict or verdict.fault:
                return name, verdict
        return "", SelectionVerdict()


@dataclass(slots=True)
class WaveReading:
    """What the waves of a job file select, read but not compiled. Its diagnostics are those of the job file."""

    written: SourceMap
    folder: Path
    readings: list[tuple[str, MappingReading]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for index, wave in enumerate(self.written.data.get("waves") or ()):
            self.readings.append((str(wave["name"]), reading_of(_part(self.written, index, wave), self.folder)))

    def refuse_faulty(self) -> None:
        """Raises ConfigError with every diagnostic that needs no service."""
        found = [each for index, (_, one) in enumerate(self.readings) for each in _within(index, one.diagnostics)]
        if found:
            raise ConfigError.of(found)

    def compiled(self, source: Schema, languages: LanguagePreference) -> WaveSelections:
        """Compiled against the schema of the source. Raises ConfigError with every diagnostic."""
        self.refuse_faulty()
        selections: list[tuple[str, Selection]] = []
        found: list[Diagnostic] = []
        for index, (name, document) in enumerate(self._documents()):
            builder = Builder(document, source, source, languages, {})
            selections.append((name, compile_selection(builder)))
            found.extend(_within(index, builder.diagnostics))
        if found:
            raise ConfigError.of(found)
        return WaveSelections(tuple(selections), languages, self._digest())

    def _documents(self) -> Iterator[tuple[str, MappingDocument]]:
        for name, reading in self.readings:
            if reading.document is not None:
                yield name, reading.document

    def _digest(self) -> str:
        return digest_of(
            [
                [name, document.body.select.model_dump(mode="json", by_alias=True), sorted(document.ids or ())]
                for name, document in self._documents()
            ]
        )


def _part(written: SourceMap, index: int, wave: dict[str, object]) -> SourceMap:
    """One wave as a mapping file that only selects, at the lines of the job file."""
    place: KeyPath = ("waves", index, SELECT)
    inside = {
        name: {(SELECT, *at[3:]): where for at, where in positions.items() if at[:3] == place}
        for name, positions in (("lines", written.lines), ("values", written.values))
    }
    top = {SELECT: wave.get(SELECT) or {}, "version": 1}
    return SourceMap(written.file, top, inside["lines"], inside["values"], texts=written.texts, coded=written.coded)


def _within(index: int, diagnostics: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    for each in diagnostics:
        yield replace(each, key=f"waves[{index}].{each.key}")
