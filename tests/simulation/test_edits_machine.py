"""People edit both libraries in every way, cycle after cycle, while the job runs through faults and crashes: in the end
both are equal, or each difference is a conflict, a loss, a parked asset, an addition or a deletion that the job names.

`make sim` makes 10,000 edits in 50 cycles for every pair. `DAM_SYNC_PAIR=ab DAM_SYNC_CYCLES=3 DAM_SYNC_EDITS=30` tries
one pair and fewer; `DAM_SYNC_SEED` chooses others. A failure names the line that repeats it.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import structlog
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.simulation.conftest import TRIED
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.sample.cases import only_in_full
from tests.support.virtual.crashes import SEED
from tests.support.virtual.sync_machine import PAUSES, ROLES, Plan, SyncMachine, machine

CYCLES = int(os.environ.get("DAM_SYNC_CYCLES", "50" if EVERYTHING else "2"))
EDITS = int(os.environ.get("DAM_SYNC_EDITS", "200" if EVERYTHING else "30"))  # in each cycle
PAIR = os.environ.get("DAM_SYNC_PAIR", "")
ASSETS = 12 if EVERYTHING else 8
EXAMPLES = 100 if EVERYTHING else 1
PAIRS = [(source, target) for source in KINDS for target in KINDS]
SAMPLE = PAIRS if EVERYTHING else [PAIRS[2], PAIRS[19]]
KEPT = {
    "a create at C that a killed run began, of an asset that has other dates since": Plan(PAIRS[7], 7, 4, 60, 12),
}
"""What failed once and has no smaller example."""
CHOSEN = [pair for pair in PAIRS if pair[0][0] + pair[1][0] == PAIR] if PAIR else SAMPLE


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    yield
    structlog.reset_defaults()


@pytest.mark.parametrize("kinds", CHOSEN, ids=[f"{source[0]}-{target[0]}" for source, target in CHOSEN])
def test_both_libraries_become_equal_or_the_job_names_why_not(
    tmp_path: Path, kinds: tuple[str, str], record_property: Callable[[str, object], None]
) -> None:
    plan = Plan(kinds, SEED, CYCLES, EDITS, ASSETS)
    with machine(tmp_path, plan) as world:
        world.lives()
        record_property(TRIED, world.summary())
        assert world.judge.wrong == [], f"{again(plan)}\n{world.summary()}\n" + "\n".join(world.judge.wrong)


@only_in_full
@pytest.mark.parametrize("plan", KEPT.values(), ids=KEPT)
def test_what_failed_once_does_not_fail_again(tmp_path: Path, plan: Plan) -> None:
    with machine(tmp_path, plan) as world:
        world.lives()
        assert world.judge.wrong == []


def again(plan: Plan) -> str:
    """The line that repeats a plan."""
    pair = "".join(kind[0] for kind in plan.kinds)
    size = f"DAM_SYNC_CYCLES={plan.cycles} DAM_SYNC_EDITS={plan.edits}"
    everything = "DAM_SYNC_ALL=1 " if EVERYTHING else ""
    test = ".venv/bin/pytest tests/simulation/test_edits_machine.py -k equal_or"
    return f"{everything}DAM_SYNC_SEED={plan.seed} DAM_SYNC_PAIR={pair} {size} {test}"


class Edited(RuleBasedStateMachine):
    """A few edits of small libraries, each chosen by hypothesis, so that it finds the fewest that fail."""

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        self.world: SyncMachine | None = None
        self.edits = 0

    @initialize(kinds=st.sampled_from(PAIRS), chosen=st.randoms(use_true_random=False))
    def moved(self, kinds: tuple[str, str], chosen: random.Random) -> None:
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.world = self.stack.enter_context(machine(Path(folder), Plan(kinds, assets=4), chosen))

    @rule(role=st.sampled_from(ROLES), number=st.integers(1, 4), chosen=st.randoms(use_true_random=False))
    def people_edit(self, role: str, number: int, chosen: random.Random) -> None:
        self._world(chosen).edit(role, number)
        self.edits += number

    @precondition(lambda self: self.edits)
    @rule(troubled=st.booleans(), chosen=st.randoms(use_true_random=False))
    def the_job_runs(self, troubled: bool, chosen: random.Random) -> None:
        self._world(chosen).run(troubled=troubled)
        self.edits = 0

    @rule(seconds=st.sampled_from(PAUSES))
    def time_passes(self, seconds: float) -> None:
        self._world().wait(seconds)

    def teardown(self) -> None:
        with self.stack:
            if self.world is not None:
                self.world.come_to_rest()
                assert self.world.judge.wrong == [], self.world.summary()

    def _world(self, chosen: random.Random | None = None) -> SyncMachine:
        assert self.world is not None
        self.world.rng = chosen or self.world.rng
        return self.world


def test_the_fewest_edits_that_fail_are_found() -> None:
    phases: list[Any] = [Phase.generate, Phase.shrink]
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        seed(SEED)(Edited),
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=12,
            deadline=None,
            database=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        ),
    )
