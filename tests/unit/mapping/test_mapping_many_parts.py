"""A pipe makes no more values, and no longer texts, than can be kept in memory."""

from __future__ import annotations

import pytest

from dam_sync.mapping.results import ListResult, Result, ValueOutcome
from dam_sync.mapping.transforms.base import TransformContext
from dam_sync.mapping.transforms.lists import Join
from dam_sync.mapping.transforms.text import Split
from dam_sync.model.name_bounds import LONGEST_TEXT, MOST_NAMES


def refuses(made: Result | ListResult, detail: str) -> bool:
    return made.note is not None and made.note.outcome is ValueOutcome.FAILED and detail in made.note.detail


@pytest.mark.parametrize(("number", "refused"), [(MOST_NAMES, False), (MOST_NAMES + 1, True)])
def test_a_text_with_more_parts_than_any_service_takes_is_not_split(number: int, refused: bool) -> None:
    made = Split(on=";").each(";".join("a" * number), TransformContext())
    assert refuses(made, "more than 100,000 parts") == refused
    assert len(made.values) == (0 if refused else number)


@pytest.mark.parametrize("refused", [False, True])
def test_a_text_longer_than_any_response_is_not_joined(refused: bool) -> None:
    between = "-" * (LONGEST_TEXT - 3 + refused)
    made = Join.model_validate({"with": between}).whole(["a", "bc"], TransformContext())
    assert refuses(made, "16,777,217 characters") == refused
    assert len(made.items) == (0 if refused else 1)
