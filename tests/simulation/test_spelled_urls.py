"""A source and a target that are one library stop every command, however their URLs are spelled; two do not."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

from dam_sync.api.bootstrap import both_sides
from dam_sync.api.check import check_job
from dam_sync.api.emulation.sandbox import Emulated, write_job, write_suggested_mapping
from dam_sync.api.jobs import plan_job, run_job
from dam_sync.config.job import job_of_code
from dam_sync.emulators.kit.app import Application
from dam_sync.model.errors import SafetyStop
from dam_sync.services import discover
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.services.profiles import marker_in, profile_of
from tests.support.virtual.moves import options_of
from tests.support.virtual.reply import Reply
from tests.support.virtual.small_library import library, receiving
from tests.support.virtual.universe import Tenant, Universe
from tests.support.virtual.wire import Network

HOST, INTERNATIONAL, NUMBER, SIXTH = "museum.dam.example", "xn--bcher-kva.example", "10.0.0.5", "[2001:db8::1]"
ORIGIN = f"https://{HOST}"
HOSTS = (
    (HOST, "MUSEUM.dam.example", "museum.DAM.example."),
    (INTERNATIONAL, "bücher.example", "BÜCHER.example", "XN--BCHER-KVA.example."),
    (NUMBER, "10.0.0.5.", "[::ffff:10.0.0.5]"),
    (SIXTH, "[2001:0DB8:0:0:0:0:0:1]", "[2001:db8::0001]"),
)
PORTS = ("", ":443", ":")
PATHS = ("", "/", "//", "/./")
LONG = ("2001:0db8:0:0:0:0:0:1", "2001:db8::0001")
LOCAL = [f"{scheme}://{host}:{{port}}{path}" for scheme, host, path in product(
    ("http", "HTTP"), ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"), ("", "/", "/./"))]  # fmt: skip
NAMED = [
    (f"https://{first}", f"{scheme}://{host}{port}{path}")
    for first, *others in HOSTS
    for scheme, host, port, path in product(("https", "HTTPS"), (first, *others), PORTS, PATHS)
]
SHARE = 1 if EVERYTHING else 24  # of the spellings, one in so many is tried


@dataclass(frozen=True)
class Proxy:
    """What stands before a service: passes calls on as the service knows itself, with plain paths."""

    app: Application
    origin: str

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = posixpath.normpath(scope["path"])
        own = (b"host", self.origin.removeprefix("http://").encode())
        headers = [own if name == b"host" else (name, value) for name, value in scope["headers"]]
        await self.app({**scope, "path": path, "headers": headers}, receive, send)


class ByName(Network):
    """Knows its services by names of their hosts, in the form in which these are looked up."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.names: dict[str, Proxy] = {}

    async def carry(self, outgoing: httpx.Request) -> Reply:
        """See `Network.carry`; nothing goes wrong."""
        app = self.called(outgoing)
        if app is None:
            raise httpx.ConnectError("connection refused") from ConnectionRefusedError()
        return await self.delivered(app, outgoing)

    def called(self, outgoing: httpx.Request) -> Any:
        """See `Network.called`."""
        host = outgoing.url.raw_host.decode().casefold().removesuffix(".")
        origin = f"http://127.0.0.1:{outgoing.url.port or 0}"
        if host in ("127.0.0.1", "localhost", "::1") and origin in self.hosts:
            return Proxy(self.hosts[origin], origin)
        return self.names.get(host) or super().called(outgoing)


@contextmanager
def world(kind: str) -> Iterator[tuple[Universe, Tenant]]:
    """One tenant that is reached by several names of its host."""
    with Universe(network=ByName) as universe:
        tenant = universe.tenant(kind, library(profile_of(kind).part), **options_of(kind))
        network = universe.network
        assert isinstance(network, ByName)
        for name in (HOST, INTERNATIONAL, NUMBER, "::ffff:10.0.0.5", "::ffff:a00:5", "2001:db8::1", *LONG):
            network.names[name] = Proxy(tenant.app, tenant.url)
        yield universe, tenant


