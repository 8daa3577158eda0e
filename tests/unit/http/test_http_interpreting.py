"""Whose error it is that a response cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dam_sync.http.interpreting import interpreting_response, interprets_response
from dam_sync.http.redaction import hide
from dam_sync.model.errors import ContractBroken, NotFound


@interprets_response
def title_of(row: Any) -> str:
    return str(row["title"].strip())


@interprets_response
def titles_of(rows: Any) -> Iterator[str]:
    for row in rows:
        yield row["title"]


@interprets_response
def looked_up(row: Any) -> str:
    raise NotFound(row)


@pytest.mark.parametrize("row", [{}, None, [], "x", {"title": 1}, {"title": None}])
def test_a_shape_nobody_documents_breaks_the_contract_and_names_its_reader(row: Any) -> None:
    with pytest.raises(ContractBroken, match=r"in test_http_interpreting\.title_of") as caught:
        title_of(row)
    assert isinstance(caught.value.__cause__, AttributeError | LookupError | TypeError)


def test_what_is_read_one_after_the_other_as_well() -> None:
    rows = titles_of([{"title": "a"}, {}])
    assert next(rows) == "a"
    with pytest.raises(ContractBroken):
        next(rows)


def test_responses_as_documented_and_our_own_errors_pass() -> None:
    assert title_of({"title": " a "}) == "a"
    with pytest.raises(NotFound, match="gone"):
        looked_up("gone")


def test_a_block_of_a_function_breaks_the_contract_by_name() -> None:
    with pytest.raises(ContractBroken, match=r"KeyError in the ticket: 'id'"), interpreting_response("the ticket"):
        {}["id"]


def test_the_response_is_shown_redacted_and_cut() -> None:
    hide("S3cr3tValu3xyz")
    with pytest.raises(ContractBroken) as caught, interpreting_response("a number"):
        int("S3cr3tValu3xyz" + "x" * 5000)
    assert "S3cr3t" not in str(caught.value)
    assert len(str(caught.value)) < 300
