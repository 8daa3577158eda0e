"""Programs, as by `python -m NAME`, in processes of their own that begin at once: forked from one that has read them.

Nothing else of them differs: they live by their own clock, and end as a program ends. The worker processes that Dask
starts for them are forked as well.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it needs this module
    from tests.support.forking import Forking

NOWHERE = Path(os.devnull)


@cache
def shared() -> Forking:
    """The process that forks for the tests of this process; it ends with it."""
    from tests.support.forking import Forking

    forking = Forking(faster=1.0)
    atexit.register(forking.__exit__)
    return forking.__enter__()


class Program:
    """One at work, to be used like `subprocess.Popen`. out, err: files that its streams are added to."""

    def __init__(
        self,
        name: str,
        *arguments: str,
        out: Path = NOWHERE,
        err: Path = NOWHERE,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        order: dict[str, Any] = {"name": name, "arguments": arguments, "folder": str(Path.cwd())}
        order |= {"streams": [str(out), str(err)], "environment": dict(environment or {})}
        self.pid = int(shared().ask({"do": "program", **order})["pid"])
        self.returncode: int | None = None
        self._ended = os.pidfd_open(self.pid)

    def poll(self) -> int | None:
        """Its exit code, if it has ended; below 0 for the signal that ended it."""
        if self.returncode is None and select.select([self._ended], [], [], 0)[0]:
            self._reap()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code. Raises TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            self._reap()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """kill -9."""
        self.send_signal(signal.SIGKILL)

    def _reap(self) -> None:
        self.returncode = int(shared().ask({"do": "wait", "pid": self.pid})["code"])
        os.close(self._ended)


def run(*arguments: str, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """A command of `dam-sync`, to its end."""
    with TemporaryDirectory() as name:
        streams = Path(name, "out"), Path(name, "err")
        process = Program("dam_sync", *arguments, out=streams[0], err=streams[1])
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        out, err = (path.read_text(encoding="utf-8", errors="replace") for path in streams)
    return subprocess.CompletedProcess(arguments, code, out, err)
