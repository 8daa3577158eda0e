"""The records of a catalogue as models, from which its JSON Schema follows."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from dam_sync.model.mistyped import MOST_BYTES
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import Json

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Moment: TypeAlias = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$")]
Texts: TypeAlias = dict[str, str]
Id: TypeAlias = str | int
Size: TypeAlias = Annotated[int, Field(ge=0, le=MOST_BYTES)]


class Open(BaseModel):
    """Further members are kept or ignored."""

    model_config = ConfigDict(extra="allow")


class Closed(BaseModel):
    """A key that is not named here is a mistake: what it says would be lost."""

    model_config = ConfigDict(extra="forbid")


class LocalizedForm(Open):
    """A text by language."""

    texts: Texts


class Day(Open):
    """A date."""

    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")]


class Instant(Open):
    """A timestamp."""

    instant: Moment


class TermValue(Open):
    """A term of the field's vocabulary."""

    label: str
    id: Id = ""
    path: list[str] = []


class PersonForm(Open):
    """A person."""

    person: str


class Place(Open):
    """A place on the map, or its address alone."""

    latitude: float | None = None
    longitude: float | None = None
    address: str = ""


class FieldSet(Open):
    """One row of a field set."""

    row: dict[str, Any]


Scalar: TypeAlias = str | bool | int | float | LocalizedForm | Day | Instant | TermValue | PersonForm | FieldSet | Place


class File(Open):
    """A file of an asset. file: its path below the folder of files."""

    name: str = ""
    file: str = ""
    size: Size | None = None
    media_type: str = ""
    digests: dict[str, str] = {}
    created_at: Moment | None = None


class MembershipForm(Open):
    """A container that an asset lies in."""

    kind: str
    path: list[str]
    id: Id = ""


class Limit(Open):
    """What narrows the audience besides status, dates and groups."""

    kind: Literal["unreleased", "denied", "timed", "download", "container", "sensitive"]
    detail: str = ""


class RightsForm(Closed):
    """Who may see an asset, and when."""

    release_at: Moment | None = None
    expires_at: Moment | None = None
    groups: list[str] = []
    restrictions: list[Limit] = []


class RelationForm(Open):
    """A link to another asset."""

    kind: str
    target: Id


class AssetRecord(Closed):
    """An asset. versions: oldest first; the last is the current file."""

    record: Literal["asset"]
    id: Id
    filename: str = ""
    status: str = ""
    substatus: str = ""
    form_type: str = ""
    type: str = ""
    fields: dict[str, Scalar | list[Scalar]] = {}
    versions: list[File] = []
    attachments: list[File] = []
    placements: list[MembershipForm] = []
    tags: list[str] = []
    machine_tags: list[str] = []
    rights: RightsForm = RightsForm()
    relations: list[RelationForm] = []
    created_at: Moment | None = None
    changed_at: Moment | None = None
    imported_at: Moment | None = None
    source_links: Texts = {}
    losses: list[dict[str, str]] = []


class FieldRecord(Open):
    """A field. types: of the assets that have it; none: all."""

    record: Literal["field"]
    key: str
    kind: FieldKind
    label: str = ""
    types: list[str] = []
    multiple: bool = False
    localized: bool = False
    required: bool = False
    max_length: int | None = None
    vocabulary: str = ""


class VocabularyRecord(Open):
    """A list or tree of terms."""

    record: Literal["vocabulary"]
    key: str
    label: str = ""
    closed: bool = False
    hierarchical: bool = False
    localized: bool = False


class TermRecord(Open):
    """A term. labels: by language, `und` where it is unknown."""

    record: Literal["term"]
    vocabulary: str
    id: Id
    labels: Texts
    label: str = ""
    parent: Id = ""
    synonyms: dict[str, list[str]] = {}
    descriptions: Texts = {}


class ContainerRecord(Open):
    """A container; path from the root down."""

    record: Literal["container"]
    kind: str
    path: list[str]
    id: Id = ""


class NamedRecord(Open):
    """Something that is known by its name."""

    record: Literal["type", "status", "group", "profile", "relation_kind"]
    name: str


Record: TypeAlias = Annotated[
    AssetRecord | FieldRecord | VocabularyRecord | TermRecord | ContainerRecord | NamedRecord,
    Field(discriminator="record"),
]
RECORD: TypeAdapter[Any] = TypeAdapter(Record)


def json_schema() -> dict[str, Json]:
    """The JSON Schema of one line of a catalogue."""
    return {"$schema": DIALECT, "title": "A line of a catalogue of dam-sync", **RECORD.json_schema()}
