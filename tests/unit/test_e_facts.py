"""What service E says of itself agrees with what it can do."""

from __future__ import annotations

from dam_sync.model.features import Feature
from dam_sync.model.schema import FieldKind
from dam_sync.model.service import Operation
from dam_sync.services.e_profiles import KIND, facts
from dam_sync.services.e_profiles.fields import KINDS, Tenant, schema_of

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
    schema = schema_of(Tenant(), versions=True)
    written = {word for word, feature in BY_WORD.items() if feature in KIND.holds and KIND.holds[feature].write}
    assert written == schema.holds - {"filename"}
    placed = {word for word in ("folder", "category", "collection", "section", "label") if _written(word)}
    assert placed == schema.container_kinds


def _written(word: str) -> bool:
    return bool(KIND.holds[Feature[word.upper()]].write) if Feature[word.upper()] in KIND.holds else False


def test_every_kind_of_field_it_reads_is_told() -> None:
    kinds = {*KINDS.values(), FieldKind.TERM, FieldKind.FLAG, FieldKind.TEXT}
    assert {feature for kind, feature in BY_KIND.items() if feature in KIND.holds and KIND.holds[feature].read} == {
        BY_KIND[kind] for kind in kinds
    }


def test_abilities_and_features_agree() -> None:
    can = KIND.service.implemented
    assert (Operation.ENSURE_TERM in can) == bool(KIND.holds[Feature.TERMS].write)
    assert (Operation.REPLACE in can) == bool(KIND.holds[Feature.VERSIONS].write)
    assert not KIND.holds[Feature.ATTACHMENTS].write
    assert Feature.RELATIONS not in KIND.holds
    assert (Operation.REMOVE in can) == bool(KIND.holds[Feature.TRASH].write)
