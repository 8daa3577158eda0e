"""A text of several values is suggested to be split where the target holds several."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.mapping.sample import Sample
from dam_sync.mapping.separators import separated
from dam_sync.mapping.suggest import SuggestedLine, suggest
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.schema import Field, FieldKind, Vocabulary
from tests.support.schemas import schema
from tests.support.service_schemas import by_target, walked


@pytest.mark.parametrize(
    ("texts", "at"),
    [
        (["Sea;Beach", "Sky"], ";"),
        (["Sea | Beach", "Sky; Sun", "Sea|Sky"], "|"),
        (["Sea, Beach", "Sky"], None),
        (["Sea;", ";", "; Sky"], None),
        (["Sea;Beach", *(f"Sky {number}" for number in range(20))], None),
        ([], None),
    ],
)
def test_a_separator_is_one_that_many_values_have(texts: list[str], at: str | None) -> None:
    found = separated(dict.fromkeys(texts, 1))
    assert (found and found.at) == at


def suggested(folder: Path, kind: FieldKind, *, multiple: bool) -> SuggestedLine:
    """The line of a text field into a field of this kind."""
    source = schema(Field("subjects", FieldKind.TEXT), Field("srckey", FieldKind.TEXT))
    field = Field("subjects", kind, multiple=multiple, vocabulary="subjects" if kind is FieldKind.TERM else "")
    target = schema(field, Field("srckey", FieldKind.TEXT), vocabularies={"subjects": Vocabulary("subjects")})
    values = ("Sea;Beach", "Sky", "Sea; Sky")
    sample = Sample.of(
        Asset(AssetId(str(number)), Revision("1"), fields={"subjects": value}) for number, value in enumerate(values)
    )
    found = suggest(source, target, sample=sample)
    walked(folder, found, source, target)
    return by_target(found)["subjects"]


def test_such_a_text_is_split_into_terms_and_the_line_needs_a_person(tmp_path: Path) -> None:
    line = suggested(tmp_path, FieldKind.TERM, multiple=True)
    assert line.pipe == ({"split": ";"}, {"vocabulary": "subjects"}, "unique")
    assert line.reason.endswith("; splits 2 of 3 sampled values")
    assert line.score < 0.9


def test_and_into_texts(tmp_path: Path) -> None:
    assert suggested(tmp_path, FieldKind.TEXT, multiple=True).pipe == ({"split": ";"},)


@pytest.mark.parametrize("kind", [FieldKind.TERM, FieldKind.TEXT])
def test_but_not_for_a_field_of_one_value(tmp_path: Path, kind: FieldKind) -> None:
    assert {"split": ";"} not in suggested(tmp_path, kind, multiple=False).pipe
