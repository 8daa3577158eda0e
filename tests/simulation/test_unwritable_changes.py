"""What no call carries to an asset that exists is reported by a plan and by one run; then a verification explains it
and is clean."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dam_sync.emulators import emulated_kinds
from dam_sync.model.asset import Asset
from tests.support.virtual.source_edits import MORE
from tests.support.virtual.target_edits import Edit, Hand, replaced
from tests.support.virtual.two_tenants import REOPENS, TwoTenants, scene

KINDS = {kind[0]: kind for kind in emulated_kinds()}


async def added_behind(hand: Hand, asset: Asset) -> None:
    """A version was added, and the one before it made the current one again."""
    library = hand.state.instance.library
    media = library.medias[int(asset.id)]
    last, other = media.versions[-1], next(each for each in library.medias.values() if each.id != media.id)
    older = replace(other.versions[0], id=last.id + 1000, number=last.number + 1, created=last.created)
    library.store(replace(media, versions=(*media.versions, older)))


def _renamed_a(state: Any, asset: Asset, name: str) -> None:
    library = state.instance.library
    media = library.medias[int(asset.id)]
    *older, last = media.versions
    library.store(replace(media, versions=(*older, replace(last, name=name))))


def _renamed_b(state: Any, asset: Asset, name: str) -> None:
    repository = state.server.repository
    with repository.transaction():
        document = repository.change(repository.get(asset.id))
        document.props["file:content"] = replace(document.props["file:content"], name=name)


def _renamed_d(state: Any, asset: Asset, name: str) -> None:
    tenant = state.tenant
    record = next(each for each in (tenant.records[key] for key in tenant.families[asset.id]) if each.current)
    tenant.keep(replace(record, filename=name))


RENAME: dict[str, Callable[[Any, Asset, str], None]] = {"a": _renamed_a, "b": _renamed_b, "d": _renamed_d}


def renaming(name: str) -> Callable[[Hand, Asset], Awaitable[None]]:
    """Give the file another name, and nothing else."""

    async def change(hand: Hand, asset: Asset) -> None:
        RENAME[hand.kind[0]](hand.state, asset, name)

    return change


def reported(report: Any) -> dict[str, str]:
    """Losses of what an asset that exists cannot be given, by path."""
    return {loss["path"]: loss["rule"] for loss in report.losses if loss["rule"] in ("fixed", "behind the current one")}


def checked(made: TwoTenants, path: str, rule: str) -> None:
    """The plan and one run report it, and after that a verification explains it."""
    plan, report = made.plan(full=True), made.run(full=True)
    assert reported(plan) == reported(report) == {path: rule}
    assert (report.operations, report.parked) == (plan.operations, [])
    verdict = made.verify()
    assert (verdict["clean"], made.found(verdict)) == (True, {})
    assert verdict["not_carried"] == {path: 1}
    again = made.run(full=True)
    assert (again.operations, reported(again)) == ({}, {})
    repaired = made.run(full=True, repair=True)
    assert (repaired.operations, repaired.parked) == ({}, [])
    assert made.verify()["not_carried"] == {path: 1}


def test_a_version_behind_the_current_one_is_reported_once(tmp_path: Path) -> None:
    with scene(tmp_path, KINDS["a"], [Edit("older", "versions", added_behind)], exposure=REOPENS) as made:
        made.edit_originals()
        verdict = made.verify()
        assert (verdict["clean"], verdict["not_carried"]) == (False, {})
        checked(made, "versions", "behind the current one")
        made.edits = [Edit("replaced", "", replaced)]
        made.edit_originals()
        report, verdict = made.run(full=True), made.verify()
        assert (report.operations, reported(report)) == ({"version": 2}, {})  # it comes before the new one
        assert (verdict["clean"], verdict["not_carried"]) == (True, {})


@pytest.mark.parametrize("kind", sorted(RENAME))
def test_a_file_that_was_renamed_keeps_its_name(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, KINDS[kind], [Edit("renamed", "filename", renaming("photo 1 renamed.jpg"))]) as made:
        made.edit_originals()
        assert not made.verify()["clean"]
        checked(made, "filename", "fixed")
        made.edits = [Edit("renamed again", "filename", renaming("photo 1 other.jpg"))]
        made.edit_originals()
        checked(made, "filename", "fixed")
        made.edits = [Edit("replaced", "", replaced)]
        made.edit_originals()
        made.universe.do(made.settle("source"))
        report, verdict = made.run(full=True), made.verify()
        assert (report.operations, report.parked, reported(report)) == ({"version": 1}, [], {})
        assert (verdict["clean"], verdict["not_carried"]) == (True, {})


def test_a_file_that_gets_its_name_back_is_as_it_should_be(tmp_path: Path) -> None:
    with scene(tmp_path, KINDS["b"], [Edit("renamed", "filename", renaming("photo 1 renamed.jpg"))]) as made:
        made.edit_originals()
        made.run(full=True)
        made.edits = [Edit("back", "filename", renaming("photo 1.jpg"))]
        made.edit_originals()
        report, verdict = made.run(full=True), made.verify()
        assert (report.operations, reported(report)) == ({}, {})
        assert (verdict["clean"], verdict["not_carried"]) == (True, {})


def test_an_asset_that_moved_stays_where_it_was_created(tmp_path: Path) -> None:
    with scene(tmp_path, KINDS["c"], MORE[KINDS["c"]]) as made:
        made.edit_originals()
        assert not made.verify()["clean"]
        checked(made, "placements.collection", "fixed")
