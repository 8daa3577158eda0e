"""Metadata templates, their attributes, and the neutral schema derived from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import ConfigError, InvalidValue
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import Json
from dam_sync.services.d_templates import facts

YES_NO = frozenset({"yes", "no"})
OPTIONAL = ("release", "expiry", "status", "tags")  # parts of an asset kept in attributes that options name
SYSTEM = "system_"  # wire D 5.1: the group every template has
PUBLISHED = "published"  # the status of an asset whose status dropdown is empty


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute; `key` is its search field, a slug that never changes. levels: of a cascade; cells: of a table;
    vocabulary: id of its vocabulary."""

    id: str
    key: str
    name: str
    kind: FieldKind
    multiple: bool = False
    required: bool = False
    editable: bool = True
    searchable: bool = True
    facetable: bool = True
    system: bool = False
    sensitive: bool = False
    length: int | None = None
    vocabulary: str = ""
    levels: tuple[Attribute, ...] = ()
    cells: tuple[Attribute, ...] = ()

    @property
    def source(self) -> str:
        """Id of the vocabulary its terms come from, or of the cascade itself."""
        return self.id if self.levels else self.vocabulary


@dataclass(frozen=True, slots=True)
class Template:
    """One metadata template: attributes by key."""

    id: str
    name: str
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, slots=True)
class VocabularyValues:
    """One controlled vocabulary: labels by value id. closed: maintained by the service (wire D 5.3)."""

    id: str
    key: str
    name: str
    labels: Mapping[str, str]

    @property
    def closed(self) -> bool:
        """Whether values cannot be added."""
        return self.name.startswith("System ")

    @property
    def is_flag(self) -> bool:
        """Whether its values are exactly yes and no."""
        return len(self.labels) == len(YES_NO) and {label.casefold() for label in self.labels.values()} == YES_NO

    def named(self, label: str) -> str:
        """The id of the value with this label, or empty; an exact match wins over one after normalization."""
        exact = (identity for identity, known in self.labels.items() if known == label)
        alike = (identity for identity, known in self.labels.items() if composed(known) == composed(label))
        return next(exact, "") or next(alike, "")


@dataclass(frozen=True, slots=True)
class NamedAttributes:
    """Attributes with a special meaning, named by options; empty if not configured."""

    release: str = ""
    expiry: str = ""
    status: str = ""
    tags: str = ""

    @property
    def keys(self) -> frozenset[str]:
        """These attributes; they are not offered as fields."""
        return frozenset({self.release, self.expiry, self.status, self.tags}) - {""}


@dataclass(frozen=True, slots=True)
class MetadataForms:
    """All templates, with attributes by id and by key; lexicon: vocabularies by id."""

    templates: Mapping[str, Template]
    lexicon: Mapping[str, VocabularyValues]
    by_id: Mapping[str, Attribute] = field(default_factory=dict)
    by_key: Mapping[str, Attribute] = field(default_factory=dict)

    @classmethod
    def of(cls, templates: Iterable[Template], lexicon: Mapping[str, VocabularyValues]) -> MetadataForms:
        """Dropdowns of yes and no become flags."""
        seen = [_with_flags(template, lexicon) for template in templates]
        every = [attribute for template in seen for attribute in template.attributes.values()]
        return cls(
            {template.id: template for template in seen},
            lexicon,
            {attribute.id: attribute for attribute in every},
            {attribute.key: attribute for attribute in reversed(every)},
        )

    def template(self, name: str) -> Template:
        """The template of this name; without a name the only template. Raises InvalidValue."""
        if not name and len(self.templates) == 1:
            return next(iter(self.templates.values()))
        for template in self.templates.values():
            if template.name == name:
                return template
        known = ", ".join(sorted(template.name for template in self.templates.values()))
        raise InvalidValue(f"unknown metadata template {name!r}", hint=f"map `profile` to one of {known}")

    def attribute(self, key: str, template: str = "") -> Attribute:
        """The attribute in this template (by id), or in any if none is given. Raises InvalidValue if it cannot be
        written."""
        known = self.templates.get(template)
        found = known.attributes.get(key) if known else self.by_key.get(key)
        if found is None:
            where = f"metadata template {known.name!r}" if known else "the library"
            raise InvalidValue(
                f"{where} has no attribute {key!r}", hint=nearest(key, known.attributes if known else self.by_key)
            )
        if found.system or not found.editable:
            raise InvalidValue(f"attribute {key!r} is maintained by the service and cannot be written")
        return found

    @property
    def lists_system(self) -> bool:
        """Whether the templates show the attributes that the service maintains (wire D 5.2)."""
        return any(key.startswith(SYSTEM) for key in self.by_key)

    def sources(self) -> Mapping[str, str]:
        """Vocabulary ids, and attribute ids of cascades, by their key in the neutral schema."""
        slugs: dict[str, list[str]] = {}
        for values in self.lexicon.values():
            slugs.setdefault(values.key, []).append(values.id)
        found = {key: ids[0] for key, ids in slugs.items() if len(ids) == 1}
        for ids in slugs.values():
            found |= {identity: identity for identity in ids if len(ids) > 1}
        found |= {attribute.key: attribute.id for attribute in self.by_id.values() if attribute.levels}
        return found

    def vocabulary_key(self, attribute: Attribute) -> str:
        """The key of the vocabulary of an attribute; empty if it has none."""
        if attribute.levels:
            return attribute.key
        values = self.lexicon.get(attribute.vocabulary)
        if values is None:
            return attribute.vocabulary
        alone = sum(other.key == values.key for other in self.lexicon.values()) == 1
        return values.key if alone else values.id


