"""`emulate`: one emulated service on this machine, and where ready mappings lie."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from dam_sync.emulation.catalogue import read_catalogue
from dam_sync.emulation.faults import Faults
from dam_sync.emulation.object_store import ObjectStore
from dam_sync.emulation.serve import Served, serve_forever
from dam_sync.emulation.world import World
from dam_sync.model.errors import ConfigError
from dam_sync.model.service import Assumption, Kind
from dam_sync.services import discover

MAPPINGS = (Path(__file__).parents[2] / "mappings", Path(__file__).parents[1] / "mappings")


@dataclass(frozen=True, slots=True)
class Emulation:
    """What `emulate` was asked for. options: KEY=VALUE, the emulator's own switches."""

    kind: str
    port: int = 0
    rate: float | None = None
    lag: float | None = None
    faults: Path | None = None
    load: Path | None = None
    files: Path | None = None
    options: tuple[str, ...] = ()


def serve_emulation(asked: Emulation) -> None:
    """Serve until interrupted; prints one JSON line with the addresses when ready. Raises ConfigError."""
    kind = kind_called(asked.kind)
    options = dict(_options(asked))
    with TemporaryDirectory(prefix="dam-sync-emulated-") as folder:
        world = World(seed=0)
        faults = Faults(json.loads(asked.faults.read_text(encoding="utf-8")) if asked.faults else [])
        app = kind.emulator(world, faults, ObjectStore(world, Path(folder)), options)
        if asked.load is not None:
            app.state.load(read_catalogue(asked.load), asked.files)
        serve_forever(app, asked.port, _ready)


def kind_called(name: str) -> Kind:
    """The kind of that name, or of the one name that begins so. Raises ConfigError naming those there are."""
    kinds = discover()
    begun = [kind for kind in kinds if name and kind.startswith(name)]
    if name not in kinds and len(begun) == 1:
        return kinds[begun[0]]
    if name not in kinds:
        raise ConfigError(f"there is no service called {name!r}", hint=f"known: {', '.join(kinds)}")
    return kinds[name]


def assumptions_of(name: str = "") -> list[tuple[str, Assumption]]:
    """Our numbered guesses about one service, or about all."""
    kinds = [kind_called(name)] if name else list(discover().values())
    return [(kind.name, each) for kind in kinds for each in kind.assumptions]


def ready_mapping(name: str) -> Path:
    """A mapping that ships with dam-sync."""
    for folder in MAPPINGS:
        if (folder / name).exists():
            return folder / name
    raise ConfigError(f"the ready mapping {name} is not there", hint="install dam-sync again")


def _options(asked: Emulation) -> Iterator[tuple[str, object]]:
    if asked.rate is not None:
        yield "rate", asked.rate
    if asked.lag is not None:
        yield "lag", asked.lag
    for text in asked.options:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--option takes KEY=VALUE, not {text}")
        try:
            yield key, json.loads(value)
        except ValueError:
            yield key, value


def _ready(served: Served) -> None:
    sys.stdout.write(json.dumps({"url": served.url, "storage_url": served.storage_url}) + "\n")
    sys.stdout.flush()
