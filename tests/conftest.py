"""What every test leaves as it found it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

settings.register_profile("dam-sync", deadline=None, max_examples=100)  # a busy machine is not a defect
settings.load_profile("dam-sync")


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """Logs go where they went before: a command that ran in this process sent them to a stream that is closed now."""
    yield
    structlog.reset_defaults()
