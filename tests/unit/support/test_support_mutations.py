"""A change of a response can be made again of another response, so that a run is repeated with some of its changes."""

from __future__ import annotations

import json
import random

import pytest

from tests.support.virtual.mutated_responses import OPS, misheaded, mutated, remade
from tests.support.virtual.reply import Reply

BODY = {"hitCount": 1, "result": [{"name": "Spring", "members": ["a", {"b": True}]}]}
HEADERS = [(b"date", b"Wed, 25 Nov 2026 13:50:19 GMT"), (b"content-type", b"application/json")]


def reply(body: object = BODY) -> Reply:
    return Reply(200, list(HEADERS), [json.dumps(body).encode()])


@pytest.mark.parametrize("op", [*OPS, "header"])
def test_the_same_change_of_the_same_response_is_the_same_response(op: str) -> None:
    first, again = reply(), reply()
    made = misheaded(first, random.Random(op)) if op == "header" else mutated(first, op, random.Random(op))
    assert made is not None
    assert remade(again, made) is made
    assert again == first


@pytest.mark.parametrize("other", [{}, [], {"result": []}, {"result": "x"}])
def test_a_response_without_the_value_stays_as_it_is(other: object) -> None:
    rng = random.Random(1)
    made = next(one for _ in range(100) if (one := mutated(reply(), "null", rng)) and len(one.path) > 3)
    again = reply(other)
    assert remade(again, made) is None
    assert again == reply(other)
