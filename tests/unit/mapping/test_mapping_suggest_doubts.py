"""What is suggested where names of fields say two things, or the values speak against them."""

from __future__ import annotations

import pytest

from dam_sync.mapping.doubts import DOUBTED
from dam_sync.mapping.sample import Sample
from dam_sync.mapping.similarity import similarity
from dam_sync.mapping.suggest import suggest
from dam_sync.mapping.suggestion import SuggestedLine
from dam_sync.model.schema import Field, FieldKind, Schema, Vocabulary
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


@pytest.mark.parametrize(
    ("source", "target", "same"),
    [
        ("Höhe (cm)", "Height in cm", True),
        ("hauteur_mm", "Height (mm)", True),
        ("Gewicht in Gramm", "Weight (g)", True),
        ("Höhe", "Height (mm)", True),
        ("Höhe (mm)", "Height in cm", False),
        ("Peso (kg)", "Weight (g)", False),
        ("Maße_cm", "Measurements (mm)", False),
        ("Valeur estimée (EUR)", "Valuation (CHF)", False),
        ("Bildhöhe", "Height in cm", False),
        ("Image height", "Height in cm", False),
    ],
)
def test_a_measure_goes_to_the_same_measure_in_the_same_unit(source: str, target: str, same: bool) -> None:
    found = similarity(Field("a", FieldKind.NUMBER, source), Field("b", FieldKind.NUMBER, target))
    assert (found.score > DOUBTED) is same, found


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Lieu de découverte", "Fundort"),
        ("luogo di ritrovamento", "Place found"),
        ("Estado de conservación", "Condition"),
        ("Besitzgeschichte", "Ownership history"),
        ("Réalisé par", "Maker"),
        ("Aufbewahrungsort", "Current location"),
        ("Fotografiado el", "Date taken"),
        ("verzekerde waarde", "Insured for"),
        ("Número de registro", "Entry number"),
        ("prêtable", "Can be lent"),
    ],
)
def test_what_registrars_call_things_in_six_languages(source: str, target: str) -> None:
    assert similarity(Field("a", TEXT, source), Field("b", TEXT, target)).score > DOUBTED


def test_a_date_is_doubted_for_a_text_that_may_mean_another_date() -> None:
    source = schema(Field("shot_date", DATE))
    line = line_of(
        source, schema(Field("display_date", TEXT), Field("srckey", TEXT)), {"shot_date": ""}, "display_date"
    )
    assert line.score < DOUBTED


def test_a_field_of_the_tenant_comes_before_one_that_every_tenant_has() -> None:
    source = schema(Field("onderwerpen", TEXT, multiple=True))
    target = schema(Field("dc:subjects", TEXT, multiple=True), Field("house:topics", TEXT, multiple=True))
    assert set(by_target(suggest(source, target))) >= {"house:topics"}


def test_a_list_whose_terms_need_a_parent_is_doubted_for_terms_that_have_none() -> None:
    """Two levels in two lists: what is created at the top of the first is no value of the field."""
    source = schema(
        Field("topics", FieldKind.TERM, vocabulary="topics", multiple=True),
        vocabularies={"topics": Vocabulary("topics")},
    )
    field = Field("subjects", FieldKind.TERM, vocabulary="subjects", multiple=True)

    def line(depth: int) -> SuggestedLine:
        lists = {"subjects": Vocabulary("subjects", hierarchical=True, least_depth=depth)}
        return by_target(suggest(source, schema(field, Field("srckey", TEXT), vocabularies=lists)))["subjects"]

    assert line(1).score > DOUBTED
    assert line(2).score < DOUBTED
    assert line(2).reason.endswith("each needs a pin")


def line_of(source: Schema, target: Schema, filled: dict[str, str], key: str) -> SuggestedLine:
    counts = dict.fromkeys(filled, 9)
    texts = {field: {value: 9} for field, value in filled.items()}
    sample = Sample(9, {"": 9}, frozenset(filled), whole=True, texts=texts, counts=counts)
    return by_target(suggest(source, target, sample=sample))[key]


@pytest.mark.parametrize("required", [True, False])
def test_a_field_without_values_is_no_sure_source_of_one_with_another_name(required: bool) -> None:
    source = schema(Field("heading", TEXT), Field("note", TEXT))
    target = schema(Field("work_title", TEXT, required=required), Field("srckey", TEXT))
    line = line_of(source, target, {}, "work_title")
    assert line.sources[0] == "fields.heading"
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
