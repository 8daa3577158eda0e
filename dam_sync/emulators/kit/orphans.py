"""What lies about in an emulated tenant besides its assets: begun and never finished, or made and never used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dam_sync.emulators.kit.environment import Json

Leftovers = Callable[[], Iterable[Mapping[str, Json]]]
"""One row each, see `leftover`; what the service lets expire is listed until then."""


def leftover(kind: str, name: object, age: float, size: int = 0, life: float | None = None) -> dict[str, Json]:
    """One row. age: seconds since it was begun or last touched; size: bytes it holds; life: seconds after which the
    service takes it away by itself, None if it never does."""
    return {"kind": kind, "id": str(name), "age": round(age, 3), "bytes": size, "life": life}


def nothing_left() -> Iterable[Mapping[str, Json]]:
    """Of an emulator that leaves nothing about."""
    return ()
