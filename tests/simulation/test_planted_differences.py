"""A thousand differences of twelve kinds, planted at targets of all pairs: `verify` reports every one at the level that
can see it, and nothing else. `make test` plants one of each kind at one pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.virtual.planted_differences import DIGEST, FIELDS, PLANTS, Garden, library
from tests.support.virtual.two_tenants import SPARE, moved

PAIRS = [(source, target) for source in KINDS for target in KINDS]
NUMBER = 40 if EVERYTHING else len(PLANTS)
# what a source has not, or a target does not take, of the twelve kinds
NOT_READ = {
    "a_hypermedia": {"widened group"},
    "c_brandlibrary": {"widened group", "wrong version order"},
}
NOT_WRITTEN = {
    "a_hypermedia": {"widened group"},
    "c_brandlibrary": {"widened group", "wrong version order", "lost membership", "added membership"},
}
RELATED = {("a", "a"), ("a", "b"), ("b", "a"), ("b", "b"), ("d", "d")}  # kinds of relation that both have by one name


def absent(source: str, target: str) -> set[str]:
    """Kinds of which there is nothing at the target after a run between these."""
    pair = source[0], target[0]
    return {
        *NOT_READ.get(source, ()),
        *NOT_WRITTEN.get(target, ()),
        *([] if pair in RELATED else ["lost relation"]),
        *(["shifted date"] if pair == ("a", "c") else []),  # neither a date field nor an expiry
    }


def test_a_thousand_are_planted_over_all_pairs() -> None:
    assert len(PLANTS) == 12
    assert len(PAIRS) * 40 == 1_000
    assert set.intersection(*(absent(source, target) for source, target in PAIRS)) == set()


@pytest.mark.parametrize(
    ("source", "target"),
    PAIRS if EVERYTHING else [("b_documents", "b_documents")],
    ids=lambda kind: kind[0],
)
def test_every_planted_difference_is_found_and_no_other(tmp_path: Path, source: str, target: str) -> None:
    with moved(tmp_path, (source, target), library(NUMBER + SPARE), **ACCEPTED) as scene:
        garden = Garden(scene)
        garden.plant(NUMBER)
        assert (len(garden.planted), garden.absent) == (NUMBER, absent(source, target))
        for level in (FIELDS, DIGEST):
            assert garden.unlike(scene.verify(level), level) == []
