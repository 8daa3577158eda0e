"""Metadata values of an emulated tenant of service D: what may be written, and how it reads (wire D 3.1, 6.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from dam_sync.emulators.d_templates.records import Attribute, Refusal, failed
from dam_sync.emulators.d_templates.schema import CASCADE, EXTERNAL, TABLE, VOCABULARY, Schema
from dam_sync.emulators.kit.environment import Json

_DATE = re.compile(r"(0[1-9]|1[0-2])/(0[1-9]|[12]\d|3[01])/(\d{4})$")


class Metadata:
    """Reads and checks written values against the schema."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def read(self, template: str, sent: Json, *, creating: bool) -> dict[str, Json]:
        """Values by attribute id, None for one that is cleared. Raises Refusal 403."""
        known = self._schema.of_template(template)
        values: dict[str, Json] = {}
        for entry in _entries(sent):
            attribute = known.get(str(entry.get("metadataDefinitionId")))
            if attribute is None:
                raise invalid()
            values[attribute.id] = self._value(attribute, entry)
        for attribute in known.values():
            missing = creating and attribute.id not in values
            if attribute.required and (missing or values.get(attribute.id, "") is None):
                raise invalid()
        return values

    def named(self, template: str, sent: Json) -> list[Json]:
        """The form by ids of entries by names and display texts (wire D 6.4). Raises Refusal 403."""
        known = {each.name: each for each in self._schema.of_template(template).values()}
        return [self._by_id(known, entry) for entry in _entries(sent)]

    def checked(self, template: str, values: Mapping[str, Json]) -> dict[str, Json]:
        """Only those values that the template has."""
        known = self._schema.of_template(template)
        return {key: value for key, value in values.items() if key in known}

    def _by_id(self, known: Mapping[str, Attribute], entry: Mapping[str, Json]) -> Json:
        attribute = known.get(str(entry.get("name")))
        if attribute is None:
            raise invalid()
        value = entry.get("value")
        made: dict[str, Json] = {"metadataDefinitionId": attribute.id}
        if value in (None, "", []):
            return made
        inner = {self._schema.attributes[each].name: self._schema.attributes[each] for each in attribute.children}
        if attribute.type == TABLE:
            rows = [[self._by_id(inner, cell) for cell in _entries(row)] for row in _list(value)]
            return {**made, "metadataDefinitionTableValue": rows}
        if attribute.type == CASCADE:
            return {**made, "metadataDefinitionValue": [self._by_id(inner, level) for level in _entries(value)]}
        if attribute.type != VOCABULARY:
            return {**made, "metadataDefinitionValue": value}
        if attribute.multiple:
            ids: Json = [{"valueId": self._id_of(attribute, text)} for text in _list(value)]
        else:
            ids = {"valueId": self._id_of(attribute, value)}
        return {**made, "metadataDefinitionValue": ids}

    def _id_of(self, attribute: Attribute, text: Json) -> str:
        for value, name in self._schema.vocabularies[attribute.vocabulary].applied.items():
            if name == text:
                return value
        raise invalid()

    def _value(self, attribute: Attribute, entry: Mapping[str, Json]) -> Json:
        if attribute.type == TABLE:
            return self._rows(attribute, entry.get("metadataDefinitionTableValue"))
        value = entry.get("metadataDefinitionValue")
        if value in (None, "", [], {}):
            return None
        if attribute.type == "text":
            return self._text(attribute, value)
        if attribute.type == "date":
            return _date(value)
        if attribute.type == VOCABULARY:
            return self._choice(attribute, value)
        if attribute.type == CASCADE:
            return self._cascade(attribute, value)
        raise invalid()  # external content is the service's own

    def _text(self, attribute: Attribute, value: Json) -> str:
        if not isinstance(value, str) or len(value) > attribute.length:
            raise invalid()
        return value

    def _choice(self, attribute: Attribute, value: Json) -> Json:
        if isinstance(value, list) != attribute.multiple:
            raise invalid()
        applied = self._schema.vocabularies[attribute.vocabulary].applied
        for item in value if attribute.multiple else (value,):
            if not isinstance(item, dict) or item.get("valueId") not in applied:
                raise invalid()
        if not attribute.multiple:
            return {"valueId": value["valueId"]}
        return [{"valueId": each} for each in dict.fromkeys(item["valueId"] for item in value)]

    def _cascade(self, attribute: Attribute, value: Json) -> Json:
        levels = _entries(value)
        if [level.get("metadataDefinitionId") for level in levels] != list(attribute.children[: len(levels)]):
            raise invalid()
        made = []
        for level in levels:
            inner = self._schema.attributes[level["metadataDefinitionId"]]
            made.append({"metadataDefinitionId": inner.id, "metadataDefinitionValue": self._value(inner, level)})
        return made

    def _rows(self, attribute: Attribute, rows: Json) -> Json:
        if not rows:
            return None
        if attribute.single_row and len(_list(rows)) > 1:
            raise invalid()
        return [self._row(attribute, row) for row in _list(rows)]

    def _row(self, attribute: Attribute, row: Json) -> Json:
        cells = []
        for cell in _entries(row):
            if cell.get("metadataDefinitionId") not in attribute.children:
                raise invalid()
            inner = self._schema.attributes[cell["metadataDefinitionId"]]
            value = self._value(inner, cell)
            cells.append({"metadataDefinitionId": inner.id} | ({"metadataDefinitionValue": value} if value else {}))
        return cells

    def written(self, template: str, values: Mapping[str, Json], *, sensitive: bool) -> list[Json]:
        """The entries of `metadata[]`, empty attributes as their bare id."""
        made = []
        for attribute in self._schema.of_template(template).values():
            if (attribute.sensitive and not sensitive) or attribute.type == EXTERNAL:
                continue
            value = values.get(attribute.id)
            entry: dict[str, Json] = {"metadataDefinitionId": attribute.id}
            if value is not None:
                key = "metadataDefinitionTableValue" if attribute.type == TABLE else "metadataDefinitionValue"
                entry[key] = value
            made.append(entry)
        return made

    def denormalised(self, attribute: Attribute, value: Json) -> Json:
        """Value ids as names, dates as epoch milliseconds of midnight UTC, tables as rows by search field."""
        if value is None:
            return None
        if attribute.type == "date":
            return epoch_of_date(value)
        if attribute.type == VOCABULARY:
            vocabulary = self._schema.vocabularies[attribute.vocabulary]
            if attribute.multiple:
                return [name for item in value if (name := vocabulary.shown(item["valueId"]))]
            return vocabulary.shown(value["valueId"])
        if attribute.type == CASCADE:
            return self._inner(value)
        if attribute.type == TABLE:
            return [self._inner(row) for row in value]
        return value

    def _inner(self, entries: Json) -> Json:
        made = {}
        for entry in entries:
            attribute = self._schema.attributes[entry["metadataDefinitionId"]]
            made[attribute.slug] = self.denormalised(attribute, entry.get("metadataDefinitionValue"))
        return made

    def by_name(self, attribute: Attribute, value: Json) -> Json:
        """The value of the simplified read (wire D 3.5)."""
        if attribute.type == TABLE:
            return [self._cells(row) for row in value or ()]
        if attribute.type == CASCADE:
            return self._cells(value or ())
        if attribute.type == "date":
            return value
        return self.denormalised(attribute, value)

    def _cells(self, entries: Json) -> list[Json]:
        made = []
        for entry in entries:
            attribute = self._schema.attributes[entry["metadataDefinitionId"]]
            value = self.by_name(attribute, entry.get("metadataDefinitionValue"))
            made.append({"name": attribute.name, "value": value})
        return made


def invalid() -> Refusal:
    """One text for whatever is wrong with metadata (wire D 6.4)."""
    return failed(403, "Invalid fields for metadata template")


def epoch_of_date(text: str) -> int:
    """Midnight UTC of an MM/DD/YYYY, in milliseconds."""
    return int(datetime.strptime(text, "%m/%d/%Y").replace(tzinfo=UTC).timestamp()) * 1000


def _date(value: Json) -> str:
    if not isinstance(value, str) or not _DATE.match(value):
        raise invalid()
    try:
        epoch_of_date(value)
    except ValueError:
        raise invalid() from None
    return value


def _list(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise invalid()
    return value


def _entries(value: Json) -> list[Mapping[str, Json]]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise invalid()
    return value
