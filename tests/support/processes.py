"""Emulators and runs in processes of their own, so that what a run takes can be measured."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from tests.support.jobs.bulk_jobs import Written
from tests.support.jobs.tenants import Pair, Tenant, joined
from tests.support.measuring.peak_memory import peak_of

BACK = """\
version: 1
name: back
source:
  kind: e_profiles
  base_url: {source}
  tenant_url: {source}
  auth: {{flow: token, token: "${{file:secrets/e_profiles}}"}}
target:
  kind: a_hypermedia
  base_url: {target}
  auth: {{flow: basic, login: dam-sync, password: "${{file:secrets/a_hypermedia}}"}}
mapping: {mapping}
state: {state}
{more}
"""
STOP_SECONDS = 20
TICK = 0.02


@contextmanager
def emulating(kind: str, catalogue: Path, files: Path | None = None, **options: Any) -> Iterator[Tenant]:
    """One emulated service in a process of its own, for as long as the block runs."""
    command = [sys.executable, "-m", "dam_sync", "emulate", kind, "--json", "--load", str(catalogue)]
    command += ["--files", str(files)] if files else []
    for key, value in options.items():
        command += ["--option", f"{key}={json.dumps(value)}"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "the emulated service did not start"
        yield Tenant(json.loads(line)["url"], pid=process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        _end(process)
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def processes(
    folder: Path,
    written: Written,
    *,
    options: str = "version_policy: file_only",
    more: str = "",
    source_options: Mapping[str, Any] | None = None,
    target_options: Mapping[str, Any] | None = None,
) -> Iterator[Pair]:
    """Both tenants, and a job between them with its state in the folder."""
    first = {"lag": 0.2, **(source_options or {})}
    second = {"lag": 0.2, "rate": None, **(target_options or {})}
    with (
        emulating("a_hypermedia", written.source, written.files, **first) as source,
        emulating("e_profiles", written.target, **second) as target,
    ):
        yield joined(folder, source, target, written.mapping, options=options, more=more)


@contextmanager
def processes_back(
    folder: Path,
    written: Written,
    *,
    more: str = "",
    source_options: Mapping[str, Any] | None = None,
    target_options: Mapping[str, Any] | None = None,
) -> Iterator[Pair]:
    """The other way round: from service E to service A."""
    first = {"lag": 0.2, "rate": None, **(source_options or {})}
    second = {"lag": 0.2, **(target_options or {})}
    with (
        emulating("e_profiles", written.source, written.files, **first) as source,
        emulating("a_hypermedia", written.target, **second) as target,
    ):
        yield joined(folder, source, target, written.mapping, template=BACK, more=more)


class Measured:
    """A `dam-sync` process whose peak memory is watched. A context manager; leaving it kills what still runs."""

    def __init__(self, *arguments: str) -> None:
        self._command = [sys.executable, "-m", "dam_sync", *arguments]
        self.peak = 0  # bytes
        self.seconds = 0.0
        self.output = self.errors = ""

    def __enter__(self) -> Measured:
        self._files = [_scratch(), _scratch()]
        self._began = time.monotonic()
        self.process = subprocess.Popen(self._command, stdout=self._files[0], stderr=self._files[1])
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for file in self._files:
            file.close()

    def wait(self, *expected: int) -> int:
        """Its exit code, which must be 0 or one of those expected."""
        code = self.process.wait()
        self.seconds = time.monotonic() - self._began
        self._watcher.join()
        self.output, self.errors = (_text(file) for file in self._files)
        assert code in (expected or (0,)), f"exit {code}\n{self.output[-2000:]}\n{self.errors[-2000:]}"
        return code

    @property
    def report(self) -> Any:
        """What it printed, with --json."""
        return json.loads(self.output)

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        """kill -9."""
        if self.running:
            self.process.kill()
        self.process.wait()
        self._watcher.join()

    def _watch(self) -> None:
        own = False
        while self.process.returncode is None:
            try:
                own = own or Path(os.readlink(f"/proc/{self.process.pid}/exe")) == Path(sys.executable).resolve()
                found = peak_of(self.process.pid)
            except OSError:
                return
            if found and own:
                self.peak = max(self.peak, found)
            time.sleep(TICK)


def measured(*arguments: str) -> Measured:
    """A process run to its end."""
    with Measured(*arguments) as run:
        run.wait()
    return run


def _scratch() -> IO[bytes]:
    return TemporaryFile()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
