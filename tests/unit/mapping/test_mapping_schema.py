"""The JSON Schema of the mapping file, by which editors complete and check."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dam_sync.api.emulation.emulate import MAPPINGS
from dam_sync.mapping.document import json_schema
from tests.support.json_schema import accepts

SCHEMA = json_schema()
READY = sorted(next(folder for folder in MAPPINGS if folder.is_dir()).rglob("*.yaml"))


def line(**keys: Any) -> dict[str, Any]:
    return {"version": 1, "fields": {"note": keys}}


@pytest.mark.parametrize("path", READY, ids=lambda path: path.name)
def test_it_accepts_the_mappings_that_ship(path: Path) -> None:
    assert accepts(SCHEMA, YAML(typ="safe").load(path))


@pytest.mark.parametrize(
    "given",
    [
        line(cel="asset.status", when="true"),
        {"version": 1, "include": "a.yaml"},
        {"version": 1, "include": ["a.yaml", "b.yaml"]},
        {"version": 1, "lookups": {"a": {"values": {"x": "y", "z": 1}}}},
        {"version": 1, "select": {"types": "PICTURE", "fields": {"a": ["b", 1, True]}, "where": "true"}},
        {"version": 1, "select": {"ids": {"csv": "a.csv"}, "dates": {"created_at": {"from": "2020-01-01"}}}},
        {
            "version": 1,
            "vocabularies": {"a": {"target": "a", "match": ["exact", {"fuzzy": 0.92}], "unmatched": "suggest"}},
        },
    ],
    ids=str,
)
def test_it_accepts_the_whole_language(given: dict[str, Any]) -> None:
    assert accepts(SCHEMA, given)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"version": 2},
        {"version": 1, "field": {}},
        line(form="x"),
        line(cel=1),
        line(**{"from": "id", "pipe": ["trimm"]}),
        {"version": 1, "select": {"were": "x"}},
        {"version": 1, "lookups": {"a": {"values": {"x": ["y"]}}}},
        {"version": 1, "vocabularies": {"a": {"target": "a", "match": [{"fuzzy": 2}]}}},
        {"version": 1, "vocabularies": {"a": {"target": "a", "unmatched": "guess"}}},
    ],
    ids=str,
)
def test_it_refuses_what_the_file_may_not_say(given: dict[str, Any]) -> None:
    assert not accepts(SCHEMA, given)


def test_it_is_shipped() -> None:
    assert json.loads(files("dam_sync.help").joinpath("mapping.schema.json").read_text(encoding="utf-8")) == SCHEMA
