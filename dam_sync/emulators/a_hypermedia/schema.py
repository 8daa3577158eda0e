"""The read-only schema of an instance: forms, fields, lookups, statuses, labels, link types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from dam_sync.emulators.a_hypermedia.records import BASES, FORM_TYPES
from dam_sync.emulators.kit.catalogue import Catalogue, Record

_TYPES = {
    "text": "TEXT",
    "long_text": "TEXT_AREA",
    "html": "HTML_AREA",
    "number": "NUMBER",
    "flag": "CHECK_BOX",
    "date": "DATE",
    "instant": "DATETIME",
    "term": "THESAURUS",
    "person": "PERSON_LIST",
    "place": "GEO",
    "email": "EMAIL",
    "url": "URL",
    "rows": "FIELD_SET",
}


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of a form; `root` is the thesaurus node of a THESAURUS, `lookup` the id of a list's values."""

    id: int
    name: str
    title: str
    type: str
    mandatory: bool = False
    indexed: bool = True
    suggest: bool = False
    force_selection: bool = False
    editable: bool = True
    visible: bool = True
    localized: bool = False
    max_length: int | None = None
    root: int = 0
    lookup: int = 0


@dataclass(slots=True)
class Form:
    """A metadata form for one class of document."""

    id: int
    title: str
    type: str
    fields: dict[str, FormField] = field(default_factory=dict)


@dataclass(slots=True)
class Lookup:
    """A list of values by id; `catalogue`: the value's id by the catalogue's."""

    id: int
    title: str
    values: dict[int, str] = field(default_factory=dict)
    catalogue: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Schema:
    """Everything an administrator has set up."""

    forms: dict[int, Form] = field(default_factory=dict)
    lookups: dict[int, Lookup] = field(default_factory=dict)
    statuses: dict[int, tuple[str, str]] = field(default_factory=dict)  # id -> (title, base status)
    labels: dict[int, str] = field(default_factory=dict)
    link_types: dict[int, str] = field(default_factory=dict)

    def base(self, status: int) -> str:
        """The base status of a custom one."""
        return self.statuses[status][1]

    def status_of(self, base: str, title: str = "") -> int:
        """The custom status with that title, else the first of the base status."""
        of_base = [number for number, (_, its) in self.statuses.items() if its == base]
        return next((number for number in of_base if self.statuses[number][0] == title), of_base[0])

    def form_for(self, form_type: str) -> Form | None:
        """The default form of a class of document."""
        return next((form for form in self.forms.values() if form.type == form_type), None)

    def sheet_fields(self) -> dict[str, FormField]:
        """The fields of all forms by internal name."""
        return {name: one for form in reversed(self.forms.values()) for name, one in form.fields.items()}


class SchemaBuilder:
    """Makes a Schema from a catalogue; `roots` are the thesaurus nodes by vocabulary."""

    def __init__(self, catalogue: Catalogue, roots: Mapping[str, int]) -> None:
        self.catalogue, self.roots = catalogue, roots
        self.schema = Schema()
        self.vocabularies = {str(record["key"]): record for record in catalogue.vocabularies}
        self._lookups: dict[str, int] = {}
        self._next_field = 1

    def build(self) -> Schema:
        """The schema; a tenant without types gets one form for each class of document."""
        for number, (name, form_type) in enumerate(_form_names(self.catalogue), 1):
            self.schema.forms[number] = Form(number, name, form_type)
        for form in self.schema.forms.values():
            records = [r for r in self.catalogue.fields if not r.get("types") or form.title in r["types"]]
            for record in _with_title(records):
                form.fields[str(record["key"])] = self._field(record)
        self.schema.statuses = _statuses(self.catalogue.statuses)
        self.schema.labels = _numbered(40, (r["path"][-1] for r in self.catalogue.containers if r["kind"] == "label"))
        self.schema.link_types = _numbered(7, (str(record["name"]) for record in self.catalogue.relation_kinds))
        return self.schema

    def _field(self, record: Record) -> FormField:
        self._next_field += 1
        vocabulary = str(record.get("vocabulary") or "")
        made = FormField(
            id=self._next_field,
            name=str(record["key"]),
            title=str(record.get("label") or record["key"]),
            type=self._type(record, vocabulary),
            mandatory=bool(record.get("required")),
            indexed=bool(record.get("indexed", True)),
            editable=bool(record.get("editable", True)),
            localized=bool(record.get("localized")),
            max_length=record.get("max_length"),
        )
        if made.type == "THESAURUS":
            return replace(made, root=self.roots.get(vocabulary, 0), force_selection=True, suggest=True)
        if made.type == "PERSON_LIST":
            return replace(made, lookup=self._lookup(vocabulary or f"persons {made.name}", made.title))
        if vocabulary and made.type in ("SIMPLE_LIST", "MULTIPLE_LIST"):
            closed = bool(self.vocabularies.get(vocabulary, {}).get("closed"))
            return replace(made, lookup=self._lookup(vocabulary, made.title), force_selection=closed)
        return made

    def _type(self, record: Record, vocabulary: str) -> str:
        if record.get("native"):
            return str(record["native"])
        kind = str(record["kind"])
        if kind == "text" and record.get("multiple"):
            return "MULTIPLE_LIST"
        words = self.vocabularies.get(vocabulary, {})
        if kind == "term" and words.get("closed") and not words.get("hierarchical") and not record.get("multiple"):
            return "SIMPLE_LIST"
        return _TYPES[kind]

    def _lookup(self, vocabulary: str, title: str) -> int:
        if vocabulary not in self._lookups:
            number = len(self.schema.lookups) + 1
            lookup = Lookup(number, str(self.vocabularies.get(vocabulary, {}).get("label") or title))
            for term in self.catalogue.terms:
                if term["vocabulary"] == vocabulary:
                    item = number * 1000 + len(lookup.values)
                    lookup.values[item] = next(iter(term["labels"].values()))
                    lookup.catalogue[str(term["id"])] = item
            self.schema.lookups[number] = lookup
            self._lookups[vocabulary] = number
        return self._lookups[vocabulary]


def _form_names(catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    if not catalogue.types:
        yield from ((name.replace("_", " ").capitalize(), name) for name in FORM_TYPES)
    for record in catalogue.types:
        media = record.get("media") or ["OTHER"]
        yield str(record["name"]), str(media[0]) if media[0] in FORM_TYPES else "OTHER"


def _with_title(records: list[Record]) -> list[Record]:
    if any(record["key"] == "title" for record in records):
        return records
    return [{"key": "title", "label": "Title", "kind": "text", "max_length": 255}, *records]


def _statuses(records: Iterable[Record]) -> dict[int, tuple[str, str]]:
    own = [(str(record["name"]), str(record.get("status", "published")).upper()) for record in records]
    bare = [(base.capitalize(), base) for base in BASES if base not in {its for _, its in own}]
    return dict(enumerate([*bare, *own], 1))


def _numbered(first: int, names: Iterable[str]) -> dict[int, str]:
    return dict(enumerate(dict.fromkeys(names), first))
