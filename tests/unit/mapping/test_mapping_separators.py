"""A text of several values is suggested to be split where the target holds several."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from dam_sync.mapping.sample import Sample
from dam_sync.mapping.separators import Separated, separated
from dam_sync.mapping.suggest import SuggestedLine, suggest
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.schema import Field, FieldKind, Vocabulary
from tests.support.mapping.service_schemas import by_target, walked
from tests.support.mapping.tenant_schemas import schema


@pytest.mark.parametrize(
    ("texts", "at"),
    [
        (["Sea;Beach", "Sky"], ";"),
        (["Sea | Beach", "Sky; Sun", "Sea|Sky"], "|"),
        (["Sea, Beach", "Sky"], None),
        (["Sea;"], None),
        (["Sea;", ";", "; Sky"], None),
        (["Sea;Beach", *(f"Sky {number}" for number in range(20))], None),
        ([], None),
    ],
)
def test_a_separator_is_one_that_many_values_have(texts: list[str], at: str | None) -> None:
    assert split_at(texts) == at


def split_at(texts: Iterable[str]) -> str | None:
    """The separator at which these texts are split; None if they are not."""
    found = separated(dict.fromkeys(texts, 1))
    return found.at if found is not None and found.sure else None


WORDS = ("arm", "beach", "boat", "child", "cloud", "dog", "hat", "man", "river", "sitting", "sky", "tree", "woman")
SURNAMES = ("Turner", "Constable", "Smith", "Monet", "Morisot", "Sand", "Dürer", "Klee")
GIVEN = ("Joseph", "John", "Thomas", "Claude", "Berthe", "George", "Albrecht", "Paul")
PLACES = {"France": ("Paris", "Lyon", "Nice"), "Germany": ("Berlin", "Bonn", "Ulm"), "Italy": ("Rome", "Pisa", "Bari")}


def joined(words: Sequence[str], at: str, *, ordered: bool = False) -> list[str]:
    """Forty texts of one to five of these words each."""
    chance = random.Random(7)
    chosen = [chance.sample(words, 1 + number % 5) for number in range(40)]
    return [at.join(sorted(each) if ordered else each) for each in chosen]


@pytest.mark.parametrize("at", [",", "\n", " / "])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_character_of_many_names_separates_keywords_that_recur(at: str, *, ordered: bool) -> None:
    spaced = ", " if at == "," else at
    assert split_at(joined(WORDS, spaced, ordered=ordered)) == at


NO_LISTS = {
    "names": [f"{surname}, {given}" for surname in SURNAMES for given in GIVEN],
    "names with some alone": [*SURNAMES, *(f"{surname}, {given}" for surname in SURNAMES for given in GIVEN)],
    "names of two people": [
        f"{SURNAMES[one]}, {GIVEN[one]}, {SURNAMES[other]}, {GIVEN[other]}" for one in range(8) for other in range(8)
    ],
    "places": [f"{city}, {country}" for country, cities in PLACES.items() for city in cities],
    "places and countries": [*PLACES, *(f"{city}, {country}" for country, cities in PLACES.items() for city in cities)],
    "places of three levels": [
        f"{part}, {city}, {country}"
        for country, cities in PLACES.items()
        for city in cities
        for part in ("Centre", "North", "South")
    ],
    "titles": [f"The view of number {number}, in summer, with boat {number}" for number in range(30)],
    "a few values": ["man, arm, sitting", "sitting, man", "arm, sitting, man"],
    "paths": [f"Library / Press / {number}" for number in range(30)],
}


@pytest.mark.parametrize("texts", NO_LISTS.values(), ids=NO_LISTS)
def test_what_it_does_not_prove_to_separate_is_only_noted(texts: list[str]) -> None:
    found = separated(dict.fromkeys(texts, 1))
    assert found is not None
    assert not found.sure


@pytest.mark.parametrize("texts", [["Sea"], [f"Sea {number}" for number in range(30)]])
def test_single_values_are_not_noted(texts: list[str]) -> None:
    assert separated(dict.fromkeys(texts, 1)) is None


def test_the_note_says_what_was_seen_and_what_to_write() -> None:
    found = separated(dict.fromkeys(NO_LISTS["names"], 1))
    assert found is not None
    assert found.summary == (
        '64 of 64 sampled values have ",", but their parts keep their order, as in names; '
        'if it separates several values, add {split: ","}'
    )
    few = separated({"man, arm": 3, "sitting": 1})
    assert few is not None
    assert few.summary == (
        '3 of 4 sampled values have ",", but they are too few to judge by; '
        'if it separates several values, add {split: ","}'
    )
    assert separated({"Sea;Beach": 1, "Sky": 1}) == Separated(";", 1, 2)


def suggested(
    folder: Path, kind: FieldKind, *, multiple: bool, values: Sequence[str] = ("Sea;Beach", "Sky", "Sea; Sky")
) -> SuggestedLine:
    """The line of a text field of these values into a field of this kind."""
    source = schema(Field("subjects", FieldKind.TEXT), Field("srckey", FieldKind.TEXT))
    field = Field("subjects", kind, multiple=multiple, vocabulary="subjects" if kind is FieldKind.TERM else "")
    target = schema(field, Field("srckey", FieldKind.TEXT), vocabularies={"subjects": Vocabulary("subjects")})
    sample = Sample.of(
        Asset(AssetId(str(number)), Revision("1"), fields={"subjects": value}) for number, value in enumerate(values)
    )
    found = suggest(source, target, sample=sample)
    walked(folder, found, source, target)
    return by_target(found)["subjects"]


def test_a_text_with_separators_is_split_into_terms_and_the_field_rule_needs_review(tmp_path: Path) -> None:
    line = suggested(tmp_path, FieldKind.TERM, multiple=True)
    assert line.pipe == ({"split": ";"}, {"vocabulary": "subjects"}, "unique")
    assert line.reason.endswith("; splits 2 of 3 sampled values")
    assert line.score < 0.9


def test_and_into_texts(tmp_path: Path) -> None:
    assert suggested(tmp_path, FieldKind.TEXT, multiple=True).pipe == ({"split": ";"},)


@pytest.mark.parametrize("kind", [FieldKind.TERM, FieldKind.TEXT])
def test_but_not_for_a_field_of_one_value(tmp_path: Path, kind: FieldKind) -> None:
    assert {"split": ";"} not in suggested(tmp_path, kind, multiple=False).pipe


def test_keywords_with_commas_are_split_and_names_are_not(tmp_path: Path) -> None:
    line = suggested(tmp_path, FieldKind.TERM, multiple=True, values=joined(WORDS, ", "))
    assert line.pipe == ({"split": ","}, {"vocabulary": "subjects"}, "unique")
    assert line.score < 0.9
    line = suggested(tmp_path, FieldKind.TERM, multiple=True, values=NO_LISTS["names"])
    assert line.pipe == ({"vocabulary": "subjects"},)
    assert line.reason.endswith('if it separates several values, add {split: ","}')
    assert line.score < 0.9
