"""Converts metadata entries to neutral values and back (wire D 6.4)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import assert_never

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import Loss
from dam_sync.model.errors import InvalidValue
from dam_sync.model.mistyped import shown_json
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import GeoPoint, Json, Localized, Person, Row, Scalar, Term, Value
from dam_sync.model.wording import counted
from dam_sync.services.d_templates.codec.forms import Attribute, MetadataForms, VocabularyValues
from dam_sync.services.d_templates.codec.wire import MetadataEntry, entries_of, number_of

WRITTEN = "%m/%d/%Y"  # wire D 6.4: MM/DD/YYYY, no time
_EPOCHS = (10**9, 10**14)  # what is less is a year or a day written without marks, what is more no date
_NOBODY = VocabularyValues("", "", "", {})


# -- reading -----------------------------------------------------------------------------------------------------------


@interprets_response
def decode(attribute: Attribute, entry: MetadataEntry, forms: MetadataForms, shown: Json = None) -> Value | None:
    """The value of one attribute; None if empty. shown: the display values of the service, if present."""
    if attribute.cells:
        return _rows(attribute, entry, forms)
    if attribute.levels:
        return _path(attribute, entry, forms)
    if entry.value in (None, "", [], {}):
        return None
    match attribute.kind:
        case FieldKind.TERM:
            return _terms(attribute, entry.value, forms, shown)
        case FieldKind.FLAG:
            return _flag(attribute, entry.value, forms)
        case FieldKind.DATE:
            return _day(entry.value)
        case _:
            return str(entry.value)


def losses_of(attribute: Attribute, entry: MetadataEntry, forms: MetadataForms) -> Iterator[Loss]:
    """What `decode` leaves out of a value."""
    path = f"fields.{attribute.key}"
    if attribute.cells:
        yield from _lost_of_rows(attribute, entry, forms)
    elif attribute.levels:
        known = {level.id for level in attribute.levels}
        levels = [one for one in entries_of(entry.value) if one.id in known and isinstance(one.value, list)]
        if several := [one.value for one in levels if len(one.value) > 1]:
            yield Loss(path, "a level of the cascade has several values; the first was used", shown_json(several[0]))
    elif attribute.kind is FieldKind.FLAG and entry.value and _flag(attribute, entry.value, forms) is None:
        yield Loss(path, "neither yes nor no", _term(attribute, _first(entry.value), forms, None).label)


def unread(entry: MetadataEntry) -> str:
    """A value that no template explains, for a loss."""
    return shown_json(entry.value) if entry.value else counted(len(entry.rows or ()), "row")


def _lost_of_rows(attribute: Attribute, entry: MetadataEntry, forms: MetadataForms) -> Iterator[Loss]:
    by_id = {cell.id: cell for cell in attribute.cells}
    cells = [cell for row in entry.rows or () for cell in row]
    strange = {cell.id: cell for cell in cells if cell.id not in by_id and (cell.value or cell.rows)}
    for name, cell in strange.items():
        place = ".".join(filter(None, ("fields", attribute.key, name)))
        yield Loss(place, "no metadata template has this column", unread(cell))
    for cell in cells:
        if cell.id in by_id:
            yield from losses_of(by_id[cell.id], cell, forms)


def _first(value: Json) -> Json:
    return value[0] if isinstance(value, list) else value


def _flag(attribute: Attribute, value: Json, forms: MetadataForms) -> bool | None:
    """None for a value that is neither; the vocabulary may have had one before."""
    return {"yes": True, "no": False}.get(_term(attribute, _first(value), forms, None).label.casefold())


def _terms(attribute: Attribute, value: Json, forms: MetadataForms, shown: Json) -> Value:
    items = value if isinstance(value, list) else [value]
    words = shown if isinstance(shown, list) else [shown]
    labels: list[Json] = words if len(words) == len(items) else [None] * len(items)
    terms = tuple(_term(attribute, item, forms, word) for item, word in zip(items, labels, strict=True))
    return terms if attribute.multiple or len(terms) > 1 else terms[0]


def _term(attribute: Attribute, item: Json, forms: MetadataForms, word: Json) -> Term:
    identity = member_text(item, "valueId") if isinstance(item, dict) else ""
    if not identity:
        return Term(str(item))
    known = forms.lexicon.get(attribute.vocabulary, _NOBODY).labels.get(identity)
    label = known if known is not None else str(word) if isinstance(word, str) and word else identity
    return Term(label, identity, (label,))


def _path(attribute: Attribute, entry: MetadataEntry, forms: MetadataForms) -> Term | None:
    """The filled levels of a cascade as the path to one term."""
    by_id = {level.id: level for level in attribute.levels}
    found = {one.id: one for one in entries_of(entry.value)}
    path: list[Term] = []
    for identity, level in by_id.items():
        value = found[identity].value if identity in found else None
        if not value:
            break
        path.append(_term(level, _first(value), forms, None))
    if not path:
        return None
    return cascade_term(path)


def cascade_term(path: list[Term]) -> Term:
    """One term for the terms of all levels; its id joins theirs."""
    ids = [term.id for term in path]
    return Term(path[-1].label, "/".join(ids), tuple(term.label for term in path), "/".join(ids[:-1]))


def _rows(attribute: Attribute, entry: MetadataEntry, forms: MetadataForms) -> Value | None:
    by_id = {cell.id: cell for cell in attribute.cells}
    rows = []
    for row in entry.rows or ():
        cells: dict[str, Value] = {}
        for one in row:
            cell = by_id.get(one.id)
            value = decode(cell, one, forms) if cell else None
            if cell and value is not None:
                cells[cell.key] = value
        if cells:
            rows.append(Row(cells))
    if not rows:
        return None
    return tuple(rows) if attribute.multiple or len(rows) > 1 else rows[0]


def _day(value: Json) -> Scalar:
    """A date as written, or in ms since 1970 (wire D 3.2); anything else stays text."""
    text = str(value)
    for spelling in (WRITTEN, "%Y-%m-%d"):
        try:
            return datetime.strptime(text, spelling).replace(tzinfo=UTC).date()
        except ValueError:
            continue
    epoch = number_of(value)
    return datetime.fromtimestamp(epoch / 1000, UTC).date() if _EPOCHS[0] <= abs(epoch) < _EPOCHS[1] else text


# -- writing -----------------------------------------------------------------------------------------------------------


def encode(attribute: Attribute, value: Value | None, forms: MetadataForms) -> Json:
    """The entry for an attribute; only its id in order to clear it. Raises InvalidValue for an unsuitable value."""
    if value is None or value in ("", ()):
        return {"metadataDefinitionId": attribute.id}
    if attribute.cells:
        rows = [row_of(attribute, row, forms) for row in (value if isinstance(value, tuple) else (value,))]
        if len(rows) > 1 and not attribute.multiple:
            raise InvalidValue(f"attribute {attribute.key!r} takes one row, not {len(rows)}")
        return {"metadataDefinitionId": attribute.id, "metadataDefinitionTableValue": rows}
    if isinstance(value, tuple) and not attribute.multiple:
        if len(value) > 1:
            raise InvalidValue(f"attribute {attribute.key!r} takes one value, not {len(value)}")
        value = value[0]
    if isinstance(value, tuple) or attribute.multiple:
        items = value if isinstance(value, tuple) else (value,)
        unique = {str(one): one for one in (_encoded(attribute, item, forms) for item in items)}
        return {"metadataDefinitionId": attribute.id, "metadataDefinitionValue": list(unique.values())}
    return {"metadataDefinitionId": attribute.id, "metadataDefinitionValue": _encoded(attribute, value, forms)}


def row_of(attribute: Attribute, row: Scalar, forms: MetadataForms) -> Json:
    """One row of a table: its filled cells in table order."""
    if not isinstance(row, Row):
        raise InvalidValue(f"attribute {attribute.key!r} takes rows")
    known = {cell.key: cell for cell in attribute.cells}
    for key in row.cells:
        if key not in known:
            raise InvalidValue(f"the table {attribute.key!r} has no column {key!r}")
    return [encode(cell, row.cells[key], forms) for key, cell in known.items() if key in row.cells]


def _encoded(attribute: Attribute, value: Scalar, forms: MetadataForms) -> Json:
    if attribute.levels:
        return _levels(attribute, value)
    match attribute.kind:
        case FieldKind.TERM:
            return {"valueId": _value_id(attribute, value, forms)}
        case FieldKind.FLAG:
            return {"valueId": _flag_id(attribute, value, forms)}
        case FieldKind.DATE:
            return day_of(attribute, value).strftime("%m/%d/") + f"{day_of(attribute, value).year:04}"
        case _:
            return _text(attribute, value)


def _levels(attribute: Attribute, value: Scalar) -> Json:
    ids = value.id.split("/") if isinstance(value, Term) and value.id else []
    if not ids or len(ids) > len(attribute.levels):
        raise InvalidValue(f"attribute {attribute.key!r} takes a term of its cascade")
    levels = zip(attribute.levels, ids, strict=False)
    return [{"metadataDefinitionId": level.id, "metadataDefinitionValue": {"valueId": one}} for level, one in levels]


def _value_id(attribute: Attribute, value: Scalar, forms: MetadataForms) -> str:
    values = forms.lexicon.get(attribute.vocabulary, _NOBODY)
    label = value.label if isinstance(value, Term) else value if isinstance(value, str) else ""
    identity = value.id if isinstance(value, Term) else ""
    found = identity if identity in values.labels else values.named(label)
    if not found:
        hint = "let the mapping create the term, or map it to one that exists"
        raise InvalidValue(f"attribute {attribute.key!r} has no value {label or value!r}", hint=hint)
    return found


def _flag_id(attribute: Attribute, value: Scalar, forms: MetadataForms) -> str:
    if not isinstance(value, bool):
        raise InvalidValue(f"attribute {attribute.key!r} takes yes or no, not {value!r}")
    wanted = "yes" if value else "no"
    labels = forms.lexicon.get(attribute.vocabulary, _NOBODY).labels
    return next(identity for identity, label in labels.items() if label.casefold() == wanted)


def day_of(attribute: Attribute, value: Scalar) -> date:
    """The day of a date or of a timestamp at midnight UTC. Raises InvalidValue if a time of day would be lost."""
    if isinstance(value, datetime):
        utc = value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
        if utc.time() != datetime.min.time():
            hint = "use the transform `date`"
            raise InvalidValue(f"attribute {attribute.key!r} takes a date without a time of day", hint=hint)
        return utc.date()
    if isinstance(value, date):
        return value
    if isinstance(value, str):
        try:
            return date.fromisoformat(value)
        except ValueError:
            pass
    raise InvalidValue(f"attribute {attribute.key!r} takes a date, not {value!r}")


def _text(attribute: Attribute, value: Scalar) -> str:
    text = _words(attribute, value)
    if attribute.length is not None and len(text) > attribute.length:
        raise InvalidValue(
            f"attribute {attribute.key!r} takes {attribute.length} characters, not {len(text)}",
            hint="use the transform `truncate`",
        )
    return text


def _words(attribute: Attribute, value: Scalar) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int():
            return str(value)
        case float():
            return repr(value).removesuffix(".0")
        case datetime() | date():
            return value.isoformat()
        case _:
            return _named(attribute, value)


def _named(attribute: Attribute, value: Term | Person | GeoPoint | Localized | Row) -> str:
    match value:
        case Term():
            return value.label
        case Person():
            return value.name
        case GeoPoint() | Localized() | Row():
            raise InvalidValue(f"attribute {attribute.key!r} does not take {type(value).__name__.lower()}")
        case _:
            assert_never(value)
