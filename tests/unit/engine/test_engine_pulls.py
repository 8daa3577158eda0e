"""Which files a target is given a link to."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.engine.context.pulls import MOST_IN_VAIN, PULL, Fetched, Pulls
from dam_sync.model.asset import FileRef
from dam_sync.model.capabilities import Capabilities, Operation
from dam_sync.model.costs import Amounts, PlanMemory
from dam_sync.model.errors import DamSyncError, NotFound, Rejected, SafetyStop, Transient
from dam_sync.model.limits import Limits
from dam_sync.model.writes import Change

FILE = FileRef("1", "a.jpg", 3)
LASTS = timedelta(hours=2)
URL = "https://files.example/a?Signature=s3cret"


class Source:
    """Gives this link, or raises."""

    def __init__(self, link: str | DamSyncError = URL, *, offers: bool = True, lends: bool = True) -> None:
        self.capabilities = Capabilities(frozenset({Operation.DOWNLOAD_LINK} if offers else ()))
        self._link, self._lends = link, lends
        self.asked: list[timedelta] = []

    async def download_link(self, file: FileRef, lasts: timedelta) -> str:
        self.asked.append(lasts)
        if isinstance(self._link, DamSyncError):
            raise self._link
        return self._link

    def amounts(self, change: Change, counted: Amounts, planned: PlanMemory) -> Amounts:
        if not self._lends:
            raise NotFound("there is no link to this file")
        return counted


def pulls(
    source: Any = None, *, policy: str = PULL, fetches: timedelta | None = LASTS, most: int = 10, **more: Any
) -> Any:
    limits = Limits(largest_bytes=most)
    target: Any = SimpleNamespace(capabilities=Capabilities(fetches=fetches), limits=limits)
    return Pulls(source or Source(), target, policy, **more)


async def test_a_link_is_asked_to_last_as_long_as_the_target_needs() -> None:
    source = Source()
    link = await pulls(source).link(FILE)
    assert link is not None
    assert (link.url, source.asked) == (URL, [LASTS])
    assert "s3cret" not in repr(link)


@pytest.mark.parametrize(
    ("chosen", "file"),
    [
        (pulls(policy="through_us"), FILE),
        (pulls(fetches=None), FILE),
        (pulls(Source(offers=False)), FILE),
        (pulls(Source("")), FILE),
        (pulls(), FileRef("1", "a.jpg")),
        (pulls(), FileRef("1", "a.jpg", 0)),
        (pulls(), FileRef("1", "a.jpg", 11)),
        (pulls(Source(lends=False), dry=True), FILE),
    ],
    ids=["policy", "target", "source", "no-link", "no-size", "empty", "too-large", "planned"],
)
async def test_otherwise_the_bytes_go_through_us(chosen: Pulls, file: FileRef) -> None:
    assert await chosen.link(file) is None


@pytest.mark.parametrize("error", [Rejected("no"), NotFound("gone"), Transient("later")])
async def test_without_a_link_the_download_says_what_is_wrong(error: DamSyncError) -> None:
    assert await pulls(Source(error)).link(FILE) is None


async def test_what_ends_a_run_ends_it() -> None:
    with pytest.raises(SafetyStop):
        await pulls(Source(SafetyStop("stop"))).link(FILE)


async def test_a_plan_asks_for_no_link() -> None:
    source = Source()
    assert await pulls(source, dry=True).link(FILE) is not None
    assert source.asked == []


async def test_another_version_of_a_file_is_another_file() -> None:
    one, other = [await pulls().link(FileRef(name, "a.jpg", 3)) for name in ("1/1", "1/2")]
    assert one is not None
    assert other is not None
    assert one.file != other.file


async def test_a_link_that_the_target_cannot_open_is_not_handed_out() -> None:
    assert await pulls(opens=lambda url: not url.startswith("https://files.example/")).link(FILE) is None


async def test_links_that_lead_nowhere_are_not_handed_out_for_ever() -> None:
    counted = pulls()
    for _ in range(MOST_IN_VAIN):
        assert await counted.link(FILE) is not None
        counted.note(FILE, opened=True)
    assert await counted.link(FILE) is None
    assert counted.exhausted


async def test_a_file_that_was_fetched_shows_that_links_work() -> None:
    counted = pulls()
    for _ in range(MOST_IN_VAIN):
        counted.note(FILE, opened=True)
        counted.note(FILE, opened=False)
    assert await counted.link(FILE) is not None
    assert not counted.exhausted


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        (pulls(), ""),
        (pulls(policy="through_us", fetches=None), ""),
        (pulls(fetches=None), "the target does not fetch files"),
        (pulls(Source(offers=False)), "the source gives no links"),
        (pulls(near=False), "private network"),
    ],
    ids=["possible", "not-wanted", "target", "source", "network"],
)
def test_why_the_policy_has_no_effect(chosen: Pulls, why: str) -> None:
    assert why in chosen.obstacle
    assert bool(why) == bool(chosen.obstacle)


async def test_nothing_is_fetched_from_a_network_that_the_target_is_not_in() -> None:
    assert await pulls(near=False).link(FILE) is None
    assert await pulls(near=False, dry=True).link(FILE) is None


def test_what_other_processes_fetched_is_added() -> None:
    counted = pulls()
    counted.note(FILE, opened=False)
    counted.add(Fetched(2, 20, 1))
    assert counted.fetched == Fetched(3, 23, 1)
    assert counted.fetched - Fetched(2, 20, 1) == Fetched(1, 3)


async def test_links_in_vain_are_counted_over_all_processes() -> None:
    counted = pulls()
    counted.add(Fetched(sent=MOST_IN_VAIN - 1))
    assert not counted.exhausted
    counted.add(Fetched(1, 3))
    counted.add(Fetched(sent=MOST_IN_VAIN))
    assert counted.exhausted
    assert await counted.link(FILE) is None


async def test_a_worker_gives_links_as_long_as_its_coordinator_says() -> None:
    worker = pulls(reported=False)
    for _ in range(2 * MOST_IN_VAIN):
        worker.note(FILE, opened=True)
    assert await worker.link(FILE) is not None
    worker.reported = True
    assert await worker.link(FILE) is None


def test_files_are_counted_by_what_became_of_them() -> None:
    counted = pulls()
    counted.note(FILE, opened=False)
    counted.note(FILE, opened=True)
    assert counted.fetched == Fetched(1, 3, 1)
