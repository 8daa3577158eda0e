"""What a demo or a rehearsal starts in processes of its own: emulated services, and a server for the state."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from threading import Thread

from dam_sync.emulators import profile_of
from dam_sync.emulators.kit.profile import Profile
from dam_sync.model.errors import DamSyncError

READY_SECONDS = 60


def emulate_arguments(kind: str, job: Mapping[str, object] | None = None) -> list[str]:
    """Arguments of the `emulate` command for a tenant that a demo or a rehearsal uses. job: options of the service in
    the job, whose names of parts of the tenant the emulated one gets."""
    trial: Profile = profile_of(kind)
    options = {**trial.emulated, **trial.demo_emulated}
    if job is not None:
        options |= {key: job.get(key, default) for key, default in trial.naming.items()}
    return [kind, *(text for key, value in options.items() for text in ("--option", f"{key}={json.dumps(value)}"))]


@asynccontextmanager
async def emulated(arguments: Sequence[str]) -> AsyncIterator[str]:
    """Start an emulated service in a process of its own, return its URL, and stop it afterwards, also if this process
    is killed. Raises DamSyncError if it does not start."""
    command = ("-m", "dam_sync", "emulate", "--json", "--attached", *arguments)
    hint = "start it alone: dam-sync emulate a_hypermedia"
    async with attached(command, "the emulated service", hint) as url:
        yield url


@asynccontextmanager
async def attached(arguments: Sequence[str], what: str, hint: str) -> AsyncIterator[str]:
    """Start Python with these arguments, return the URL that it prints as JSON, and stop it afterwards. It ends with
    its standard input, also if this process is killed, and is not reached by a Ctrl-C in the terminal: calls in
    progress are finished first. Raises DamSyncError if it does not start."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield await _address(process, what, hint)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """End like after Ctrl-C when the process is terminated or its terminal is closed: no file stays behind."""
    names = (name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
    ours = [number for number in map(signal.Signals.__getitem__, names) if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def end_with_input() -> None:
    """Terminate this process when its standard input ends, which the process that started it holds open."""

    def wait() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=wait, daemon=True, name="end-with-input").start()


async def _address(process: asyncio.subprocess.Process, what: str, hint: str) -> str:
    if process.stdout is None:
        raise DamSyncError(f"{what} printed no URL")
    line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS)
    if not line:
        raise DamSyncError(f"{what} did not start", hint=hint)
    url: str = json.loads(line)["url"]
    return url
