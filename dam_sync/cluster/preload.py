"""Loaded by each worker process of this computer: a signal for the terminal or the service is for the coordinator,
which finishes the writes in progress and ends its workers itself."""

from __future__ import annotations

import signal

IGNORED = ("SIGINT", "SIGTERM", "SIGHUP")


def dask_setup(_: object) -> None:
    """Called by Dask in the main thread of the process."""
    for name in IGNORED:
        signal.signal(signal.Signals[name], signal.SIG_IGN)
