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
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:  # it needs this module
    from tests.support.forking import Forking

NOWHERE = Path(os.devnull)
PIPE = Path("|")  # both outputs may go to it, and are one then
CODE = "-c"  # in place of the name of a module: the first argument is the program itself


@cache
def shared() -> Forking:
    """The process that forks for the tests of this process; it ends with it."""
    from tests.support.forking import started

    until_the_end = ExitStack()
    atexit.register(until_the_end.close)
    return until_the_end.enter_context(started(faster=1.0))


class Program:
    """One at work, to be used like `subprocess.Popen`. name: of its module, or CODE. Its input comes from a file, its
    outputs go to files that they are added to; or they are pipes, and used as `stdin`, `stdout` and `stderr`. An `err`
    of None is that of the tests. folder: where it begins.

    bounds: limit and heeding, as of `Forking.start`; apart: begins a session of its own; reading: modules that it
    needs, which are read once for it and all that follow; clustered: uses Dask, though its arguments do not say so;
    spawning: starts worker processes of Dask as programs."""

    stdin: TextIO | None = None
    stdout: TextIO | None = None
    stderr: TextIO | None = None

    def __init__(
        self,
        name: str,
        *arguments: str,
        typed: Path = NOWHERE,
        out: Path = NOWHERE,
        err: Path | None = NOWHERE,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        **bounds: Any,
    ) -> None:
        order: dict[str, Any] = {"name": name, "arguments": arguments, "folder": str(folder or Path.cwd())}
        order |= {"environment": dict(os.environ if environment is None else environment), **bounds}
        with TemporaryDirectory() as found:
            given, said = Path(found, "in"), Path(found, "out")
            order["streams"] = [
                given if typed is PIPE else typed,
                *(said if each is PIPE else each for each in (out, err)),
            ]
            for pipe in {given, said}.intersection(order["streams"]):
                os.mkfifo(pipe)
            order["streams"] = [None if each is None else str(each) for each in order["streams"]]
            self.pid = int(shared().ask({"do": "program", **order})["pid"])
            if typed is PIPE:
                self.stdin = given.open("w", encoding="utf-8")
            if PIPE in (out, err):
                reading = said.open(encoding="utf-8", errors="replace")
                self.stdout, self.stderr = (reading if each is PIPE else None for each in (out, err))
        self.returncode: int | None = None
        self._ended = os.pidfd_open(self.pid)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until it has ended; its pipes are closed."""
        for stream in (self.stdout, self.stderr):
            if stream is not None:
                stream.close()
        self._end_input()
        self.wait()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it writes to its pipes until it ends, after the end of its input. Raises TimeoutExpired for one that has
        closed them."""
        self._end_input()
        texts = []
        for stream in (self.stdout, self.stderr):
            texts.append("" if stream is None or stream.closed else stream.read())
            if stream is not None:
                stream.close()
        self.wait(timeout)
        return texts[0], texts[1]

    def _end_input(self) -> None:
        if self.stdin is not None:
            with suppress(BrokenPipeError):
                self.stdin.close()

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

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


def completed(
    name: str, *arguments: str, out: Path | None = None, timeout: float = 600, **given: Any
) -> subprocess.CompletedProcess[str]:
    """A program, to its end. out: where its results go, if they are not to be returned."""
    with TemporaryDirectory() as folder:
        streams = Path(folder, "out"), Path(folder, "err")
        process = Program(name, *arguments, out=out or streams[0], err=streams[1], **given)
        try:
            code = process.wait(timeout)
        finally:
            process.kill()
        told = [path.read_text(encoding="utf-8", errors="replace") if path.exists() else "" for path in streams]
    return subprocess.CompletedProcess(arguments, code, *told)


def run(*arguments: str, timeout: float = 600, **given: Any) -> subprocess.CompletedProcess[str]:
    """A command of `dam-sync`, to its end."""
    return completed("dam_sync", *arguments, timeout=timeout, **given)
