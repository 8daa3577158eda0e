"""Which containers of the source a run follows when they get another name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.names.containers import TargetContainers
from dam_sync.engine.names.renamed_containers import ContainerRenames
from dam_sync.model.asset import Asset, AssetId, Placement, Revision
from tests.support.run_double import run_double
from tests.support.state.memory_journal import MemoryJournal

ORIGIN = Placement("album", ("Press",), "7")
PRESS, NEWS = Placement("folder", ("Press",)), Placement("folder", ("News",))


@pytest.mark.parametrize(
    ("origin", "made", "followed"),
    [
        (ORIGIN, (PRESS,), [(PRESS, ORIGIN)]),
        (ORIGIN, (PRESS, NEWS), []),
        (ORIGIN, (), []),
        (Placement("album", ("Press",)), (PRESS,), []),
    ],
    ids=["exactly one", "two", "none", "without an id"],
)
def test_a_container_is_followed_of_which_the_mapping_makes_exactly_one(
    origin: Placement, made: tuple[Placement, ...], followed: list[tuple[Placement, Placement]]
) -> None:
    """Else the name is not its own."""
    context: Any = run_double(run=None, crosswalk=SimpleNamespace(placed=lambda _: made))
    target: Any = SimpleNamespace()
    renames = ContainerRenames(
        context.source,
        context.target,
        context.mapping.crosswalk,
        context.state.run,
        context.task,
        TargetContainers(target, MemoryJournal()),
        Counterparts(),
    )
    asset = Asset(AssetId("1"), Revision("r"), placements=frozenset({origin}))
    assert list(renames._origins(asset, [PRESS, NEWS])) == followed