def composed(label: str) -> str:
    """A label for comparison: a character may be encoded as one code point or as two."""
    return nfc(label)


@interprets_response
def template_of(reply: Json) -> Template:
    """One template as returned by `GET /metadata/template/{id}`, nested or flat (wire D 5.1)."""
    data = reply.get("template") if isinstance(reply.get("template"), dict) else reply
    attributes: dict[str, Attribute] = {}
    for group in data.get("metadataGroups") or ():
        for item in group.get("metadataAttributes") or ():
            attribute = attribute_of(item)
            if attribute.key:
                attributes.setdefault(attribute.key, attribute)
    return Template(member_text(data, "templateId", "id"), member_text(data, "templateName", "name"), attributes)


@interprets_response
def attribute_of(item: Json) -> Attribute:
    """One attribute, with the older or newer names of its flags (wire D 5.1)."""
    key = member_text(item, "searchField")
    levels = _parts(item, "cascadeFieldsDenormalized", "cascadeOrder")
    cells = _parts(item, "tableFieldsDenormalized", "fieldOrder")
    kind = _kind(item, bool(levels), bool(cells))
    return Attribute(
        id=member_text(item, "id", "metadataDefinitionId"),
        key=key,
        name=member_text(item, "name"),
        kind=kind,
        multiple=_flag(item, "isMultipleSelect", "isMultiSelect") or (bool(cells) and not _flag(item, "isSingleRow")),
        required=_flag(item, "required", "isRequired"),
        editable=not _flag(item, "readonly", "isReadonly"),
        searchable=item.get("isSearchable", True) is not False,
        facetable=item.get("isFacetable", item.get("facetable", True)) is not False,
        system=key.startswith(SYSTEM) or item.get("type") == "externalContent",
        sensitive=_flag(item, "isSensitive", "isRestricted"),
        length=_length(item, kind),
        vocabulary=member_text(item, "controlledVocabularyId", "vocabularyId"),
        levels=levels,
        cells=cells,
    )


@interprets_response
def values_of(item: Json) -> VocabularyValues:
    """One vocabulary; its values are in `metadata` in a list and in `metadataDocument` otherwise (wire D 5.3)."""
    document = item.get("metadataDocument") or item.get("metadata") or {}
    rows = document.get("values") if isinstance(document, dict) else document
    return VocabularyValues(
        id=member_text(item, "metadataDefinitionId", "id"),
        key=member_text(item, "metadataDefinitionSearchField", "searchField", "metadataDefinitionId"),
        name=member_text(item, "metadataDefinitionName", "name"),
        labels={member_text(row, "valueId"): member_text(row, "valueName") for row in rows or () if row.get("valueId")},
    )


def schema_of(forms: MetadataForms, named: NamedAttributes, groups: Iterable[str]) -> Schema:
    """The neutral schema. Raises ConfigError for an option that names a missing or unsuitable attribute."""
    check(forms, named)
    fields = {}
    for key, attribute in forms.by_key.items():
        if key not in named.keys:
            types = frozenset(t.name for t in forms.templates.values() if key in t.attributes)
            fields[key] = _field(attribute, types, forms)
    used = {field.vocabulary for field in fields.values()} - {""}
    optional = {name: key for name in OPTIONAL if (key := getattr(named, name))}
    return Schema(
        fields=fields,
        vocabularies={key: _vocabulary(key, forms) for key in sorted(used)},
        types=tuple(AssetType(template.name, template.name) for template in forms.templates.values()),
        statuses=_statuses(forms, named),
        status_hides=False,  # wire D 6.9
        groups=frozenset(groups),
        container_kinds=frozenset({"collection"}),
        container_depth={"collection": 1},
        relation_kinds=frozenset(facts.KINDS_OF_LINK),
        held_by=dict(_held_by(forms, optional)),
    )


