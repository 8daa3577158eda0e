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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
from tests.support.programs import CODE
from tests.support.state.shared_engine import empty_state

ROOT = Path(__file__).parents[2]
STREAMS = ("out", "err")
FASTER = 10.0  # a process that a busy machine lets wait must not seem to stand still for long
LONGEST = 600.0  # seconds that a command may take
CAPABILITIES, OVERRIDING = 0x20080522, 0b110  # the call's version; rights of the superuser to pass over those of files
WRITING = os.O_WRONLY | os.O_APPEND | os.O_CREAT
PR_SET_NAME, NANNY, WORKER = 15, "dask forking", "dask worker"  # names of processes
CLONE_NEWNS, CLONE_NEWUSER, MS_REC, MS_PRIVATE = 0x20000, 0x10000000, 0x4000, 1 << 18  # of unshare(2), mount(2)
FAILED_FLUSH = 120  # the exit code of Python where the end of an output cannot be written
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
    """A process that forks, at the other end of a line for orders and one for answers.

    The commands live by a clock that is so much `faster`: pauses cost little, waiting in small steps costs more.
    """

    def __init__(self, orders: IO[str], answers: IO[str], faster: float) -> None:
        self._orders, self._answers, self._faster = orders, answers, faster
        self.pid = int(self.ask({"do": "pid"})["pid"])

    @contextmanager
    def branch(self, faster: float = FASTER) -> Iterator[Forking]:
        """Another one, forked from this one, that has read the same; it ends with the block."""
        with tempfile.TemporaryDirectory() as name:
            lines = [f"{name}/orders", f"{name}/answers"]
            for line in lines:
                os.mkfifo(line)
            pid = self.ask({"do": "branch", "lines": lines})["pid"]
            orders, answers = open(lines[0], "w", encoding="utf-8"), open(lines[1], encoding="utf-8")  # noqa: SIM115
        try:
            yield Forking(orders, answers, faster)
        finally:
            orders.close()
            self.ask({"do": "wait", "pid": pid})
            answers.close()

    def unshare_mounts(self) -> bool:
        """What is mounted where it is from now on, only it and its commands see, until they have ended. False where the
        system refuses that."""
        return bool(self.ask({"do": "unshare"})["done"])

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
        self._orders.write(json.dumps(order) + "\n")
        self._orders.flush()
        answer: dict[str, Any] = json.loads(self._answers.readline())
        return answer


@contextmanager
def started(faster: float = FASTER) -> Iterator[Forking]:
    """One in a program of its own, which takes two seconds to read all that commands need."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "tests.support.forking"]
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Forking(process.stdin, process.stdout, faster)
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=20)


def _start(order: Order) -> dict[str, Any]:
    pid = os.fork()
    if pid:
        return {"pid": pid}
    code = 1
    try:
        os.dup2(os.open(order["typed"], os.O_RDONLY), 0)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 -- until the process ends
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
        for each in (sys.stdout, sys.stderr):
            each.flush()
        os._exit(code)


def _start_program(order: Order) -> dict[str, Any]:
    """See `tests.support.programs`."""
    clustered = order.get("clustered") or order["name"] == "dask"
    clustered = clustered or not {"--workers", "--cluster"}.isdisjoint(order["arguments"])
    if clustered:
        _read_cluster()
    _read_once(order.get("reading", ()))
    pid = os.fork()
    if pid:
        return {"pid": pid}
    code = 1
    try:
        _enter(order)
        if clustered and (settings := os.environ.get("DASK_CONFIG")):
            dask = import_module("dask")
            dask.config.refresh(paths=[*dask.config.paths, settings])
        if clustered and not order.get("spawning"):
            fork_workers()
        code = _program(order["name"], order["arguments"])
    except BaseException:  # noqa: BLE001 -- what nobody expected is to be seen by the test
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code if _flushed() else FAILED_FLUSH)


def _enter(order: Order) -> None:
    """The streams, the folder, the environment and the bounds of a program."""
    typed, out, err = order["streams"]
    os.dup2(os.open(typed, os.O_RDONLY), 0)
    os.dup2(os.open(out, WRITING, 0o600), 1)
    if err is not None:
        os.dup2(os.open(err, WRITING, 0o600) if err != out else 1, 2)
    _reopen_streams()
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    tempfile.tempdir = None
    if order.get("apart"):
        os.setsid()
    _bound(order)


def _reopen_streams() -> None:
    """Those of Python, for the files that are open now. Like its own, they do not close them."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def _flushed() -> bool:
    """Whether all that was written to the streams of Python has left this process."""
    done = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if not stream.closed:
                stream.flush()
        except OSError:
            done = False
    return done


def _program(name: str, arguments: Sequence[str]) -> int:
    """What Python does for `python -m`, or `python -c`, and at the end of a program."""
    try:
        if name == CODE:
            sys.argv = [CODE, *arguments[1:]]
            exec(compile(arguments[0], "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv = [name, *arguments]
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    return code


def _read_once(modules: Sequence[str]) -> None:
    """All programs that begin later have read them as well."""
    for name in modules:
        if name not in sys.modules:
            import_module(name)
            gc.freeze()


def _branch(order: Order) -> dict[str, Any]:
    """See `Forking.branch`."""
    pid = os.fork()
    if pid:
        return {"pid": pid}
    try:
        for number, (line, mode) in enumerate(zip(order["lines"], (os.O_RDONLY, os.O_WRONLY), strict=True)):
            os.dup2(os.open(line, mode), number)
        _reopen_streams()
        _serve()
    except BaseException:  # noqa: BLE001 -- the test hears of it by the end of the line
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(0)


def _unshare_mounts() -> bool:
    """See `Forking.unshare_mounts`. Who is no superuser has to be one in a namespace of users."""
    if sys.platform != "linux":
        return False
    libc, user, group = CDLL(None), os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWNS | (CLONE_NEWUSER if user else 0)):
        return False
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            Path("/proc/self", name).write_text(text, encoding="ascii")
    return not libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)


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
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(json.loads(line))) + "\n")
        sys.stdout.flush()


def _answer(order: Order) -> dict[str, Any]:
    match order["do"]:
        case "pid":
            return {"pid": os.getpid()}
        case "start":
            return _start(order)
        case "program":
            return _start_program(order)
        case "branch":
            return _branch(order)
        case "unshare":
            return {"done": _unshare_mounts()}
        case "wait":
            return {"code": os.waitstatus_to_exitcode(os.waitpid(order["pid"], 0)[1])}
        case _:
            done = subprocess.run(order["command"], capture_output=True, text=True, check=False)
            return {"code": done.returncode, "out": done.stdout + done.stderr}


def _get_ready() -> None:
    _read_the_rest()
    empty_state()  # a command may have no disk to make it on
    gc.freeze()  # what is not looked at is not copied
    gc.set_threshold(YOUNG_OBJECTS)


if __name__ == "__main__":
    _get_ready()
    _serve()
