"""How the emulated service C is tried."""

from __future__ import annotations

from dam_sync.emulation.trial import Trial

TRIAL = Trial(
    auth=({"flow": "token", "token": "b7kq.c5wxt2rn.z8hmvd3f"},),
    denied={"flow": "token", "token": "b7kq.c5wxt2rn.wrongkey"},
    lacks=frozenset({"place", "members", "relate", "holds:relations", "holds:groups", "limits:per_second"}),
    quiet=frozenset({"digests"}),
    containers={"folder": "section", "collection": "collection", "label": "label"},
    fixed=frozenset({"label"}),
    emulated={"rate": None},
    narrow_emulated={"result_window": 40},
    demo_emulated={"rate": None, "lag": 1, "processing": 0.3},
)
