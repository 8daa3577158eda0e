"""What every test leaves as it found it."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterator
from functools import cache

import pytest
import structlog
import typer.testing
from hypothesis import settings

settings.register_profile("dam-sync", deadline=None, max_examples=100)  # a busy machine is not a defect
settings.load_profile("dam-sync")
typer.testing._get_command = cache(typer.testing._get_command)  # the command line is built once, not by each command


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
