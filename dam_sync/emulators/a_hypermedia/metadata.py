"""Values of the 16 types of field: what is accepted, what is kept, how it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

from dam_sync.emulators.a_hypermedia.errors import Refusal, bad
from dam_sync.emulators.a_hypermedia.records import Node, instant
from dam_sync.emulators.a_hypermedia.schema import FormField, Lookup
from dam_sync.emulators.kit.environment import Json

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+$")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+$", re.I)
MULTIPLE = frozenset({"MULTIPLE_LIST", "PERSON_LIST", "THESAURUS", "FIELD_SET"})


class Typist:
    """Checks and keeps values. `nodes` are the thesaurus nodes by id, `zone` the instance's time zone."""

    def __init__(self, nodes: Mapping[int, Node], lookups: Mapping[int, Lookup], zone: ZoneInfo) -> None:
        self.nodes, self.lookups, self.zone = nodes, lookups, zone
        text = self._text
        self._takers: Mapping[str, Callable[[FormField, Json], Json]] = {
            **dict.fromkeys(("TEXT", "TEXT_AREA", "HTML", "HTML_AREA", "EMAIL", "URL"), text),
            "NUMBER": self._number,
            "CHECK_BOX": self._flag,
            "DATE": self._date,
            "DATETIME": self._datetime,
            "SIMPLE_LIST": self._choice,
            "MULTIPLE_LIST": self._words,
            "PERSON_LIST": self._persons,
            "THESAURUS": self._terms,
            "GEO": self._place,
            "FIELD_SET": self._rows,
        }

    def taken(self, field: FormField, value: Json) -> Json:
        """The value as it is kept; None clears. Raises 400 `metadata-invalid-value` on a wrong one."""
        if value is None or value in ("", []):
            return None
        return self._takers[field.type](field, value)

    def item(self, field: FormField, kept: Json, language: str) -> dict[str, Json]:
        """The `value` and `_embedded` of a metadata item; empty when the field is."""
        if field.localized:
            kept = (kept or {}).get(language)
        if kept is None:
            return {}
        match field.type:
            case "DATE":
                return {"value": instant(datetime.combine(kept, time(), self.zone))}
            case "DATETIME":
                return {"value": instant(kept)}
            case "SIMPLE_LIST" | "PERSON_LIST":
                ids = kept if isinstance(kept, list) else [kept]
                titles = self.lookups[field.lookup].values
                return {"ids": [(number, titles[number]) for number in ids]}
            case "THESAURUS":
                nodes = [self.nodes[number] for number in kept if number in self.nodes]
                return {"ids": [(node.id, node.titles.get(language) or _any(node.titles)) for node in nodes]}
        return {"value": kept}

    def _text(self, field: FormField, value: Json) -> Json:
        if not isinstance(value, str):
            raise _wrong(field, "a text")
        if field.max_length is not None and len(value) > field.max_length:
            raise _wrong(field, f"at most {field.max_length} characters")
        if field.type == "EMAIL" and not _EMAIL.match(value):
            raise _wrong(field, "an e-mail address")
        if field.type == "URL" and not _URL.match(value):
            raise _wrong(field, "a URL")
        return value

    def _number(self, field: FormField, value: Json) -> Json:
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise _wrong(field, "a number") from None
            value = int(value) if value.is_integer() else value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _wrong(field, "a number")
        return value

    def _flag(self, field: FormField, value: Json) -> Json:
        if value in ("true", "false"):
            return value == "true"
        if not isinstance(value, bool):
            raise _wrong(field, "true or false")
        return value

    def _date(self, field: FormField, value: Json) -> Json:
        try:
            if len(value) == 10:
                return date.fromisoformat(value)
            return _aware(value).astimezone(self.zone).date()
        except (TypeError, ValueError):
            raise _wrong(field, "a date") from None

    def _datetime(self, field: FormField, value: Json) -> Json:
        try:
            return _aware(value).astimezone(UTC)
        except (TypeError, ValueError):
            raise _wrong(field, "a date and time with its offset") from None

    def _choice(self, field: FormField, value: Json) -> Json:
        values = self.lookups[field.lookup].values if field.lookup else {}
        if isinstance(value, list):
            if len(value) != 1:
                raise _wrong(field, "one value")
            value = value[0]
        if isinstance(value, dict):
            return self._known(field, value, values)
        found = next((number for number, title in values.items() if title == value), None)
        if found is None or field.force_selection:
            raise _wrong(field, "a value of its list, as {id,title}")
        return found

    def _words(self, field: FormField, value: Json) -> Json:
        words = value if isinstance(value, list) else [value]
        titles = self.lookups[field.lookup].values.values() if field.lookup and field.force_selection else None
        for word in words:
            if not isinstance(word, str) or not word or (titles is not None and word not in titles):
                raise _wrong(field, "texts" if titles is None else "titles of its list")
            if field.max_length is not None and len(word) > field.max_length:
                raise _wrong(field, f"at most {field.max_length} characters each")
        return list(dict.fromkeys(words))

    def _persons(self, field: FormField, value: Json) -> Json:
        values = self.lookups[field.lookup].values if field.lookup else {}
        return self._ids(field, value, lambda item: self._known(field, item, values))

    def _terms(self, field: FormField, value: Json) -> Json:
        return self._ids(field, value, lambda item: self._term(field, item))

    def _ids(self, field: FormField, value: Json, check: Callable[[Json], int]) -> Json:
        if not isinstance(value, list):
            raise _wrong(field, "a list of {id,title}")
        return list(dict.fromkeys(check(item) for item in value))

    def _known(self, field: FormField, item: Json, values: Mapping[int, str]) -> int:
        number = item.get("id") if isinstance(item, dict) else None
        if not isinstance(number, int) or number not in values:
            raise _wrong(field, "ids of its list")
        return number

    def _term(self, field: FormField, item: Json) -> int:
        number = item.get("id") if isinstance(item, dict) else None
        node = self.nodes.get(number) if isinstance(number, int) else None
        above = node
        while above is not None and above.parent:
            above = self.nodes[above.parent]
        if node is None or above is None or above.id != field.root or node.id == field.root:
            raise _wrong(field, "ids of terms of its thesaurus")
        return node.id

    def _place(self, field: FormField, value: Json) -> Json:
        if not isinstance(value, dict) or set(value) - {"latitude", "longitude", "address"}:
            raise _wrong(field, "latitude, longitude and address")
        for key, most in (("latitude", 90), ("longitude", 180)):
            number = value.get(key)
            if number is not None and (not isinstance(number, (int, float)) or abs(number) > most):
                raise _wrong(field, f"a {key} within {most} degrees")
        return {key: part for key, part in value.items() if part is not None}

    def _rows(self, field: FormField, value: Json) -> Json:
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            raise _wrong(field, "a list of rows")
        return value


def _aware(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)
    return moment


def _any(titles: Mapping[str, str]) -> str:
    return next(iter(titles.values()), "")


def _wrong(field: FormField, wanted: str) -> Refusal:
    return bad("metadata-invalid-value", f"The field {field.name} ({field.type}) takes {wanted}.")
