"""JSON of responses: as the standard library reads it, whichever parser does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.http.messages import Response
from dam_sync.http.parsing import InvalidJson, parsed

VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES, st.booleans())
def test_values_are_those_of_the_standard_library(value: Any, ascii_only: bool) -> None:
    body = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert parsed(body) == json.loads(body)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b'{"a": 1, "a": 2}', {"a": 2}),
        (b"1E400", float("inf")),
        (b"\xef\xbb\xbf{}", {}),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'"\\ud83d"', "\ufffd"),
        (b'{"\\ud83d": ["\xed\xa0\x80"]}', {"\ufffd": ["\ufffd"]}),
    ],
)
def test_what_one_parser_refuses_the_other_reads(body: bytes, value: Any) -> None:
    found = parsed(body)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    "body", [b"", b"[1,]", b"{} x", b'"a\x01"', b"[" * 100_000, b"1" * 5_000, b"[" + b"1," * 2_000_001]
)
@pytest.mark.usefixtures("collected")
def test_what_neither_reads_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidJson):
        parsed(body)


def test_a_look_at_a_response_keeps_it_parsed() -> None:
    """The largest listings are read by operations whose response is looked at first."""
    reply = Response(200, {}, b'{"entries": []}')
    assert reply.looked_at() is reply.json()
