"""What names of fields mean, in the languages of museums."""

from __future__ import annotations

import pytest

from dam_sync.mapping.doubts import DOUBTED
from dam_sync.mapping.meanings import MEANINGS, meanings_of
from dam_sync.mapping.similarity import similarity, words_of
from dam_sync.mapping.translations import TRANSLATIONS
from dam_sync.model.schema import Field, FieldKind


def alike(left: str, right: str) -> float:
    return similarity(Field(left, FieldKind.TEXT), Field(right, FieldKind.TEXT)).score


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Höhe (cm)", "height_cm"),
        ("Breite in cm", "largeur"),
        ("Gewicht (kg)", "peso"),
        ("object_weight", "poids"),
        ("Erhaltungszustand", "object condition"),
        ("conditie", "état de conservation"),
        ("Provenienz", "ownership_history"),
        ("verwervingswijze", "acquisition_method"),
        ("Versicherungswert", "valeur d'assurance"),
        ("standplaats", "storage_location"),
        ("tentoongesteld", "on_display"),
        ("Fundort", "find_spot"),
    ],
)
def test_what_a_registrar_records_means_the_same_in_each_language(one: str, other: str) -> None:
    assert alike(one, other) > DOUBTED


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Height", "Width"),
        ("image_width", "Breite (cm)"),
        ("width_px", "object_width"),
        ("condition", "usage_condition"),
        ("condition", "condition_of_use"),
        ("acquisition_method", "acquisition_date"),
        ("storage_location", "location"),
        ("Breite (cm)", "l_cm"),
        ("Gewicht (kg)", "kg"),
        ("find_spot", "place"),
    ],
)
def test_what_is_measured_or_kept_of_another_thing_is_another_field(one: str, other: str) -> None:
    assert alike(one, other) < DOUBTED


def test_a_unit_that_two_names_share_is_no_reason() -> None:
    assert alike("Umfang (cm)", "x_cm") == 0


def test_a_field_whose_key_and_label_mean_different_things_is_left_to_a_person() -> None:
    mark = Field("shelfMark", FieldKind.TEXT, "Storage location")
    for name in ("Signatur", "Standort"):
        found = similarity(Field(name, FieldKind.TEXT), mark)
        assert 0 < found.score < DOUBTED
        assert found.reason.endswith("; shelfMark and Storage location mean different things")
    assert similarity(Field("shelfMark", FieldKind.TEXT), mark).score == 1.0, "the same key is the same field"
    alike = Field("heading", FieldKind.TEXT, "Title")
    assert similarity(Field("Titel", FieldKind.TEXT), alike).score > DOUBTED


def test_a_name_means_one_thing_except_where_two_things_are_known_to_share_names() -> None:
    """Two lists of terms that were joined must not call one thing by two names."""
    every = [name for row in MEANINGS for name in (*row, *TRANSLATIONS.get(row[0], ()))]
    shared = {
        frozenset(MEANINGS[at][0] for at in rows) for name in every if len(rows := meanings_of(words_of(name))) > 1
    }
    assert shared == {frozenset({"title", "headline"}), frozenset({"creator", "photographer"})}


def test_each_list_of_translations_belongs_to_a_row() -> None:
    assert TRANSLATIONS.keys() <= {row[0] for row in MEANINGS}
