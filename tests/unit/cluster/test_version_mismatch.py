"""A worker with another version of dam-sync is refused with what to do, however different its classes are."""

from __future__ import annotations

import pickle
import re
from types import SimpleNamespace

import pytest

from dam_sync import __version__
from dam_sync.cluster import tasks
from dam_sync.cluster.messages import Joining, WorkerResult, program
from dam_sync.cluster.workers import DaskWorkers, named
from dam_sync.model.errors import ConfigError
from tests.support.run_double import run_double

OTHERS = {
    "another number": pickle.dumps(Joining("1", tasks.join, None, f"{__version__}.1")),  # type: ignore[arg-type]
    "another build of this number": pickle.dumps(Joining("1", tasks.join, None, __version__)),  # type: ignore[arg-type]
    "a class that is not here": b"cdam_sync.cluster.messages\nLaterJoining\n.",
    "a module that is not here": b"cdam_sync.cluster.later\nJoining\n.",
}


@pytest.mark.parametrize("message", OTHERS.values(), ids=OTHERS)
async def test_a_worker_of_another_version_says_so(message: bytes) -> None:
    reply: WorkerResult = pickle.loads(await tasks.join(message))
    assert isinstance(reply.error, ConfigError)
    assert "install the same version on every host" in reply.error.hint
    assert reply.left


def test_a_program_is_known_by_its_version_and_the_digest_of_its_modules() -> None:
    assert re.fullmatch(rf"{re.escape(__version__)} \(build [0-9a-f]{{12}}\)", program())


class WithoutUs:
    """Workers on which our modules cannot be imported, as Dask reports it."""

    async def run(self, function: object, *given: object, workers: list[str], on_error: str) -> dict[str, Exception]:
        return {address: Exception("ModuleNotFoundError(\"No module named 'dam_sync'\")") for address in workers}


async def test_a_worker_without_dam_sync_is_named() -> None:
    workers = DaskWorkers(WithoutUs(), 1)  # type: ignore[arg-type]
    workers._joining = Joining("1", tasks.join, None, program())  # type: ignore[arg-type]
    workers._context = run_double(counterparts=SimpleNamespace(stored=()))
    with pytest.raises(
        ConfigError, match=r"the worker tcp://10\.0\.0\.7:4100: dam-sync cannot be loaded there"
    ) as refused:
        await workers._join("tcp://10.0.0.7:4100")
    assert "No module named 'dam_sync'" in str(refused.value)
    assert "install the same version on every host" in refused.value.hint


def test_what_is_missing_on_the_host_of_a_worker_is_reported_of_that_worker() -> None:
    """The variable may well be set where the run was started."""
    error = ConfigError("state: ${env:STATE_PASSWORD} is not set", hint="export STATE_PASSWORD=… before the command")
    found = named(error, "tls://10.0.0.7:4100")
    assert str(found).startswith("the worker tls://10.0.0.7:4100: state: ")
    assert found.hint.startswith("export STATE_PASSWORD=")
    assert "on the host of that worker" in found.hint
