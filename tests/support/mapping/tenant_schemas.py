"""Two schemas as real tenants have them: a rich source with languages and a tree, a flat target of texts and lists."""

from __future__ import annotations

from pathlib import Path

from dam_sync.mapping.compile import compile_mapping, compile_reading
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.document import MappingDocument, read_mapping, refuse_faulty
from dam_sync.model.capabilities import PARTS, YES, Capabilities, Feature, Operation, Support
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary

TEXT, TERM, DATE, NUMBER = FieldKind.TEXT, FieldKind.TERM, FieldKind.DATE, FieldKind.NUMBER


KEPT = (Feature.FILELESS, Feature.SAME_NAMES, Feature.TIME_OF_DAY, Feature.CYCLES, Feature.OUTER_WHITESPACE)


def able(*parts: str) -> Capabilities:
    """What a service can do that can be given these parts of an asset, keeps everything as it is and returns all."""
    given = (*KEPT, *(Feature[part.upper()] for part in parts))
    read = dict.fromkeys((*PARTS, Feature.LABEL, Feature.MACHINE_TAGS), Support("yes"))
    return Capabilities(frozenset(Operation), {**read, **dict.fromkeys(given, YES)})


def schema(*fields: Field, **more: object) -> Schema:
    return Schema(fields={field.key: field for field in fields}, **{"capabilities": able(), **more})  # type: ignore[arg-type]


SOURCE = schema(
    Field("title", TEXT, "Title", localized=True, required=True, max_length=255),
    Field("description", FieldKind.LONG_TEXT, localized=True),
    Field("inventory", TEXT, max_length=100),
    Field("keywords", TERM, multiple=True, vocabulary="keywords"),
    Field("country", TERM, vocabulary="countries"),
    Field("shot_date", DATE),
    Field("taken_at", FieldKind.INSTANT),
    Field("height_cm", NUMBER),
    Field("credit", FieldKind.HTML),
    Field("photographer", TEXT, multiple=True),
    Field("people", FieldKind.PERSON, multiple=True),
    Field("site", FieldKind.PLACE),
    Field("cleared", FieldKind.FLAG),
    Field("dims", FieldKind.ROWS, multiple=True),
    Field("stat_views", NUMBER, system=True, editable=False),
    Field("width", NUMBER, derived=True, system=True, editable=False),
    vocabularies={
        "keywords": Vocabulary("keywords", hierarchical=True, localized=True),
        "countries": Vocabulary("countries", closed=True),
    },
    types=(AssetType("Picture", "Picture", frozenset({"PICTURE"})), AssetType("Document", "Document")),
    statuses=frozenset({"published", "archived", "draft"}),
    locales=("en", "fr"),
    container_kinds=frozenset({"folder", "label"}),
    capabilities=able("status", "versions", "attachments", "relations"),
)

BOTH = frozenset({"Images", "Documents"})
TARGET = schema(
    Field("srckey", TEXT, max_length=255, types=BOTH),
    Field("title", TEXT, required=True, max_length=255, types=BOTH),
    Field("titleFr", TEXT, max_length=255, types=BOTH),
    Field("note", TEXT, max_length=20, types=BOTH),
    Field("description", FieldKind.LONG_TEXT, types=BOTH),
    Field("subject", TERM, multiple=True, vocabulary="subject", types=BOTH),
    Field("country", TERM, vocabulary="country", types=BOTH),
    Field("shotDate", DATE, types=BOTH),
    Field("heightCm", NUMBER, types=BOTH),
    Field("approved", FieldKind.FLAG, types=BOTH),
    Field("pages", NUMBER, types=frozenset({"Documents"})),
    Field("reel", TEXT, types=frozenset({"Films"})),
    Field("file_format", TEXT, system=True, editable=False, derived=True),
    vocabularies={
        "subject": Vocabulary("subject", max_length=40),
        "country": Vocabulary("country", closed=True),
    },
    types=(AssetType("Images", "images"), AssetType("Documents", "documents"), AssetType("Films")),
    statuses=frozenset({"published", "archived"}),
    groups=frozenset({"public", "staff"}),
    container_kinds=frozenset({"category", "collection"}),
    capabilities=able("tags", "release", "expiry", "groups"),
)

LEAST = """\
version: 1
profile: {default: images}
unmapped: ignore
fields:
  srckey: {marker: true}
  title: {from: filename}
"""


def read(folder: Path, text: str) -> MappingDocument:
    path = folder / "mapping.yaml"
    path.write_text(text, encoding="utf-8")
    return loaded(path)


def loaded(path: Path) -> MappingDocument:
    """A mapping file and the tables it names. Raises MappingError with every diagnostic."""
    return refuse_faulty(read_mapping(path))


def compiled(folder: Path, text: str, source: Schema = SOURCE, target: Schema = TARGET) -> Crosswalk:
    return compile_mapping(read(folder, text), source, target)


def compiled_file(path: Path, source: Schema, target: Schema) -> tuple[MappingDocument, Crosswalk]:
    """A mapping file, read and compiled. Raises MappingError with every diagnostic."""
    return compile_reading(read_mapping(path), source, target)


def with_lines(*lines: str) -> str:
    """The least mapping with more lines under `fields`."""
    return LEAST + "".join(f"  {line}\n" for line in lines)
