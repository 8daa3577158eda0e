"""What each service says of itself agrees with what it can do."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import pytest

from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.connector import Connector
from dam_sync.model.schema import FieldKind, Schema
from dam_sync.services import built_in
from dam_sync.services.a_hypermedia.codec import fields as a
from dam_sync.services.a_hypermedia.codec import forms
from dam_sync.services.e_profiles.codec import fields as e
from tests.support.stepped_clock import NOW
from tests.support.virtual.orphans import LONGEST

KINDS = built_in()
CONTAINERS = frozenset({"folder", "category", "collection", "section", "label"})
ABLE = {
    Operation.ENSURE_TERM: Feature.TERMS,
    Operation.ATTACH: Feature.ATTACHMENTS,
    Operation.RELATE: Feature.RELATIONS,
    Operation.REPLACE: Feature.VERSIONS,
    Operation.RENAME_TERM: Feature.RENAMED_TERMS,
    Operation.RENAME_CONTAINER: Feature.RENAMED_CONTAINERS,
}
SCHEMAS: Mapping[str, Schema] = {
    "a_hypermedia": a.schema_of(forms.MediaForms(), a.Offer()),
    "e_profiles": e.schema_of(e.TenantSchema(), NOW),
}
READS: Mapping[str, frozenset[FieldKind]] = {
    "a_hypermedia": frozenset({*forms.KINDS.values(), FieldKind.TERM}),
    "e_profiles": frozenset({*e.KINDS.values(), FieldKind.TERM, FieldKind.FLAG, FieldKind.TEXT}),
}


def writes(kind: Connector, feature: Feature) -> bool:
    return kind.capabilities.writes(feature)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_features_of_a_connector_are_those_of_its_facts(kind: Connector) -> None:
    assert kind.capabilities.features is import_module(f"dam_sync.services.{kind.name}.facts").FEATURES
    assert kind.capabilities.features


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_abilities_and_features_agree(kind: Connector) -> None:
    can = kind.capabilities
    told = {operation: writes(kind, feature) for operation, feature in ABLE.items()}
    assert told == {operation: operation in can for operation in ABLE}
    assert bool(can.renames) == (Operation.RENAME_CONTAINER in can)
    assert bool(can.moves) == writes(kind, Feature.MOVED_CONTAINERS)
    assert can.moves <= can.renames <= CONTAINERS
    if Feature.TRASH in kind.capabilities.features:
        assert writes(kind, Feature.TRASH) == (Operation.REMOVE in can)


@pytest.mark.parametrize("name", SCHEMAS)
def test_writable_features_agree_with_the_schema(name: str) -> None:
    kind, schema = KINDS[name], SCHEMAS[name]
    assert {word for word in CONTAINERS if writes(kind, Feature[word.upper()])} == schema.container_kinds
    assert all(held.read or held.write or held.why for held in kind.capabilities.features.values())
    assert Feature.TRASH in kind.capabilities.features


@pytest.mark.parametrize("name", READS)
def test_kinds_of_field_that_a_service_reads_are_declared(name: str) -> None:
    told = {kind for kind in FieldKind if KINDS[name].capabilities.reads(Feature[kind.name])}
    assert told == READS[name]


def test_a_feature_that_is_not_declared_is_not_supported() -> None:
    assert Feature.RELATIONS not in KINDS["e_profiles"].capabilities.features
    assert not writes(KINDS["a_hypermedia"], Feature.FILENAME)
    unread = {kind.name for kind in FieldKind} - {kind.name for kind in READS["a_hypermedia"]}
    assert unread.isdisjoint(feature.name for feature in KINDS["a_hypermedia"].capabilities.features)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_a_killed_run_may_leave_is_declared_with_its_time_and_its_source(kind: Connector) -> None:
    assert kind.leaves
    for each in kind.leaves:
        assert each.where.startswith(kind.name[0].upper())
        assert each.lasts is None or each.lasts.total_seconds() < LONGEST
