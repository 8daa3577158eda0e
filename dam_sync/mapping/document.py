"""The mapping file: its schema, read with the line of every key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dam_sync.config.diagnostics import KeyPath, SourceMap, diagnostics_of
from dam_sync.config.loader import FileFormat, Syntax
from dam_sync.mapping.tables import Lookup, TableFault, read_table
from dam_sync.mapping.transforms.base import Transform
from dam_sync.mapping.transforms.registry import LATER, TRANSFORMS, transform_from
from dam_sync.mapping.transforms.values import Unmatched
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import MappingError
from dam_sync.model.values import Json

MAPPING_FILE = FileFormat("mapping file", "correct `mapping:` in the job file", 4_000_000, MappingError)
MAPPING_SYNTAX = Syntax("YAML", lambda text: YAML(typ="rt").load(text), YAMLError)
PIN_COLUMNS = ("source", "target")


def _several(given: Json) -> Json:
    return [given] if isinstance(given, str | int | float | date) else given


def _null(given: Json) -> Json:
    return "null" if given is None else given


def _step_schema() -> dict[str, Json]:
    bare = sorted(
        name
        for name, transform in TRANSFORMS.items()
        if not any(f.is_required() for f in transform.model_fields.values())
    )
    steps = [
        {
            "type": "object",
            "description": transform.summary,
            "properties": {name: {} if transform.short else transform.model_json_schema(by_alias=True)},
            "required": [name],
            "additionalProperties": False,
        }
        for name, transform in TRANSFORMS.items()
    ]
    return {"anyOf": [{"enum": bare}, *steps]}


def _matching(ways: tuple[Json, ...]) -> tuple[str, ...]:
    for way in ways:
        if isinstance(way, dict) or way in LATER:
            raise ValueError("fuzzy matching is not in this release; use pin, exact, casefold, synonym")
        if way not in ("pin", "exact", "casefold", "synonym"):
            raise ValueError(f"unknown way to match: {way}; use pin, exact, casefold, synonym")
    return ways


Scalar: TypeAlias = str | bool | int | float | datetime | date
Texts = Annotated[tuple[str, ...], BeforeValidator(_several), Field(json_schema_extra={"type": ["string", "array"]})]
Constant = Annotated[
    tuple[Scalar, ...] | None,
    BeforeValidator(_several),
    WithJsonSchema({"type": ["string", "number", "boolean", "array"]}),
]
Steps = tuple[Annotated[Json, WithJsonSchema(_step_schema())], ...]
Ways = Annotated[tuple[Json, ...], AfterValidator(_matching)]


FROM = (
    "a path, or several tried in order: filename, status, tags[], placements.folder[].path, fields.title.en, "
    "fields.keywords[], fields.lib:title; a key in double quotes may contain dots, whitespace "
    'and brackets: fields."Release Date".en'
)


class MappingModel(BaseModel):
    """A piece of the file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)


class RuleSpec(MappingModel):
    """What is written: from where, through which pipe, and what happens with missing or invalid values."""

    from_: Texts = Field(default=(), alias="from", description=FROM)
    pipe: Steps = ()
    const: Constant = None
    default: Constant = None
    required: bool = False
    on_error: Annotated[Literal["park", "drop", "null"], BeforeValidator(_null)] = "park"

    @model_validator(mode="after")
    def _says_where_from(self) -> RuleSpec:
        if bool(self.from_) == (self.const is not None) and not self.is_marker:
            raise ValueError("a line needs `from` or `const`" + (", not both" if self.from_ else ""))
        if self.const is not None and self.pipe:
            raise ValueError("a constant cannot have a pipe")
        return self

    @property
    def is_marker(self) -> bool:
        """Whether this is the marker line."""
        return False


class FieldLine(RuleSpec):
    """A line that writes a metadata field."""

    marker: bool = False

    @model_validator(mode="after")
    def _marker_alone(self) -> FieldLine:
        if self.marker and (self.from_ or self.const is not None or self.pipe or self.default is not None):
            raise ValueError("a marker line cannot have other keys")
        return self

    @property
    def is_marker(self) -> bool:
        """See `RuleSpec.is_marker`."""
        return self.marker


class PlacementLine(RuleSpec):
    """A rule that puts assets into containers of one kind."""

    as_: str = Field(default="", alias="as")


class Select(MappingModel):
    """Which assets are moved: all conditions must hold."""

    status: Texts = ()
    containers: Texts = ()


class LookupTable(MappingModel):
    """A CSV file next to the mapping file."""

    csv: str
    key: str = "key"
    value: str = "value"
    unmatched: Unmatched = None


class VocabularyMap(MappingModel):
    """How the terms of one vocabulary become terms of another."""

    source: str = ""
    target: str
    match: Ways = ("pin", "exact")
    unmatched: Literal["create", "park", "drop", "keep"] | None = None
    pins: str = ""


class ProfileLine(MappingModel):
    """Which upload profile or form a new asset gets."""

    from_: str = Field(default="", alias="from")
    cases: Mapping[str, str] = Field(default_factory=dict)
    default: str = ""

    @model_validator(mode="after")
    def _says_something(self) -> ProfileLine:
        if bool(self.from_) != bool(self.cases) or not (self.from_ or self.default):
            raise ValueError("a profile needs `default`, or `from` and `cases`")
        return self


class AssetLines(MappingModel):
    """Parts of an asset besides its metadata fields."""

    filename: RuleSpec | None = None
    status: RuleSpec | None = None


