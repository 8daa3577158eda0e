"""Types, schemas and facets: what a document may hold. Read-only over the wire (wire B 5.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.emulators.b_documents.records import Document
from dam_sync.emulators.kit.environment import Json

Parameters = Mapping[str, str | tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Constraint:
    """One rule for values; a tuple among the parameters is a list of values."""

    name: str
    parameters: Parameters = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Field:
    """One field. `type` is string, boolean, integer, long, double, date, binary, blob or complex.

    constraints: of the whole value; items: of each value of a list. meant: the catalogue's kind, which no call shows.
    """

    name: str
    type: str = "string"
    many: bool = False
    fields: tuple[Field, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    items: tuple[Constraint, ...] = ()
    meant: str = ""

    def sub(self, name: str) -> Field | None:
        """A field of a complex one."""
        return next((each for each in self.fields if each.name == name), None)

    @property
    def required(self) -> bool:
        """Whether null is refused."""
        return any(each.name == "NotNullConstraint" for each in self.constraints)

    @property
    def directory(self) -> str:
        """The vocabulary its values come from, empty for none."""
        for each in (*self.constraints, *self.items):
            if each.name == "directoryResolver":
                return str(each.parameters["directory"])
        return ""

    @property
    def separator(self) -> str:
        """What stands between the ids of a path."""
        rules = (each.parameters for each in (*self.constraints, *self.items) if each.name == "directoryResolver")
        return next((str(given["separator"]) for given in rules if "separator" in given), "/")


@dataclass(frozen=True, slots=True)
class Schema:
    """Fields under a prefix; a schema without one is known by its name."""

    name: str
    prefix: str
    fields: tuple[Field, ...]

    @property
    def key(self) -> str:
        """What stands before the colon."""
        return self.prefix or self.name


@dataclass(frozen=True, slots=True)
class DocType:
    """A document type; `parent` is empty for root types."""

    name: str
    parent: str
    schemas: tuple[str, ...]
    facets: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()


class Types:
    """Everything configured: built-in types, and those a catalogue brought."""

    def __init__(self) -> None:
        self.schemas: dict[str, Schema] = {each.name: each for each in SCHEMAS}
        self.types: dict[str, DocType] = {each.name: each for each in TYPES}
        self.facets: dict[str, tuple[str, ...]] = dict(FACETS)
        self._cache: dict[tuple[str, frozenset[str]], dict[str, Field]] = {}
        self._held: dict[tuple[str, frozenset[str]], tuple[Schema, ...]] = {}

    def add_schema(self, schema: Schema) -> None:
        """Configure a schema."""
        self.schemas[schema.name] = schema
        self._forget()

    def add_type(self, made: DocType) -> None:
        """Configure a type."""
        self.types[made.name] = made
        self._forget()

    def _forget(self) -> None:
        self._cache.clear()
        self._held.clear()

    def lineage(self, name: str) -> Iterator[str]:
        """The type and those it derives from."""
        while name in self.types:
            yield name
            name = self.types[name].parent

    def is_a(self, name: str, base: str) -> bool:
        """Whether a type is another or derives from it."""
        return base in self.lineage(name)

    def all_facets(self, doc: Document) -> list[str]:
        """Facets of the type, then those the document got."""
        own = list(self.types[doc.type].facets)
        return own + sorted(each for each in doc.facets if each not in own)

    def has_facet(self, doc: Document, facet: str) -> bool:
        """Whether a document has a facet."""
        return facet in doc.facets or facet in self.types[doc.type].facets

    def schemas_of(self, doc: Document) -> tuple[Schema, ...]:
        """The schemas of a document, by type and facets."""
        key = (doc.type, frozenset(doc.facets))
        if key not in self._held:
            names = list(self.types[doc.type].schemas)
            for facet in self.all_facets(doc):
                names += [name for name in self.facets.get(facet, ()) if name not in names]
            self._held[key] = tuple(self.schemas[name] for name in names)
        return self._held[key]

    def fields_of(self, doc: Document) -> Mapping[str, Field]:
        """The top fields of a document by full name."""
        key = (doc.type, frozenset(doc.facets))
        if key not in self._cache:
            self._cache[key] = {f"{s.key}:{each.name}": each for s in self.schemas_of(doc) for each in s.fields}
        return self._cache[key]

    def known(self, name: str) -> Field | None:
        """A field of any schema by its full name."""
        prefix, _, local = name.partition(":")
        for schema in self.schemas.values():
            if schema.key == prefix:
                return next((each for each in schema.fields if each.name == local), None)
        return None


def described(field: Field, *, with_rules: bool, arrays: bool) -> Json:
    """A field as `config` writes it: a type string, or an object with its constraints."""
    if field.type == "complex":
        inner = {each.name: described(each, with_rules=with_rules, arrays=arrays) for each in field.fields}
        return {"fields": inner, "type": "complex[]" if field.many else "complex"}
    name = field.type + ("[]" if field.many else "")
    if not with_rules:
        return name
    rules = [rule(each, arrays=arrays) for each in field.constraints]
    return {"type": name, "constraints": rules, "itemConstraints": [rule(each, arrays=arrays) for each in field.items]}


def rule(each: Constraint, *, arrays: bool) -> Json:
    """A constraint as JSON."""
    parameters = {
        key: value if isinstance(value, str) else list(value) if arrays else f"[{', '.join(value)}]"
        for key, value in each.parameters.items()
    }
    return {"entity-type": "validation_constraint", "name": each.name, "parameters": parameters}


def directory_rule(name: str, *, path: bool, separator: str = "/") -> Constraint:
    """Values come from a vocabulary; hierarchical ones hold the ids from the root down."""
    more = {"parentField": "parent", "separator": separator} if path else {}
    return Constraint("directoryResolver", {"directory": name, **more})


def _fields(text: str) -> tuple[Field, ...]:
    """`title subjects* created@date`: names, `*` for lists, a type after `@`."""
    made = []
    for word in text.split():
        name, _, kind = word.rstrip("*").partition("@")
        made.append(Field(name, kind or "string", word.endswith("*")))
    return tuple(made)


_VIEW = _fields("title description tag width@long height@long filename content@blob")
_INFO = Field("info", "complex", False, _fields("width@long height@long depth@long format colorSpace"))
_SUBJECTS = Field("subjects", many=True, items=(directory_rule("l10nsubjects", path=True),))
_COVERAGE = Field("coverage", constraints=(directory_rule("l10ncoverage", path=True),))
_NATURE = Field("nature", constraints=(directory_rule("nature", path=False),))
_DC = (
    *_fields("title description"), _SUBJECTS, *_fields("rights source"), _COVERAGE,
    *_fields("created@date modified@date issued@date valid@date expired@date format language creator contributors*"),
    *_fields("lastContributor"), _NATURE, *_fields("publisher"),
)  # fmt: skip
SCHEMAS: Sequence[Schema] = (
    Schema("common", "common", _fields("icon icon-expanded")),
    Schema("dublincore", "dc", _DC),
    Schema("uid", "uid", _fields("uid major_version@long minor_version@long")),
    Schema("file", "", _fields("content@blob")),
    Schema("files", "files", (Field("files", "complex", True, _fields("file@blob")),)),
    Schema("note", "note", _fields("note mime_type")),
    Schema("picture", "picture", (_INFO, Field("views", "complex", True, (*_VIEW, _INFO)))),
    Schema("image_metadata", "imd", _fields("pixel_xdimension@long pixel_ydimension@long color_space description "
                                            "date_time_original@date")),
    Schema("iptc", "iptc", _fields("by_line caption keywords*")),
    Schema("video", "vid", (
        Field("info", "complex", False, _fields("duration@double width@long height@long format frameRate@double")),
        Field("transcodedVideos", "complex", True, _fields("name content@blob")),
        Field("storyboard", "complex", True, _fields("content@blob timecode@double comment")),
    )),
    Schema("audio", "aud", _fields("duration@double")),
    Schema("relatedtext", "relatedtext", ()),
    Schema("facetedTag", "nxtag", (Field("tags", "complex", True, _fields("label username")),)),
    Schema("collection", "collection", _fields("documentIds*")),
    Schema("collectionMember", "collectionMember", _fields("collectionIds*")),
)  # fmt: skip
FACETS: Mapping[str, tuple[str, ...]] = {
    "Folderish": (), "Orderable": (), "Versionable": (), "Publishable": (), "Commentable": (), "HasRelatedText": (),
    "SuperSpace": (), "PublishSpace": (), "MasterPublishSpace": (), "HiddenInNavigation": (), "SystemDocument": (),
    "Collection": ("collection",), "NotCollectionMember": (), "CollectionMember": ("collectionMember",),
    "NXTag": ("facetedTag",), "Picture": ("picture",), "MultiviewPicture": (), "Video": ("video",), "Audio": ("audio",),
    "HasStoryboard": (), "HasVideoPreview": (), "Immutable": (),
}  # fmt: skip
_BASE = ("common", "dublincore")
_FILE = ("common", "file", "dublincore", "uid", "files", "relatedtext")
_ASSET = ("Versionable", "NXTag", "Publishable", "Commentable", "HasRelatedText")
_LEAVES = ("File", "Note", "Picture", "Video", "Audio", "Folder", "OrderedFolder", "Collection")
PICTURE = (*_FILE, "picture", "image_metadata", "iptc")
TYPES: Sequence[DocType] = (
    DocType("Document", "", ()),
    DocType("Root", "Document", _BASE, ("Folderish", "NotCollectionMember"), ("Domain",)),
    DocType("Domain", "Document", _BASE, ("Folderish", "SuperSpace", "NotCollectionMember"),
            ("WorkspaceRoot", "SectionRoot", "TemplateRoot")),
    DocType("WorkspaceRoot", "Document", _BASE, ("Folderish", "SuperSpace", "NotCollectionMember"), ("Workspace",)),
    DocType("Workspace", "Document", (*_BASE, "file", "files"), ("Folderish", "SuperSpace"), ("Workspace", *_LEAVES)),
    DocType("TemplateRoot", "Document", _BASE, ("Folderish", "SuperSpace", "NotCollectionMember"), ("Workspace",)),
    DocType("SectionRoot", "Document", _BASE, ("Folderish", "MasterPublishSpace", "NotCollectionMember"), ("Section",)),
    DocType("Section", "Document", (*_BASE, "file"), ("Folderish", "PublishSpace"), ("Section",)),
    DocType("Folder", "Document", _BASE, ("Folderish",), _LEAVES),
    DocType("OrderedFolder", "Folder", _BASE, ("Folderish", "Orderable"), _LEAVES),
    DocType("UserWorkspacesRoot", "Folder", _BASE, ("Folderish", "HiddenInNavigation", "NotCollectionMember"),
            ("Workspace",)),
    DocType("ManagementRoot", "Folder", _BASE, ("Folderish", "HiddenInNavigation", "SystemDocument")),
    DocType("Collections", "Document", _BASE, ("Folderish", "NotCollectionMember"), ("Collection", "Favorites")),
    DocType("Collection", "Document", (*_BASE, "uid", "collection"), ("Collection", "NXTag", "Versionable")),
    DocType("Favorites", "Collection", (*_BASE, "collection"), ("Collection", "HiddenInNavigation")),
    DocType("File", "Document", _FILE, _ASSET),
    DocType("Note", "Document", ("common", "note", "dublincore", "uid", "files", "relatedtext"), _ASSET),
    DocType("Picture", "Document", PICTURE, (*_ASSET, "Picture", "MultiviewPicture")),
    DocType("Video", "Document", (*_FILE, "video"), (*_ASSET, "Video", "HasStoryboard", "HasVideoPreview")),
    DocType("Audio", "Document", (*_FILE, "audio"), (*_ASSET, "Audio")),
)  # fmt: skip
MEDIA: Mapping[str, str] = {"PICTURE": "Picture", "VIDEO": "Video", "SOUND": "Audio", "AUDIO": "Audio"}
"""Which built-in type a class of media derives from; anything else is a File."""
