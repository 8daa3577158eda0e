"""Every service into every service, itself included: field by field, version by version, byte by byte, minus the losses
that the report names."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.services import discover, trial_of
from tests.conformance.drafts import KEYS
from tests.support.anypair import any_pair, lost_silently
from tests.support.everything import OWN_MARKS, everything, receiving

PAIRS = [(source, target) for source in discover() for target in discover()]


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{a[0]}-{b[0]}" for a, b in PAIRS])
def test_a_library_arrives_whole_but_for_what_is_named(tmp_path: Path, source: str, target: str) -> None:
    with any_pair(tmp_path, source, target, everything(), receiving(), OWN_MARKS) as pair:
        plan = pair.json("plan", str(pair.job))
        report = pair.json("run", str(pair.job))
        assert report["parked"] == []
        there = {row["id"]: row for row in pair.source.assets if row["status"] != "trash"}
        assert report["counts"]["created"] == len(there)
        assert (report["operations"], report["losses"]) == (plan["operations"], plan["losses"])
        found = [row for row in pair.target.assets if row["status"] != "trash"]
        assert len(found) == len(there)
        losses = [loss["path"] for loss in report["losses"]]
        prefixes = trial_of(source).prefix, trial_of(target).prefix
        by_bytes = {row["versions"][-1]["digests"]["sha256"]: row for row in found}
        faults = []
        for row in there.values():
            twin = by_bytes[row["versions"][-1]["digests"]["sha256"]]
            told = lost_silently(row, twin, losses, KEYS, prefixes)
            faults += [f"{row['catalogue_id']} {fault}" for fault in told]
        assert faults == [], f"told: {losses}; notes: {report['notes']}"
        pair.target.forget_calls()
        again = pair.json("run", str(pair.job))
        assert again["operations"] == {}
        assert sum(again["counts"][word] for word in ("created", "updated", "parked")) == 0
