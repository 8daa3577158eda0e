"""The credential store: durable before it returns, for its owner alone, never half a file."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import stat
import sys
from pathlib import Path

import pytest

from dam_sync.http.auth.base import RotatingToken
from dam_sync.http.messages import Request, Response
from dam_sync.model.clock import SystemClock
from dam_sync.model.errors import ConfigError, DiskFull
from dam_sync.store.credential_store import PAUSE_SECONDS, ROOM, FileCredentialStore


async def test_a_secret_comes_back_in_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "new" / "job.vault"
    assert await FileCredentialStore(path).load("e") is None
    await FileCredentialStore(path).save("e", "wrt_demo_1")
    await FileCredentialStore(path).save("e", "wrt_demo_2")
    await FileCredentialStore(path).save("b", "other")
    credentials = FileCredentialStore(path)
    assert (await credentials.load("e"), await credentials.load("b"), await credentials.load("x")) == (
        "wrt_demo_2",
        "other",
        None,
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert "wrt_demo" not in repr(credentials)


async def test_names_of_stored_credentials_are_listed_without_a_write(tmp_path: Path) -> None:
    credentials = FileCredentialStore(tmp_path / "job.vault")
    assert await credentials.names("up") == []
    assert not list(tmp_path.iterdir())
    for name, secret in (("up-0", "link"), ("up-1", "link"), ("token", "secret"), ("up-0", "")):
        await credentials.save(name, secret)
    assert await credentials.names("up") == ["up-1"]


async def test_saves_at_once_lose_nothing(tmp_path: Path) -> None:
    sharing = [FileCredentialStore(tmp_path / "job.vault") for _ in range(8)]
    await asyncio.gather(*(credentials.save(f"k{number}", str(number)) for number, credentials in enumerate(sharing)))
    assert [await sharing[0].load(f"k{number}") for number in range(8)] == [str(number) for number in range(8)]


async def test_changes_by_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    sharing = [FileCredentialStore(tmp_path / "job.vault") for _ in range(2)]
    await asyncio.gather(*(sharing[n % 2].change("links", lambda was, n=n: f"{was}{n}") for n in range(8)))
    assert sorted(await sharing[0].load("links") or "") == sorted("01234567")


def stop_before_rename(patch: pytest.MonkeyPatch) -> None:
    def no_power(*_: object) -> None:
        raise KeyError("no power")

    patch.setattr(os, "replace", no_power)


async def test_after_a_crash_before_the_rename_the_next_opening_takes_the_complete_file_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    credentials = FileCredentialStore(tmp_path / "job.vault")
    await credentials.save("e", "old")
    await credentials.load("e")
    stop_before_rename(monkeypatch)
    with pytest.raises(KeyError):
        await credentials.save("e", "used-up-without-it")
    monkeypatch.undo()
    next_file = tmp_path / "job.vault.new"
    assert b"used-up-without-it" in next_file.read_bytes()
    next_file.write_bytes(next_file.read_bytes() + bytes(ROOM))  # as if it had crashed before the space was cut off
    assert await credentials.load("e") == "used-up-without-it"
    assert b"used-up" not in next_file.read_bytes()
    assert stat.S_IMODE(credentials.path.stat().st_mode) == 0o600
    assert await FileCredentialStore(credentials.path).names("e") == ["e"]


@pytest.mark.parametrize("opened", ["load", "names", "save"])
async def test_an_incomplete_next_file_is_removed_with_its_secret(tmp_path: Path, opened: str) -> None:
    credentials = FileCredentialStore(tmp_path / "job.vault")
    await credentials.save("e", "old")
    await credentials.load("e")
    next_file = tmp_path / "job.vault.new"
    with next_file.open("r+b") as file:
        file.write(b'{"e": "half a secr')
    match opened:
        case "load":
            assert await credentials.load("e") == "old"
        case "names":
            assert await credentials.names("e") == ["e"]
        case _:
            await credentials.save("b", "other")
    assert not next_file.exists() or b"half" not in next_file.read_bytes()
    assert await credentials.load("e") == "old"


@pytest.mark.parametrize("how", ["readable", "linked"])
async def test_a_next_file_that_others_may_have_made_or_read_is_not_taken_over(tmp_path: Path, how: str) -> None:
    credentials = FileCredentialStore(tmp_path / "job.vault")
    await credentials.save("e", "old")
    next_file = tmp_path / "job.vault.new"
    next_file.write_text('{"e": "planted"}', encoding="utf-8")
    next_file.chmod(0o644 if how == "readable" else 0o600)
    if how == "linked":
        (tmp_path / "second name").hardlink_to(next_file)
    with pytest.raises(ConfigError) as refused:
        await credentials.load("e")
    assert str(next_file) in refused.value.message
    assert "planted" not in f"{refused.value.message} {refused.value.hint}"
    next_file.unlink()
    assert await credentials.load("e") == "old"


async def test_a_file_others_may_read_is_refused(tmp_path: Path) -> None:
    credentials = FileCredentialStore(tmp_path / "job.vault")
    await credentials.save("e", "wrt_demo_1")
    credentials.path.chmod(0o644)
    with pytest.raises(ConfigError, match="other users may have read") as told:
        await credentials.load("e")
    assert "wrt_demo" not in str(told.value)
    assert "chmod 600" in told.value.hint


@pytest.mark.parametrize("text", ["", "{", "[]", '{"e": 1}', '{"e": "wrt_demo_1"'])
async def test_a_damaged_file_is_reported_without_its_content(tmp_path: Path, text: str) -> None:
    credentials = FileCredentialStore(tmp_path / "job.vault")
    credentials.path.write_text(text)
    credentials.path.chmod(0o600)
    with pytest.raises(ConfigError, match="damaged") as told:
        await credentials.load("e")
    assert "wrt_demo" not in str(told.value)


class Story:
    """What is flushed, put in place and sent, in order. `named`: what is at these paths when a flush comes."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.told: list[str] = []
        flush, replace = os.fsync, os.replace

        def fsync(handle: int) -> None:
            flush(handle)
            paths = (folder, *folder.iterdir())
            self.told.append(
                f"flush {next(path.name for path in paths if os.path.samestat(path.stat(), os.fstat(handle)))}"
            )

        def put(fresh: Path, path: Path) -> None:
            replace(fresh, path)
            self.told.append(f"{fresh.name} becomes {path.name}")

        patch.setattr(os, "fsync", fsync)
        patch.setattr(os, "replace", put)


