"""Responses of all services, as source and as target, with something in them that no service should say: no traceback,
no hang, no memory without bound, nothing lost silently.

`make fuzz N=20000` changes so many responses, half of them to reads and half to writes, by `SEED`; a failure names the
line that repeats its case alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

from tests.support.pairs import EVERYTHING, KINDS
from tests.support.virtual.fuzzed_runs import ALONE, ANSWERS, READS, SEED, WRITES, Case, tried_alone, tried_from

BLOCK = 250  # responses of one test
SAMPLE = 3  # of what was wrong once, `make test` tries one of so many
EACH = -(-ANSWERS // (2 * len(KINDS)))  # responses of one service to one kind of call
BLOCKS = [
    (kind, to, start, min(BLOCK, EACH - start))
    for start in range(0, EACH, BLOCK)
    for kind in KINDS
    for to in (READS, WRITES)
]
# Cases of seed 1 in which a run once broke, hung or lost something silently.
FOUND = (
    "a_hypermedia:reads:99",
    "a_hypermedia:reads:25032",
    "a_hypermedia:reads:25049",
    "a_hypermedia:reads:25058",
    "a_hypermedia:reads:25088",
    "a_hypermedia:reads:75024",
    "a_hypermedia:reads:75080",
    "a_hypermedia:reads:75095",
    "a_hypermedia:writes:75052",
    "b_documents:reads:75112",
    "b_documents:reads:100060",
    "b_documents:reads:100085",
    "b_documents:reads:150112",
    "b_documents:reads:175059",
    "b_documents:writes:175061",
    "c_brandlibrary:reads:75006",
    "c_brandlibrary:reads:100039",
    "c_brandlibrary:writes:50048",
    "d_templates:reads:112",
    "d_templates:reads:25051",
    "d_templates:reads:25064",
    "d_templates:reads:25098",
    "d_templates:reads:75001",
    "d_templates:reads:75012",
    "d_templates:reads:75041",
    "d_templates:reads:100005",
    "d_templates:reads:100014",
    "d_templates:reads:100034",
    "d_templates:reads:100085",
    "d_templates:reads:100130",
    "d_templates:writes:50052",
    "d_templates:writes:75036",
    "d_templates:writes:75045",
    "e_profiles:reads:80",
    "e_profiles:reads:96",
    "e_profiles:reads:25039",
    "e_profiles:reads:25108",
    "e_profiles:reads:75000",
    "e_profiles:reads:75121",
    "e_profiles:reads:100003",
    "e_profiles:reads:100054",
    "e_profiles:reads:150011",
)


@pytest.fixture(scope="session")
def alone() -> Iterator[Executor]:
    """A process that does nothing but run cases, so that the memory it holds is theirs."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        yield pool


def by_kind(cases: Iterable[Any], kind_of: Callable[[Any], str]) -> list[Any]:
    """Cases of a service go to one process, which makes the reference of that service once."""
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.xdist_group(kind_of(case)))
        for case in cases
    ]


@pytest.mark.skipif(bool(ALONE), reason="one case is tried alone")
@pytest.mark.parametrize(("kind", "to", "start", "answers"), by_kind(BLOCKS, lambda block: block[0]))
def test_no_response_makes_a_run_break_hang_grow_or_lose_silently(
    kind: str, to: str, start: int, answers: int, alone: Executor, record_property: Callable[[str, object], None]
) -> None:
    came, wrong = alone.submit(tried_from, kind, to, 100 * start, answers).result()
    record_property("points tried", came)
    assert wrong == [], f"{len(wrong)} wrong\n" + "\n".join(wrong)


@pytest.mark.skipif(bool(ALONE) or SEED != 1, reason="one case is tried alone, or others than those of seed 1")
@pytest.mark.parametrize("case", by_kind(FOUND if EVERYTHING else FOUND[::SAMPLE], lambda case: case.partition(":")[0]))
def test_what_was_wrong_once_stays_right(case: str, alone: Executor) -> None:
    wrong = alone.submit(tried_alone, case_of(case)).result()
    assert wrong == [], "\n".join(wrong)


@pytest.mark.skipif(not ALONE, reason="see `DAM_SYNC_CASE`")
def test_one_case_alone(alone: Executor) -> None:
    wrong = alone.submit(tried_alone, case_of(ALONE or "::0")).result()
    assert wrong == [], "\n".join(wrong)


def case_of(text: str) -> Case:
    kind, to, number = text.split(":")
    return Case(kind, to, int(number))
