"""A job in the other direction adopts what the first one moved: its next run shows no original to more people, and
changes only what was announced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Patch, Rights
from dam_sync.report.report import Report
from tests.support.jobs.audience import Sight, wider
from tests.support.libraries.restricted import OF_DRAFTS, OPTIONS
from tests.support.pairs import ids, pairs
from tests.support.services.profiles import FOLDER
from tests.support.virtual.opposite_job import opposite
from tests.support.virtual.restricted_move import RestrictedMove, restricted_move

PAIRS = [pair for pair in pairs(1, 2) if FOLDER not in pair and pair[0] != pair[1]]
WITH_GROUPS = [("b_documents", "e_profiles"), ("d_templates", "e_profiles"), ("e_profiles", "d_templates")]
"""Both services hold groups, and by those of the second one a copy is limited."""
LIMITS = "shown to more people at the target than the job says: the next run limits"
STAFF, INTERNS = frozenset({"staff"}), frozenset({"interns"})
FOR_ALL, FOR_STAFF = "photo 1.jpg", "photo 5.jpg"


@contextmanager
def there_and_back(folder: Path, kinds: tuple[str, str]) -> Iterator[tuple[RestrictedMove, RestrictedMove]]:
    """A job that moved everything, and the opposite one."""
    with restricted_move(folder / "there", kinds) as there:
        there.accept(*OF_DRAFTS)
        there.run()
        yield there, opposite(there, folder / "back", OPTIONS)


def opened(before: Mapping[str, Sight], after: Mapping[str, Sight]) -> set[str]:
    """Assets that more people see `after`."""
    return {asset for asset, sight in after.items() if wider(sight, before.get(asset, frozenset()))}


def give(back: RestrictedMove, original: str, there: RestrictedMove, groups: frozenset[str]) -> str:
    """Somebody lets only these groups see the copy of an original; the id of the original."""
    (row,) = [one for one in back.target.assets if one["filename"] == original]
    copy = AssetId(there.twins()[row["id"]])

    async def change() -> None:
        async with back.service("source") as service:
            await service.schema()
            await service.update(copy, Patch(rights=Rights(groups=groups)))

    back.universe.do(change())
    back.universe.do(back.settle("source"))
    return str(row["id"])


def limited(report: Report) -> list[str]:
    return [note for note in report.notes if LIMITS in note]


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_what_the_job_accepts_is_linked_and_no_original_is_written(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with there_and_back(tmp_path, kinds) as (there, back):
        back.accept(*OF_DRAFTS)
        report, before, rows = back.adopt(), back.seen(), assets_of(back)
        assert back.twins() == {copy: original for original, copy in there.twins().items()}
        assert limited(report) == []
        for options in ({}, {"full": True}, {"repair": True}):
            assert (back.plan(**options).operations, back.run(**options).operations) == ({}, {})
        assert (back.seen(), assets_of(back)) == (before, rows)


@pytest.mark.parametrize("kinds", PAIRS, ids=ids(PAIRS))
def test_an_original_that_the_job_closes_is_hidden_by_the_next_run(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with there_and_back(tmp_path, kinds) as (_, back):
        back.close(*OF_DRAFTS)
        report, before = back.adopt(), back.seen()
        told = [int(note.split()[0]) for note in report.notes if "the job closes" in note]
        planned, ran = back.plan(), back.run()
        assert planned.operations == ran.operations == ({"update": sum(told)} if told else {})
        assert opened(before, back.seen()) == set()
        assert sum(before.get(asset) != sight for asset, sight in seen_of(back, before).items()) == sum(told)
        assert back.run(full=True).operations == {}


@pytest.mark.parametrize("kinds", WITH_GROUPS, ids=ids(WITH_GROUPS))
def test_a_copy_that_somebody_limited_limits_its_original(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with there_and_back(tmp_path, kinds) as (there, back):
        back.accept(*OF_DRAFTS)
        original = give(back, FOR_ALL, there, STAFF)
        report, before = back.adopt(), back.seen()
        assert len(limited(report)) == 1
        assert back.run().operations == {"update": 1}
        after = back.seen()
        assert opened(before, after) == set()
        assert {asset for asset, sight in before.items() if after[asset] != sight} == {original}
        assert after[original] == {("group:staff", 2)}
        assert back.run(full=True).operations == {}


@pytest.mark.parametrize("kinds", WITH_GROUPS, ids=ids(WITH_GROUPS))
def test_a_copy_for_other_people_opens_its_original_to_nobody(tmp_path: Path, kinds: tuple[str, str]) -> None:
    with there_and_back(tmp_path, kinds) as (there, back):
        back.accept(*OF_DRAFTS)
        give(back, FOR_STAFF, there, INTERNS)
        report, before = back.adopt(), back.seen()
        assert limited(report) == []
        assert [note for note in report.notes if "stays as it is, also in a repair" in note]
        for options in ({}, {"full": True}, {"repair": True}):
            assert back.run(**options).operations == {}
        assert back.seen() == before


def seen_of(back: RestrictedMove, assets: Mapping[str, Any]) -> dict[str, Sight]:
    """Who sees these assets now."""
    now = back.seen()
    return {asset: now.get(asset, frozenset()) for asset in assets}


def assets_of(back: RestrictedMove) -> list[dict[str, Any]]:
    """The originals, as they are stored."""
    return [{**row} for row in back.target.assets]
