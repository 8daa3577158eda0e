"""Emulated services that end in the background: nobody waits for the tenths of a second that a server takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from dam_sync.emulators.kit.app import Application
from dam_sync.emulators.kit.serve import Served, serve_in_thread

_STOPPING: Final = ThreadPoolExecutor(16, "stopping")  # this process waits for its threads when it ends


def stop(served: Served) -> None:
    """Ask it to end. It may still take connections for a moment."""
    _STOPPING.submit(served.stop)


@contextmanager
def serving(make: Callable[[], Application]) -> Iterator[Served]:
    """Serve what `make` returns for as long as the block runs."""
    served = serve_in_thread(make)
    try:
        yield served
    finally:
        stop(served)
