"""An emulated service in a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from dam_sync.emulators import profile_of
from dam_sync.emulators.kit.profile import Profile
from dam_sync.model.errors import DamSyncError

READY_SECONDS = 60


def emulate_arguments(kind: str) -> list[str]:
    """Arguments of the `emulate` command for a tenant that a demo or a rehearsal uses."""
    trial: Profile = profile_of(kind)
    options = {**trial.emulated, **trial.demo_emulated}
    return [kind, *(text for key, value in options.items() for text in ("--option", f"{key}={json.dumps(value)}"))]


@asynccontextmanager
async def emulated(arguments: Sequence[str]) -> AsyncIterator[str]:
    """Start an emulated service in a process of its own, return its URL, and stop it afterwards. Raises DamSyncError if
    it does not start."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "dam_sync", "emulate", "--json", *arguments, stdout=asyncio.subprocess.PIPE
    )
    try:
        yield await _address(process)
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def _address(process: asyncio.subprocess.Process) -> str:
    if process.stdout is None:
        raise DamSyncError("the emulated service printed no URL")
    line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS)
    if not line:
        raise DamSyncError("the emulated service did not start", hint="start it alone: dam-sync emulate a_hypermedia")
    url: str = json.loads(line)["url"]
    return url
