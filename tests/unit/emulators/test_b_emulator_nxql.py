"""The query language of the emulated service B, without HTTP."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.emulators.b_documents.evaluating import _pattern
from dam_sync.emulators.b_documents.nxql import Both, Date, Not, Query, parse
from dam_sync.emulators.b_documents.nxql import Test as Comparison
from dam_sync.emulators.b_documents.records import Refusal
from dam_sync.emulators.b_documents.search import substituted

NOW = datetime(2026, 6, 15, 10, 20, 30, tzinfo=UTC)


def where(text: str) -> object:
    return parse(f"SELECT * FROM Document WHERE {text}", NOW).where


@given(st.text(max_size=40), st.sampled_from("'\""))
@settings(max_examples=150)
def test_an_escaped_text_is_read_as_itself(text: str, quote: str) -> None:
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    assert where(f"dc:title = {quote}{escaped}{quote}") == Comparison("dc:title", "=", (text,))


@given(st.text(alphabet="ab%_\\'", max_size=12))
@settings(max_examples=150)
def test_a_pattern_with_everything_escaped_matches_itself_alone(text: str) -> None:
    escaped = "".join(f"\\{letter}" if letter in "%_\\'" else letter for letter in text)
    found = where(f"dc:title LIKE '{escaped}'")
    assert isinstance(found, Comparison)
    pattern = _pattern(str(found.values[0]), folded=False)
    assert pattern.match(text)
    assert not pattern.match(text + "x")


@given(st.text(max_size=30))
@settings(max_examples=100)
def test_nothing_but_a_refusal_comes_of_nonsense(text: str) -> None:
    with suppress(Refusal):
        assert isinstance(parse(text, NOW), Query)


def test_precedence_and_negation() -> None:
    a, b, c = (Comparison(f"dc:{name}", "=", (1,)) for name in ("a", "b", "c"))
    assert where("dc:a = 1 OR dc:b = 1 AND NOT dc:c = 1") == Both(False, (a, Both(True, (b, Not(c)))))
    assert where("(dc:a = 1 OR dc:b = 1) AND dc:c = 1") == Both(True, (Both(False, (a, b)), c))
    assert where("dc:a NOT IN (1, 2)") == Not(Comparison("dc:a", "IN", (1, 2)))
    assert where("dc:a != 1") == Comparison("dc:a", "<>", (1,))


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("TIMESTAMP '2024-01-31 10:00:00'", Date("2024-01-31T10:00:00.000Z")),
        ("TIMESTAMP '2024-01-31T10:00:00.123Z'", Date("2024-01-31T10:00:00.123Z")),
        ("DATE '2024-01-31'", Date("2024-01-31T00:00:00.000Z")),
        ("NOW()", Date("2026-06-15T10:20:30.000Z")),
        ("NOW('-P1D')", Date("2026-06-14T10:20:30.000Z")),
        ("NOW('PT-2H')", Date("2026-06-15T08:20:30.000Z")),
        ("-1.5", -1.5),
    ],
)
def test_literals(literal: str, value: object) -> None:
    assert where(f"dc:created > {literal}") == Comparison("dc:created", ">", (value,))


def test_columns_order_and_parameters() -> None:
    query = parse("select distinct ecm:uuid, dc:title FROM File, Picture ORDER BY dc:title DESC, ecm:uuid", NOW)
    assert (query.types, query.columns, query.distinct) == (("File", "Picture"), ("ecm:uuid", "dc:title"), True)
    assert query.order == (("dc:title", False), ("ecm:uuid", True))
    text = substituted(
        "a = ? AND b = :title AND dc:title = ?", [("queryParams", "it's"), ("title", "x"), ("pageSize", "1")]
    )
    assert text == "a = 'it\\'s' AND b = 'x' AND dc'x' = ?"
