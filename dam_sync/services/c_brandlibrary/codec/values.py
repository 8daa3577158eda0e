"""Values of custom fields, which are always texts (wire C 6.7). Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime

from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import GeoPoint, Localized, Person, Row, Scalar, Term, Value, value_to_json


def decode(field: Field, texts: Sequence[str]) -> Value | None:
    """The records of one key on one asset: one value, or several if the key takes or here has several."""
    found = tuple(_scalar(field, text) for text in dict.fromkeys(texts) if text)
    if not found:
        return None
    return found if field.multiple or len(found) > 1 else found[0]


def encode(value: Value | None) -> tuple[str, ...]:
    """One text for each record; none for an empty value."""
    rows = value if isinstance(value, tuple) else () if value is None else (value,)
    return tuple(text for text in dict.fromkeys(text_of(row) for row in rows) if text)


def text_of(value: Scalar) -> str:
    """One value as text."""
    match value:
        case bool():
            return "true" if value else "false"
        case datetime():
            return timestamp_text(value)
        case date():
            return value.isoformat()
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case Term():
            return (value.id or " / ".join(value.path) or value.label).strip()
        case Person():
            return value.name.strip()
        case Localized() | GeoPoint() | Row():
            return json.dumps(value_to_json(value), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        case _:
            return str(value).strip()


def timestamp_text(moment: datetime) -> str:
    """A timestamp as the service writes it: UTC, milliseconds, `Z` (spec 001, Resources, Service C)."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def composed(text: str) -> str:
    """A text prepared for comparison: a service may compose characters, trim whitespace, change line ends."""
    return nfc(text.replace("\r\n", "\n")).strip()


def term_of(text: str) -> Term:
    """An entry of a list of allowed values; it has only a text."""
    return Term(text, text, (text,))


def _scalar(field: Field, text: str) -> Scalar:
    return term_of(text) if field.kind is FieldKind.TERM else text
