"""Types, schemas and vocabularies from a catalogue's records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from dam_sync.emulators.b_documents.directories import COLUMNS, Directory, Entry
from dam_sync.emulators.b_documents.repository import Repository
from dam_sync.emulators.b_documents.types import MEDIA, Constraint, DocType, Field, Schema, directory_rule
from dam_sync.emulators.kit.catalogue import Catalogue, Record
from dam_sync.emulators.kit.environment import Json

PREFIX, SCHEMA = "lib", "library"
_TYPES: Mapping[str, str] = {
    "number": "double", "flag": "boolean", "date": "date", "instant": "date", "place": "complex", "rows": "complex",
}  # fmt: skip
_PLACE = (Field("latitude", "double"), Field("longitude", "double"), Field("address"))


class Configuration:
    """What a package would configure: a schema for each prefix of the catalogue's field keys, a type for each of its
    types."""

    def __init__(self, repository: Repository, catalogue: Catalogue) -> None:
        self._repository, self._catalogue = repository, catalogue
        self._separator = "|" if "bar_paths" in repository.options.plays else "/"
        self._names: dict[str, str] = {}
        self._vocabularies: dict[str, str] = {}

    def configure(self) -> None:
        """Set everything up."""
        for record in self._catalogue.vocabularies:
            self._directory(record)
        for record in self._catalogue.terms:
            self._entry(record)
        self._vocabularies = {str(r["key"]): str(r.get("vocabulary") or "") for r in self._catalogue.fields}
        types = self._repository.types
        schemas = [Schema(_schema_of(prefix), prefix, tuple(fields)) for prefix, fields in self._fields().items()]
        for schema in schemas:
            types.add_schema(schema)
        for record in self._catalogue.types:
            self._type(record, [schema.name for schema in schemas])

    def _fields(self) -> dict[str, list[Field]]:
        """The fields by prefix: that of their keys, else our own."""
        found: dict[str, list[Field]] = {PREFIX: []}
        for record in self._catalogue.fields:
            prefix, _, key = str(record["key"]).rpartition(":")
            found.setdefault(prefix or PREFIX, []).append(self._field({**record, "key": key}))
        return found

    def type_of(self, record: Record) -> str:
        """The document type of an asset."""
        found = self._names.get(str(record.get("type") or ""))
        return found or MEDIA.get(str(record.get("form_type") or ""), "File")

    def stored(self, field: str, value: Json) -> str:
        """A term as it is stored: its id, or the ids from the root down."""
        directories = self._repository.directories
        directory = directories.by_name[_plain(self._vocabularies[field])]
        key = str(value["id"]) if isinstance(value, dict) and value.get("id") else self._by_label(directory, value)
        return self._separator.join([*directories.above(directory, key), key]) if directory.parent else key

    def _by_label(self, directory: Directory, value: Json) -> str:
        label = str(value["label"] if isinstance(value, dict) else value)
        return next(key for key, entry in directory.entries.items() if directory.text(entry) == label)

    def _directory(self, record: Record) -> None:
        name, tree = _plain(str(record["key"])), bool(record.get("hierarchical"))
        schema = "l10nxvocabulary" if record.get("localized") else "xvocabulary" if tree else "vocabulary"
        closed = bool(record.get("closed"))
        self._repository.directories.add(Directory(name, schema, name if tree else "", read_only=closed))

    def _entry(self, record: Record) -> None:
        directory = self._repository.directories.by_name[_plain(str(record["vocabulary"]))]
        labels, key = record.get("labels") or {}, str(record["id"])
        entry: Entry = dict.fromkeys(COLUMNS[directory.schema])
        entry |= {"id": key, "obsolete": 0, "ordering": 10 * (len(directory.entries) + 1)}
        if "parent" in entry:
            entry["parent"] = str(record.get("parent") or "")
        if directory.localized:
            entry |= {f"label_{locale.replace('-', '_')}": text for locale, text in labels.items()}
        else:
            entry["label"] = next(iter(labels.values()), key)
        directory.entries[key] = entry

    def _field(self, record: Record) -> Field:
        kind, many = str(record["kind"]), bool(record.get("multiple")) or record["kind"] == "rows"
        rules, items = list(_rules(record)), list[Constraint]()
        if record.get("required"):
            rules.insert(0, Constraint("NotNullConstraint"))
        vocabulary = str(record.get("vocabulary") or "")
        if kind == "term" and _plain(vocabulary) in self._repository.directories.by_name:
            (items if many else rules).append(self._resolver(record, vocabulary))
        if kind == "person" and record.get("native") == "USER":
            users = {"includeUsers": "true", "includeGroups": "false"}
            (items if many else rules).append(Constraint("userManagerResolver", users))
        return Field(
            str(record["key"]), _TYPES.get(kind, "string"), many, _inner(record, kind), tuple(rules), tuple(items), kind
        )

    def _resolver(self, record: Record, vocabulary: str) -> Constraint:
        directory = self._repository.directories.by_name[_plain(vocabulary)]
        if record.get("native") == "ENUM":
            return Constraint("EnumConstraint", {"Values": tuple(directory.entries)})
        return directory_rule(directory.name, path=bool(directory.parent), separator=self._separator)

    def _type(self, record: Record, schemas: Sequence[str]) -> None:
        types = self._repository.types
        media = [str(each) for each in record.get("media") or ()]
        wanted = re.sub(r"\W+", "_", str(record["name"])) or "Asset"
        base = types.types[MEDIA.get(media[0], "File") if media else wanted if wanted in MEDIA.values() else "File"]
        taken = wanted in types.types and wanted != base.name
        name = f"Lib{wanted}" if taken else wanted
        self._names[str(record["name"])] = name
        parent = base.parent if name == base.name else base.name
        types.add_type(DocType(name, parent, (*base.schemas, *schemas), base.facets))


def _schema_of(prefix: str) -> str:
    return SCHEMA if prefix == PREFIX else f"{prefix}_fields"


def _rules(record: Record) -> Iterator[Constraint]:
    if record.get("max_length"):
        yield Constraint("LengthConstraint", {"Minimum": "0", "Maximum": str(record["max_length"])})
    if record.get("pattern"):
        yield Constraint("PatternConstraint", {"Pattern": str(record["pattern"])})


def _inner(record: Record, kind: str) -> tuple[Field, ...]:
    if kind == "place":
        return _PLACE
    given = record.get("fields") or () if kind == "rows" else ()
    return tuple(Field(str(each["key"]), _TYPES.get(str(each.get("kind")), "string")) for each in given)


def _plain(name: str) -> str:
    """A directory's name, without what would need escaping in an address."""
    return re.sub(r"[^\w-]+", "_", name)
