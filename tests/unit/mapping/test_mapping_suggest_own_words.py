"""What is suggested between tenants that call their fields as they like."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.mapping.own_words import SOURCES, TARGETS, Placed, placed
from tests.support.mapping.service_schemas import by_target, walked

Note = Callable[[str, object], None]
MUSEUMS = [name for name in TARGETS if name != "press"]
LEAST = 11  # of 13 fields


def judge(found: Placed, note: Note) -> None:
    note("fields placed", str(found))
    assert found.of == 13
    assert found.surely_wrong == []
    assert found.right >= LEAST, found.missed


@pytest.mark.parametrize("target", ["d", "e"])
@pytest.mark.parametrize("source", ["a", "b", "c", "d", "e", "folder"])
def test_a_museum_with_words_of_its_own_gets_what_it_means(
    source: str, target: str, record_property: Note, tmp_path: Path
) -> None:
    judged, found, given, schema = placed(source, "english", target, "english")
    judge(judged, record_property)
    lines = by_target(found)
    assert lines["acquisition_date"].pipe == ({"date": {"in": ["iso", "%d/%m/%Y"]}},)
    assert lines["license"].written == {"cel": "null", "required": True}
    assert not any(block["target"] == "license" for block in found.vocabularies.values())
    walked(tmp_path, found, given.schema, schema)


@pytest.mark.parametrize("words", [name for name in MUSEUMS if name != "english"])
@pytest.mark.parametrize("source", ["b", "folder"])
def test_and_in_other_words(source: str, words: str, record_property: Note) -> None:
    judge(placed(source, "english", "e", words)[0], record_property)


OTHERS = [(own, theirs) for own in SOURCES if own not in ("english", "press") for theirs in MUSEUMS]


@pytest.mark.parametrize(("own", "theirs"), OTHERS, ids=" to ".join)
def test_and_from_other_words_into_others(own: str, theirs: str, record_property: Note) -> None:
    """One service after the other: with each, the fields have other kinds."""
    kinds = ("a", "folder", "c", "d", "e", "b")
    at = OTHERS.index((own, theirs))
    judge(placed(kinds[at % 6], own, "de"[at % 2], theirs)[0], record_property)


@pytest.mark.parametrize("source", ["c", "d", "folder"])
def test_a_photo_archive_of_a_newspaper_too(source: str, record_property: Note) -> None:
    judge(placed(source, "press", "e", "press")[0], record_property)
