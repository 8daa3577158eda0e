"""A file that is uploaded again byte for byte is a version: the source and the target have the same list of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.rollback import RollbackRequest, rollback_job
from dam_sync.emulators import emulated_kinds, profile_of
from dam_sync.model.asset import Asset, Patch
from tests.support.pairs import ids, pairs
from tests.support.services.connections import Bytes
from tests.support.services.profiles import FOLDER
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.moves import TITLE, retitled
from tests.support.virtual.target_edits import Hand, library
from tests.support.virtual.two_tenants import ACCEPTED, TwoTenants, moved
from tests.support.virtual.universe import job_of

B = "b_documents"
OTHERS = [kind for kind in sorted(emulated_kinds()) if kind != B]
WITH_B = [*((kind, B) for kind in OTHERS), *((B, kind) for kind in OTHERS), (B, B)]
PAIRS = list(dict.fromkeys([*WITH_B, *(pair for pair in pairs(2) if FOLDER not in pair)]))
ASSETS = 2


async def uploaded_again(hand: Hand, asset: Asset) -> None:
    """Somebody uploads the current file again, as a new version."""
    assert asset.file is not None
    data = b"".join([block async for block in await hand.service.open(asset.file)])
    await hand.service.replace(asset.id, Bytes(asset.filename, data, known=True), MemoryJournal())


async def titled_again(hand: Hand, asset: Asset) -> None:
    """Somebody gives it another title."""
    key = profile_of(hand.kind).prefix + TITLE
    await hand.service.update(asset.id, Patch(fields={key: retitled(asset.fields[key])}))


def changed(made: TwoTenants, *changes: Any) -> None:
    for change in changes:
        made.change_source(change)
        made.universe.do(made.settle("source"))


def refuse_differences(made: TwoTenants) -> None:
    verdict = made.verify()
    assert verdict["clean"], verdict["differences"]
    assert not verdict["extras"], verdict["extras"]


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_each_upload_is_a_version_and_stays_one(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with moved(tmp_path, kinds, library(ASSETS), exposure=ACCEPTED) as made:
        changed(made, uploaded_again)
        assert made.run().operations == {"version": ASSETS}
        refuse_differences(made)
        changed(made, titled_again, uploaded_again)
        plan, report = made.plan(full=True), made.run(full=True)
        assert (plan.operations, plan.counts) == (report.operations, report.counts)
        assert report.operations["version"] == ASSETS
        changed(made, titled_again)
        assert "version" not in made.run(full=True).operations
        refuse_differences(made)
        assert made.run(full=True).operations == {}


def test_versions_of_changed_values_are_no_versions_of_the_file(tmp_path: Path) -> None:
    """Between two of them, somebody changed a title."""

    async def checked_in(hand: Hand, asset: Asset) -> None:
        api: Any = hand.service
        params = {"increment": "Minor", "saveDocument": True}
        await api.api.operate("Document.CreateVersion", f"doc:{asset.id}", params, repeatable=False, asset=asset.id)

    with moved(tmp_path, (B, "d_templates"), library(ASSETS), exposure=ACCEPTED) as made:
        changed(made, checked_in, titled_again, checked_in, titled_again)
        report = made.run(full=True)
        assert report.operations == {"update": ASSETS}
        refuse_differences(made)


@pytest.mark.parametrize("target", ["a_hypermedia", B])
def test_a_version_with_the_same_bytes_is_rolled_back_and_written_again(tmp_path: Path, target: str) -> None:
    with moved(tmp_path, ("e_profiles", target), library(ASSETS), exposure=ACCEPTED) as made:
        changed(made, uploaded_again)
        run = made.run()
        assert run.operations == {"version": ASSETS}
        options = made.universe.options()
        made.universe.do(rollback_job(job_of(made.job), options, RollbackRequest(run.run)))
        made.universe.do(made.settle())
        assert made.run().operations == {"version": ASSETS}
        refuse_differences(made)
        assert made.run(full=True).operations == {}