class SecurityLines(MappingModel):
    """Who may see the asset, and when."""

    groups: RuleSpec | None = None
    release: RuleSpec | None = None
    expiry: RuleSpec | None = None


class RelationLines(MappingModel):
    """Names of relation kinds at the target by kind at the source. A kind that is not named keeps its name;
    one that the target lacks is a named loss."""

    kinds: Mapping[str, str] = Field(default_factory=dict)


class Example(MappingModel):
    """A test: a sparse neutral asset, and the expected values by target field."""

    given: Mapping[str, Json]
    expect: Mapping[str, Json]


class MappingFile(MappingModel):
    """A mapping file of version 1."""

    version: Literal[1]
    locales: Texts = ()
    select: Select = Field(default_factory=Select)
    lookups: Mapping[str, LookupTable] = Field(default_factory=dict)
    vocabularies: Mapping[str, VocabularyMap] = Field(default_factory=dict)
    profile: ProfileLine | None = None
    asset: AssetLines = Field(default_factory=AssetLines)
    fields: Mapping[str, FieldLine] = Field(default_factory=dict)
    tags: RuleSpec | None = None
    placements: Annotated[
        tuple[PlacementLine, ...], BeforeValidator(lambda given: [given] if isinstance(given, dict) else given)
    ] = ()
    security: SecurityLines = Field(default_factory=SecurityLines)
    relations: RelationLines = Field(default_factory=RelationLines)
    ignore: tuple[str, ...] = ()
    unmapped: Literal["fail", "report", "ignore"] = "fail"
    marker: Literal["none"] | None = Field(
        default=None,
        description="none: no field holds the marker; if the response to a create is lost, the asset is parked",
    )
    tests: tuple[Example, ...] = ()


@dataclass(frozen=True, slots=True)
class MappingDocument:
    """A mapping file without errors of its own; `compile_mapping` compares it with two schemas.

    pipes: transforms by the place of their line. pins: by the name of their vocabulary.
    """

    written: SourceMap
    body: MappingFile
    pipes: Mapping[KeyPath, tuple[Transform, ...]]
    lookups: Mapping[str, Lookup]
    pins: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class MappingReading:
    """The result of reading a mapping file. document: the file without the entries that have diagnostics; None
    if nothing is left."""

    document: MappingDocument | None
    diagnostics: tuple[Diagnostic, ...] = ()


def load_mapping(path: Path) -> MappingDocument:
    """Read a mapping file and the tables it names. Raises MappingError with every diagnostic."""
    return refuse_faulty(read_mapping(path))


def refuse_faulty(reading: MappingReading) -> MappingDocument:
    """The whole document. Raises MappingError with every diagnostic."""
    if reading.document is None or reading.diagnostics:
        raise MappingError.of(reading.diagnostics)
    return reading.document


def read_mapping(path: Path) -> MappingReading:
    """As `load_mapping`, with diagnostics next to what could be read. Raises MappingError if it is not YAML."""
    return reading_of(mapping_of_file(path), path.parent)


def mapping_of_file(path: Path) -> SourceMap:
    """The keys and values of a mapping file. Raises MappingError if it is not YAML."""
    return MAPPING_FILE.read(path, MAPPING_SYNTAX)


def mapping_of_text(text: str) -> SourceMap:
    """Like `mapping_of_file`, from text."""
    return MAPPING_FILE.parse(Path("mapping"), text, MAPPING_SYNTAX)


def reading_of(written: SourceMap, folder: Path) -> MappingReading:
    """Parse the keys and values, and read the tables they name, relative to the folder."""
    diagnostics: list[Diagnostic] = []
    bad: list[KeyPath] = []
    try:
        body: MappingFile | None = MappingFile.model_validate(written.data)
    except ValidationError as error:
        body, errors = None, error.errors(include_url=False, include_input=False)
        diagnostics.extend(diagnostics_of(written, errors, json_schema(), LATER))
        bad.extend(tuple(one["loc"]) for one in errors)
    pipes: dict[KeyPath, tuple[Transform, ...]] = {}
    for place in line_places(written.data):
        before = len(diagnostics)
        pipes[place] = tuple(_pipe(written, place, diagnostics))
        if len(diagnostics) > before:
            bad.append(place)
    lookups = _lookups(written, folder, diagnostics)
    pins = _pins(written, folder, diagnostics)
    if bad:
        written = replace(written, data=_without(written.data, bad))
        body = _body_of(written.data)
        left = set(line_places(written.data))
        pipes = {place: transforms for place, transforms in pipes.items() if place in left}
    document = None if body is None else MappingDocument(written, body, pipes, lookups, pins)
    return MappingReading(document, tuple(diagnostics))


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


def json_schema() -> dict[str, Json]:
    """The JSON Schema of the mapping file, for editors."""
    return MappingFile.model_json_schema(by_alias=True)


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
        rows = _table(written, ("lookups", name, "csv"), folder, table.csv, (table.key, table.value), diagnostics)
        found[name] = Lookup(name, rows, table.unmatched)
    return found


def _pins(written: SourceMap, folder: Path, diagnostics: list[Diagnostic]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, spec in _block(written, "vocabularies"):
        pins = spec.get("pins") if isinstance(spec, dict) else None
        if isinstance(pins, str) and pins:
            found[name] = _table(written, ("vocabularies", name, "pins"), folder, pins, PIN_COLUMNS, diagnostics)
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