async def test_a_refresh_token_is_deleted_only_when_the_next_one_has_space_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy in its place and room first, then the call that uses the old one up; then bytes, name, folder; only then
    the new access token."""
    folder = tmp_path / "state"
    credentials = FileCredentialStore(folder / "job.vault")
    token = RotatingToken("http://127.0.0.1/token", "client-1", "secret-1", "wrt_1", credentials, "e", SystemClock())
    await credentials.save("other", "there before")
    (folder / "job.vault.new").unlink(missing_ok=True)
    story = Story(monkeypatch, folder)

    async def exchange(request: Request) -> Response:
        assert isinstance(request.body, bytes)
        story.told.append(f"send {json.loads(request.body)['refresh_token']}")
        body = json.dumps({"access_token": "wat_2", "refresh_token": "wrt_2", "expires_in": 3600}).encode()
        return Response(200, {"content-type": "application/json"}, body)

    token.attach(exchange)
    story.told.append(f"use {(await token.headers())['Authorization']}")
    assert story.told == [
        "flush state",  # where the lock of the renewal is
        "flush job.vault.new",
        "job.vault.new becomes job.vault",
        "flush state",
        "flush job.vault.new",
        "send wrt_1",
        "flush job.vault.new",
        "job.vault.new becomes job.vault",
        "flush state",
        "use Bearer wat_2",
    ]
    (name,) = await FileCredentialStore(credentials.path).names("e-")
    assert "wrt_2" in str(await FileCredentialStore(credentials.path).load(name))


async def test_a_file_that_cannot_be_replaced_is_refused_before_its_token_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that is mounted into a container by itself."""
    credentials = FileCredentialStore(tmp_path / "job.vault")
    await credentials.save("e", "wrt_1")

    def mounted(*_: object) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(os, "replace", mounted)
    with pytest.raises(ConfigError, match="the credentials file") as refused:
        await credentials.load("e")
    assert "wrt_" not in str(refused.value)
    assert f"mount the folder {tmp_path}" in refused.value.hint
    monkeypatch.undo()
    assert await credentials.load("e") == "wrt_1"


async def test_the_first_file_and_its_folders_outlast_a_power_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[os.stat_result] = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle)))
    await FileCredentialStore(tmp_path / "new" / "deep" / "job.vault").save("e", "wrt_1")
    for folder in (tmp_path, tmp_path / "new", tmp_path / "new" / "deep"):
        assert any(os.path.samestat(folder.stat(), found) for found in flushed), folder


