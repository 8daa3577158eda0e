"""The keys of a mapping file: what may be written where, and what contradicts itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from dam_sync.config.spelling import settled
from dam_sync.mapping.results import aware
from dam_sync.mapping.transforms.base import as_word, constant
from dam_sync.mapping.transforms.registry import TRANSFORMS
from dam_sync.mapping.transforms.values import Unmatched
from dam_sync.model.diagnostic import nearest
from dam_sync.model.values import Json


def _several(given: Json) -> Json:
    return [given] if isinstance(given, str | int | float | date) else given


def _moment(given: Json) -> Json:
    given = settled(given)
    if isinstance(given, str):
        try:
            return datetime.fromisoformat(given) if len(given) > DAY else date.fromisoformat(given)
        except ValueError:
            given = None
    if not isinstance(given, date):
        raise ValueError("should be a date such as 2020-12-31, or a timestamp such as 2020-12-31T18:00:00Z")
    return given


def first_moment(given: date | datetime) -> datetime:
    """The timestamp, or the first one of a day."""
    return aware(given) if isinstance(given, datetime) else datetime.combine(given, time(), UTC)


def last_moment(given: date | datetime) -> datetime:
    """The timestamp, or the last one of a day."""
    return aware(given) if isinstance(given, datetime) else datetime.combine(given, time.max, UTC)


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


WAYS = ("pin", "exact", "casefold", "synonym", "fuzzy")
FUZZY_FROM, FUZZY_USUAL = 0.5, 0.92


def _matching(ways: tuple[Json, ...]) -> tuple[Json, ...]:
    for way in ways:
        if isinstance(way, dict):
            _check_fuzzy(way)
        elif way not in WAYS:
            hint = nearest(str(way), WAYS)
            raise ValueError(
                f"unknown way to match: {way}; {hint or 'use pin, exact, casefold, synonym, {fuzzy: 0.92}'}"
            )
    return ways


def _check_fuzzy(way: Mapping[str, Json]) -> None:
    score = settled(way.get("fuzzy"))
    number = score if isinstance(score, int | float) and not isinstance(score, bool) else 0
    if len(way) != 1 or not FUZZY_FROM <= number <= 1:
        raise ValueError(f"fuzzy takes a score from {FUZZY_FROM} to 1; write {{fuzzy: {FUZZY_USUAL}}}")


DAY = len("2020-12-31")
Word = Annotated[str, BeforeValidator(as_word), WithJsonSchema({"type": ["string", "number", "boolean"]})]
Words = Annotated[
    tuple[Word, ...],
    BeforeValidator(_several),
    Field(min_length=1, json_schema_extra={"type": ["string", "number", "boolean", "array"]}),
]
Moment = Annotated[
    datetime | date | None, BeforeValidator(_moment), WithJsonSchema({"type": "string", "examples": ["2020-12-31"]})
]
Texts = Annotated[tuple[str, ...], BeforeValidator(_several), Field(json_schema_extra={"type": ["string", "array"]})]
Constant = Annotated[
    tuple[Annotated[Json, AfterValidator(constant)], ...] | None,
    BeforeValidator(_several),
    WithJsonSchema({"type": ["string", "number", "boolean", "array"]}),
]
Steps = tuple[Annotated[Json, WithJsonSchema(_step_schema())], ...]
Ways = Annotated[
    tuple[
        Annotated[
            Json,
            WithJsonSchema(
                {
                    "anyOf": [
                        {"enum": list(WAYS)},
                        {
                            "type": "object",
                            "properties": {"fuzzy": {"type": "number", "minimum": FUZZY_FROM, "maximum": 1}},
                            "required": ["fuzzy"],
                            "additionalProperties": False,
                        },
                    ]
                }
            ),
        ],
        ...,
    ],
    BeforeValidator(_several),
    AfterValidator(_matching),
]


Condition = Annotated[
    str, Field(description="the line is used only for assets for which this is true: an expression in CEL")
]
Cel = Annotated[str, Field(description="the value: an expression in CEL, for example asset.fields.title.en")]

FROM = (
    "a path, or several tried in order: filename, status, tags[], placements.folder[].path, fields.title.en, "
    "fields.keywords[], fields.lib:title; a key in double quotes may contain dots, whitespace "
    'and brackets: fields."Release Date".en'
)


def _one_or_several(schema: dict[str, Json]) -> None:
    """In the JSON Schema of a list: one item may be written without the list around it."""
    items, kind = schema.pop("items"), schema.pop("type")
    schema["anyOf"] = [items, {"type": kind, "items": items}]


class MappingModel(BaseModel):
    """A piece of the file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=False)


