"""Bytes of a large file are counted while they arrive, each once."""

from __future__ import annotations

from dam_sync.model.run_options import Progress
from dam_sync.transfer.arrivals import ArrivalCounter
from dam_sync.transfer.download import Download
from tests.support.transfer.byte_source import Opening, source_of

DATA = bytes(range(256)) * 1000


async def test_bytes_are_counted_while_they_arrive_and_once_however_often_they_are_read() -> None:
    source, progress = source_of(DATA, Opening(stops=100_000), Opening(whole=True)), Progress()
    counter = ArrivalCounter(source.open)
    seen = [0]
    with progress.arriving(counter):
        for _ in range(2):
            download = Download(counter.open, "film.mov", len(DATA))
            seen += [progress.bytes_so_far async for _ in download]
        assert seen == sorted(seen)
        assert 0 < seen[1] < seen[-1] == len(DATA)
        progress.arrived(counter, len(DATA))
        assert progress.bytes_so_far == len(DATA)
    assert progress.bytes_so_far == progress.bytes == len(DATA)


async def test_bytes_of_several_files_and_of_complete_ones_are_added() -> None:
    progress = Progress(bytes=7)
    first, second = (ArrivalCounter(source_of(DATA).open) for _ in range(2))
    with progress.arriving(first), progress.arriving(second):
        for counter in (first, second):
            async for _ in Download(counter.open, "film.mov", len(DATA)):
                pass
        assert progress.bytes_so_far == 7 + 2 * len(DATA)
