"""What `verify` tells when the target has lost a part of an asset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dam_sync.app.jobs import verify_job
from dam_sync.app.wish import Wish
from dam_sync.engine.verify import Verifier
from dam_sync.model.asset import Asset
from tests.support.virtual.crashes import SEED
from tests.support.virtual.moves import Simulation

KINDS = "e_profiles", "b_documents"
LOST: dict[str, tuple[str, Callable[[Asset], Asset]]] = {
    "nothing": ("", lambda asset: asset),
    "its attachments": ("attachments", lambda asset: replace(asset, attachments=())),
    "a version": ("versions", lambda asset: replace(asset, versions=asset.versions[-1:])),
    "the file": ("file", lambda asset: replace(asset, versions=())),
}


@pytest.mark.parametrize("level", ["fields", "digest", "bytes"])
@pytest.mark.parametrize(("path", "lose"), list(LOST.values()), ids=list(LOST))
def test_what_is_missing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, lose: Callable[[Asset], Asset], level: str
) -> None:
    whole = Verifier._with_members

    async def losing(self: Verifier, side: str, *given: Any) -> Asset:
        asset = await whole(self, side, *given)
        return lose(asset) if side == "target" else asset

    monkeypatch.setattr(Verifier, "_with_members", losing)
    with Simulation(tmp_path, KINDS, SEED).moving() as move:
        move.live()
        verdict = move.universe.do(verify_job(move.job, Wish(), level, "100%")).verdict
    assert {found["path"] for _, _, found in verdict["differences"]} == ({path} if path else set())
    assert verdict["clean"] == (not path)
