"""Metadata of an emulated tenant of service E: fields, types, word lists, and what may be written (wire E 5, 6.4)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime

from dam_sync.emulators.e_profiles.records import Field, MetadataType, Refusal, WordList
from dam_sync.emulators.kit.environment import Json

FIELD_TYPES = (
    "checkboxes",
    "date",
    "numeric",
    "selection_list",
    "selection_list_multi",
    "text",
    "text_long",
    "text_multi_line",
    "text_short",
)
LIMITS = {"text_short": 255, "text": 1280}  # characters; spec 002, Resources, E
DISCRIMINATORS = {
    "checkboxes": "CheckBox",
    "date": "Date",
    "numeric": "Numeric",
    "selection_list": "DropDown",
    "selection_list_multi": "Palette",
    "text": "TextField",
    "text_long": "TextArea",
    "text_multi_line": "TextArea",
    "text_short": "TextField",
}

Values = Mapping[str, tuple[str, ...]]
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?$")


class Metadata:
    """Fields by display key and types by name; neither can be made by the API (spec 002, Service E)."""

    def __init__(self, *, ignore_unknown: bool, empty_required: bool, patch_empties: bool) -> None:
        self.fields: dict[str, Field] = {}
        self.types: dict[str, MetadataType] = {}
        self._ignore_unknown = ignore_unknown
        self._empty_required = empty_required
        self._patch_empties = patch_empties

    def field(self, key: str) -> Field:
        """The field of a display key. Raises Refusal 404."""
        found = self.fields.get(key)
        if found is None:
            raise Refusal(404, "not_found", f"There is no metadata field {key}")
        return found

    def words(self, key: str) -> WordList:
        """The word list of a controlled field. Raises Refusal 404 for a field without one."""
        words = self.field(key).words
        if words is None:
            raise Refusal(404, "not_found", f"{key} has no vocabulary")
        return words

    def type_of_id(self, type_id: str) -> MetadataType:
        """The type of a uuid. Raises Refusal 404."""
        found = next((each for each in self.types.values() if each.id == type_id), None)
        if found is None:
            raise Refusal(404, "not_found", "Metadata type not found")
        return found

    def complete(self, type_name: str, values: Values) -> dict[str, tuple[str, ...]]:
        """The values of all fields of a type; an empty field holds nothing, and is there (wire E 3.1)."""
        return {key: values.get(key, ()) for key in self.types[type_name].keys}

    def read(self, type_name: str, sent: Json, patch: Sequence[str] | None = None, *, creating: bool = False) -> Values:
        """The changes that a body's `fields` asks for. Raises Refusal 400, or 409 for a required field emptied."""
        if not isinstance(sent, dict):
            raise Refusal(400, "invalid_request", "`fields` must map display keys to lists of strings")
        keys = list(sent) if patch is None else [key for key in patch if key in sent or self._patch_empties]
        changes: dict[str, tuple[str, ...]] = {}
        for key in keys:
            field = self._writable(key, type_name)
            if field is not None:
                changes[key] = _checked(field, sent.get(key))
        if not creating and not self._empty_required:
            self._refuse_empty_required(changes)
        return changes

    def _writable(self, key: str, type_name: str) -> Field | None:
        field = self.fields.get(key)
        if field is None or key not in self.types[type_name].keys:
            if self._ignore_unknown:
                return None
            raise Refusal(400, "invalid_request", f"{key} is no field of the metadata type {type_name}")
        if not field.editable:
            raise Refusal(400, "invalid_request", f"{key} cannot be edited")
        return field

    def _refuse_empty_required(self, changes: Values) -> None:
        empty = [key for key, values in changes.items() if not values and self.fields[key].required]
        if empty:
            raise Refusal(409, "required_metadata", f"Required metadata is missing: {', '.join(empty)}")


def word_id(field: Field, value: str) -> str:
    """The v1 uuid of a word."""
    return str(uuid.uuid5(uuid.UUID(field.id), value))


def _checked(field: Field, sent: Json) -> tuple[str, ...]:
    if sent is None:
        return ()
    if not isinstance(sent, list) or not all(value is None or isinstance(value, str) for value in sent):
        raise Refusal(400, "invalid_request", f"{field.key} takes a list of strings")
    values = tuple(dict.fromkeys(value.strip() for value in sent if value and value.strip()))
    if len(values) > 1 and not field.multiple:
        raise Refusal(400, "invalid_request", f"{field.key} takes one value")
    for value in values:
        _check(field, value)
    return values


def _check(field: Field, value: str) -> None:
    if field.words is not None and value not in field.words.known:
        raise Refusal(400, "invalid_value", f"{value} is not in the vocabulary of {field.key}")
    limit = LIMITS.get(field.field_type)
    if limit is not None and len(value) > limit:
        raise Refusal(400, "invalid_value", f"{field.key} takes at most {limit} characters")
    try:
        if field.field_type == "numeric" and not _NUMBER.match(value):
            raise ValueError
        if field.field_type == "date":
            date.fromisoformat(value) if len(value) == 10 else datetime.fromisoformat(value)
    except ValueError:
        raise Refusal(400, "invalid_value", f"{value} is no {field.field_type} for {field.key}") from None


def viewable(fields: Iterable[Field], wanted: frozenset[str], prefix: str, after: str, limit: int) -> list[Field]:
    """A page of fields by display name, beginning behind a display name (wire E 5.1)."""
    if "all" in wanted or not wanted:
        chosen = list(fields)
    elif "all_controlled_vocabulary" in wanted:
        chosen = [field for field in fields if field.words is not None]
    else:
        chosen = [field for field in fields if field.field_type in wanted]
    rows = sorted((field for field in chosen if field.label.startswith(prefix)), key=lambda field: field.label)
    return [field for field in rows if field.label > after][:limit]
