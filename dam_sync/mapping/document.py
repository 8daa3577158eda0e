"""The mapping file: its schema, read with the line of every key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TypeAlias

from pydantic import ValidationError
from ruamel.yaml.error import YAMLError

from dam_sync.config.diagnostics import KeyPath, SourceMap, diagnostics_of
from dam_sync.config.loader import FileFormat, Syntax
from dam_sync.config.syntax import positioned
from dam_sync.mapping.includes import Including
from dam_sync.mapping.spec import IdList, LookupTable, MappingFile
from dam_sync.mapping.tables import Lookup, TableFault, folded, read_column, read_pairs, read_table
from dam_sync.mapping.transforms.base import Transform
from dam_sync.mapping.transforms.registry import transform_from
from dam_sync.mapping.vocabulary import fold
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import MappingError
from dam_sync.model.safe_text import unguarded
from dam_sync.model.values import Json

MAPPING_FILE = FileFormat(
    "mapping file",
    "correct `mapping:` in the job file; without a mapping file, `dam-sync init JOB` suggests one",
    4_000_000,
    MappingError,
)
MAPPING_SYNTAX = Syntax("YAML", positioned, YAMLError)
DIALECT = "https://json-schema.org/draft/2020-12/schema"
PIN_COLUMNS = ("source", "target")
SYNONYM_COLUMNS = ("term", "synonym")
Synonyms: TypeAlias = Mapping[str, tuple[str, ...]]
"""Words that mean the same, by word; all in the form in which labels are compared without regard to case."""


@dataclass(frozen=True, slots=True)
class MappingDocument:
    """A mapping file without errors of its own; `compile_mapping` compares it with two schemas.

    pipes: transforms by the place of their line. pins, synonyms: by the name of their vocabulary. ids: of the assets
    that are selected, if `select` names a list. unreadable: places of entries that were left out.
    """

    written: SourceMap
    body: MappingFile
    pipes: Mapping[KeyPath, tuple[Transform, ...]]
    lookups: Mapping[str, Lookup]
    pins: Mapping[str, Mapping[str, str]]
    ids: frozenset[str] | None = None
    synonyms: Mapping[str, Synonyms] = field(default_factory=dict)
    unreadable: tuple[KeyPath, ...] = ()


@dataclass(frozen=True, slots=True)
class MappingReading:
    """The result of reading a mapping file. document: the file without the entries that have diagnostics; None
    if nothing is left."""

    document: MappingDocument | None
    diagnostics: tuple[Diagnostic, ...] = ()


def refuse_faulty(reading: MappingReading) -> MappingDocument:
    """The whole document. Raises MappingError with every diagnostic."""
    if reading.document is None or reading.diagnostics:
        raise MappingError.of(reading.diagnostics)
    return reading.document


def read_mapping(path: Path) -> MappingReading:
    """Read a mapping file and the tables it names: diagnostics next to what could be read. Raises MappingError if it is
    not YAML."""
    return reading_of(mapping_of_file(path), path.parent)


def mapping_of_file(path: Path) -> SourceMap:
    """The keys and values of a mapping file. Raises MappingError if it is not YAML."""
    return MAPPING_FILE.read(path, MAPPING_SYNTAX)


def mapping_of_text(text: str) -> SourceMap:
    """Like `mapping_of_file`, from text."""
    return MAPPING_FILE.parse(Path("mapping"), text, MAPPING_SYNTAX)


def reading_of(written: SourceMap, folder: Path) -> MappingReading:
    """Parse the keys and values, and read the files and tables they name, relative to the folder."""
    diagnostics: list[Diagnostic] = []
    _refuse_job(written)
    _refuse_halves(written)
    written = Including(folder, MAPPING_FILE, MAPPING_SYNTAX, diagnostics).whole(written)
    bad: list[KeyPath] = []
    try:
        body: MappingFile | None = MappingFile.model_validate(written.data)
    except ValidationError as error:
        body, errors = None, error.errors(include_url=False, include_input=False)
        diagnostics.extend(diagnostics_of(written, errors, json_schema()))
        bad.extend(tuple(one["loc"]) for one in errors)
    pipes: dict[KeyPath, tuple[Transform, ...]] = {}
    for place in line_places(written.data):
        before = len(diagnostics)
        pipes[place] = tuple(_pipe(written, place, diagnostics))
        if len(diagnostics) > before:
            bad.append(place)
    lookups = _lookups(written, folder, diagnostics)
    pins, ids = _pins(written, folder, diagnostics), _ids(written, folder, diagnostics)
    synonyms = _synonyms(written, folder, diagnostics)
    if bad:
        written = replace(written, data=_without(written.data, bad))
        body = _body_of(written.data)
        left = set(line_places(written.data))
        pipes = {place: transforms for place, transforms in pipes.items() if place in left}
    document = None if body is None else MappingDocument(written, body, pipes, lookups, pins, ids, synonyms, tuple(bad))
    return MappingReading(document, tuple(diagnostics))


def _refuse_job(written: SourceMap) -> None:
    """Refuse the other file of a job with one sentence instead of a fault for each of its keys."""
    if written.data.keys() >= JOB_KEYS and "fields" not in written.data:
        hint = "give the path of the mapping file; `map suggest JOB -o FILE` writes a first one"
        raise MappingError(f"{written.file} is a job file, not a mapping file", hint=hint)


def _refuse_halves(written: SourceMap) -> None:
    """Refuse half characters, which no file can have, but keys and values given in Python can."""
    try:
        json.dumps(written.data, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        message = "a key or value has half a character (a surrogate)"
        raise MappingError.of([written.diagnostic((), message, "write the whole one")]) from None


JOB_KEYS = frozenset({"source", "target"})  # of every job file, and of no mapping file
ENTRIES = frozenset({"fields", "asset", "security", "vocabularies", "lookups"})
"""Blocks whose entries can be left out individually."""


def _without(data: Mapping[str, Json], bad: Iterable[KeyPath]) -> dict[str, Json]:
    """The file without its unreadable entries."""
    left = {key: dict(block) if isinstance(block, dict) else block for key, block in data.items()}
    for place in bad:
        head = str(place[0]) if place else ""
        if head == "version":
            left[head] = 1
        elif head in ENTRIES and len(place) > 1 and isinstance(left.get(head), dict):
            left[head].pop(str(place[1]), None)
        else:
            left.pop(head, None)
    return left


def _body_of(data: Mapping[str, Json]) -> MappingFile | None:
    try:
        return MappingFile.model_validate(data)
    except ValidationError:
        return None


@cache
def json_schema() -> dict[str, Json]:
    """The JSON Schema of the mapping file, for editors: generated once from the models that check the file; not to be
    changed."""
    schema = MappingFile.model_json_schema(by_alias=True)
    return {"$schema": DIALECT, **schema, "title": "A mapping file of dam-sync"}


def line_places(data: Json) -> Iterator[KeyPath]:
    """Places where lines with a pipe may be."""
    for block in ("fields", "asset", "security"):
        inside = data.get(block)
        if isinstance(inside, dict):
            yield from ((block, key) for key in inside)
    if isinstance(data.get("tags"), dict):
        yield ("tags",)
    yield from placement_places(data)


def placement_places(data: Json) -> list[KeyPath]:
    """Places of the placement lines: one, or a list."""
    inside = data.get("placements")
    if isinstance(inside, list):
        return [("placements", index) for index in range(len(inside))]
    return [("placements",)] if isinstance(inside, dict) else []


def _pipe(written: SourceMap, place: KeyPath, diagnostics: list[Diagnostic]) -> Iterator[Transform]:
    node = written.data
    for part in place:
        node = node[part]
    steps = node.get("pipe") if isinstance(node, dict) else None
    for index, step in enumerate(steps if isinstance(steps, list) else ()):
        transform = transform_from(step, (*place, "pipe", index), written, diagnostics)
        if transform is not None:
            yield transform


def _lookups(written: SourceMap, folder: Path, diagnostics: list[Diagnostic]) -> dict[str, Lookup]:
    found: dict[str, Lookup] = {}
    for name, spec in _block(written, "lookups"):
        try:
            table = LookupTable.model_validate(spec)
        except ValidationError:
            found[name] = Lookup(name, {})  # reported with the rest of the file
            continue
        rows = _rows(written, name, table, folder, diagnostics)
        found[name] = Lookup(name, rows, table.unmatched)
    return found


def _rows(
    written: SourceMap, name: str, table: LookupTable, folder: Path, diagnostics: list[Diagnostic]
) -> dict[str, str]:
    if table.values is None:
        return _table(written, ("lookups", name, "csv"), folder, table.csv, (table.key, table.value), diagnostics)
    rows: dict[str, str] = {}
    for key, value in table.values.items():
        if rows.setdefault(folded(key), value) != value:
            place = ("lookups", name, "values", key)
            diagnostics.append(written.diagnostic(place, f"{folded(key)} occurs twice, with different values"))
    return rows


def _ids(written: SourceMap, folder: Path, diagnostics: list[Diagnostic]) -> frozenset[str] | None:
    spec = dict(_block(written, "select")).get("ids")
    try:
        ids = None if spec is None else IdList.model_validate(spec)
        return None if ids is None else read_column(folder, ids.csv, ids.column)
    except ValidationError:
        return None  # reported with the rest of the file
    except TableFault as fault:
        diagnostics.append(written.diagnostic(("select", "ids", "csv"), str(fault)))
        return frozenset()


def _pins(written: SourceMap, folder: Path, diagnostics: list[Diagnostic]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, spec in _block(written, "vocabularies"):
        pins = spec.get("pins") if isinstance(spec, dict) else None
        if isinstance(pins, str) and pins:
            table = _table(written, ("vocabularies", name, "pins"), folder, pins, PIN_COLUMNS, diagnostics)
            found[name] = {unguarded(left): unguarded(right) for left, right in table.items()}
    return found


def _synonyms(written: SourceMap, folder: Path, diagnostics: list[Diagnostic]) -> dict[str, Synonyms]:
    found: dict[str, Synonyms] = {}
    for name, spec in _block(written, "vocabularies"):
        table = spec.get("synonyms") if isinstance(spec, dict) else None
        if not (isinstance(table, str) and table):
            continue
        try:
            pairs = [(fold(left), fold(right)) for left, right in read_pairs(folder, table, *SYNONYM_COLUMNS)]
        except TableFault as fault:
            diagnostics.append(written.diagnostic(("vocabularies", name, "synonyms"), str(fault)))
            continue
        words: dict[str, tuple[str, ...]] = {}
        for left, right in (*pairs, *((right, left) for left, right in pairs)):
            words[left] = (*words.get(left, ()), right)
        found[name] = words
    return found


def _block(written: SourceMap, key: str) -> Iterator[tuple[str, Json]]:
    inside = written.data.get(key)
    if isinstance(inside, dict):
        yield from inside.items()


def _table(
    written: SourceMap, place: KeyPath, folder: Path, name: str, columns: tuple[str, str], diagnostics: list[Diagnostic]
) -> dict[str, str]:
    try:
        return read_table(folder, name, *columns)
    except TableFault as fault:
        diagnostics.append(written.diagnostic(place, str(fault)))
        return {}
