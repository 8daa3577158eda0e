"""A catalogue's types, fields and vocabularies in the forms of service D, and the values of its assets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from dam_sync.emulators.d_templates.options import Options
from dam_sync.emulators.d_templates.records import Attribute, Vocabulary, slug_of
from dam_sync.emulators.d_templates.schema import (
    AREA_LETTERS,
    CASCADE,
    EXTERNAL,
    TABLE,
    TEXT_LETTERS,
    VOCABULARY,
    Schema,
)
from dam_sync.emulators.kit.catalogue import Catalogue
from dam_sync.emulators.kit.catalogue import Record as Row
from dam_sync.emulators.kit.environment import Json

FLAGS = ("Yes", "No")
_AREAS = ("long_text", "html", "rows")
_BOX_MOST = 255  # what catalogues call a short text


class SchemaLoader:
    """Makes the schema, then turns neutral values into written ones."""

    def __init__(self, schema: Schema, options: Options, catalogue: Catalogue) -> None:
        self._schema, self._options, self._catalogue = schema, options, catalogue
        self._attributes: dict[str, Attribute] = {}
        self._vocabularies: dict[str, Vocabulary] = {}
        self._labels: dict[tuple[str, str], str] = {}
        self._ids: dict[tuple[str, str], str] = {}
        self._parts: dict[str, str] = {}
        self._templates: dict[str, str] = {}

    def load(self) -> None:
        """Vocabularies, attributes, one group and one template for each type."""
        self._load_vocabularies()
        fields = list(self._catalogue.fields)
        for row in fields:
            self._attributes[row["key"]] = self._attribute(row)
        for part, slug, kind, many in self._asked():
            self._parts[part] = slug
            if slug not in {each.slug for each in self._attributes.values()}:
                row = {"key": slug, "kind": kind, "multiple": many, "label": slug.replace("_", " ").title()}
                if part == "status" and self._catalogue.statuses:
                    row["vocabulary"] = "@statuses"
                    names = tuple(str(each["name"]) for each in self._catalogue.statuses)
                    self._vocabularies["@statuses"] = self._vocabulary(f"{row['label']} Values", names)
                fields.append(row)
                self._attributes[slug] = self._attribute(row)
        for row in self._catalogue.types or [{"name": "Default"}]:
            name = str(row["name"])
            keys = [each["key"] for each in fields if not each.get("types") or name in each["types"]]
            group = self._schema.new_group(f"{name} Fields", [self._attributes[key].id for key in keys])
            groups = [group.id]
            if self._options.text_content:
                groups.append(self._content_group())
            self._templates[name] = self._schema.new_template(name, groups).id

    def _content_group(self) -> str:
        found = next((each for each in self._schema.groups.values() if each.name == "Content"), None)
        if found is None:
            content = self._schema.new_attribute("Text Content", EXTERNAL, facetable=False)
            found = self._schema.new_group("Content", [content.id])
        return found.id

    def _asked(self) -> list[tuple[str, str, str, bool]]:
        """The parts of an asset that the options want kept in attributes."""
        options = self._options
        asked = (
            ("tags", options.tags_field, "text", True),
            ("release", options.release_field, "date", False),
            ("expiry", options.expiry_field, "date", False),
            ("status", options.status_field, "term", False),
        )
        return [each for each in asked if each[1]]

    def template(self, name: str) -> str:
        """The template of a type; the first one's for an unknown type."""
        return self._templates.get(name) or next(iter(self._templates.values()))

    def _load_vocabularies(self) -> None:
        words: dict[str, dict[str, None]] = {}
        for row in self._catalogue.terms:
            label = self._text(row["labels"])
            self._labels[row["vocabulary"], str(row["id"])] = label
            words.setdefault(row["vocabulary"], {})[label] = None
        for row in self._catalogue.vocabularies:
            key = row["key"]
            self._vocabularies[key] = self._vocabulary(str(row.get("label") or key), tuple(words.get(key, ())))

    def _vocabulary(self, name: str, values: tuple[str, ...]) -> Vocabulary:
        made = self._schema.new_vocabulary(name, values)
        self._ids.update({(made.id, label): value for value, label in made.values.items()})
        return made

    def _attribute(self, row: Row) -> Attribute:
        key, kind = str(row["key"]), str(row.get("kind", "text"))
        name = str(row.get("label") or key)
        if self._schema.named(name) is not None:
            name = f"{name} {key}"
        columns = row.get("columns") or self._levels(row, name)
        type_ = self._type(row)
        area = type_ == "text" and (kind in _AREAS or (row.get("max_length") or 0) > _BOX_MOST)
        made = self._schema.new_attribute(
            name, type_, slug=slug_of(key), area=area, length=AREA_LETTERS if area else TEXT_LETTERS,
            required=bool(row.get("required")), multiple=type_ == VOCABULARY and bool(row.get("multiple")),
            facetable=bool(row.get("facetable", not area)), searchable=bool(row.get("searchable", True)),
            sensitive=bool(row.get("sensitive")), single_row=bool(row.get("single_row")),
            children=tuple(self._column(each).id for each in columns),
        )  # fmt: skip
        if type_ == VOCABULARY:
            made.vocabulary = self._words_of(row, name).id
        return made

    def _levels(self, row: Row, name: str) -> list[Row]:
        """The dropdowns of a cascade; the vocabulary of the catalogue is that of the first one."""
        numbers = range(1, int(row.get("levels") or 0) + 1)
        each = {"kind": "term", "types": row.get("types")}
        return [
            {
                **each,
                "key": f"{row['key']}_{n}",
                "label": f"{name} {n}",
                "vocabulary": row["vocabulary"] if n == 1 else "",
            }
            for n in numbers
        ]

    def _column(self, row: Row) -> Attribute:
        made = self._attribute(row)
        self._attributes[str(row["key"])] = made
        return made

    def _type(self, row: Row) -> str:
        kind = row.get("kind", "text")
        if row.get("levels"):
            return CASCADE
        if row.get("columns"):
            return CASCADE if row.get("native") == "CASCADE" else TABLE
        if kind in ("term", "flag") or (row.get("multiple") and kind != "rows"):
            return VOCABULARY
        return "date" if kind in ("date", "instant") else "text"

    def _words_of(self, row: Row, name: str) -> Vocabulary:
        if row.get("kind") == "flag":
            found = self._vocabularies.get("@flags") or self._vocabulary("Yes No", FLAGS)
            self._vocabularies["@flags"] = found
            return found
        return self._vocabularies.get(str(row.get("vocabulary") or "")) or self._vocabulary(f"{name} Values", ())

    def values(self, template: str, row: Row) -> Mapping[str, Json]:
        """The written values of an asset's fields that its template has."""
        known = self._schema.of_template(template)
        given = [(self._attributes[key], value) for key, value in self._given(row).items() if key in self._attributes]
        made = {each.id: self._written(each, value) for each, value in given if each.id in known}
        return {key: value for key, value in made.items() if value not in (None, "", [])}

    def _given(self, row: Row) -> dict[str, Json]:
        rights = row.get("rights") or {}
        parts = {
            "tags": list(row.get("tags") or ()),
            "release": {"instant": rights["release_at"]} if rights.get("release_at") else None,
            "expiry": {"instant": rights["expires_at"]} if rights.get("expires_at") else None,
            "status": row.get("status"),
        }
        more = {slug: parts[part] for part, slug in self._parts.items() if parts[part]}
        return {**(row.get("fields") or {}), **more}

    def _written(self, attribute: Attribute, value: Json) -> Json:
        items = value if isinstance(value, list) else [value]
        match attribute.type:
            case "controlledVocabulary":
                ids = [{"valueId": each} for each in dict.fromkeys(self._value_id(attribute, item) for item in items)]
                return ids if attribute.multiple else ids[0] if ids else None
            case "tableAttribute":
                return [self._cells(attribute, item.get("row") or {}) for item in items if isinstance(item, dict)]
            case "cascadeAttribute":
                levels = zip(attribute.children, items, strict=False)
                return [self._cell(self._schema.attributes[child], item) for child, item in levels]
            case "date":
                return _us_date(items[0])
        texts = [text for text in (self._plain(item) for item in items) if text]
        return "\n".join(texts)[: attribute.length]

    def _cells(self, attribute: Attribute, row: Mapping[str, Json]) -> list[Json]:
        children = [self._schema.attributes[each] for each in attribute.children]
        return [self._cell(each, row[each.slug]) for each in children if row.get(each.slug) not in (None, "")]

    def _cell(self, attribute: Attribute, value: Json) -> Json:
        return {"metadataDefinitionId": attribute.id, "metadataDefinitionValue": self._written(attribute, value)}

    def _value_id(self, attribute: Attribute, item: Json) -> str:
        """The id of a value, which is added where the vocabulary lacks it."""
        vocabulary = self._schema.vocabularies[attribute.vocabulary]
        label = self._plain(item)
        if isinstance(item, dict) and "id" in item:
            keys = [key for key, each in self._vocabularies.items() if each is vocabulary]
            label = next(
                (self._labels[key, str(item["id"])] for key in keys if (key, str(item["id"])) in self._labels), label
            )
        value = self._ids.get((vocabulary.id, label))
        if value is None:
            value = self._ids[vocabulary.id, label] = self._schema.new_id()
            vocabulary.values[value] = vocabulary.applied[value] = label
        return value

    def _plain(self, item: Json) -> str:
        """A neutral scalar as text."""
        if isinstance(item, bool):
            return FLAGS[0] if item else FLAGS[1]
        if not isinstance(item, dict):
            return str(item).strip() if item is not None else ""
        if "texts" in item:
            return self._text(item["texts"]).strip()
        if "latitude" in item:
            return ", ".join(str(item[key]) for key in ("latitude", "longitude", "address") if item.get(key))
        for member in ("label", "person", "date", "instant"):
            if item.get(member):
                return str(item[member]).strip()
        return json.dumps(item, ensure_ascii=False, sort_keys=True)

    def _text(self, texts: Mapping[str, str]) -> str:
        return str(texts.get(self._options.locale) or next(iter(texts.values()), ""))


def _us_date(item: Json) -> str | None:
    text = (item.get("date") or item.get("instant") or "") if isinstance(item, dict) else str(item or "")
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return (moment.astimezone(UTC) if moment.tzinfo else moment).strftime("%m/%d/%Y")
