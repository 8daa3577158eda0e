"""What a service package exports, and what a service receives when it is connected."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dam_sync.model.assumptions import AssumedWrite, Assumption
from dam_sync.model.capabilities import Capabilities
from dam_sync.model.clock import Clock, SystemClock
from dam_sync.model.errors import ConfigError, StillFetching
from dam_sync.model.limits import Limits, OrphanRetention, Pace
from dam_sync.model.not_moved import NotMoved, NotUsed, SideEffect
from dam_sync.model.ports import Budget, CredentialStore, Transport
from dam_sync.model.service import Service
from dam_sync.model.service_time import RunTime
from dam_sync.model.shared_target import UNSHARED, SharedTarget
from dam_sync.model.url_forms import without_api_path


@dataclass(frozen=True, slots=True)
class Context:
    """What a service receives when it is connected: URLs, a resolved credential, tools and ports.

    auth: an instance of one of `Connector.auth`, with plain secrets, never logged; None if the connector needs
    none. options: an instance of `Connector.options`. base_url is empty if a job may leave it out; folder: that of
    the job file, against which paths in options are resolved.
    """

    base_url: str
    auth: Any = field(default=None, repr=False)
    options: Any = None
    tenant_url: str = ""
    credential: str = ""  # where the job file names the secret, for messages: `target.auth.token`
    folder: Path = Path()
    clock: Clock = field(default_factory=SystemClock)
    transport: Transport | None = None  # used instead of the network, never closed by the service
    credentials: CredentialStore | None = None
    budget: Budget | None = None
    calls_per_second: float | None = None
    concurrency: int | None = None
    bandwidth: float | None = None  # bytes per second of storage and API bodies together
    read_only: bool = False  # the source, and both sides of a dry run: write calls are refused before they are sent
    planning: bool = False  # the target of a plan: read with the calls with which its run will read it
    max_calls: int | None = None
    attempts: int | None = None  # maximum attempts of one call; None: the default of the client
    patience: float | None = None  # seconds for all attempts of one call together; None: the default of the client
    may_write: Callable[[], None] | None = None  # called before a call that may write; raises if it must not be sent
    limits: Limits | None = None  # of this instance, if they differ from those of the connector
    rate: Any = field(default=None, repr=False)  # a `CredentialRate` of `dam_sync.http`, shared by several jobs
    calls_per_day: int | None = None  # of all of them together
    shared: SharedTarget = field(default=UNSHARED, repr=False)  # with processes that write into the same target
    processes: int = 1  # that use this credential for the same run, each within its part of all limits
    hurries: Callable[[], bool] = lambda: False  # whether the run is to end soon
    time: RunTime | None = None  # what both sides show of their clocks; None: ours is all there is
    side: str = ""  # whether it is the source or the target

    def keep_waiting(self) -> None:
        """Called while a target is waited for that fetches a file. Raises StillFetching if the run is to end soon."""
        if self.hurries():
            raise StillFetching("the run ends before the target has fetched the file")

    def limited(self, documented: Limits) -> Limits:
        """The limits of this instance; the documented ones, unless others were given."""
        return self.limits or documented

    def paced(self, pace: Pace) -> Pace:
        """The documented pace with the operator's overrides applied."""
        kept = pace.with_concurrency(self.concurrency)
        return replace(kept, per_second=self.calls_per_second or pace.per_second)


@dataclass(frozen=True, slots=True)
class Connector:
    """What a service package exports as CONNECTOR, and an entry point of the group `dam_sync.services` refers to.

    service: imports and returns the class that is connected; called when needed, so that a job file is checked without
    HTTP libraries. options: a model derived from `dam_sync.config.options.Options`. auth: a model derived from
    `AuthMethod` for each `auth.flow`; none if the service takes no credentials. schemes: those that a `base_url` may
    have; base_url_optional: whether a job may leave it out. api_paths, tenant_paths: paths of the API in lower case,
    which the documents of the service write at the end of the base URL or of the URL of the tenant; former_paths: those
    of an API that is not used, each with what to write instead. leaves: what a killed run leaves behind even after the
    next one completed.
    """

    name: str
    summary: str
    service: Callable[[], type[Service]]
    options: type[Any]
    auth: Mapping[str, type[Any]] = field(default_factory=dict)
    assumptions: tuple[Assumption, ...] = ()
    needs_tenant_url: bool = False
    schemes: tuple[str, ...] = ("https", "http")
    base_url_optional: bool = False
    leaves: tuple[OrphanRetention, ...] = ()
    assumed_writes: tuple[AssumedWrite, ...] = ()
    not_moved: tuple[NotMoved, ...] = ()
    not_used: tuple[NotUsed, ...] = ()
    side_effects: tuple[SideEffect, ...] = ()
    api_paths: tuple[str, ...] = ()
    tenant_paths: tuple[str, ...] = ()
    former_paths: Mapping[str, str] = field(default_factory=dict)

    def base_of(self, url: str) -> str:
        """The base URL of a job as it is used, however the documents of the service spell it."""
        return without_api_path(url, self.api_paths) if self.api_paths else url

    def tenant_of(self, url: str) -> str:
        """As `base_of`, for the URL of the tenant."""
        return without_api_path(url, self.tenant_paths) if self.tenant_paths else url

    @property
    def capabilities(self) -> Capabilities:
        """The most that the service can do, as shown in its reference documentation."""
        return self.service().declared

    def connect(self, context: Context) -> Service:
        """Connect the service; no call is made yet. Raises ConfigError."""
        make: Callable[[Context], Service] = self.service()
        return make(context)


def usable(connectors: Mapping[str, Connector]) -> Iterator[tuple[str, Connector]]:
    """Those that can be loaded, by kind: a broken package of one is no business of a job with others."""
    for name in connectors:
        with suppress(ConfigError):
            yield name, connectors[name]