class RuleSpec(MappingModel):
    """What is written: from where, through which pipe, and what happens with missing or invalid values."""

    from_: Texts = Field(default=(), alias="from", description=FROM)
    when: Condition = ""
    cel: Cel = ""
    pipe: Steps = ()
    const: Constant = None
    default: Constant = None
    required: bool = False
    on_error: Annotated[Literal["park", "drop", "null"], BeforeValidator(_null)] = "park"

    @model_validator(mode="after")
    def _says_where_from(self) -> RuleSpec:
        given = [bool(self.from_), "const" in self.model_fields_set, bool(self.cel)].count(True)
        if given != 1 and not self.is_marker:
            advice = ", and only one of them" if given else "; write {from: fields.KEY}"
            raise ValueError(f"a line needs `from`, `const` or `cel`{advice}")
        for key in {"const", "default"} & self.model_fields_set:
            if getattr(self, key) is None:
                raise ValueError(f"{key} is null, which is no value; remove it, or put the word in quotes")
        if self.const is not None and self.pipe:
            raise ValueError("a constant cannot have a pipe; write its final value")
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
        other = (self.from_, self.when, self.cel, self.pipe)
        if self.marker and (any(other) or self.const is not None or self.default is not None):
            raise ValueError("a marker line cannot have other keys; write {marker: true}")
        return self

    @property
    def is_marker(self) -> bool:
        return self.marker


class PlacementLine(RuleSpec):
    """A rule that puts assets into containers of one kind."""

    as_: str = Field(default="", alias="as")


class Period(MappingModel):
    """A range of dates, both ends included; a date without a time is the whole day in UTC."""

    from_: Moment = Field(default=None, alias="from")
    until: Moment = None

    @model_validator(mode="after")
    def _begins_first(self) -> Period:
        if self.from_ is None and self.until is None:
            raise ValueError("a period needs `from` or `until`")
        if self.from_ is not None and self.until is not None and first_moment(self.from_) > last_moment(self.until):
            raise ValueError("the period ends before it begins; exchange `from` and `until`")
        return self

    def contains(self, moment: date | datetime) -> bool:
        """Whether a date or timestamp is in the period."""
        begin = self.from_ is None or first_moment(moment) >= first_moment(self.from_)
        return begin and (self.until is None or first_moment(moment) <= last_moment(self.until))


class IdList(MappingModel):
    """A CSV file with the ids of assets."""

    csv: str
    column: str = "id"


class Select(MappingModel):
    """Which assets are moved: all conditions must hold."""

    ids: Annotated[IdList | None, Field(description="a CSV file with the ids of the assets: {csv: pilot.csv}")] = None
    status: Texts = ()
    types: Annotated[Texts, Field(description="class of record or form at the source: PICTURE, Photo")] = ()
    containers: Texts = ()
    dates: Annotated[
        Mapping[str, Period], Field(description="created_at, changed_at, release_at or fields.KEY: {from: 2020-01-01}")
    ] = Field(default_factory=dict)
    fields: Annotated[
        Mapping[str, Words], Field(description="values by field of the source, one of which the asset must have")
    ] = Field(default_factory=dict)
    where: Annotated[str, Field(description="a condition in CEL: asset.status == 'published'")] = ""


class LookupTable(MappingModel):
    """A table from values to values: a CSV file next to the mapping file, or `values` in the file itself."""

    csv: str = ""
    key: str = "key"
    value: str = "value"
    values: Annotated[Mapping[str, Word] | None, Field(description="{fr: France, de: Germany}")] = None
    unmatched: Unmatched = None

    @model_validator(mode="after")
    def _one_source(self) -> LookupTable:
        if bool(self.csv) == (self.values is not None):
            raise ValueError("a lookup needs `csv` or `values`" + (", not both" if self.csv else "; write {csv: FILE}"))
        if self.values is not None and self.model_fields_set & {"key", "value"}:
            raise ValueError("`key` and `value` name columns of a CSV file; remove them")
        return self


class VocabularyMap(MappingModel):
    """How the terms of one vocabulary become terms of another."""

    source: str = ""
    target: str
    match: Ways = ("pin", "exact")
    unmatched: Literal["create", "suggest", "park", "drop", "keep"] | None = None
    pins: Annotated[str, Field(description="a CSV file with the columns source and target")] = ""
    synonyms: Annotated[str, Field(description="a CSV file with the columns term and synonym")] = ""

    @property
    def order(self) -> tuple[str, ...]:
        """The ways to match by name."""
        return tuple("fuzzy" if isinstance(way, dict) else str(way) for way in self.match)

    @property
    def fuzzy(self) -> float:
        """The least score of a fuzzy match."""
        return next((float(settled(way["fuzzy"])) for way in self.match if isinstance(way, dict)), FUZZY_USUAL)


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
    include: Annotated[
        Texts, Field(description="other mapping files in this folder or below; what this file says wins over them")
    ] = ()
    locales: Texts = ()
    select: Select = Field(default_factory=Select)
    lookups: Mapping[str, LookupTable] = Field(default_factory=dict)
    vocabularies: Mapping[str, VocabularyMap] = Field(default_factory=dict)
    profile: ProfileLine | None = None
    asset: AssetLines = Field(default_factory=AssetLines)
    fields: Mapping[str, FieldLine] = Field(default_factory=dict)
    tags: RuleSpec | None = None
    placements: Annotated[
        tuple[PlacementLine, ...],
        BeforeValidator(lambda given: [given] if isinstance(given, dict) else given),
        Field(json_schema_extra=_one_or_several),
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
