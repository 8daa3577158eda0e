"""What is suggested where names of fields say two things, or the values speak against them."""

from __future__ import annotations

import pytest

from dam_sync.mapping.doubts import DOUBTED
from dam_sync.mapping.sample import Sample
from dam_sync.mapping.similarity import similarity
from dam_sync.mapping.suggest import suggest
from dam_sync.mapping.suggestion import SuggestedLine
from dam_sync.model.schema import Field, FieldKind, Schema
from tests.support.mapping.service_schemas import by_target
from tests.support.mapping.tenant_schemas import schema

TEXT, DATE = FieldKind.TEXT, FieldKind.DATE


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Staat van het object", "Object name"),
        ("Plaats van het werk", "Work title"),
        ("État de l'objet", "Objet"),
        ("Zustand des Bildes", "Bild"),
        ("Stato della foto", "Foto"),
        ("Weight of the object", "Object name"),
    ],
)
def test_a_part_of_a_thing_is_not_the_thing(source: str, target: str) -> None:
    """The word that both end in says only whose value it is."""
    assert similarity(Field("a", TEXT, source), Field("b", TEXT, target)).score < DOUBTED


def test_a_kind_of_a_thing_still_is() -> None:
    assert similarity(Field("a", TEXT, "Language"), Field("b", TEXT, "Audio language")).score > DOUBTED


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (Field("opnamedatum", DATE, "Opnamedatum"), Field("date_text", TEXT, "Time of felling")),
        (Field("jaar", TEXT, "Oogstjaar"), Field("shot_date", TEXT, "Shot date")),
    ],
)
def test_what_a_key_may_mean_is_doubted_if_the_label_says_something_else(source: Field, target: Field) -> None:
    assert similarity(source, target).score < DOUBTED


def test_what_both_names_may_mean_is_not() -> None:
    assert similarity(Field("date", DATE, "Date"), Field("shot_date", DATE, "Shot date")).score > DOUBTED


def line_of(source: Schema, target: Schema, filled: dict[str, str], key: str) -> SuggestedLine:
    counts = dict.fromkeys(filled, 9)
    texts = {field: {value: 9} for field, value in filled.items()}
    sample = Sample(9, {"": 9}, frozenset(filled), whole=True, texts=texts, counts=counts)
    return by_target(suggest(source, target, sample=sample))[key]


def test_a_field_without_values_is_no_sure_source_of_one_with_another_name() -> None:
    source = schema(Field("heading", TEXT), Field("note", TEXT))
    line = line_of(source, schema(Field("work_title", TEXT, required=True), Field("srckey", TEXT)), {}, "work_title")
    assert line.sources == ("fields.heading", "filename")
    assert line.score < DOUBTED


def test_the_only_text_that_one_requires_goes_to_the_only_one_that_the_other_requires() -> None:
    source = schema(Field("title", TEXT), Field("karteikopf", TEXT, "Karteikopf", required=True), Field("x", TEXT))
    target = schema(Field("work_title", TEXT, required=True), Field("srckey", TEXT))
    line = line_of(source, target, {"karteikopf": "Truhe", "x": "y"}, "work_title")
    assert line.sources == ("fields.karteikopf", "filename")
    assert line.score < DOUBTED, "a person has to decide"
    assert "only text that the source requires" in line.reason
    better = line_of(source, target, {"karteikopf": "Truhe", "title": "Chest"}, "work_title")
    assert better.sources[0] == "fields.title"
