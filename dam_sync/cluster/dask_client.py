"""Opens a cluster: worker processes of this computer, or those of a scheduler that somebody started."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from dam_sync.cluster import preload
from dam_sync.model.errors import ConfigError, WorkersGone
from dam_sync.model.extras import install_hint

THREADS = 64  # most assets that one process writes at once; they are coroutines, so that no thread is started for them
CONNECT_SECONDS = 15
GRACE_SECONDS = 5.0  # after which a connection that Dask still waits for is given up
START_SECONDS = 120  # of all worker processes of this computer together, which may be busy
ANSWER_SECONDS = 10.0
LOOPBACK = "127.0.0.1"
SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # what a lost worker had is put back by us, not run again by Dask
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.memory.terminate": False,  # memory is bounded by us
    "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
    "distributed.admin.log-length": 0,
    # by default, workers give memory back to the system after each larger block, and get it back empty for the next
    # one: more than twice the processor time for bytes of files
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    # by default, every process looks at itself up to 100 times a second, which takes a tenth of a core from each
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "2s",
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "2s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
}
WORKERS_PAGE = "info/main/workers.html"  # Dask makes it without `bokeh`

try:
    import cryptography  # Dask makes the certificates of a local cluster with it
    import dask
    from distributed import Client, LocalCluster

    from dam_sync.cluster.tls import ClusterSecurity
except ImportError as error:  # named by its extra, for somebody who has only the rest of dam-sync
    raise ConfigError(
        f"--workers and --cluster need the extra `cluster` ({error})", hint=install_hint("cluster")
    ) from error

assert cryptography is not None


@asynccontextmanager
async def local_client(number: int) -> AsyncIterator[Client]:
    """A scheduler in this process and worker processes beside it, which end with it. They listen on the loopback
    interface only, and every connection is encrypted and proves a certificate that is made for this run and kept in
    memory: other users of the computer cannot send them anything. Raises WorkersGone if they cannot be started."""
    _quiet()
    with (
        dask.config.set(SETTINGS),
        _explained("worker processes cannot be started"),
        warnings.catch_warnings(),
    ):
        # of the status pages: another is used
        warnings.filterwarnings("ignore", "Port .* is already in use", UserWarning)
        security = ClusterSecurity.temporary()  # type: ignore[no-untyped-call]
        cluster = LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=number,
            threads_per_worker=THREADS,
            processes=True,
            asynchronous=True,
            host=LOOPBACK,
            protocol="tls",
            security=security,
            dashboard_address=f"{LOOPBACK}:0",
            silence_logs=logging.CRITICAL,
            preload=[preload.__name__],
            memory_limit=0,
        )
        await _started(cluster)
    try:
        with _explained("worker processes cannot be reached"):
            client = await _connected(cluster, security=security)
        try:
            yield client
        finally:
            await _closed(client)
    finally:
        await _stopped(cluster)


async def _started(cluster: Any) -> None:
    """If a worker dies while it starts, Dask leaves the others, and this process would wait for them at its end."""
    try:
        async with asyncio.timeout(START_SECONDS):
            await cluster
    except BaseException:
        with suppress(Exception):
            await _stopped(cluster)
        raise


async def _stopped(cluster: Any) -> None:
    await cluster.close(timeout=10)


@asynccontextmanager
async def remote_client(url: str, seconds: float = CONNECT_SECONDS) -> AsyncIterator[Client]:
    """The scheduler at a URL; for `tls://` with the certificates of Dask's own configuration. Raises ConfigError for
    what is no such address and without certificates, WorkersGone if it does not respond within that time."""
    if not _is_address(url):
        hint = "write --cluster tls://HOST:8786, or tcp://HOST:8786 in a network that only you use"
        raise ConfigError(f"{url!r} is not the address of a Dask scheduler", hint=hint)
    look = "check the address"
    if url.startswith("tls://"):
        _refuse_without_certificates(url)
        look += " and the certificates of both sides, which `dam-sync help scale` describes"
    _quiet()
    with _explained(f"the Dask scheduler {url} cannot be reached", f"{look}; {start_hint(url)}"):
        async with asyncio.timeout(seconds + GRACE_SECONDS):  # something else may take the connection and say nothing
            client = await _connected(url, timeout=seconds, security=_security())
    try:
        yield client
    finally:
        await _closed(client)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("tcp", "tls") and bool(parts.hostname) and bool(parts.port)
    except ValueError:  # no number, or none of a port
        return False


def start_hint(url: str) -> str:
    """How a cluster is started at this address, and what becomes of the run."""
    parts = urlsplit(url)
    plain, encrypted = f"`dask scheduler --port {parts.port}`", f"`dask scheduler --protocol tls --port {parts.port}`"
    return (
        f"start the scheduler on its host with {encrypted if parts.scheme == 'tls' else plain}, and workers with "
        f"`dask worker {url}`; then run the same command again, it resumes where it stopped"
    )


def _security() -> Any:
    """As Dask's own configuration says."""
    return ClusterSecurity()  # type: ignore[no-untyped-call]


def _refuse_without_certificates(url: str) -> None:
    hint = "write `distributed.comm.tls` into Dask's configuration on every host: see `dam-sync help scale`"
    security = _security()
    try:
        found = security.get_connection_args("client")["ssl_context"]
    except (OSError, ValueError) as error:
        files = ", ".join(
            str(each) for each in (security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
        )
        raise ConfigError(f"the certificates for {url} cannot be used ({error}): {files}", hint=hint) from error
    if found is None:
        raise ConfigError(f"{url} needs certificates, and Dask's configuration names none", hint=hint)


async def _connected(where: Any, **given: Any) -> Client:
    client = Client(where, asynchronous=True, set_as_default=False, **given)  # type: ignore[no-untyped-call]
    try:
        await client
    except BaseException:
        with suppress(Exception):
            await _closed(client)
        raise
    return client


async def _closed(client: Client) -> None:
    closing: Any = client.close(timeout=2)  # type: ignore[no-untyped-call]
    await closing


async def workers_at(client: Client) -> frozenset[str]:
    """The addresses of the workers of a scheduler. Raises WorkersGone if it does not respond."""
    with _explained("the Dask scheduler cannot be reached"):
        async with asyncio.timeout(ANSWER_SECONDS):
            scheduler: Any = client.scheduler
            return frozenset((await scheduler.identity())["workers"])


def dashboard_of(client: Client) -> str:
    """The URL of the scheduler's dashboard, without the package `bokeh` of its page of workers; empty if there is
    none."""
    if "dashboard" not in getattr(client, "_scheduler_identity", {}).get("services", {}):
        return ""
    link = str(client.dashboard_link)
    return link if find_spec("bokeh") is not None else f"{link.removesuffix('/status')}/{WORKERS_PAGE}"


def _quiet() -> None:
    """What goes wrong with a connection is reported by us. Dask gives some of its loggers levels of their own."""
    ours = ("distributed", "tornado", "asyncio")
    known = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in ours]
    for name in (*ours, *known):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def _explained(what: str, hint: str = "") -> Iterator[None]:
    try:
        yield
    except MemoryError as error:  # Dask takes what it was sent for the length of a message
        raise WorkersGone(f"{what}: what responds there is no Dask scheduler", hint=hint) from error
    except (OSError, TimeoutError, RuntimeError, ValueError, AttributeError) as error:
        raise WorkersGone(f"{what}: {str(error) or 'it does not respond'}", hint=hint) from error
