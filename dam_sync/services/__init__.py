"""Services: every package here, and every entry point of the group `dam_sync.services` of an installed distribution.

The name of a package or entry point is the kind that job files name. Names are listed without importing anything.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from dam_sync.config.options import AuthMethod, Options
from dam_sync.model.connector import Connector
from dam_sync.model.errors import ConfigError
from dam_sync.model.service import Service

GROUP = "dam_sync.services"
REMOVE = "update or uninstall that distribution: `pip uninstall {}`"


@dataclass(frozen=True)
class Connectors(Mapping[str, Connector]):
    """Connectors by kind, in order of name; each is imported when it is first used.

    Raises ConfigError naming the distribution for a connector of another distribution that cannot be used.
    """

    packages: tuple[str, ...]
    others: Mapping[str, tuple[EntryPoint, ...]] = field(default_factory=dict)
    loaded: dict[str, Connector] = field(default_factory=dict)

    def __getitem__(self, kind: str) -> Connector:
        if kind not in self:
            raise KeyError(kind)
        if kind not in self.loaded:
            self.loaded[kind] = self._load(kind)
        return self.loaded[kind]

    def __contains__(self, kind: object) -> bool:
        return kind in self.packages or kind in self.others

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self.packages, *self.others}))

    def __len__(self) -> int:
        return len({*self.packages, *self.others})

    def _load(self, kind: str) -> Connector:
        others = self.others.get(kind, ())
        if kind in self.packages:
            if others:
                raise _refused(others[0], "dam-sync already has a service of that name")
            connector: Connector = importlib.import_module(f"{__name__}.{kind}").CONNECTOR
            return connector
        if len(others) > 1:
            raise _refused(others[1], f"the distribution {_distribution(others[0])} also has a service of that name")
        return _from_distribution(others[0])


@cache
def discover() -> Connectors:
    """All connectors that are installed."""
    others: dict[str, tuple[EntryPoint, ...]] = {}
    for point in entry_points(group=GROUP):
        others[point.name] = (*others.get(point.name, ()), point)
    return Connectors(built_in().packages, others)


@cache
def built_in() -> Connectors:
    """The connectors of dam-sync itself, which its reference documentation describes."""
    return Connectors(tuple(sorted(found.name for found in pkgutil.iter_modules(__path__) if found.ispkg)))


def _from_distribution(point: EntryPoint) -> Connector:
    try:
        connector = point.load()
    except Exception as error:
        raise _refused(point, f"loading {point.value} raised {type(error).__name__}: {error}") from error
    if not isinstance(connector, Connector):
        raise _refused(point, f"{point.value} is a {type(connector).__name__}, not a Connector")
    if connector.name != point.name:
        raise _refused(point, f"{point.value} calls itself {connector.name!r}")
    try:
        service = connector.service()
    except Exception as error:
        raise _refused(point, f"loading its service raised {type(error).__name__}: {error}") from error
    if wrong := _unusable(connector, service):
        raise _refused(point, wrong)
    return connector


def _unusable(connector: Connector, service: type[Service]) -> str:
    """What is wrong with a connector of another distribution."""
    if not (isinstance(connector.options, type) and issubclass(connector.options, Options)):
        return "its options are not a class derived from Options"
    if not all(isinstance(model, type) and issubclass(model, AuthMethod) for model in connector.auth.values()):
        return "an auth method is not a class derived from AuthMethod"
    if not (isinstance(service, type) and issubclass(service, Service)):
        return "its service is not a class derived from Service"
    missing: frozenset[str] = getattr(service, "__abstractmethods__", frozenset())
    return f"{service.__name__} lacks the required {', '.join(sorted(missing))}" if missing else ""


def _refused(point: EntryPoint, why: str) -> ConfigError:
    name = point.dist.name if point.dist is not None else "?"
    text = f"the service {point.name} of the distribution {_distribution(point)} cannot be used: {why}"
    return ConfigError(text, hint=REMOVE.format(name))


def _distribution(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else "that provides it"
