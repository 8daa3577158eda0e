"""A worker with another version of dam-sync is refused with what to do, however different its classes are."""

from __future__ import annotations

import pickle

import pytest

from dam_sync import __version__
from dam_sync.cluster import tasks
from dam_sync.cluster.messages import Joining, WorkerResult
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