def _held_by(forms: MetadataForms, optional: Mapping[str, str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Templates that have the attribute of a feature, if others lack it."""
    for name, key in optional.items():
        types = frozenset(template.name for template in forms.templates.values() if key in template.attributes)
        if len(types) < len(forms.templates):
            yield name, types


def check(forms: MetadataForms, named: NamedAttributes) -> None:
    """Raises ConfigError for an option that names a missing or unsuitable attribute."""
    wanted = (
        ("release_field", named.release, FieldKind.DATE, False),
        ("expiry_field", named.expiry, FieldKind.DATE, False),
        ("status_field", named.status, FieldKind.TERM, False),
        ("tags_field", named.tags, FieldKind.TERM, True),
    )
    for option, key, kind, multiple in wanted:
        attribute = forms.by_key.get(key)
        if not key or (attribute and attribute.kind is kind and attribute.multiple is multiple):
            continue
        fit = [each for each, one in forms.by_key.items() if one.kind is kind and one.multiple is multiple]
        need = {FieldKind.DATE: "a date"}.get(kind, "a dropdown with several values" if multiple else "a dropdown")
        raise ConfigError(
            f"option {option}: there is no attribute {key!r}" if attribute is None else f"option {option} needs {need}",
            service=facts.NAME,
            hint=_suiting(option, key, need, fit),
        )


def _suiting(option: str, key: str, need: str, fit: Sequence[str]) -> str:
    """What to write instead. fit: the search fields of attributes that the option may name."""
    if not fit:
        return f'the service has no {need.removeprefix("a ")}: create one there, or write `{option}: ""` to go without'
    return "; ".join(filter(None, (f"name the search field of {need}", nearest(key, fit))))


def _statuses(forms: MetadataForms, named: NamedAttributes) -> frozenset[str] | None:
    """The values of the status dropdown in lower case, as they appear on assets, including `published` if an empty
    dropdown stands for it."""
    if not named.status:
        return None
    attribute = forms.by_key[named.status]
    known = frozenset(label.casefold() for label in forms.lexicon[attribute.vocabulary].labels.values())
    return known if attribute.required else known | {PUBLISHED}


def _field(attribute: Attribute, types: frozenset[str], forms: MetadataForms) -> Field:
    return Field(
        key=attribute.key,
        kind=attribute.kind,
        label=attribute.name,
        multiple=attribute.multiple,
        required=attribute.required and not attribute.system,
        editable=attribute.editable and not attribute.system,
        indexed=attribute.kind is FieldKind.TEXT and attribute.searchable and not attribute.system,
        max_length=attribute.length,
        vocabulary=forms.vocabulary_key(attribute) if attribute.kind is FieldKind.TERM else "",
        types=types,
        cells=frozenset(cell.key for cell in attribute.cells),
        cell_kinds={cell.key: cell.kind for cell in attribute.cells},
        system=attribute.system,
    )


def _vocabulary(key: str, forms: MetadataForms) -> Vocabulary:
    source = forms.sources().get(key, "")
    if source in forms.by_id:
        return Vocabulary(key, forms.by_id[source].name, hierarchical=True)
    values = forms.lexicon.get(source)
    return Vocabulary(key, values.name, closed=values.closed) if values else Vocabulary(key, closed=True)


def _with_flags(template: Template, lexicon: Mapping[str, VocabularyValues]) -> Template:
    def seen(attribute: Attribute) -> Attribute:
        values = lexicon.get(attribute.vocabulary)
        flag = attribute.kind is FieldKind.TERM and not attribute.multiple and values is not None and values.is_flag
        return replace(attribute, kind=FieldKind.FLAG) if flag else attribute

    return Template(template.id, template.name, {key: seen(one) for key, one in template.attributes.items()})


def _kind(item: Json, cascade: bool, table: bool) -> FieldKind:
    if table:
        return FieldKind.ROWS
    if cascade or item.get("type") in ("controlledVocabulary", "dropdown", "vocabulary"):
        return FieldKind.TERM
    if item.get("type") == "date":
        return FieldKind.DATE
    long = member_text(item, "subType", "type").casefold() in ("textarea", "externalcontent")
    return FieldKind.LONG_TEXT if long or _number(item.get("length")) > facts.TEXT_LETTERS else FieldKind.TEXT


def _length(item: Json, kind: FieldKind) -> int | None:
    most = {FieldKind.TEXT: facts.TEXT_LETTERS, FieldKind.LONG_TEXT: facts.LONG_LETTERS}.get(kind)
    return None if most is None else _number(item.get("length")) or most


def _number(value: Json) -> int:
    return int(value) if isinstance(value, int | str) and str(value).isdigit() else 0


def _flag(item: Json, *names: str) -> bool:
    return any(item.get(name) is True for name in names)


def _parts(item: Json, member: str, order: str) -> tuple[Attribute, ...]:
    rows = [row for row in item.get(member) or () if isinstance(row, dict)]
    return tuple(_ordered(rows, order))


def _ordered(rows: list[Json], order: str) -> Iterator[Attribute]:
    for row in sorted(rows, key=lambda row: _number(row.get(order))):
        yield attribute_of(row)
