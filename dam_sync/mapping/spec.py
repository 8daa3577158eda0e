"""The keys of a mapping file: what may be written where, and what contradicts itself."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from dam_sync.mapping.transforms.registry import LATER, TRANSFORMS
from dam_sync.mapping.transforms.values import Unmatched
from dam_sync.model.values import Json


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


Condition = Annotated[
    str, Field(description="the line is used only for assets for which this is true: an expression in CEL")
]
Cel = Annotated[str, Field(description="the value: an expression in CEL, for example asset.fields.title.en")]

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
    when: Condition = ""
    cel: Cel = ""
    pipe: Steps = ()
    const: Constant = None
    default: Constant = None
    required: bool = False
    on_error: Annotated[Literal["park", "drop", "null"], BeforeValidator(_null)] = "park"

    @model_validator(mode="after")
    def _says_where_from(self) -> RuleSpec:
        given = [bool(self.from_), self.const is not None, bool(self.cel)].count(True)
        if given != 1 and not self.is_marker:
            raise ValueError("a line needs `from`, `const` or `cel`" + (", and only one of them" if given else ""))
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
        other = (self.from_, self.when, self.cel, self.pipe)
        if self.marker and (any(other) or self.const is not None or self.default is not None):
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
    where: Annotated[str, Field(description="a condition in CEL: asset.status == 'published'")] = ""


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
