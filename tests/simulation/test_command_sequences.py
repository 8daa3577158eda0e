"""Commands of one job in any order, some of them killed, with edits at source and target in between: in the end nothing
is lost, nothing is there twice, and what left the source has left the target.

`DAM_SYNC_SEED` chooses others. A failure names what was done.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.simulation.conftest import TRIED
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.virtual.command_sequences import sequence
from tests.support.virtual.crashes import SEED

PAIRS = [(source, target) for source in KINDS for target in KINDS]
NUMBERS = range(100) if EVERYTHING else range(3)


@pytest.mark.parametrize("number", NUMBERS)
def test_no_sequence_of_commands_loses_or_doubles_an_asset(
    tmp_path: Path, number: int, record_property: Callable[[str, object], None]
) -> None:
    seed = SEED * len(NUMBERS) + number
    with sequence(tmp_path, PAIRS[seed * 7 % len(PAIRS)], seed) as world:
        world.lives(3 + seed % 4)
        record_property(TRIED, str(len(world.done)))
        assert world.wrong == [], "\n".join(world.done)
