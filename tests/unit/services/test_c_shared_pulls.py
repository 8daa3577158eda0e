"""Several assets of service C created by one call, whose files it fetches by links: as in `test_c_shared_creates`, also
where the links are refused, dead, or lead to something else. In virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Draft, FileLink, FileRef
from dam_sync.model.errors import Conflict, Denied
from dam_sync.model.journal import NamespacedJournal
from dam_sync.model.ports import Content
from dam_sync.model.service import Service
from dam_sync.services.c_brandlibrary import facts
from dam_sync.transfer.linked import LinkedContent
from tests.conformance.catalogue import MARKER
from tests.support.state.memory_journal import MemoryJournal
from tests.unit.services.test_c_shared_creates import CREATE, EVERY, LOST, Stage, bytes_of, draft, drafts, stage

HOST = "https://files.source.example/"
DEAD, CUT, WHOLE = "dead", "cut", "whole"
SHOWN = "Signature=s3cret"


@dataclass
class PullingStage(Stage):
    """The service fetches the files, or what it finds instead of them."""

    served: str = WHOLE
    opened: int = 0  # files whose bytes went through us
    linked: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.tenant.app.world.fetch = self._fetch

    async def _fetch(self, url: str) -> AsyncIterator[bytes]:
        await self.universe.clock.sleep(1.0)
        (wanted,) = [each for each in self.drafts if url == link_of(each).url]
        if self.served == DEAD:
            raise ConnectionError("403")
        data = bytes_of(wanted).data
        yield data[:-1] if self.served == CUT else data

    async def _created(self, service: Service, wanted: Draft, journal: MemoryJournal, number: int) -> AssetId:
        await self.universe.clock.sleep(number * self.later)
        data = bytes_of(wanted)

        @asynccontextmanager
        async def opened() -> AsyncIterator[Content]:
            self.opened += 1
            yield data

        if not self.linked:
            return await service.create(wanted, data, NamespacedJournal(journal, "create/"))
        file = FileRef("1", wanted.filename, data.size, "image/jpeg")
        async with LinkedContent.of(file, link_of(wanted), opened) as content:
            return await service.create(wanted, content, NamespacedJournal(journal, "create/"))


def link_of(wanted: Draft) -> FileLink:
    return FileLink(f"{HOST}{wanted.marker.value if wanted.marker else ''}?{SHOWN}", wanted.filename)


@contextmanager
def pulling(folder: Path, served: str, wanted: Any = None, **options: Any) -> Iterator[PullingStage]:
    with stage(folder, wanted, **{"fetch_seconds": 60, **options}) as usual:
        yield PullingStage(usual.universe, usual.tenant, usual.job, usual.drafts, served=served)


@pytest.mark.parametrize("served", [WHOLE, DEAD, CUT])
def test_assets_whose_files_are_fetched_share_calls(tmp_path: Path, served: str) -> None:
    with pulling(tmp_path, served, drafts(25)) as made:
        made.holds_each_once(made.live())
        assert made.calls[facts.ADD_TO_LIBRARY] == 2
        assert made.opened == (0 if served == WHOLE else 25)
        assert SHOWN not in "".join(repr(journal.done) for journal in made.journals)


@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("served", [WHOLE, DEAD, CUT])
def test_a_lost_response_doubles_no_asset_whatever_was_fetched(tmp_path: Path, fault: str, served: str) -> None:
    with pulling(tmp_path, served) as made:
        made.fail(CREATE, fault, nth=1)
        made.holds_each_once(made.live())
        assert not made.universe.network.weather.unhit()


@pytest.mark.parametrize("served", [WHOLE, DEAD, CUT])
def test_a_kill_at_any_record_leaves_no_second_asset_and_no_other_file(tmp_path: Path, served: str) -> None:
    with pulling(tmp_path, served) as made:
        made.live()
        moments = range(1, made.process.moments + 1, EVERY)
    for moment in moments:
        with pulling(tmp_path, served) as made:
            made.live(blow_at=moment)
            made.universe.do(made.universe.clock.sleep(30.0))  # meanwhile the service fetches
            for journal in made.journals:
                journal.now = made.universe.clock.now()
            found = made.live()
            assert not [each for each in found if isinstance(each, BaseException)], moment
            made.holds_each_once(found)


@pytest.mark.parametrize("linked_again", [True, False], ids=["link", "no-link"])
def test_a_file_that_was_sent_instead_is_not_sent_again_after_a_kill(tmp_path: Path, linked_again: bool) -> None:
    """Its source publishes no digest, so that only who read the bytes knows which they were."""
    with pulling(tmp_path, DEAD, drafts(1)) as made:
        made.live()
        last = made.process.moments
    tried = 0
    for moment in range(1, last + 1):
        with pulling(tmp_path, DEAD, drafts(1)) as made:
            made.live(blow_at=moment)
            (journal,) = made.journals
            if "create/sent instead" not in journal.done:
                continue
            journal.now, tried, made.linked = made.universe.clock.now(), tried + 1, linked_again
            made.holds_each_once(made.live())
            (row,) = made.rows()
            assert len(row["versions"]) == 1, moment
    assert tried


def test_a_file_that_was_sent_is_not_sent_again_because_there_is_a_link_now(tmp_path: Path) -> None:
    with pulling(tmp_path, WHOLE, drafts(1)) as made:
        made.linked = False
        made.live()
        last = made.process.moments
    for moment in range(1, last + 1):
        with pulling(tmp_path, WHOLE, drafts(1)) as made:
            made.linked = False
            made.live(blow_at=moment)
            (journal,) = made.journals
            journal.now, made.linked = made.universe.clock.now(), True
            made.holds_each_once(made.live())
            (row,) = made.rows()
            assert len(row["versions"]) == 1, moment


async def by_hand(made: Stage, wanted: Draft) -> None:
    """Somebody else creates an asset of this name, with a file of this name."""
    async with made.universe.service(made.job, "target") as editor:
        await editor.schema()
        fields = {key: value for key, value in wanted.fields.items() if key != MARKER}
        await editor.create(replace(wanted, marker=None, fields=fields), bytes_of(wanted), MemoryJournal())


def test_an_asset_that_cannot_be_distinguished_from_one_of_others_is_not_created_again(tmp_path: Path) -> None:
    with pulling(tmp_path, WHOLE, drafts(2)) as made:
        made.universe.do(by_hand(made, made.drafts[1]))
        made.fail(CREATE, "mute", nth=1)
        _, unsure = made.live()
        assert isinstance(unsure, Conflict)
        assert unsure.code == "same names"
        assert sorted(row["filename"] for row in made.rows()) == ["s-0.jpg", "s-1.jpg", "s-1.jpg"]


def test_one_refused_link_makes_nobody_elses_file_go_through_us(tmp_path: Path) -> None:
    with pulling(tmp_path, WHOLE, drafts(6)) as made:
        made.fail(CREATE, "status:422", nth=1)  # all together
        made.fail(CREATE, "status:422", nth=3)  # one of those that are created alone
        made.holds_each_once(made.live())
        assert made.opened == 1


def test_assets_of_one_name_stay_apart(tmp_path: Path) -> None:
    same = [draft(f"twin-{number}", filename="same.jpg") for number in range(3)]
    with pulling(tmp_path, CUT, same) as made:
        made.fail(CREATE, "mute", nth=2)
        first = made.live()
        made.holds_each_once(made.live() if any(isinstance(each, BaseException) for each in first) else first)


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("assets", [1, 4])
def test_a_create_that_is_denied_for_its_link_is_made_with_the_bytes(tmp_path: Path, status: int, assets: int) -> None:
    """The service refuses hosts of others, or its key may not let it fetch; the key itself is good."""
    with pulling(tmp_path, WHOLE, drafts(assets)) as made:
        made.fail(CREATE, f"status:{status}", nth=1)  # all together
        if assets > 1:
            made.fail(CREATE, f"status:{status}", nth=3)  # one of those that are created alone
        else:
            made.fail(CREATE, f"status:{status}", nth=2)
        made.holds_each_once(made.live())
        assert made.opened == 1
        assert not made.universe.network.weather.unhit()


@pytest.mark.parametrize("call", [CREATE, facts.UPLOAD_REQUEST])
def test_a_denied_key_stops_though_the_create_has_a_link(tmp_path: Path, call: str) -> None:
    """What is denied without a link, too, is no matter of the link."""
    with pulling(tmp_path, WHOLE, drafts(2)) as made:
        for denied in {CREATE, call}:
            for number in range(1, 20):
                made.fail(denied, "status:403", nth=number)
        assert [type(each) for each in made.live()] == [Denied, Denied]
        assert made.rows() == []
