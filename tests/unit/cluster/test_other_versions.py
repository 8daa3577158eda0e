"""A worker with another version of dam-sync is refused with what to do, however different its classes are."""

from __future__ import annotations

import pickle

import pytest

from dam_sync import __version__
from dam_sync.cluster import tasks
from dam_sync.cluster.messages import Joining, WorkerResult
from dam_sync.cluster.workers import named
from dam_sync.model.errors import ConfigError

OTHERS = {
    "another number": pickle.dumps(Joining("1", tasks.join, None, f"{__version__}.1")),  # type: ignore[arg-type]
    "a class that is not here": b"cdam_sync.cluster.messages\nLaterJoining\n.",
    "a module that is not here": b"cdam_sync.cluster.later\nJoining\n.",
}


@pytest.mark.parametrize("message", OTHERS.values(), ids=OTHERS)
async def test_a_worker_of_another_version_says_so(message: bytes) -> None:
    reply: WorkerResult = pickle.loads(await tasks.join(message))
    assert isinstance(reply.error, ConfigError)
    assert "install the same version on every host" in reply.error.hint
    assert reply.left


def test_what_is_missing_on_the_host_of_a_worker_is_reported_of_that_worker() -> None:
    """The variable may well be set where the run was started."""
    error = ConfigError("state: ${env:STATE_PASSWORD} is not set", hint="export STATE_PASSWORD=… before the command")
    found = named(error, "tls://10.0.0.7:4100")
    assert str(found).startswith("the worker tls://10.0.0.7:4100: state: ")
    assert found.hint.startswith("export STATE_PASSWORD=")
    assert "on the host of that worker" in found.hint
