"""Orphans of an emulated tenant, besides its assets: what was begun and never finished, or made and never used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from dam_sync.emulators.kit.environment import Json

Orphans = Callable[[], Iterable[Mapping[str, Json]]]
"""One row each, see `orphan`; what the service lets expire is listed until then."""


def orphan(kind: str, name: object, age: float, size: int = 0, life: float | None = None) -> dict[str, Json]:
    """One row. age: seconds since it was begun or last touched; size: bytes it holds; life: seconds after which the
    service takes it away by itself, None if it never does."""
    return {"kind": kind, "id": str(name), "age": round(age, 3), "bytes": size, "life": life}


def no_orphans() -> Iterable[Mapping[str, Json]]:
    """Of an emulator that has none."""
    return ()
