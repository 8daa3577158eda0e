"""`map sheet`: the vocabularies of a mapping as a CSV for a librarian, whose decisions become pins."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from dam_sync.api.atomic_io import csv_file
from dam_sync.api.bootstrap import reading_of_job
from dam_sync.api.csv_rows import read_rows
from dam_sync.api.job_file import job_of
from dam_sync.api.mapping_tools.kept_sample import KeptSample, kept_sample, take_sample
from dam_sync.config.job import JobConfig
from dam_sync.mapping.compile import compile_reading
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.document import PIN_COLUMNS, MappingDocument
from dam_sync.mapping.vocabulary import Matching, TermIndex, VocabularyRule, path_text, pin_keys
from dam_sync.model.errors import ConfigError
from dam_sync.model.run_options import RunOptions
from dam_sync.model.safe_text import copied_cell, csv_cell, guarded, unguarded
from dam_sync.model.values import Term
from dam_sync.model.wording import timestamp_text

COLUMNS = ("vocabulary", "source", "id", "assets", "found_by", "target", "candidates", "decision")
SAMPLE = "2000"
NEEDED = ("vocabulary", "source", "decision")
WRITE_ONE = "write a sheet with `map sheet JOB --csv FILE` and fill in its column `decision`"


TermName: TypeAlias = tuple[str, str]
"""The id of a term, or its path or label if it has none."""


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A term of the source. assets: of the sample that have it; found_by: the way by which its term at the target is
    found, empty if it is not; candidates: the terms at the target that look most like it, with scores."""

    vocabulary: str
    source: str
    id: str
    assets: int
    found_by: str
    target: str
    candidates: tuple[str, ...]

    @property
    def cells(self) -> list[str]:
        """For the CSV; the decision is left to a person."""
        texts = (copied_cell(text) for text in (self.target, "; ".join(self.candidates)))
        named = (guarded(text) for text in (self.vocabulary, self.source, self.id))
        return [*named, str(self.assets), csv_cell(self.found_by), *texts, ""]


@dataclass(slots=True)
class CountingIndex(TermIndex):
    """Terms of the target that remember what was looked for: how often, and as which term, by `Matching` and key."""

    asked: Counter[tuple[int, TermName]] = field(default_factory=Counter)
    sought: dict[tuple[int, TermName], Term] = field(default_factory=dict)

    def find(self, term: Term, ways: Matching) -> Term | None:
        key = id(ways), _key(term)
        self.asked[key] += 1
        self.sought.setdefault(key, term)
        return TermIndex.find(self, term, ways)


@dataclass(frozen=True, slots=True)
class WrittenSheet:
    """ways: how many terms are found, and by which way ("" for none); taken: when both services were read."""

    ways: Counter[str]
    taken: str


async def write_sheet(
    path: Path | JobConfig, options: RunOptions, out: Path, sample: str = SAMPLE, *, refresh: bool = False
) -> WrittenSheet:
    """Write the sheet of a job's mapping. Reads a sample of both services unless one is kept, or with `refresh`. Raises
    MappingError, and ConfigError if the mapping has no vocabularies."""
    job = job_of(path, options.connectors)
    reading = reading_of_job(job)
    kept = None if refresh else kept_sample(job)
    kept = kept or await take_sample(job, options, sample)
    document, crosswalk = compile_reading(reading, kept.source, kept.target)
    if not crosswalk.rules:
        raise ConfigError(f"{document.written.file} has no vocabularies", hint="`map suggest JOB` suggests some")
    ways = Counter[str]()
    with csv_file(out, "the sheet") as writer:
        writer.writerow(COLUMNS)
        for row in _rows(crosswalk, kept):
            ways[row.found_by] += 1
            writer.writerow(row.cells)
    return WrittenSheet(ways, kept.taken)


def _rows(crosswalk: Crosswalk, kept: KeptSample) -> list[SheetRow]:
    """A row for each term, those that are not found first, the most used first."""
    indexes = {key: _counting(kept, key) for key in crosswalk.vocabularies}
    for asset in kept.assets():
        crosswalk.look_up(asset, indexes)
    rows: list[SheetRow] = []
    for name, rule in crosswalk.rules.items():
        index = indexes[rule.target] if rule.target in indexes else _counting(kept, rule.target)
        terms = {_key(term): term for term in kept.terms["source"].get(rule.source, ())}
        terms |= {key: term for (ways, key), term in index.sought.items() if ways == id(rule.ways)}
        rows += [_row(name, rule, index, term, index.asked[id(rule.ways), key]) for key, term in terms.items()]
    return sorted(rows, key=lambda row: (bool(row.found_by), -row.assets, row.vocabulary, row.source))


def _row(name: str, rule: VocabularyRule, index: TermIndex, term: Term, assets: int) -> SheetRow:
    found = ((way, TermIndex.find(index, term, replace(rule.ways, order=(way,)))) for way in rule.ways.order)
    way, match = next(((way, match) for way, match in found if match is not None), ("", None))
    candidates = () if match is not None else tuple(index.alike(term))
    return SheetRow(name, _text(term), term.id, assets, way, _text(match) if match else "", candidates)


