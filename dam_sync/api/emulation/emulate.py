"""`emulate`: one emulated service on localhost, and the mappings that ship with dam-sync."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import Any

from ruamel.yaml import YAML

from dam_sync.api.emulation.tenant_options import tenant_options
from dam_sync.emulators import application_of, emulated_kinds, profile_of
from dam_sync.emulators.kit.catalogue import read_catalogue
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.profile import PUBLIC, Profile
from dam_sync.emulators.kit.serve import serve_forever
from dam_sync.model.assumptions import Assumption
from dam_sync.model.connector import Connector
from dam_sync.model.errors import ConfigError
from dam_sync.services import discover

MAPPINGS = (Path(__file__).parents[3] / "mappings", Path(__file__).parents[2] / "mappings")


@dataclass(frozen=True, slots=True)
class Emulation:
    """Arguments of `emulate`. options: KEY=VALUE, options of the emulator."""

    kind: str
    port: int = 0
    rate: float | None = None
    lag: float | None = None
    faults: Path | None = None
    load: Path | None = None
    files: Path | None = None
    options: tuple[str, ...] = ()


def serve_emulation(asked: Emulation, show: Callable[[EmulatorAddress], None]) -> None:
    """Serve until interrupted; `show` is called once, when the service is ready. Raises ConfigError for invalid
    arguments or files."""
    kind = kind_called(asked.kind)
    options = {**tenant_options(asked.load, kind.name), **dict(_options(asked))}
    with TemporaryDirectory(prefix="dam-sync-emulated-") as folder:
        world = Environment(seed=0)
        faults = _faults(asked.faults)
        try:
            app = application_of(kind.name)(world, faults, ObjectStore(world, Path(folder)), options)
        except WRONG as problem:
            raise ConfigError(
                f"--option: {problem}", hint=f"dam-sync emulate {kind.name} takes --option KEY=VALUE"
            ) from None
        if asked.load is not None:
            _load(app, asked.load, asked.files)
        try:
            serve_forever(app, asked.port, lambda served: show(ready(kind, served.url, served.storage_url)))
        except OSError as problem:
            hint = "choose another port with --port, or leave --port out to use any free port"
            raise ConfigError(f"port {asked.port} cannot be used: {problem.strerror}", hint=hint) from None
        except OverflowError:
            raise ConfigError(
                f"port {asked.port} is not a port", hint="ports go from 1 to 65535; 0 picks a free one"
            ) from None


def _faults(path: Path | None) -> Faults:
    if path is None:
        return Faults()
    try:
        return Faults(json.loads(path.read_text(encoding="utf-8")))
    except OSError as problem:
        raise ConfigError(f"the faults file {path} cannot be read: {problem.strerror}") from None
    except json.JSONDecodeError as problem:
        raise ConfigError(f"{path}:{problem.lineno}: not JSON: {problem.msg}", hint=FAULTS_HINT) from None
    except (ValueError, TypeError) as problem:
        raise ConfigError(f"{path}: {problem}", hint=FAULTS_HINT) from None


WRONG = (ValueError, LookupError, TypeError, AttributeError)  # raised for values of the wrong type
FAULTS_HINT = 'faults look like [{"match": "POST /v2/uploads", "nth": 3, "do": "reset_after"}]'


def _load(app: Any, path: Path, files: Path | None) -> None:
    """Load the catalogue. Raises ConfigError with its line, if known."""
    if files is not None and not files.is_dir():
        raise ConfigError(f"--files {files} is not a folder")
    try:
        catalogue = read_catalogue(path)
    except OSError as problem:
        raise ConfigError(f"the catalogue {path} cannot be read: {problem.strerror or problem}") from None
    except (ValueError, EOFError) as problem:
        raise ConfigError(f"the catalogue is damaged: {problem}", hint=CATALOGUE_HINT) from None
    try:
        app.state.load(catalogue, files)
    except (*WRONG, OSError) as problem:
        where = getattr(catalogue.assets, "where", path)
        raise ConfigError(f"the catalogue cannot be loaded: {where}: {problem}", hint=CATALOGUE_HINT) from None


CATALOGUE_HINT = "each line is one JSON record; files are read from the folder given by --files"


@dataclass(frozen=True, slots=True)
class EmulatorAddress:
    """A running emulated service. environment: the variables with its credentials, to which the connection refers."""

    kind: str
    url: str
    storage_url: str
    connection: Mapping[str, Any]
    environment: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        """For `--json`: one line."""
        return asdict(self)

    def text(self) -> str:
        """For people: lines for the shell and for a job file."""
        exports = "".join(f"export {name}={quote(value)}\n" for name, value in self.environment.items())
        out = StringIO()
        yaml = YAML()
        yaml.indent(mapping=2)
        yaml.dump({"source": dict(self.connection)}, out)
        return (
            f"# {self.kind} is emulated at {self.url}, its storage at {self.storage_url}. Ctrl-C stops it.\n"
            f"# Type this in the shell where dam-sync will run:\n{exports}"
            f"# Paste this into the job file; write `target:` instead of `source:` to write to it:\n{out.getvalue()}"
        )


def ready(kind: Connector, url: str, storage_url: str) -> EmulatorAddress:
    """How a job connects to an emulated service, with references to its secrets."""
    trial: Profile = profile_of(kind.name)
    auth, environment = {}, {}
    for key, text in trial.auth[0].items():
        auth[key] = text.format(url=url)
        if key not in PUBLIC:
            name = f"{kind.name}_{key}".upper()
            environment[name], auth[key] = auth[key], f"${{env:{name}}}"
    connection: dict[str, Any] = {"kind": kind.name, "base_url": url}
    if kind.needs_tenant_url:
        connection["tenant_url"] = url
    connection["auth"] = auth
    if trial.fitting:
        connection["options"] = dict(trial.fitting)
    return EmulatorAddress(kind.name, url, storage_url, connection, environment)


def kind_called(name: str) -> Connector:
    """The emulated kind with this name or unambiguous prefix. Raises ConfigError listing the known ones."""
    kinds, emulated = discover(), sorted(emulated_kinds())
    if not name:
        raise ConfigError("the KIND of the service is missing", hint=f"one of {', '.join(emulated)}")
    begun = [kind for kind in emulated if kind.startswith(name)]
    found = begun[0] if name not in kinds and len(begun) == 1 else name
    if found not in kinds:
        raise ConfigError(f"there is no service called {name!r}", hint=f"known: {', '.join(emulated)}")
    if found not in emulated:
        raise ConfigError(f"the service {found} has no emulator", hint=f"emulated: {', '.join(emulated)}")
    return kinds[found]


def assumptions_of(name: str = "") -> list[tuple[str, Assumption]]:
    """The numbered assumptions about one service, or about all emulated ones."""
    kinds = [kind_called(each) for each in ([name] if name else sorted(emulated_kinds()))]
    return [(kind.name, each) for kind in kinds for each in kind.assumptions]


def ready_mapping(name: str) -> Path:
    """A mapping that ships with dam-sync."""
    for folder in MAPPINGS:
        if (folder / name).exists():
            return folder / name
    raise ConfigError(f"the mapping {name} is missing from the installation", hint="install dam-sync again")


def _options(asked: Emulation) -> Iterator[tuple[str, object]]:
    if asked.rate is not None:
        yield "rate", asked.rate
    if asked.lag is not None:
        yield "lag", asked.lag
    for text in asked.options:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--option expects KEY=VALUE, not {text}")
        try:
            yield key, json.loads(value)
        except ValueError:
            yield key, value
