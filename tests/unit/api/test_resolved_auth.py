"""A command that prints a secret takes its time, and holds nothing else up."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from dam_sync.api.resolved_auth import resolved_auth
from dam_sync.config.side import Auth
from dam_sync.services import discover


async def test_other_work_goes_on_while_a_command_is_asked_for_a_secret(tmp_path: Path) -> None:
    """The command ends only when other work of the process gives it the secret."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def other_work() -> None:
        while True:
            try:
                handle = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # nobody reads it yet
                await asyncio.sleep(0.01)
                continue
            os.write(handle, b"token-9f8e7d6c5b4a\n")
            os.close(handle)
            return

    auth = Auth.model_validate({"flow": "token", "token": f"${{command:cat {pipe}}}"})
    found, _ = await asyncio.gather(resolved_auth(discover()["c_brandlibrary"], auth), other_work())
    assert found is not None
    assert found.model_dump()["token"] == "token-9f8e7d6c5b4a"
