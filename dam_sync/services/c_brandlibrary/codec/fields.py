"""Custom field keys of service C as fields and vocabularies (wire C 5.1). Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import Placement
from dam_sync.model.schema import Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Json
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.codec.marks import searchable

NAME, DESCRIPTION, PAYLOAD = "name", "description", "asset_data"
OWN = "custom:"  # before a key that has the name of a built-in attribute

BUILT_IN = (
    Field(NAME, FieldKind.TEXT, "Name", indexed=False),
    Field(DESCRIPTION, FieldKind.TEXT, "Description", indexed=False),
    Field(
        PAYLOAD, FieldKind.LONG_TEXT, "Payload of colours, fonts, links and press items", editable=False, system=True
    ),
)
_BUILT_IN = frozenset(each.key for each in BUILT_IN)


@dataclass(frozen=True, slots=True)
class Key:
    """One custom field key: with a list of allowed values if it has one, `restricted` to them or not."""

    id: str
    name: str
    allowed: tuple[str, ...] = ()
    restricted: bool = False
    required: bool = False

    @property
    def is_list(self) -> bool:
        """Whether it has a list, which is empty while a restricted key has no values yet (assumption 24)."""
        return self.restricted or bool(self.allowed)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a library, and their fields. multiple: names seen with several values."""

    rows: tuple[Key, ...] = ()
    multiple: frozenset[str] = frozenset()
    fields: Mapping[str, Field] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Key], multiple: Collection[str]) -> Keys:
        """From rows that were read."""
        listed, several = tuple(rows), frozenset(multiple)
        return cls(listed, several, {key_of(row.name): field_of(row, row.name in several) for row in listed})

    def named(self, key: str) -> Key | None:
        """The key of a field."""
        name = key.removeprefix(OWN) if key.removeprefix(OWN) in _BUILT_IN else key
        return next((row for row in self.rows if row.name == name and key_of(name) == key), None)


def key_of(name: str) -> str:
    """The field's key for a key's name."""
    return f"{OWN}{name}" if name in _BUILT_IN else name


@interprets_response
def keys_of(rows: Sequence[Json]) -> tuple[Key, ...]:
    """Keys by their names, trimmed; case distinguishes them (wire C 5.2)."""
    found: dict[str, Key] = {}
    for row in rows:
        attributes = row["attributes"]
        name = member_text(attributes, "name").strip()
        allowed = tuple(str(text) for text in attributes.get("allowed_values") or ())
        flags = bool(attributes.get("restricted")), bool(attributes.get("required"))
        if name:
            found.setdefault(name, Key(row["id"], name, allowed, *flags))
    return tuple(found.values())


def field_of(key: Key, multiple: bool) -> Field:
    """A text field, or a term field if there is a list of allowed values, be it empty."""
    return Field(
        key_of(key.name),
        FieldKind.TERM if key.is_list else FieldKind.TEXT,
        key.name,
        multiple=multiple,
        required=key.required,
        indexed=searchable(key.name),
        vocabulary=key_of(key.name) if key.is_list else "",
    )


def is_closed(key: Key, extends: bool) -> bool:
    """Whether nothing can be added to the list: restricted ones grow only if the job allows it."""
    return key.restricted and not extends


def schema_of(keys: Keys, *, extends: bool, payload: bool = False, section: str = "") -> Schema:
    """The library's fields, with the one for our marker, which the first create adds if it is missing.

    payload: there are assets that are no files. section: where assets are put that name none.
    """
    fields = {each.key: each for each in BUILT_IN if payload or each.key != PAYLOAD} | dict(keys.fields)
    fields.setdefault(facts.MARK_KEY, Field(facts.MARK_KEY, FieldKind.TEXT, facts.MARK_KEY))
    lists = [key for key in keys.rows if key.is_list]
    return Schema(
        fields=fields,
        vocabularies={
            key_of(key.name): Vocabulary(key_of(key.name), key.name, closed=is_closed(key, extends)) for key in lists
        },
        statuses=frozenset({"published", "pending"}),
        container_kinds=frozenset({"section", "collection"}),
        container_depth={"section": 1, "collection": 1},
        container_most={"section": 1, "collection": 1},
        container_default=frozenset({Placement("section", (section,))} if section else ()),
        folds_tags=True,  # wire C 6.6
    )
