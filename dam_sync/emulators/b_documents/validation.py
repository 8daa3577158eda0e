"""Constraints of fields, checked when a document is saved: the 422 report (wire B 7.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dam_sync.emulators.b_documents.directories import Directories
from dam_sync.emulators.b_documents.people import People
from dam_sync.emulators.b_documents.records import Props, Refusal
from dam_sync.emulators.b_documents.types import Constraint, Field, rule
from dam_sync.emulators.kit.environment import Json

Step = dict[str, Json]


class Validator:
    """Checks values against the constraints of their fields."""

    def __init__(self, directories: Directories, people: People, *, arrays: bool) -> None:
        self._directories, self._people, self._arrays = directories, people, arrays

    def check(self, fields: Mapping[str, Field], props: Props, keys: Iterable[str]) -> None:
        """Raises 422 with a report of every breach among these properties."""
        found: list[Json] = []
        for key in keys:
            if key in fields:
                found += self._field(fields[key], props.get(key), [{"field_name": key, "is_list_item": False}])
        if found:
            report = {
                "entity-type": "validation_report", "has_error": True, "number": len(found), "violations": found,
            }  # fmt: skip
            raise Refusal(422, "Constraint violation thrown: " + str(found[0]["message"]), body=report)

    def _field(self, field: Field, value: Json, path: Sequence[Step]) -> Iterator[Json]:
        for each in field.constraints:
            if not self._passes(each, value):
                yield self._violation(each, value, path)
        items = value if field.many and isinstance(value, list) else []
        for index, item in enumerate(items):
            step = {**path[-1], "is_list_item": True, "index": index}
            for each in field.items:
                if not self._passes(each, item):
                    yield self._violation(each, item, [*path[:-1], step])
            yield from self._inside(field, item, [*path[:-1], step])
        if not field.many:
            yield from self._inside(field, value, path)

    def _inside(self, field: Field, value: Json, path: Sequence[Step]) -> Iterator[Json]:
        if isinstance(value, dict):
            for each in field.fields:
                step = {"field_name": each.name, "is_list_item": False}
                yield from self._field(each, value.get(each.name), [*path, step])

    def _violation(self, each: Constraint, value: Json, path: Sequence[Step]) -> Json:
        key = f"label.schema.constraint.violation.{each.name}"
        shown = value if isinstance(value, (str, int, float, bool)) or value is None else str(value)
        return {
            "messageKey": key, "message": _MESSAGES.get(each.name, "The value is not valid"), "invalid_value": shown,
            "constraint": rule(each, arrays=self._arrays), "path": list(path),
        }  # fmt: skip

    def _passes(self, each: Constraint, value: Json) -> bool:
        if each.name == "NotNullConstraint":
            return value is not None
        if value is None:
            return True
        given = each.parameters
        match each.name:
            case "LengthConstraint":
                return _within(len(str(value)), given, "Minimum", "Maximum")
            case "PatternConstraint":
                return re.fullmatch(str(given["Pattern"]), str(value)) is not None
            case "EnumConstraint":
                return str(value) in given["Values"]
            case "NumericIntervalConstraint":
                return _within(float(value), given, "Minimum", "Maximum")
        return value == "" or self._is_resolved(each, str(value))

    def _is_resolved(self, each: Constraint, value: str) -> bool:
        """Whether a list of the server has what a value names."""
        if each.name == "directoryResolver":
            directory, separator = str(each.parameters["directory"]), str(each.parameters.get("separator", ""))
            return self._directories.holds(directory, value, separator)
        return each.name != "userManagerResolver" or value in self._people.users


def _within(value: float, given: Mapping[str, Json], least: str, most: str) -> bool:
    return (least not in given or value >= float(given[least])) and (most not in given or value <= float(given[most]))


_MESSAGES: Mapping[str, str] = {
    "NotNullConstraint": "Value is required",
    "LengthConstraint": "The length of the value is not within its bounds",
    "PatternConstraint": "The value does not match the pattern",
    "EnumConstraint": "The value is not one of the list",
    "directoryResolver": "The value is not an entry of the directory",
    "userManagerResolver": "The value is not a user",
}
