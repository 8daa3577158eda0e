"""Answers of all services, as source and as target, with something in them that no service should say: no traceback, no
hang, no memory without bound, nothing lost without a word.

`make fuzz N=20000` changes so many answers, half of them to reads and half to writes, by `SEED`; a failure names the
line that repeats its case alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from tests.support.pairs import KINDS
from tests.support.virtual.fuzz import ALONE, ANSWERS, READS, WRITES, Case, tried

BLOCK = 250  # answers of one test
EACH = -(-ANSWERS // (2 * len(KINDS)))  # answers of one service to one kind of call
BLOCKS = [
    (kind, to, start, min(BLOCK, EACH - start))
    for start in range(0, EACH, BLOCK)
    for kind in KINDS
    for to in (READS, WRITES)
]


@pytest.mark.skipif(bool(ALONE), reason="one case is tried alone")
@pytest.mark.parametrize(("kind", "to", "start", "answers"), BLOCKS)
def test_no_answer_makes_a_run_break_hang_grow_or_lose_silently(
    kind: str, to: str, start: int, answers: int, record_property: Callable[[str, object], None]
) -> None:
    came = tried((Case(kind, to, number) for number in itertools.count(100 * start)), answers)
    record_property("points tried", str(came))
    assert came.wrong == [], f"{len(came.wrong)} wrong\n" + "\n".join(came.wrong)


@pytest.mark.skipif(not ALONE, reason="see `DAM_SYNC_CASE`")
def test_one_case_alone() -> None:
    kind, to, number = (ALONE or "::0").split(":")
    came = tried(iter([Case(kind, to, int(number))]), 1)
    assert came.wrong == [], "\n".join(came.wrong)
