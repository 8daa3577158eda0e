"""Reports as large as they get."""

from __future__ import annotations

from typing import Any

from dam_sync.report.parts import (
    Collision,
    Collisions,
    Estimate,
    FieldAccount,
    Headline,
    MadeTree,
    MappingLine,
    Origin,
    ReportedRisk,
    TimePart,
    TreeNode,
    ValueSample,
)
from dam_sync.report.report import Report, ReportedSide

WORDS = "A title of a picture of the harbour, taken in the morning from the quay opposite"


def large_report(assets: int) -> dict[str, Any]:
    """A plan of so many assets, as its JSON: every list as long as so many assets can make it."""
    lines = min(assets, 120)
    samples = tuple(ValueSample(f"{n}", f"{WORDS} {n}", f"{WORDS} {n}"[:60], shortened=True) for n in range(3))
    tree = TreeNode("Press", True, [TreeNode(f"{n}", True) for n in range(assets)])
    report = Report(
        kind="plan",
        job="museum",
        source=ReportedSide("a_hypermedia", "museum.dam.example", assets=assets, calls=_calls("GET")),
        target=ReportedSide("e_profiles", "museum.dam.example", assets=0, calls=_calls("POST")),
        started="2031-03-01T03:00:00Z",
        ended="2031-03-01T04:00:00Z",
        counts={"listed": assets, "created": assets - assets // 100, "parked": assets // 100},
        bytes=assets * 3_000_000,
        operations={"create": assets},
        headline=Headline("attention", f"{assets:,} assets will be created", ("a loss",)),
        origin=Origin("0.1.0", "ann", "migration", "museum.yaml", {"mapping": "9da67722af1fa3e57ef2"}, "today"),
        mapping=[
            MappingLine(f"field_{n}", f"Field {n}", (f"fields.f{n}.en",), "trim", n, assets, n, 0, samples)
            for n in range(lines)
        ],
        accounts=[
            FieldAccount(f"fields.f{n}", assets, assets // 2, assets // 4, 0, assets // 8, assets // 8)
            for n in range(lines)
        ],
        containers=[MadeTree("folder", assets, 0, (tree,))],
        collisions=Collisions(assets, tuple(Collision(f"{n}", "a.jpg", f"a-{n}.jpg") for n in range(20))),
        estimate=Estimate(3600.0, 7200.0, TimePart("rate limit", "target", 3000.0, "40 calls per second"), ()),
        risks=[ReportedRisk("medium", "loss", f"{WORDS} {n}", n) for n in range(lines)],
    )
    made = report.as_json()
    made["losses"] = [
        {"path": f"fields.f{n}", "rule": "not mapped", "assets": n, "text": WORDS, "examples": [("1", WORDS)] * 3}
        for n in range(min(assets, 5000))
    ]
    made["parked"] = [
        {
            "cause": "InvalidValue",
            "text": WORDS,
            "operation": "POST /a",
            "hint": WORDS,
            "count": n,
            "example": WORDS,
            "asset": "1",
        }
        for n in range(min(assets, 5000))
    ]
    return made


def _calls(method: str) -> dict[str, int]:
    return {f"{method} /{number}": number for number in range(60)}
