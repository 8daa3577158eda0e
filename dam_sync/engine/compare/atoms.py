"""Values as atoms: pieces by key, so that "equal", "more", "less" and "between two states" are one rule for all kinds.

A single value has one atom under the key `WHOLE`, a text in several languages one for each language, a list or a set
one for each member. Atoms of different sides compare only if they were made together, by one call.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import Final, TypeAlias

from dam_sync.model.canonical import canonical, told_apart
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.model.unicode_forms import nfc
from dam_sync.model.values import Localized, Row, Scalar, Value

Atoms: TypeAlias = Mapping[Hashable, Hashable]
WHOLE: Final = ""
"""The key of a value that is compared as one."""
NOTHING: Final[Atoms] = {}


def atoms_of_fields(values: Sequence[Value | None], field: Field, schema: Schema) -> list[Atoms]:
    """The values of one field at several sides. A list is compared member by member if any side has one, a text
    language by language if each side has one or nothing; rows, and anything else, as one."""
    held = _alike(values, field, schema)
    if any(_is_list(value) for value in held):
        return [dict.fromkeys(_texts(value, field), True) for value in held]
    if all(value is None or isinstance(value, Localized) for value in held):
        return [_by_language(value) for value in held]
    return [{WHOLE: tuple(texts)} if (texts := _texts(value, field)) else NOTHING for value in held]


def with_members(
    value: Value, more: Set[Hashable], values: Sequence[Value | None], field: Field, schema: Schema
) -> Value:
    """A value with members or languages of another one, by the keys of their atoms. values: those from which the atoms
    were made together; the last is the other one."""
    other = values[-1]
    if not more or other is None:
        return value
    named = _alike(values, field, schema)[-1]
    if isinstance(other, Localized):
        held = as_stored(value, field, schema)
        texts = held.texts if isinstance(held, Localized) else {}
        return Localized({**texts, **{locale: text for locale, text in other.texts.items() if locale in more}})
    if not field.multiple and not isinstance(value, tuple):
        return value
    rows = zip(_rows(named), _rows(other), strict=True)
    return (*_rows(value), *(row for name, row in rows if not more.isdisjoint(_texts(name, field))))


def value_of(atoms: Atoms, values: Sequence[Value | None], field: Field, schema: Schema) -> Value | None:
    """The value that has these atoms, each from one of the last two of these values, from all of which the atoms were
    made together: a text in several languages, or a list with the members of the first before those of the last."""
    sides = [as_stored(value, field, schema) for value in values[-2:]]
    if all(side is None or isinstance(side, Localized) for side in sides):
        locales = dict.fromkeys(str(locale) for side in sides for locale in _by_language(side))
        return Localized({locale: str(atoms[locale]) for locale in locales if locale in atoms})
    rows, left = list[Scalar](), set(atoms)
    for side, named in zip(sides, _alike(values, field, schema)[-2:], strict=True):
        keys = [_texts(name, field) for name in _rows(named)]
        rows += [row for row, names in zip(_rows(side), keys, strict=True) if not left.isdisjoint(names)]
        left.difference_update(*keys)
    return tuple(rows)


def as_stored(value: Value | None, field: Field, schema: Schema) -> Value | None:
    """A value of a draft as the target stores it: text in a field of several languages is in the first of them."""
    if not field.localized or not schema.locales or value is None:
        return value
    if isinstance(value, tuple):
        return tuple(_in_language(each, schema.locales[0]) for each in value)
    return _in_language(value, schema.locales[0])


def members(names: Iterable[Hashable]) -> Atoms:
    """A set."""
    return dict.fromkeys(names, True)


def single(value: Hashable) -> Atoms:
    """One value; nothing for None and for an empty text."""
    return NOTHING if value is None or value == "" else {WHOLE: value}


def tag_key(tag: str, schema: Schema) -> str:
    """The key of a tag: a target may keep one for two Unicode forms of it, or for two cases."""
    composed = nfc(tag)
    return composed.casefold() if schema.folds_tags else composed


def _alike(values: Sequence[Value | None], field: Field, schema: Schema) -> list[Value | None]:
    """Values in the forms in which they compare."""
    held = [as_stored(value, field, schema) for value in values]
    known = schema.vocabularies.get(field.vocabulary) if field.vocabulary else None
    return list(told_apart(*held)) if known is not None and known.hierarchical else held


def _rows(value: Value | None) -> tuple[Scalar, ...]:
    if isinstance(value, tuple):
        return value
    return () if value is None else (value,)


def _is_list(value: Value | None) -> bool:
    return isinstance(value, tuple) and not any(isinstance(row, Row) for row in value)


def _by_language(value: Value | None) -> Atoms:
    return {key: text for key, text in value.texts.items() if text} if isinstance(value, Localized) else NOTHING


def _texts(value: Value | None, field: Field) -> list[str]:
    """A date without a time may be kept as a timestamp; `no` in a yes/no field is nothing: some services return it for
    every asset, and others for none."""
    texts = canonical(value)
    if field.kind is FieldKind.FLAG and texts == ["false"]:
        return []
    return sorted({text[:10] for text in texts}) if field.kind is FieldKind.DATE else texts


def _in_language(value: Scalar, locale: str) -> Scalar:
    return Localized({locale: value}) if isinstance(value, str) and value else value
