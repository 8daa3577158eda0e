"""The calls that write a set of values, decided before any is sent, so that they can be counted (wire A 6.13). Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dam_sync.model.errors import InvalidValue
from dam_sync.model.values import Json, Value
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.codec.encoding import by_language, encode, point_of
from dam_sync.services.a_hypermedia.codec.forms import WRITABLE_OWN, FormField, MediaForms


@dataclass(frozen=True, slots=True)
class Put:
    """One field in one language; `value` None or [] clears it. of: the field in the form."""

    field: str
    value: Json
    language: str = ""
    of: FormField | None = dataclasses.field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Writes:
    """Values to write to one media: fields, and properties that are written with the status by a PUT of the media."""

    puts: tuple[Put, ...] = ()
    own: Mapping[str, Json] | None = None
    status: str = ""
    closed: bool = False  # instead of a status: one that hides the media from ordinary users
    selectable: bool = True  # whether bulks may be used: the current user may be unknown, and the form may fail

    @property
    def sets_status(self) -> bool:
        """Whether a status is written."""
        return self.closed or bool(self.status)

    @property
    def languages(self) -> tuple[str, ...]:
        """One bulk each; values without a language are in the first."""
        return tuple(dict.fromkeys(put.language for put in self.puts if put.language)) or ("",)

    @property
    def bulked(self) -> bool:
        """Whether a selection and bulks cost fewer calls than separate PUTs (wire A 6.13)."""
        if len(self.puts) < facts.BULK_FROM or not self.selectable:
            return False
        alone = len(self.puts) + (2 if self.sets_status and not self.own else 0)
        return 2 + len(self.languages) < alone

    def bulks(self) -> list[tuple[str, list[Put]]]:
        """The puts of each bulk, with its language."""
        first = self.languages[0]
        return [(lang, [put for put in self.puts if (put.language or first) == lang]) for lang in self.languages]


def writes_of(
    fields: Mapping[str, Value | None],
    forms: MediaForms,
    locales: Sequence[str],
    status: str = "",
    *,
    closed: bool = False,
    whole: bool = False,
) -> Writes:
    """The writes for values by our field keys, in order. Raises InvalidValue for an unknown or read-only field.

    whole: languages missing in a localized value are cleared, so that the field becomes exactly the value; but
    not for a field that is only guessed to be localized.
    """
    puts: list[Put] = []
    own: dict[str, Json] = {}
    for key, value in fields.items():
        name = next((name for name in WRITABLE_OWN if forms.own_key(name) == key), "")
        if name:
            own.update(_own_put(name, value))
            continue
        field = forms.by_key.get(key)
        if field is None or not field.editable:
            reason = "is not in any form of" if field is None else "cannot be edited in"
            raise InvalidValue(
                f"field {key} {reason} the target", hint="correct the mapping; `check JOB` compares it with the target"
            )
        puts += _puts(field, value, locales, whole)
    return Writes(tuple(puts), own or None, "" if closed else status, closed)


def _puts(field: FormField, value: Value | None, locales: Sequence[str], whole: bool) -> list[Put]:
    if not field.localized:
        return [Put(field.name, encode(field, value), of=field)]
    texts = by_language(field, value, locales[0])
    alone = field.guessed and bool(texts)  # it may have one value for all languages, which clearing one would clear
    missing = [language for language in locales if language not in texts] if whole and not alone else []
    written = [Put(field.name, encode(field, text), language, field) for language, text in texts.items()]
    return written + [Put(field.name, encode(field, None), language, field) for language in missing]


def other_titles(fields: Mapping[str, Value | None], forms: MediaForms, locales: Sequence[str]) -> tuple[Put, ...]:
    """What clears the title in the languages in which the values have none; nothing without a title."""
    field, value = forms.by_key.get(facts.TITLE), fields.get(facts.TITLE)
    if field is None or not field.localized or field.guessed or value is None:
        return ()
    texts = by_language(field, value, locales[0])
    return tuple(Put(field.name, encode(field, None), each, field) for each in locales if each not in texts)


def _own_put(name: str, value: Value | None) -> dict[str, Json]:
    if name == "point_of_interest":
        return {"pointOfInterest": None if value is None else dict(point_of(str(value)))}
    return {name: "NONE" if value is None else str(value)}


def bulk_body(puts: Sequence[Put]) -> Json:
    """The body of a bulk that writes fields (wire A 6.5)."""
    items = [
        {"id": put.field, "mode": "CLEAR"}
        if put.value in (None, [])
        else {"id": put.field, "mode": "REPLACE", "value": put.value}
        for put in puts
    ]
    return {"type": "UPDATE", "_embedded": {"metadata": items}}
