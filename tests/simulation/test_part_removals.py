"""Parts that are removed at the source leave the target, what others added there stays, and what cannot be removed is
reported once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dam_sync.emulators import emulated_kinds
from dam_sync.model.asset import Asset
from dam_sync.model.service import Service
from tests.support.pairs import EVERYTHING
from tests.support.virtual.crashes import SEED, tried
from tests.support.virtual.moves import Simulation
from tests.support.virtual.target_edits import (
    DETACH,
    DROP_VERSION,
    UNRELATE,
    Edit,
    attached,
    detached,
    field,
    place,
    related,
    tags,
    unrelated,
    version_dropped,
)
from tests.support.virtual.two_tenants import REOPENS, TwoTenants, scene

KINDS = {kind[0]: kind for kind in emulated_kinds()}
PLACES = {"a": ("folder", "label"), "b": ("collection",), "d": ("collection",), "e": ("category", "collection")}
TAGGED = "abce"
STAYS = "left the source, stays at the target"
POLLED = 0.2  # part of the calls that depends on how long a service looks at a file


def edits_of(kind: str) -> list[Edit]:
    """Everything that somebody can remove from an asset of this service, one asset each."""
    found = [Edit("value removed", "fields", field("note", None))]
    found += [Edit(f"{each} left", "placements", place(each, out_of="Ours")) for each in PLACES.get(kind, ())]
    found += [Edit("untagged", "tags", tags(drop="sea"))] if kind in TAGGED and kind != "a" else []
    found += [Edit("detached", "attachments", detached)] if kind in DETACH else []
    found += [Edit("unrelated", "relations", unrelated)] if kind in UNRELATE else []
    found += [Edit("version removed", "versions", version_dropped)] if kind in DROP_VERSION else []
    return found


LOST = {
    "a": {"attachments", "versions"},
    "b": {"attachments", "relations"},
    "c": {"attachments"},
    "d": {"versions"},
    "e": {"versions"},
}


def parts(row: Any, kind: str) -> Any:
    """What an asset of a tenant consists of, besides its ids, and of containers those that a target fills."""
    return {
        "note": [value for key, value in row["fields"].items() if key.endswith("note")],
        "placements": sorted(
            (each["kind"], *each["path"]) for each in row["placements"] if each["kind"] in PLACES.get(kind, ())
        ),
        "tags": sorted(row["tags"]),
        "attachments": [each["name"] for each in row["attachments"] if kind in DETACH],
        "relations": len(row["relations"]),
    }


def both(made: TwoTenants) -> list[tuple[Any, Any]]:
    """The parts of every asset at the source and at the target."""
    kind = made.target.kind[0]
    source = {row["filename"]: parts(row, kind) for row in made.source.assets}
    return [(source[row["filename"]], parts(row, kind)) for row in made.target.assets]


def lost(report: Any) -> set[str]:
    """The parts that the report says the target keeps."""
    return {loss["path"] for loss in report.losses if loss["rule"] == STAYS}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_what_is_removed_at_the_source_leaves_the_target(tmp_path: Path, kind: str) -> None:
    edits = edits_of(kind)
    with scene(tmp_path, KINDS[kind], edits, exposure=REOPENS) as made:
        made.edit_originals()
        plan, report = made.plan(full=True), made.run(full=True)
        assert report.operations == plan.operations
        assert report.target.total_calls == pytest.approx(plan.target.total_calls, rel=POLLED)
        assert lost(report) == lost(plan) == LOST[kind]
        assert report.parked == []
        for source, target in both(made):
            for part in source.keys() - LOST[kind]:
                assert source[part] == target[part], part
        again = made.run(full=True)
        assert (again.operations, lost(again)) == ({}, set())


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"e"}))
def test_what_others_added_stays(tmp_path: Path, kind: str) -> None:
    """On the very assets that lose something at the source."""
    mine = [Edit(name, "", change) for name, change, able in REMOVED if kind in able]
    theirs = [Edit(name, "", change) for name, change, able in ADDED if kind in able]
    with scene(tmp_path, KINDS[kind], theirs, exposure=REOPENS) as made:
        made.edit()
        before = {row["id"]: parts(row, kind) for row in made.target.assets}
        for edit in mine:
            made.change_source(edit.change)
        made.run(full=True)
        after = {row["id"]: parts(row, kind) for row in made.target.assets}
        for identity, edit in made.edited.items():
            part = {"attached": "attachments", "related": "relations"}[edit.name]
            removed = 1 if part not in LOST[kind] else 0
            assert _count(after[identity][part]) == _count(before[identity][part]) - removed, edit.name


REMOVED = (("detached", detached, DETACH), ("unrelated", unrelated, UNRELATE))
ADDED = (("attached", attached, DETACH), ("related", related, UNRELATE))


def _count(value: Any) -> int:
    return value if isinstance(value, int) else len(value)


KILLED = [("a", "folder"), ("d", "d"), ("a", "a"), ("b", "folder")]


@pytest.mark.parametrize(("source", "target"), KILLED if EVERYTHING else KILLED[:2])
def test_a_removal_that_was_killed_is_resumed_by_the_next_run(tmp_path: Path, source: str, target: str) -> None:
    kinds = KINDS[source], KINDS.get(target, target)
    came = tried(Simulation(tmp_path, kinds, SEED), 60 if EVERYTHING else 8, changing=1.0)
    assert came.faults == [], f"seed {came.seed}"
    assert came.crashes


PAIRS = [("a", "b"), ("b", "c"), ("b", "folder")]


@pytest.mark.parametrize(("source", "target"), PAIRS if EVERYTHING else PAIRS[::2])
def test_between_services_attachments_and_relations_leave(tmp_path: Path, source: str, target: str) -> None:
    kinds = KINDS[source], KINDS.get(target, target)

    async def strip(service: Service, state: Any, asset: Asset) -> None:
        for _ in asset.attachments:
            DETACH[source](state, asset)
        UNRELATE[source](state, asset)

    with Simulation(tmp_path, kinds).moving() as move:
        move.live()
        holds = {part for row in move.target.assets for part in ("attachments", "relations") if row[part]}
        assert holds
        move.edit(strip)
        assert not any(row["attachments"] or row["relations"] for row in move.source.assets)
        move.live()
        left = {part for row in move.target.assets for part in ("attachments", "relations") if row[part]}
        assert left == holds & LOST.get(target, set())
        sides = move.target.assets
        move.live()
        assert move.target.assets == sides


def test_a_verification_knows_attachments_that_moved_up_in_the_list(tmp_path: Path) -> None:
    """A source numbers attachments: those behind a removed one have other ids. The removed one alone is in addition."""
    with scene(tmp_path, KINDS["b"], (Edit("detached", "attachments", detached),), exposure=REOPENS) as made:
        made.edit_originals()
        verdict = made.verify()
        assert [(row[2]["path"], row[2]["found"].partition(" ")[0]) for row in verdict["extras"]] == [
            ("attachments", "a.pdf")
        ]


def test_every_service_is_tried() -> None:
    assert set(LOST) == set(KINDS)
