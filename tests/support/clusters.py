"""A Dask scheduler with workers that somebody started, as the help topic `scale` says."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil  # type: ignore[import-untyped]  # it has no annotations, nor has `distributed`
from distributed import Client
from ruamel.yaml import YAML

from dam_sync.cluster.tls import ClusterSecurity
from tests.support.forking import NANNY, WORKER
from tests.support.network.raw_server import free_port
from tests.support.programs import NOWHERE, Program

WORKERS = 2
UP_SECONDS = 120  # of a busy host
HERE = "127.0.0.1"
Process = Program | subprocess.Popen[bytes]


@dataclass
class Cluster:
    """Processes of this host, without certificates. A context manager."""

    url: str = ""
    scheduler: Process | None = None
    nannies: list[Process] = field(default_factory=list)
    log: Path | None = None  # what the workers write to stderr

    def __enter__(self) -> Cluster:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start all of it, at the URL that it had before."""
        if not self.url:
            self.url = f"tcp://{HERE}:{free_port()}"
        port = self.url.rpartition(":")[2]
        self.scheduler = self._started("scheduler", "--host", HERE, "--port", port)
        workers = "--nworkers", str(WORKERS), "--nthreads", "8", "--death-timeout", str(UP_SECONDS)
        self.nannies = [self._started("worker", self.url, "--host", HERE, *workers)]
        self.until_ready()

    def _started(self, name: str, *rest: str) -> Process:
        log = NOWHERE if self.log is None or name == "scheduler" else self.log
        return Program("dask", name, *rest, "--no-dashboard", err=log)

    def until_ready(self) -> None:
        """Wait until all workers are there, also those that take the place of one that was killed."""
        until_ready(self.url)

    @property
    def workers(self) -> list[psutil.Process]:
        """The processes of its workers; a nanny starts another one for each that is killed."""
        return [each for nanny in self.nannies for each in spawned_by(nanny)]

    def kill_scheduler(self) -> None:
        """kill -9."""
        assert self.scheduler is not None
        self.scheduler.kill()
        self.scheduler.wait()

    def restart(self) -> None:
        """All of it, at the same URL."""
        self.stop()
        self.start()

    def until_workers_ended(self) -> None:
        """They end by themselves without a scheduler."""
        for each in self.nannies:
            each.wait(UP_SECONDS)

    def stop(self) -> None:
        """End all of it; what it leaves behind is killed."""
        for each in (self.scheduler, *self.nannies):
            if each is not None:
                end(each)


def until_ready(url: str, settings: Path | None = None) -> None:
    """Wait until the workers of a scheduler are there. settings: of Dask, in a file, with certificates."""
    security = None
    if settings is not None:
        tls = YAML(typ="safe").load(settings)["distributed"]["comm"]["tls"]
        files = {"tls_client_cert": tls["client"]["cert"], "tls_client_key": tls["client"]["key"]}
        security = ClusterSecurity(  # type: ignore[no-untyped-call]
            tls_ca_file=tls["ca-file"], require_encryption=True, **files
        )
    client = Client(  # type: ignore[no-untyped-call]
        url, timeout=UP_SECONDS, set_as_default=False, security=security
    )
    with client:
        client.wait_for_workers(WORKERS, timeout=UP_SECONDS)


def end(process: Process) -> None:
    """Kill a process and the workers that it started."""
    workers = spawned_by(process)
    process.kill()
    process.wait()
    kill(workers)
    psutil.wait_procs(workers, timeout=UP_SECONDS)


def spawned_by(process: Process) -> list[psutil.Process]:
    """The worker processes of a coordinator, or of a nanny."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(process.pid).children(recursive=True)
        return [each for each in children if is_worker(each)]
    return []


def is_worker(process: psutil.Process) -> bool:
    """Whether it was started by a nanny, as a program or forked. Since Python 3.14 the name of a thread, which Dask
    sets, is that of a process, too."""
    with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        if process.name() == WORKER or "spawn_main" in " ".join(process.cmdline()):
            return True
        parent = process.parent()
        return parent is not None and parent.name() == NANNY
    return False


def kill(processes: list[psutil.Process]) -> None:
    """kill -9."""
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.kill()
