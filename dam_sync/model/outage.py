"""An outage of the database of the state, as all connections of a run see it together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock


@dataclass(slots=True)
class Outage:
    """Whether connections wait for the database now, and since when none of them could be made again. Threads share
    it."""

    since: float | None = None  # on the monotonic scale
    _waiting: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    @property
    def is_on(self) -> bool:
        """Whether a connection waits."""
        return self._waiting > 0

    @contextmanager
    def waiting(self, now: float) -> Iterator[float]:
        """A connection was lost and is made again within the block; gives when the outage began. It ends with the
        first one that is made, so it does not begin again with each connection that notices it later."""
        with self._lock:
            began = self.since = now if self.since is None else self.since
            self._waiting += 1
        try:
            yield began
        except BaseException:
            with self._lock:
                self._waiting -= 1
            raise
        with self._lock:
            self._waiting -= 1
            self.since = None


_CURRENT: ContextVar[Outage | None] = ContextVar("outage", default=None)


def current_outage() -> Outage:
    """That of the run that opens a connection; of the connection alone, where nobody shows it."""
    return _CURRENT.get() or Outage()


def is_outage_shown() -> bool:
    """Whether whoever waits here for the database is seen to wait."""
    return _CURRENT.get() is not None


def show_outage(outage: Outage) -> None:
    """Connections that are opened from here on share it."""
    _CURRENT.set(outage)
