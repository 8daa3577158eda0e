"""Every service into every service, itself included: field by field, version by version, byte by byte, minus the losses
that the report names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dam_sync.model.capabilities import Operation
from dam_sync.services import discover
from tests.conformance.catalogue import LINK
from tests.support.jobs.any_pair import (
    Row,
    any_pair,
    large_for,
    living,
    losses_in,
    moved,
    name_relations,
    planned,
    ran,
    verified,
)
from tests.support.jobs.unreported_losses import Comparison
from tests.support.libraries.every_feature import DATES, GROWN, NAMES, OWN_MARKS, everything, receiving
from tests.support.pairs import ids, pairs
from tests.support.services.profiles import prefix_in, profile_of

PAIRS = pairs(3, 4)
IN_PARTS = ":begin"  # the step that begins an upload in parts


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ids(PAIRS))
def test_a_library_arrives_whole_but_for_what_is_named(tmp_path: Path, source: str, target: str) -> None:
    library = everything(large_for(target), without=profile_of(source).refuses)
    with any_pair(tmp_path, source, target, library, receiving(), OWN_MARKS) as pair:
        kinds = relations_between(source, target)
        if kinds:
            name_relations(pair, kinds)
        plan = planned(pair)
        report = ran(pair)
        there, found, state = living(pair.source), living(pair.target), moved(pair)
        assert state.parked == parked_for(target, there), report["parked"]
        assert report["counts"]["created"] == len(there) - len(state.parked)
        assert (report["operations"], report["losses"]) == (plan["operations"], plan["losses"])
        assert sorted(state.twins.values()) == sorted(found)
        assert not [
            code for side in (pair.source, pair.target) for code in ("429", "413", "414") if code in side.refused
        ]
        comparison = Comparison(
            NAMES, DATES, (profile_of(source).prefix, prefix_in(target, source)), state.twins, kinds
        )
        always, faults = losses_in(report["notes"]), []
        for asset, twin in state.twins.items():
            told = comparison.lost_silently(there[asset], found[twin], [*state.losses[asset], *always])
            faults += [f"{there[asset]['catalogue_id']} {fault}" for fault in told]
        assert faults == [], f"losses: {state.losses}; notes: {report['notes']}"
        (grown,) = [asset for asset, row in there.items() if row["filename"] == GROWN]
        sent = [name for asset, name in state.journal if asset == grown and name.endswith(IN_PARTS)]
        in_parts = discover()[target].capabilities.limits.parts is not None
        assert len(sent) >= min(2 * in_parts, len(found[state.twins[grown]]["versions"])), state.journal
        verdict = verified(pair)
        assert (verdict["equal"], verdict["differences"], verdict["extras"]) == (len(state.twins), [], [])
        pair.target.forget_calls()
        again = ran(pair)
        assert again["operations"] == {}
        assert again["counts"]["created"] == again["counts"]["updated"] == 0
        assert again["counts"]["parked"] <= len(state.parked)


def relations_between(source: str, target: str) -> dict[str, str]:
    """The library's kind of relation as source or target calls it, where both have relations and the names differ."""
    names = [profile_of(kind).relation or LINK for kind in (source, target)]
    without = any(Operation.RELATE not in discover()[kind].capabilities for kind in (source, target))
    return {} if without or names[0] == names[1] else {names[0]: names[1]}


def parked_for(target: str, there: Mapping[str, Row]) -> dict[str, str]:
    """What the target's contract lets it refuse, and the cause by which that is parked."""
    refuses = "fileless" in profile_of(target).refuses
    return {asset: "Unsupported" for asset, row in there.items() if refuses and not row["versions"]}
