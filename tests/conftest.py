"""What every test leaves as it found it."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator

import pytest
import structlog
from hypothesis import settings

import tests.support.once  # noqa: F401 -- for what it does

settings.register_profile("dam-sync", deadline=None, max_examples=100)  # a busy machine is not a defect
settings.load_profile("dam-sync")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays until the end: nothing of it is looked at for garbage, neither now nor later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """Logs go where they went before: a command that ran in this process sent them to a stream that is closed now."""
    yield
    structlog.reset_defaults()
