"""What service A says of itself agrees with what it can do."""

from __future__ import annotations

from dam_sync.model.features import Feature
from dam_sync.model.schema import FieldKind
from dam_sync.model.service import Operation
from dam_sync.services.a_hypermedia import KIND, facts
from dam_sync.services.a_hypermedia.fields import Offer, schema_of
from dam_sync.services.a_hypermedia.forms import KINDS, Forms

BY_WORD = {
    "status": Feature.STATUS,
    "versions": Feature.VERSIONS,
    "attachments": Feature.ATTACHMENTS,
    "relations": Feature.RELATIONS,
    "tags": Feature.TAGS,
    "release": Feature.RELEASE,
    "expiry": Feature.EXPIRY,
    "groups": Feature.GROUPS,
}
BY_KIND = {
    FieldKind.TEXT: Feature.TEXT,
    FieldKind.LONG_TEXT: Feature.LONG_TEXT,
    FieldKind.HTML: Feature.HTML,
    FieldKind.NUMBER: Feature.NUMBER,
    FieldKind.FLAG: Feature.FLAG,
    FieldKind.DATE: Feature.DATE,
    FieldKind.INSTANT: Feature.INSTANT,
    FieldKind.TERM: Feature.TERM,
    FieldKind.PERSON: Feature.PERSON,
    FieldKind.PLACE: Feature.PLACE,
    FieldKind.EMAIL: Feature.EMAIL,
    FieldKind.URL: Feature.URL,
    FieldKind.ROWS: Feature.ROWS,
}


def test_what_it_holds_is_told_by_the_kind() -> None:
    assert KIND.holds is facts.HOLDS
    assert all(held.read or held.write for held in KIND.holds.values())


def test_what_it_can_be_given_is_what_its_schema_holds() -> None:
    schema = schema_of(Forms(), Offer())
    written = {word for word, feature in BY_WORD.items() if feature in KIND.holds and KIND.holds[feature].write}
    assert written == schema.holds
    placed = {word for word in ("folder", "category", "collection", "section", "label") if _written(word)}
    assert placed == schema.container_kinds


def _written(word: str) -> bool:
    return bool(KIND.holds[Feature[word.upper()]].write) if Feature[word.upper()] in KIND.holds else False


def test_every_kind_of_field_it_reads_is_told() -> None:
    kinds = {*KINDS.values(), FieldKind.TERM}
    assert {BY_KIND[kind] for kind in kinds} <= set(KIND.holds)
    assert {feature for kind, feature in BY_KIND.items() if kind not in kinds}.isdisjoint(KIND.holds)


def test_abilities_and_features_agree() -> None:
    can = KIND.service.implemented
    assert (Operation.ENSURE_TERM in can) == bool(KIND.holds[Feature.TERMS].write)
    assert (Operation.ATTACH in can) == bool(KIND.holds[Feature.ATTACHMENTS].write)
    assert (Operation.RELATE in can) == bool(KIND.holds[Feature.RELATIONS].write)
    assert (Operation.REMOVE in can) == bool(KIND.holds[Feature.TRASH].write)
