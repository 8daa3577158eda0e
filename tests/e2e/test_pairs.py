"""Every service into every service, itself included: field by field, version by version, byte by byte, minus the losses
that the report names."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.services import discover, trial_of
from tests.conformance.drafts import KEYS
from tests.support.anypair import any_pair, by_bytes, losses_by_asset, lost_silently, planned, ran
from tests.support.everything import OWN_MARKS, everything, receiving

PAIRS = [(source, target) for source in discover() for target in discover()]


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=[f"{a[0]}-{b[0]}" for a, b in PAIRS])
def test_a_library_arrives_whole_but_for_what_is_named(tmp_path: Path, source: str, target: str) -> None:
    with any_pair(tmp_path, source, target, everything(), receiving(), OWN_MARKS) as pair:
        plan = planned(pair)
        report = ran(pair)
        assert report["parked"] == []
        there = {row["id"]: row for row in pair.source.assets if row["status"] != "trash"}
        assert report["counts"]["created"] == len(there)
        assert (report["operations"], report["losses"]) == (plan["operations"], plan["losses"])
        found = [row for row in pair.target.assets if row["status"] != "trash"]
        assert len(found) == len(there)
        assert not [
            code for side in (pair.source, pair.target) for code in ("429", "413", "414") if code in side.refused
        ]
        losses = losses_by_asset(pair)
        prefixes = trial_of(source).prefix, trial_of(target).prefix
        twins, faults = by_bytes(pair.target), []
        for digest, row in by_bytes(pair.source).items():
            told = lost_silently(row, twins[digest], losses[row["id"]], KEYS, prefixes)
            faults += [f"{row['catalogue_id']} {fault}" for fault in told]
        assert faults == [], f"told: {losses}; notes: {report['notes']}"
        pair.target.forget_calls()
        again = ran(pair)
        assert again["operations"] == {}
        assert sum(again["counts"][word] for word in ("created", "updated", "parked")) == 0
