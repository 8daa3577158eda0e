"""The script of faults, the world's clock, counters and rate limit."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dam_sync.emulators.kit.environment import Environment, RateLimit
from dam_sync.emulators.kit.faults import Faults


def struck(faults: Faults, call: str, times: int) -> list[int]:
    return [number for number in range(1, times + 1) if faults.striking(call)]


@pytest.mark.parametrize(
    ("line", "hits"),
    [
        ({"nth": 3}, [3]),
        ({"every": 2}, [2, 4, 6]),
        ({"times": 2}, [1, 2]),
        ({"every": 2, "times": 1}, [2]),
        ({}, [1, 2, 3, 4, 5, 6]),
    ],
)
def test_which_calls_are_struck(line: dict[str, int], hits: list[int]) -> None:
    assert struck(Faults([{"match": "GET /a/*", "do": "status:503", **line}]), "GET /a/7", 6) == hits


def test_only_matching_calls_are_seen_and_unhit_faults_are_reported() -> None:
    faults = Faults([{"match": "POST /a", "do": "throttle"}, {"match": "GET *", "do": "empty"}])
    assert not faults.striking("POST /a/1")
    assert faults.unhit() == ["POST /a throttle", "GET * empty"]
    assert [fault.action for fault in faults.striking("POST /a")] == ["throttle"]
    assert faults.unhit() == ["GET * empty"]
    assert faults.hits[0] == {"match": "POST /a", "do": "throttle", "seen": 1, "hits": 1}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param({"match": "*", "do": "explode"}, id="unknown action"),
        pytest.param({"match": "*", "do": "delay:soon"}, id="no number"),
        pytest.param({"match": "*", "do": "empty", "when": "now"}, id="unknown key"),
    ],
)
def test_a_malformed_fault_is_refused_and_nothing_is_added(line: dict[str, str]) -> None:
    faults = Faults()
    with pytest.raises(ValueError):
        faults.add([{"match": "*", "do": "empty"}, line])
    assert faults.lines == []
    with pytest.raises(ValueError):
        Faults([line])


def test_the_clock_moves_by_the_requested_time() -> None:
    world = Environment()
    before = world.now()
    world.advance(3600)
    assert timedelta(0) <= world.now() - before - timedelta(hours=1) < timedelta(seconds=30)


def test_equal_seeds_make_equal_worlds() -> None:
    assert Environment(seed=3).word() == Environment(seed=3).word() != Environment(seed=4).word()


def test_the_rate_limit_lets_through_what_one_second_holds() -> None:
    world = Environment()
    limit = RateLimit(world, 3)
    assert [limit.take() == 0.0 for _ in range(5)] == [True, True, True, False, False]
    assert 0 < limit.take() <= 1
    world.advance(1.1)
    assert limit.take() == 0.0


def test_counters_and_peaks() -> None:
    world = Environment()
    first, second = world.entered("GET /a"), world.entered("GET /a")
    first.leave()
    first.leave()
    world.entered("GET /b").leave()
    second.leave()
    assert world.calls()["api"] == {"GET /a": 2, "GET /b": 1}
    assert world.calls()["peak_at_once"] == 2
    assert world.calls()["peak_per_second"] == 3
    world.reset_calls()
    counters = dict.fromkeys(("storage", "fetches", "peak_per_second", "peak_at_once"), 0)
    assert world.calls() == {"api": {}, "refused": {}, **counters}
