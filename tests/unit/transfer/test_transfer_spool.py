"""Spool files are the owner's alone, removed after use and after a crash, and say when the disk is full."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dam_sync.model.errors import ConfigError, DiskFull
from dam_sync.transfer.spool import clean_spool, spool_file

MIB = 1024 * 1024


async def spooled(folder: Path, *blocks: bytes) -> None:
    async with spool_file(folder) as file:
        for block in blocks:
            await file.append(block)
        await file.flush()


async def test_what_is_written_can_be_read_as_often_as_needed(tmp_path: Path) -> None:
    async with spool_file(tmp_path / "spool") as file:
        await file.append(b"abc")
        await file.append(b"defg")
        await file.flush()
        assert await file.read(2, 5) == b"cde"
        for _ in range(2):
            assert [block async for block in file.blocks(3)] == [b"abc", b"def", b"g"]
    assert list((tmp_path / "spool").iterdir()) == []


async def test_a_file_that_somebody_removes_can_still_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    async with spool_file(folder) as file:
        await file.append(b"abcdefg")
        await file.flush()
        shutil.rmtree(folder)
        assert await file.read(2, 5) == b"cde"
        assert [block async for block in file.blocks(4, 1)] == [b"bcde", b"fg"]
        async with spool_file(folder) as other:
            await other.append(b"x")
    assert list(folder.iterdir()) == []


async def test_only_the_owner_may_look(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "spool"
    async with spool_file(folder):
        [path] = folder.iterdir()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_an_error_inside_removes_the_file(tmp_path: Path) -> None:
    async def work() -> None:
        async with spool_file(tmp_path) as file:
            await file.append(b"x")
            raise KeyError

    with pytest.raises(KeyError):
        await work()
    assert list(tmp_path.iterdir()) == []


async def test_a_cancellation_at_any_moment_removes_the_file(tmp_path: Path) -> None:
    for turns in range(1, 9):  # of the loop, until the task is cancelled
        writing = asyncio.create_task(spooled(tmp_path, *[b"x"] * 8))
        for _ in range(turns):
            await asyncio.sleep(0)
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
        assert list(tmp_path.iterdir()) == []


async def test_a_folder_that_cannot_be_used_is_an_error_for_the_operator(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file is in the way")
    with pytest.raises(ConfigError, match="cannot use the spool folder") as caught:
        async with spool_file(tmp_path / "spool"):
            pass
    assert caught.value.hint


async def test_cleaning_the_spool_leaves_files_in_use_and_files_of_others(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    (tmp_path / "spool-left.part").touch()
    async with spool_file(tmp_path) as file:
        assert clean_spool(tmp_path) == 1
        await file.append(b"still here")
        await file.flush()
        assert await file.read(0, 5) == b"still"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    assert clean_spool(tmp_path / "nowhere") == 0


KILLED = """
import asyncio, sys
from pathlib import Path
from dam_sync.transfer.spool import spool_file
async def main():
    async with spool_file(Path(sys.argv[1])) as file:
        await file.append(b"x" * 100)
        print("open", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""


async def test_a_killed_process_leaves_files_that_the_next_one_removes(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"open\n"
        assert clean_spool(tmp_path) == 0
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert len(list(tmp_path.iterdir())) == 1
    assert clean_spool(tmp_path) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount a small disk here; the test with a failing write stands in")
    yield folder
    subprocess.run(["umount", folder], check=True)


async def test_a_full_disk_is_reported_and_the_file_removed(tiny_disk: Path) -> None:
    with pytest.raises(DiskFull, match="no space left in the spool folder") as caught:
        await spooled(tiny_disk, bytes(MIB), bytes(MIB), bytes(MIB))
    assert caught.value.hint
    assert list(tiny_disk.iterdir()) == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
async def test_a_disk_that_fills_up_when_the_file_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def full(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(tempfile, "mkstemp", full)
    with pytest.raises(DiskFull):
        async with spool_file(tmp_path):
            pass


async def test_a_write_that_finds_no_room_on_a_real_device(tmp_path: Path) -> None:
    device = Path("/dev/full")
    if not device.exists():
        pytest.skip("this system has no device that is always full")
    descriptor = os.open(device, os.O_RDWR)
    path = tmp_path / "spool-x.part"
    path.touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "mkstemp", lambda *_: (descriptor, str(path)))
        with pytest.raises(DiskFull):
            await spooled(tmp_path, b"small enough to wait in a buffer")
    assert not path.exists()


async def test_who_has_the_last_block_leaves_no_file_open(tmp_path: Path) -> None:
    """A body of known length is read to its length and not asked for more; an open file would be a warning."""
    async with spool_file(tmp_path) as file:
        await file.append(b"abcdefg")
        await file.flush()
        async for block in file.blocks(3):
            if block == b"g":
                break
        async for block in file.blocks(3, 1, 4):
            assert block == b"bcd"
            break
    gc.collect()
