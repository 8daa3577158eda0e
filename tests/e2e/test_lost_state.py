"""A state file that is lost or new: no run creates again what is there, and `adopt` rebuilds the links."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dam_sync.app.adopting import Adoption, adopt_job
from dam_sync.app.wish import Wish
from dam_sync.model.errors import SafetyStop
from dam_sync.model.values import Json
from dam_sync.services import discover, trial_of
from tests.support.anypair import Pair, any_pair, large_for, living, moved, planned, ran
from tests.support.everything import OWN_MARKS, everything, receiving

PAIRS = [(source, target) for source in discover() for target in discover()]


def library(target: str, source: str) -> list[Json]:
    """Assets of every sort, without those that the target's contract lets it refuse."""
    return everything(large_for(target), without={*trial_of(source).refuses, *trial_of(target).refuses})


@contextmanager
def migrated(tmp_path: Path, source: str, target: str) -> Iterator[Pair]:
    """A pair of tenants and a job that ran."""
    with any_pair(tmp_path, source, target, library(target, source), receiving(), OWN_MARKS) as pair:
        ran(pair)
        yield pair


def adopted(pair: Pair, **how: Any) -> dict[str, Any]:
    """The report of an adoption."""
    return asyncio.run(adopt_job(pair.job, Wish(), Adoption(**how))).as_json()


def without_state(pair: Pair) -> None:
    """Somebody deletes the state file."""
    for file in (pair.folder / "state").glob("job.db*"):
        file.unlink()


def shown(rows: Sequence[Any]) -> list[Any]:
    """What a tenant holds, in one order."""
    return sorted(rows, key=lambda row: str(row["id"]))


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{a[0]}-{b[0]}" for a, b in PAIRS])
def test_a_run_without_its_state_stops_before_it_writes(tmp_path: Path, source: str, target: str) -> None:
    with migrated(tmp_path, source, target) as pair:
        made, before = len(moved(pair).twins), shown(pair.target.assets)
        assert made > 5
        without_state(pair)
        for command in (planned, ran):
            with pytest.raises(SafetyStop) as stopped:
                command(pair)
            assert f"{made} assets with the markers of this source" in stopped.value.message
            assert "adopt JOB" in stopped.value.hint
        assert shown(pair.target.assets) == before
        assert len(living(pair.target)) == made


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{a[0]}-{b[0]}" for a, b in PAIRS])
def test_adopt_restores_every_link_and_the_next_run_writes_nothing(tmp_path: Path, source: str, target: str) -> None:
    with migrated(tmp_path, source, target) as pair:
        twins, before = moved(pair).twins, shown(pair.target.assets)
        without_state(pair)
        report = adopted(pair)
        assert moved(pair).twins == twins
        assert report["counts"]["linked by marker"] == len(twins)
        assert report["counts"]["ambiguous"] == 0
        again = ran(pair)
        assert again["operations"] == {}
        assert again["counts"]["created"] == again["counts"]["updated"] == 0
        assert shown(pair.target.assets) == before