def side(kind: str, url: str, way: int = 0, **options: Any) -> dict[str, Any]:
    """A service in a job."""
    trial = profile_of(kind)
    auth = trial.auth[way % len(trial.auth)]
    found: dict[str, Any] = {"kind": kind, "base_url": url}
    if discover()[kind].needs_tenant_url:
        found["tenant_url"] = url
    found["auth"] = {key: text.format(url=url) for key, text in auth.items()}
    return {**found, "options": {**trial.options, **options}}


def opened(universe: Universe, folder: Path, source: dict[str, Any], target: dict[str, Any]) -> None:
    """Open a job as every command does. Raises SafetyStop where it stops."""
    mapping = folder / "mapping.yaml"
    mapping.write_text("version: 1\nfields: {}\n", encoding="utf-8")
    body = {"version": 1, "name": "one", "source": source, "target": target, "mapping": str(mapping)}
    job = job_of_code({**body, "state": str(folder / "job.db")}, folder, discover(), None)

    async def connecting() -> None:
        async with both_sides(job, universe.options()):
            pass

    universe.do(connecting())


@pytest.mark.parametrize("kind", KINDS)
def test_every_spelling_of_one_url_is_one_library(tmp_path: Path, kind: str) -> None:
    with world(kind) as (universe, tenant):
        port = tenant.url.rpartition(":")[2]
        local = [(tenant.url, url.format(port=port)) for url in LOCAL]
        tried = [*NAMED[::SHARE], *local[:: max(1, SHARE // 4)]]
        for first, second in tried:
            with pytest.raises(SafetyStop, match="are the same library") as stopped:
                opened(universe, tmp_path, side(kind, first), side(kind, second))
            assert "no option lifts this" in stopped.value.hint, (first, second)


@pytest.mark.parametrize("kind", KINDS)
def test_two_tenants_are_two_libraries(tmp_path: Path, kind: str) -> None:
    with world(kind) as (universe, tenant):
        other = universe.tenant(kind, receiving(), **options_of(kind))
        opened(universe, tmp_path, side(kind, tenant.url), side(kind, other.url))
        opened(universe, tmp_path, side(kind, other.url), side(kind, tenant.url))


@pytest.mark.parametrize("kind", KINDS)
def test_another_credential_does_not_make_another_library(tmp_path: Path, kind: str) -> None:
    with world(kind) as (universe, tenant):
        ways = [way for way, auth in enumerate(profile_of(kind).auth) if "refresh_token" not in auth]
        for way in ways:
            with pytest.raises(SafetyStop, match="are the same library"):
                opened(universe, tmp_path, side(kind, tenant.url), side(kind, tenant.url, way))


def test_two_folders_of_one_server_are_two_libraries(tmp_path: Path) -> None:
    kind, top = "b_documents", "/default-domain/workspaces"
    with world(kind) as (universe, tenant):
        press, archive = (side(kind, tenant.url, root=f"{top}/{name}") for name in ("Press", "Archive"))
        opened(universe, tmp_path, press, archive)
        opened(universe, tmp_path, archive, press)
        for inside in (f"{top}/Press/2024", top, "/"):
            with pytest.raises(SafetyStop, match="lies inside"):
                opened(universe, tmp_path, press, side(kind, tenant.url, root=inside))


@pytest.mark.parametrize("kind", KINDS)
def test_two_names_of_one_server_stop_by_what_it_has(tmp_path: Path, kind: str) -> None:
    """No comparison of URLs shows it: `check` and every first run ask for an asset of the source at the target."""
    mapping = tmp_path / "mapping.yaml"
    with world(kind) as (universe, tenant):
        before = tenant.assets
        sides = [Emulated(kind, f"https://{host}") for host in (HOST, INTERNATIONAL)]
        job = write_job(tmp_path / "job.yaml", "one", *sides, mapping, policy=ACCEPTED)
        universe.do(write_suggested_mapping(job, mapping, marker_in(kind, OWN_MARKS), universe.options()))
        for command in (plan_job, run_job):
            with pytest.raises(SafetyStop, match="both are one library under two names"):
                universe.do(command(job, universe.options()))
        found = [
            each for each in universe.do(check_job(job, universe.options())) if each.subject == "source and target"
        ]
        assert [(each.mark, each.exit_code) for each in found] == [("FAULT", 6)]
        assert tenant.assets == before
