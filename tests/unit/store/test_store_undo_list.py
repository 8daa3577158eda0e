"""What a rollback notes of what stays."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from dam_sync.model.written import Obstacle
from dam_sync.store.undo_list import UndoList


def test_an_asset_that_is_known_at_the_target_alone_is_named_by_that(tmp_path: Path) -> None:
    stays = Obstacle("memberships", "refused by the target")
    with closing(UndoList(tmp_path / "undo.db", 1)) as listed:
        listed.add_obstacles((stays,), "", "t-2")
        listed.add_obstacles((stays,), "s-1", "t-1")
        assert listed.obstacle_groups() == [(stays, 2, ["t-2", "s-1"])]