@dataclass(frozen=True, slots=True)
class ImportedPins:
    """changed: pins that were added or changed, by file; unread: what to write into the mapping, for new files."""

    changed: Mapping[Path, int]
    unread: tuple[str, ...]


async def import_sheet(
    path: Path | JobConfig, options: RunOptions, sheet: Path, sample: str = SAMPLE, *, refresh: bool = False
) -> ImportedPins:
    """Add the decisions of a sheet to the pins of the mapping, in a new file where the mapping names none. Nothing is
    written if any row is faulty. Raises ConfigError with file and line."""
    job = job_of(path, options.connectors)
    reading = reading_of_job(job)
    kept = None if refresh else kept_sample(job)
    kept = kept or await take_sample(job, options, sample)
    document, crosswalk = compile_reading(reading, kept.source, kept.target)
    folder = job.given_mapping.folder if job.given_mapping else job.mapping_path.parent
    indexes = {rule.target: _counting(kept, rule.target) for rule in crosswalk.rules.values()}
    decided: dict[str, dict[str, str]] = {}
    with read_rows(sheet, NEEDED, WRITE_ONE) as rows:
        for line, row in rows:
            if row["source"] is None:
                raise ConfigError(f"{sheet}:{line}: the line has fewer cells than the first one", hint=WRITE_ONE)
            name, source, decision, identity = (unguarded(row.get(column) or "").strip() for column in (*NEEDED, "id"))
            if decision:
                place = f"{sheet}:{line}"
                _refuse(place, crosswalk, indexes, name, decision, kept.taken)
                terms = kept.terms["source"].get(crosswalk.rules[name].source, ())
                decided.setdefault(name, {})[_pin_key(place, terms, source, identity)] = decision
    written: dict[Path, int] = {}
    files = {name: folder / (document.body.vocabularies[name].pins or _new_pins(name)) for name in decided}
    new = {name: file for name, file in files.items() if not document.body.vocabularies[name].pins}
    for name, file in new.items():
        if file.exists():
            hint = f"write `{_naming_pins(document, name)}` into its block, or move the file away"
            raise ConfigError(f"the vocabulary {name} of the mapping does not name {file}, which exists", hint=hint)
    for name, pins in decided.items():
        file = files[name]
        before = dict(document.pins.get(name, {}))
        written[file] = sum(before.get(source) != target for source, target in pins.items())
        with csv_file(file, "the pins") as writer:
            writer.writerow(PIN_COLUMNS)
            writer.writerows(map(guarded, pin) for pin in {**before, **pins}.items())
    return ImportedPins(written, tuple(f"{name}: {{…, {_naming_pins(document, name)}}}" for name in new))


def _new_pins(name: str) -> str:
    return f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-') or 'vocabulary'}.pins.csv"


def _naming_pins(document: MappingDocument, name: str) -> str:
    """What the block of a vocabulary needs, so that its pins are read."""
    ways = [json.dumps(way) if isinstance(way, dict) else str(way) for way in document.body.vocabularies[name].match]
    return f"match: [{', '.join(dict.fromkeys(['pin', *ways]))}], pins: {_new_pins(name)}"


def _refuse(
    place: str,
    crosswalk: Crosswalk,
    indexes: Mapping[str, TermIndex],
    name: str,
    decision: str,
    taken: str,
) -> None:
    """Raise ConfigError for a decision that cannot become a pin. taken: when the terms of the target were read."""
    rule = crosswalk.rules.get(name)
    if rule is None:
        raise ConfigError(f"{place}: the mapping has no vocabulary {name!r}", hint=WRITE_ONE)
    meant = indexes[rule.target].named(decision)
    if len(meant) > 1:
        paths = " or ".join(path_text(term) or path_text(replace(term, path=(term.label,))) for term in meant)
        message = f"{place}: {decision!r} means several terms of the target's {rule.target}"
        raise ConfigError(message, hint=f"write the path of the one that is meant: {paths}")
    if not meant:
        hint = (
            "write its id, its label or its path like /Nature/Sea; `map sheet JOB --csv FILE` shows candidates; "
            f"if the term was added since {timestamp_text(taken)}, when the target was read, add --refresh"
        )
        raise ConfigError(f"{place}: the target's {rule.target} has no term {decision!r}", hint=hint)


def _pin_key(place: str, terms: Iterable[Term], source: str, identity: str) -> str:
    """What calls the term of a row, and no other one of the source. Raises ConfigError if nothing does."""
    called = [term for term in terms if source in pin_keys(term)]
    if not identity or len({_key(term) for term in called}) < 2:
        return source
    if sum(identity in pin_keys(term) for term in called) == 1:
        return identity
    hint = "give one of them another label at the source, or create the term at the target by hand"
    raise ConfigError(f"{place}: both {source!r} and the id {identity!r} mean several terms of the source", hint=hint)


def _counting(kept: KeptSample, vocabulary: str) -> CountingIndex:
    index = CountingIndex()
    for term in kept.terms["target"].get(vocabulary, ()):
        index.add(term)
    return index


def _key(term: Term) -> TermName:
    return term.id, "" if term.id else _text(term)


def _text(term: Term) -> str:
    return path_text(term) or term.label
