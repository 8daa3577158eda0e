"""Text of one asset that is no valid Unicode stops no library."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.support.pairs import KINDS
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.moves import Simulation
from tests.support.virtual.mutated_responses import written
from tests.support.virtual.reply import Reply

TITLE = b"Picture 3"


@pytest.mark.parametrize("kind", KINDS)
def test_a_lone_surrogate_in_one_title_stops_no_library(tmp_path: Path, kind: str) -> None:
    target = "e_profiles" if kind != "e_profiles" else "a_hypermedia"
    with Simulation(tmp_path, (kind, target)).moving() as move:
        network = move.universe.network
        carry = network.carry
        changed = 0

        async def carried(outgoing: httpx.Request) -> Reply:
            nonlocal changed
            reply = await carry(outgoing)
            body = b"".join(reply.blocks)
            if network.called(outgoing) is move.source.app and TITLE in body:
                changed += 1
                written(reply, body.replace(TITLE, rb"Picture \ud8003"))
            return reply

        network.carry = carried  # type: ignore[method-assign]
        report = move.universe.do(move.universe.process(move.job, Fuse()))
        rows = [row for row in move.target.assets if row["status"] != "trash"]
    assert changed
    assert len(rows) == 5
    assert "Picture \ufffd3" in str(rows)
    named = [loss["path"] for loss in report.losses if "not valid Unicode" in loss["rule"]]
    assert any(path.startswith("fields.") for path in named), report.losses
