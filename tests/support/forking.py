"""Commands of `dam-sync` in processes of their own that begin at once: forked from one that has read the program.

`python -m tests.support.forking` takes orders as lines of JSON and answers each with a line of JSON.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import resource
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from ctypes import CDLL, c_uint32, get_errno
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import forkserver, resource_tracker
from multiprocessing.connection import arbitrary_address  # type: ignore[attr-defined]
from pathlib import Path
from pkgutil import walk_packages
from typing import IO, Any

import pytest
import typer.main

from dam_sync import services
from dam_sync.cli import YOUNG_OBJECTS, cli
from tests.support.jobs import small_jobs
from tests.support.jobs.small_jobs import Ran, hurry, set_right
from tests.support.state.shared_engine import empty_state

ROOT = Path(__file__).parents[2]
STREAMS = ("out", "err")
FASTER = 10.0  # a process that a busy machine lets wait must not seem to stand still for long
LONGEST = 600.0  # seconds that a command may take
CAPABILITIES, OVERRIDING = 0x20080522, 0b110  # the call's version; rights of the superuser to pass over those of files
WRITING = os.O_WRONLY | os.O_APPEND | os.O_CREAT
PR_SET_NAME, NANNY, WORKER = 15, "dask forking", "dask worker"  # names of processes
Order = Mapping[str, Any]
COMMAND_LINE = typer.main.get_command(cli)


@dataclass(slots=True)
class Forked:
    """A command at work."""

    pid: int
    forking: Forking
    readers: list[threading.Thread] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    spoken: threading.Event = field(default_factory=threading.Event)

    @property
    def first_line(self) -> str:
        """Of what it says, once it has said it; what is there, where it ended without."""
        self.spoken.wait()
        return self.texts["out"].splitlines()[0]

    def wait(self) -> Ran:
        """What it said, and its exit code once it has ended; below 0 for the signal that ended it. One that hangs is
        killed."""
        guard = threading.Timer(LONGEST, os.kill, (self.pid, signal.SIGKILL))
        guard.start()
        try:
            code = self.forking.ask({"do": "wait", "pid": self.pid})["code"]
        finally:
            guard.cancel()
        for reader in self.readers:
            reader.join()
        return Ran(int(code), self.texts["out"], self.texts["err"])

    def end(self, how: int = signal.SIGKILL) -> Ran:
        """kill -9, or another signal, and wait until it is gone."""
        os.kill(self.pid, how)
        return self.wait()


class Forking:
    """The process that forks, begun by `before` (a program that starts another). A context manager.

    The commands live by a clock that is so much `faster`: pauses cost little, waiting in small steps costs more.
    """

    def __init__(self, before: Sequence[str] = (), faster: float = FASTER) -> None:
        self._faster = faster
        self._command = [*before, sys.executable, "-m", "tests.support.forking"]

    def __enter__(self) -> Forking:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT)
        self.pid = int(self.ask({"do": "pid"})["pid"])
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=20)

    def start(
        self,
        *arguments: str,
        limit: int = -1,
        heeding: bool = False,
        folder: Path = ROOT,
        typed: str = "",
        **environment: str,
    ) -> Forked:
        """Begin a command. limit: bytes that any file may grow to, below 0 for none. heeding: rights of files bind it
        also where it is the superuser's. folder: where it begins; typed: its standard input."""
        with tempfile.TemporaryDirectory() as name:
            pipes = {stream: f"{name}/{stream}" for stream in STREAMS}
            for pipe in pipes.values():
                os.mkfifo(pipe)
            order = {"arguments": arguments, "environment": environment, "limit": limit, "heeding": heeding}
            order |= {"folder": str(folder), "typed": f"{name}/typed"}
            Path(name, "typed").write_text(typed, encoding="utf-8")
            order["faster"] = self._faster
            forked = Forked(int(self.ask({"do": "start", "pipes": pipes, **order})["pid"]), self)
            for stream, pipe in pipes.items():
                reading = os.fdopen(os.open(pipe, os.O_RDONLY), encoding="utf-8", errors="replace")
                forked.readers.append(threading.Thread(target=_read, args=(reading, stream, forked)))
        for reader in forked.readers:
            reader.start()
        return forked

    def sh(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Another program, started where the commands are."""
        done = self.ask({"do": "sh", "command": command})
        return subprocess.CompletedProcess(command, done["code"], done["out"])

    def ask(self, order: Order) -> dict[str, Any]:
        """Send an order; returns the response."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def _start(order: Order) -> dict[str, Any]:
    pid = os.fork()
    if pid:
        return {"pid": pid}
    code = 1
    try:
        os.dup2(os.open(order["typed"], os.O_RDONLY), 0)
        sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 -- until the process ends
        for number, stream in enumerate(STREAMS, 1):
            os.dup2(os.open(order["pipes"][stream], os.O_WRONLY), number)
        os.chdir(order["folder"])
        os.environ.update(order["environment"])
        tempfile.tempdir = None  # looked for again
        _bound(order)
        small_jobs.FASTER = order["faster"]
        code = _command(order["arguments"])
    except BaseException:  # noqa: BLE001 -- what nobody expected is to be seen by the test
        sys.excepthook(*sys.exc_info())
    finally:
        for output in (sys.stdout, sys.stderr):
            output.flush()
        os._exit(code)


def _start_program(order: Order) -> dict[str, Any]:
    """See `tests.support.programs`."""
    clustered = order["name"] == "dask" or not {"--workers", "--cluster"}.isdisjoint(order["arguments"])
    if clustered:
        _read_cluster()
    pid = os.fork()
    if pid:
        return {"pid": pid}
    code = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        out, err = order["streams"]
        os.dup2(os.open(out, WRITING, 0o600), 1)
        os.dup2(os.open(err, WRITING, 0o600) if err != out else 1, 2)
        sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 -- until it ends
        os.chdir(order["folder"])
        os.environ.clear()
        os.environ.update(order["environment"])
        tempfile.tempdir = None
        if order.get("apart"):
            os.setsid()
        _bound(order)
        if clustered and (settings := os.environ.get("DASK_CONFIG")):
            dask = import_module("dask")
            dask.config.refresh(paths=[*dask.config.paths, settings])
        if clustered and not order.get("spawning"):
            fork_workers()
        code = _program(order["name"], order["arguments"])
    except BaseException:  # noqa: BLE001 -- what nobody expected is to be seen by the test
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _program(name: str, arguments: Sequence[str]) -> int:
    """What Python does for `python -m`, and at the end of a program."""
    sys.argv = [name, *arguments]
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    return code


def _read_cluster() -> None:
    """What a coordinator, a scheduler and a worker process import."""
    for name in ("distributed.cli.dask_worker", "distributed.cli.dask_scheduler", "dam_sync.cluster.workers"):
        import_module(name)
    for name in ("dam_sync.api.processes.worker_process", "dam_sync.cluster.preload", "psycopg"):
        import_module(name)
    resource_tracker.ensure_running()
    gc.freeze()


def fork_workers() -> None:
    """Worker processes of Dask are forked from this process as it is now: from one that multiprocessing would start as
    a program, which is its only child, and ends with it and them."""
    dask = import_module("dask")
    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    forkserver.set_forkserver_preload([])
    utils: Any = import_module("distributed.utils")
    utils._forkserver_preload_set = True
    found: Any = forkserver._forkserver
    with socket.socket(socket.AF_UNIX) as listener:
        address = arbitrary_address("AF_UNIX")
        listener.bind(address)
        listener.listen()
        alive, found._forkserver_alive_fd = os.pipe()
        more = _key_of(found)
        pid = os.fork()
        if not pid:
            os.close(found._forkserver_alive_fd)
            _name(NANNY)
            os.register_at_fork(after_in_child=lambda: _name(WORKER))
            try:
                forkserver.main(listener.detach(), alive, [], **more)
            finally:
                os._exit(0)
        os.close(alive)
    found._forkserver_address, found._forkserver_pid = address, pid


def _key_of(found: Any) -> Mapping[str, Any]:
    """Where the server reads the key that its clients have to know since Python 3.14; nothing before."""
    length = getattr(forkserver, "_AUTHKEY_LEN", 0)
    if not length:
        return {}
    reading, writing = os.pipe()
    found._forkserver_authkey = os.urandom(length)
    os.write(writing, found._forkserver_authkey)
    os.close(writing)
    return {"authkey_r": reading}


def _name(name: str) -> None:
    """What others see of this process."""
    CDLL(None).prctl(PR_SET_NAME, name.encode())


def _bound(order: Order) -> None:
    """What this process may do from now on."""
    if (limit := order.get("limit", -1)) >= 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    if order.get("heeding"):
        _heed()


def _heed() -> None:
    """Give up the rights that pass over those of files."""
    libc = CDLL(None, use_errno=True)
    header, rights = (c_uint32 * 2)(CAPABILITIES, 0), (c_uint32 * 6)()
    if libc.capget(header, rights) == 0:
        for part in (0, 1):  # effective, permitted
            rights[part] &= ~OVERRIDING
        if libc.capset(header, rights) == 0:
            return
    raise OSError(get_errno(), "cannot give up rights")


def _read(reading: IO[str], stream: str, forked: Forked) -> None:
    forked.texts[stream] = ""
    with reading:
        for line in reading:
            forked.texts[stream] += line
            if stream == "out":
                forked.spoken.set()
    if stream == "out":
        forked.spoken.set()


def _command(arguments: Sequence[str]) -> int:
    hurry(pytest.MonkeyPatch())
    set_right()
    try:
        COMMAND_LINE(arguments, obj={"clock": small_jobs.CLOCK, "storage": small_jobs.STORAGE})
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def _read_the_rest() -> None:
    """What a command imports when it runs: the services, and what they need."""
    for each in walk_packages(services.__path__, f"{services.__name__}."):
        import_module(each.name)
    import_module("dam_sync.http.transport")
    import_module("dam_sync.api.jobs")


def _serve() -> None:
    _read_the_rest()
    empty_state()  # a command may have no disk to make it on
    gc.freeze()  # what is not looked at is not copied
    gc.set_threshold(YOUNG_OBJECTS)
    answer: dict[str, Any]
    for line in sys.stdin:
        order = json.loads(line)
        match order["do"]:
            case "pid":
                answer = {"pid": os.getpid()}
            case "start":
                answer = _start(order)
            case "program":
                answer = _start_program(order)
            case "wait":
                answer = {"code": os.waitstatus_to_exitcode(os.waitpid(order["pid"], 0)[1])}
            case _:
                done = subprocess.run(order["command"], capture_output=True, text=True, check=False)
                answer = {"code": done.returncode, "out": done.stdout + done.stderr}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