def no_room(patch: pytest.MonkeyPatch) -> None:
    """From now on no file grows."""
    real = os.fdopen

    class Full:
        def __init__(self, handle: int, mode: str) -> None:
            self._out = real(handle, mode)
            self._size = os.fstat(handle).st_size

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self._out.close()

        def write(self, data: bytes) -> int:
            if len(data) > self._size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return self._out.write(data)

        def __getattr__(self, name: str) -> object:
            return getattr(self._out, name)

    patch.setattr(os, "fdopen", Full)


async def test_what_was_loaded_can_be_replaced_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials = FileCredentialStore(tmp_path / "job.vault")
    await credentials.save("e", "wrt_1")
    assert await credentials.load("e") == "wrt_1"
    no_room(monkeypatch)
    await credentials.save("e", "wrt_2")
    with pytest.raises(DiskFull, match="no space left to write the credentials file") as told:
        await credentials.load("e")
    assert str(tmp_path) in told.value.hint
    assert "wrt_" not in str(told.value)
    monkeypatch.undo()
    assert await credentials.load("e") == "wrt_2"
    assert [path.name for path in tmp_path.iterdir() if path.stat().st_mode & 0o077] == []


async def test_space_that_a_crash_left_incomplete_is_reserved_again(tmp_path: Path) -> None:
    credentials = FileCredentialStore(tmp_path / "job.vault")
    room = tmp_path / "job.vault.new"
    room.write_bytes(b'{"e": "wrt_half')
    assert await credentials.load("e") is None
    assert room.stat().st_size >= ROOM
    assert set(room.read_bytes()) == {0}
    assert stat.S_IMODE(room.stat().st_mode) == 0o600


RENEWER = """
import asyncio, sys
from pathlib import Path
from dam_sync.store.credential_store import FileCredentialStore

async def main():
    async with FileCredentialStore(Path(sys.argv[1])).renewing("e"):
        print("held", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


async def test_one_process_at_a_time_renews_a_credential_and_its_end_ends_the_renewal(tmp_path: Path) -> None:
    path, order = tmp_path / "job.vault", []
    program = (sys.executable, "-c", RENEWER, str(path))
    other = await asyncio.create_subprocess_exec(
        *program, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert other.stdout is not None
    assert await other.stdout.readline() == b"held\n"

    async def renew() -> None:
        async with FileCredentialStore(path).renewing("e"):
            order.append("ours")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(renew())
        async with FileCredentialStore(path).renewing("another"):
            await FileCredentialStore(path).save("e", "saved meanwhile")
        for _ in range(3):  # the event loop is free while the other process holds it
            await asyncio.sleep(2 * PAUSE_SECONDS)
        assert not order
        order.append("theirs ends")
        other.kill()
    await other.wait()
    assert order == ["theirs ends", "ours"]
    assert all(stat.S_IMODE(each.stat().st_mode) == 0o600 for each in tmp_path.iterdir())


async def test_a_renewal_that_is_cancelled_while_it_waits_holds_nothing(tmp_path: Path) -> None:
    credentials = FileCredentialStore(tmp_path / "job.vault")

    async def renew() -> None:
        async with credentials.renewing("e"):
            pass

    async with credentials.renewing("e"):
        waiting = asyncio.create_task(renew())
        await asyncio.sleep(2 * PAUSE_SECONDS)
        waiting.cancel()
        await asyncio.wait([waiting])
    await renew()


async def test_processes_that_share_a_file_spend_each_refresh_token_once(tmp_path: Path) -> None:
    """As six commands of one job at the same time: one asks, the others use what it got."""
    spent: list[str] = []

    async def exchange(request: Request) -> Response:
        refresh_token = json.loads(request.body)["refresh_token"]
        await asyncio.sleep(0.05)
        spent.append(refresh_token)
        grant = {"access_token": f"access-{len(spent)}", "refresh_token": f"refresh-{len(spent)}", "expires_in": 3600}
        return Response(200, {}, json.dumps(grant).encode())

    def token() -> RotatingToken:
        made = RotatingToken(
            "https://e.example/token",
            "client",
            "client-secret-1",
            "refresh-0",
            FileCredentialStore(tmp_path / "job.vault"),
            "e",
            SystemClock(),
        )
        made.attach(exchange)
        return made

    tokens = [token() for _ in range(6)]
    first = await asyncio.gather(*(each.headers() for each in tokens))
    await asyncio.gather(*(each.renew(seen) for each, seen in zip(tokens, first, strict=True)))
    assert spent == ["refresh-0", "refresh-1"]
    assert {(await each.headers())["Authorization"] for each in tokens} == {"Bearer access-2"}
