"""Document types, schemas and directories of one server, read from its JSON. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.http.parsing import InvalidJson, parsed_text
from dam_sync.model.asset import Placement
from dam_sync.model.errors import ContractBroken
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.options import DocumentsOptions

SCALARS: Mapping[str, FieldKind] = {
    "string": FieldKind.TEXT,
    "boolean": FieldKind.FLAG,
    "integer": FieldKind.NUMBER,
    "long": FieldKind.NUMBER,
    "double": FieldKind.NUMBER,
    "date": FieldKind.INSTANT,
}
OWN_PREFIXES = frozenset(  # what the service keeps for itself, or what is read as a part of the asset (wire B 3)
    {
        "uid",
        "common",
        "file",
        "files",
        "nxtag",
        "collection",
        "collectionMember",
        "relatedtext",
        "thumb",
        "note_related",
    }
    | {"content", "rend", "rendition", "publishing", "record", "retention"}
)
DERIVED_PREFIXES = frozenset({"picture", "imd", "iptc", "vid", "aud", "exif"})  # wire B 6.3: filled from the bytes
SYSTEM = frozenset({"dc:modified", "dc:contributors", "dc:lastContributor"})  # wire B 1.5, 6.3
ACCOUNTS = frozenset({"dc:creator"})  # wire B 3: user names of this server
LONG = frozenset({"dc:description", "note:note", "dc:rights"})
USER, GROUP = "user:", "group:"
POINT = frozenset({"latitude", "longitude", "address"})  # a complex property of these is a place (assumption 20)
COMMAS = 3  # inside one value of a list that a constraint writes without quotes
ENUM = "enum:"  # before the field's key: a list that a constraint names and no directory


@dataclass(frozen=True, slots=True)
class DocumentsField:
    """One property. `wire`: the type as named by the service, without `[]`; parts: of a complex one, by name.

    vocabulary: key of the list behind it; parented: whether values name the parents; prefix: before names of users.
    """

    key: str
    wire: str = "string"
    kind: FieldKind = FieldKind.TEXT
    multiple: bool = False
    required: bool = False
    max_length: int | None = None
    vocabulary: str = ""
    parented: bool = False
    separator: str = "/"
    prefix: str = ""
    values: tuple[str, ...] = ()
    parts: Mapping[str, DocumentsField] = field(default_factory=dict)
    types: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DocumentType:
    """A type of document, with its own schemas and facets."""

    name: str
    parent: str = ""
    facets: frozenset[str] = frozenset()
    schemas: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Directory:
    """A vocabulary; `parent` names the directory its parents are in, empty for a flat one."""

    name: str
    schema: str = "vocabulary"
    id_field: str = "id"
    parent: str = ""
    closed: bool = False

    @property
    def localized(self) -> bool:
        """Whether labels are localized."""
        return self.schema.lower().startswith("l10n")


@dataclass(frozen=True)  # no slots: what every asset asks is computed once
class ServerSchema:
    """Types, schemas and directories of one server."""

    types: Mapping[str, DocumentType] = field(default_factory=dict)
    fields: Mapping[str, DocumentsField] = field(default_factory=dict)
    directories: Mapping[str, Directory] = field(default_factory=dict)

    @cached_property
    def folder_types(self) -> frozenset[str]:
        """Types that contain others."""
        return frozenset(
            name for name in (*self.types, *facts.FOLDERISH) if self._is(name, "Folderish", facts.FOLDERISH)
        )

    @cached_property
    def collection_types(self) -> frozenset[str]:
        """Types of collections."""
        own = {name for name in self.types if self._is(name, "Collection", facts.COLLECTIONS)}
        return frozenset(own | facts.COLLECTIONS)

    @cached_property
    def asset_types(self) -> frozenset[str]:
        """Types whose documents are assets."""
        hidden = {"HiddenInNavigation", "SystemDocument"}
        taken = self.folder_types | self.collection_types
        return frozenset(
            name
            for name, kind in self.types.items()
            if name not in taken and not kind.facets & hidden and {"dublincore", "file", "note"} & kind.schemas
        )

    def has(self, type_name: str, schema: str) -> bool:
        """Whether documents of this type have the schema by themselves."""
        kind = self.types.get(type_name)
        return kind is not None and schema in kind.schemas

    def _is(self, name: str, facet: str, known: frozenset[str]) -> bool:
        """By its facets, or by descent from a known type."""
        for _ in range(facts.LEVELS):
            kind = self.types.get(name)
            if name in known or (kind is not None and facet in kind.facets):
                return True
            if kind is None or not kind.parent:
                return False
            name = kind.parent
        return False


@interprets_response
def server_of(types: Json, schemas: Json, directories: Json, options: DocumentsOptions) -> ServerSchema:
    """From `/config/types`, `/config/schemas` and `/directory`. Raises ContractBroken."""
    found = _types_of(types)
    listed = {directory.name: directory for directory in _directories_of(directories)}
    fields: dict[str, DocumentsField] = {}
    for name, body in _schemas_of(types, schemas).items():
        prefix = str(body.get("@prefix") or body.get("prefix") or "") or name
        having = frozenset(each.name for each in found.values() if name in each.schemas)
        for key, declared in _members(body).items():
            info = info_of(f"{prefix}:{key}", declared)
            if info is not None:
                fields[info.key] = replace(info, types=having, kind=options.kinds.get(info.key, info.kind))
    server = ServerSchema(found, {}, listed)
    assets = server.asset_types
    kept = {
        key: replace(info, types=info.types & assets) for key, info in fields.items() if _is_ours(info, assets, options)
    }
    return replace(server, fields=kept)


def schema_of(server: ServerSchema, options: DocumentsOptions) -> Schema:
    """The neutral schema."""
    vocabularies = {
        name: Vocabulary(
            name, name, each.closed, bool(each.parent), each.localized, least_depth=len(chain(server, name))
        )
        for name, each in server.directories.items()
    }
    for info in server.fields.values():
        if info.vocabulary and info.vocabulary not in vocabularies:
            closed = info.vocabulary.startswith(ENUM)
            vocabularies[info.vocabulary] = Vocabulary(info.vocabulary, info.vocabulary, closed, info.parented)
    return Schema(
        fields={key: _field(info) for key, info in server.fields.items()},
        vocabularies=vocabularies,
        types=tuple(AssetType(name, name) for name in sorted(server.asset_types)),
        statuses=None if options.status_field else frozenset(options.states),
        status_hides=False,  # wire B 6.5
        groups=options.groups,
        locales=(),
        container_kinds=frozenset({"folder", "collection"}),
        container_depth={"collection": 1},
        container_most={"folder": 1},
        container_default=frozenset({Placement("folder", options.folder_titles)} if options.folder_titles else ()),
        container_staging=frozenset({Placement("folder", (*options.folder_titles, facts.CLOSED))}),
        relation_kinds=frozenset(options.relations),
    )


def _field(info: DocumentsField) -> Field:
    derived = info.key.partition(":")[0] in DERIVED_PREFIXES
    parts = info.parts if info.kind is FieldKind.ROWS else {}
    return Field(
        key=info.key,
        kind=info.kind,
        label=info.key.partition(":")[2],
        multiple=info.multiple,
        required=info.required,
        editable=not derived and info.key not in SYSTEM,
        max_length=info.max_length,
        vocabulary=info.vocabulary,
        types=info.types,
        cells=frozenset(parts),
        cell_kinds={name: part.kind for name, part in parts.items()},
        system=info.key in SYSTEM,
        derived=derived,
        accounts=info.key in ACCOUNTS,
    )


def _is_ours(info: DocumentsField, assets: frozenset[str], options: DocumentsOptions) -> bool:
    """Whether a person would map it: not what is read as a part of the asset, nor what only folders have."""
    if info.key in (options.release_field, options.expiry_field, options.status_field):
        return False
    return info.key.partition(":")[0] not in OWN_PREFIXES and (not info.types or bool(info.types & assets))


def is_read(key: str, server: ServerSchema, options: DocumentsOptions) -> bool:
    """Whether a property is a field, a part of the asset, or derived from the bytes."""
    named = (options.release_field, options.expiry_field, options.status_field)
    return key in server.fields or key in named or key.partition(":")[0] in OWN_PREFIXES | DERIVED_PREFIXES


# -- types and schemas -------------------------------------------------------------------------------------------------


def _types_of(reply: Json) -> dict[str, DocumentType]:
    rows = reply.get("doctypes") if isinstance(reply, dict) else None
    if not isinstance(rows, dict):
        raise ContractBroken("the response has no `doctypes`", operation=facts.TYPES)
    return {name: _type_of(name, row) for name, row in rows.items()}


def _type_of(name: str, row: Json) -> DocumentType:
    parent = member_text(row, "parent")
    schemas = (each.get("name") if isinstance(each, dict) else each for each in row.get("schemas") or ())
    facets = (each.get("name") if isinstance(each, dict) else each for each in row.get("facets") or ())
    return DocumentType(
        name, "" if "!!!" in parent else parent, frozenset(map(str, facets)), frozenset(map(str, schemas))
    )


def _schemas_of(types: Json, schemas: Json) -> dict[str, Json]:
    """Schemas with constraints where they are known; those listed only by `/config/types` have none. Raises
    ContractBroken."""
    found: dict[str, Json] = {
        name: body for name, body in (types.get("schemas") or {}).items() if isinstance(body, dict)
    }
    rows = schemas.get("schemas", schemas.get("entries")) if isinstance(schemas, dict) else schemas
    if not isinstance(rows, list) or not all(isinstance(body, dict) for body in rows):
        raise ContractBroken("the response is not a list of schemas", operation=facts.SCHEMAS)
    for body in rows:
        if body.get("name"):
            found[str(body["name"])] = body
    return found


def _members(body: Json) -> dict[str, Json]:
    """The fields of a schema; `/config/types` writes them next to `@prefix` (wire B 5.1)."""
    fields = body.get("fields")
    if isinstance(fields, dict) and "type" not in body:
        return fields
    return {
        key: declared for key, declared in body.items() if not key.startswith("@") and key not in ("name", "prefix")
    }


@interprets_response
def info_of(key: str, declared: Json) -> DocumentsField | None:
    """A property from the name of its type, alone or with constraints; None for blobs and what contains them."""
    wire = str(declared if isinstance(declared, str) else declared.get("type") or "complex")
    multiple = wire.endswith("[]")
    wire = wire.removesuffix("[]")
    own, items = (
        ([], [])
        if isinstance(declared, str)
        else (_constraints(declared, "constraints"), _constraints(declared, "itemConstraints"))
    )
    required = any(name == "NotNullConstraint" for name, _ in own)
    if wire == "complex":
        return _complex(key, declared, multiple, required)
    kind = SCALARS.get(wire)
    if kind is None:
        return None
    info = DocumentsField(key, wire, FieldKind.LONG_TEXT if key in LONG else kind, multiple, required)
    for name, parameters in [*own, *items]:
        info = _constrained(info, name, parameters)
    return info


def _complex(key: str, declared: Json, multiple: bool, required: bool) -> DocumentsField | None:
    members = declared.get("fields") if isinstance(declared, dict) else None
    parts = {name: info_of(name, part) for name, part in (members or {}).items()}
    if not parts or any(part is None for part in parts.values()):
        return None
    known = {name: part for name, part in parts.items() if part is not None}
    if known.keys() == POINT:
        return DocumentsField(key, "complex", FieldKind.PLACE, multiple, required, parts=known)
    return DocumentsField(key, "complex", FieldKind.ROWS, multiple, required, parts=known)


def _constraints(declared: Json, name: str) -> list[tuple[str, Json]]:
    rows = declared.get(name) or []
    if not isinstance(rows, list):
        raise TypeError(f"{name} is {rows!r:.40}, not a list")
    return [(member_text(row, "name"), row.get("parameters") or {}) for row in rows]


def _constrained(info: DocumentsField, name: str, parameters: Json) -> DocumentsField:
    match name:
        case "LengthConstraint":
            most = member_text(parameters, "Maximum")
            return replace(info, max_length=int(most)) if most.isdigit() else info
        case "EnumConstraint":
            values = enumerated(parameters.get("Values"))
            return replace(info, kind=FieldKind.TERM, vocabulary=ENUM + info.key, values=values)
        case "directoryResolver":
            parent = member_text(parameters, "parentField")
            return replace(
                info,
                kind=FieldKind.TERM,
                vocabulary=member_text(parameters, "directory"),
                parented=bool(parent),
                separator=str(parameters.get("separator") or "/"),
            )
        case "userManagerResolver":
            return replace(info, kind=FieldKind.PERSON, prefix=_prefix(parameters))
        case _:
            return info


def _prefix(parameters: Json) -> str:
    """If both groups and users are allowed, each name is prefixed with its kind (assumption 24)."""
    both = (str(parameters.get(name) or "").lower() for name in ("includeUsers", "includeGroups"))
    return USER if all(declared == "true" for declared in both) else ""


@interprets_response
def enumerated(values: Json) -> tuple[str, ...]:
    """A list written as an array, as JSON text, or bracketed without quotes (assumption 19)."""
    if isinstance(values, list):
        return tuple(str(value) for value in values)
    text = str(values or "").strip()
    try:
        found = parsed_text(text)
    except InvalidJson:
        found = None
    if isinstance(found, list):
        return tuple(str(value) for value in found)
    return _between_commas(text.removeprefix("[").removesuffix("]"))


def _between_commas(text: str) -> tuple[str, ...]:
    """The values of a list without quotes. A value may contain a comma itself, unescaped: what is between
    two commas comes first, then what is between commas further apart, with at most COMMAS inside."""
    borders = [-1, *(found.start() for found in re.finditer(",", text)), len(text)]
    found = (
        text[start + 1 : end].strip().strip("'\"")
        for inside in range(1, COMMAS + 2)
        for start, end in zip(borders, borders[inside:], strict=False)
    )
    return tuple(dict.fromkeys(value for value in found if value))


# -- directories -------------------------------------------------------------------------------------------------------


def _directories_of(reply: Json) -> Iterator[Directory]:
    rows = reply.get("entries") if isinstance(reply, dict) else None
    if not isinstance(rows, list):
        raise ContractBroken("the list of directories has no `entries`", operation=facts.DIRECTORIES)
    for row in rows:
        flags = {key.lower().replace("-", "").replace("_", ""): value for key, value in row.items()}
        yield Directory(
            name=member_text(row, "name"),
            schema=str(row.get("schema") or "vocabulary"),
            id_field=str(row.get("idField") or "id"),
            parent=member_text(row, "parent"),
            closed=flags.get("readonly") is True,
        )


def chain(server: ServerSchema, directory: str) -> Sequence[Directory]:
    """The directory and those of its parents, the nearest first; one that is its own parent is listed once."""
    found: list[Directory] = []
    name = directory
    while name in server.directories and all(each.name != name for each in found):
        found.append(server.directories[name])
        name = server.directories[name].parent
    return found


def needed(server: ServerSchema, keys: Iterable[str]) -> frozenset[str]:
    """The vocabularies behind these fields."""
    infos = (server.fields[key] for key in keys if key in server.fields)
    return frozenset(info.vocabulary for info in infos if info.vocabulary)
