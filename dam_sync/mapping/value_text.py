"""Values as people read them, in reports."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.mapping.results import LanguagePreference, shown
from dam_sync.mapping.vocabulary import path_text
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import GeoPoint, Localized, Row, Term, Value

LONGEST_LOST = 120  # characters of the values of one loss
_SHOWN_LOST = 10  # values; the others are only counted
_PLAIN = LanguagePreference()


def text_of(value: Value) -> str:
    """A value as people read it."""
    match value:
        case tuple():
            return "; ".join(map(text_of, value))
        case Localized(texts):
            return ", ".join(f"{locale}: {text}" for locale, text in texts.items())
        case Term():
            return path_text(value) if len(value.path) > 1 else value.label or path_text(value)
        case GeoPoint(latitude=latitude, longitude=longitude, address=address):
            return ", ".join(str(part) for part in (latitude, longitude, address) if part not in (None, ""))
        case Row(cells):
            return ", ".join(f"{key}: {text_of(cell)}" for key, cell in cells.items())
        case bool():
            return "yes" if value else "no"
        case _:
            return _PLAIN.text(value) or ""


def lost_text(values: Sequence[Value]) -> str:
    """The values of a loss, as far as they fit: `Gulf`, `Sea; Sky`."""
    more = f"; {len(values) - _SHOWN_LOST:,} more" if len(values) > _SHOWN_LOST else ""
    texts = (cut(text_of(value), LONGEST_LOST) for value in values[:_SHOWN_LOST])
    return cut("; ".join(filter(None, texts)), LONGEST_LOST - len(more)) + more


def with_values(detail: str, values: Sequence[Value]) -> str:
    """What is lost, before why: `Gulf (another path of its rule came first)`. A reason that names a value stays."""
    text = lost_text(values)
    if not detail or not text:
        return text or detail
    said = nfc(detail)
    named = any(said == nfc(each) or nfc(shown(each)) in said for each in map(text_of, values[:_SHOWN_LOST]))
    return detail if named else f"{text} ({detail})"


def cut(text: str, most: int) -> str:
    """The text, or its beginning with an ellipsis, at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
