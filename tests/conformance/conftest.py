"""Tenants for the suite: one to read from and one to write to for each service, variant and module."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Json
from tests.conformance.abilities import abilities
from tests.conformance.catalogue import library
from tests.conformance.tenant import Tenant, started
from tests.conformance.wiring import VARIANTS
from tests.support.network.in_process_calls import InProcessCalls
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.sample.cases import deselect
from tests.support.sample.rotation import CYCLE, Part, part_of, today
from tests.support.services.profiles import FOLDER

Start = Callable[..., Tenant]
HERE = Path(__file__).parent
CALLS = 700  # a test may cost at most so many API calls, unless it says otherwise by `calls(n)`


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "calls(n): the API calls this test may cost at most")
    config.addinivalue_line("markers", "needs(*abilities): skipped for services that say they lack one")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the tests against second readings of the contracts a day runs a tenth, and `make conformance` all of them."""
    if EVERYTHING:
        return
    more = part_of(config) is Part.MORE
    share = (today().toordinal() + (CYCLE // 2 if more else 0)) % CYCLE
    left = set[pytest.Item]()
    for item in items:
        if _is_of_second_reading(item):
            left |= {item} if crc32(item.nodeid.encode()) % CYCLE != share else set()
        elif more and item.path.is_relative_to(HERE):
            left.add(item)
    deselect(config, items, left)


def _is_of_second_reading(item: pytest.Item) -> bool:
    which = getattr(item, "callspec", None) and item.callspec.params.get("which")  # type: ignore[attr-defined]
    return bool(which) and which[1] == VARIANTS[1]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "which" in metafunc.fixturenames:
        pairs = [*((kind, variant) for kind in KINDS for variant in VARIANTS), (FOLDER, VARIANTS[0])]
        pairs = getattr(metafunc.module, "READINGS", pairs)
        ids = [f"{kind}-{variant}" if variant else kind for kind, variant in pairs]
        metafunc.parametrize("which", pairs, ids=ids, scope="module")


@pytest.fixture(scope="module", autouse=True)
def nearby() -> InProcessCalls:
    """The emulated services of this process, called without sockets."""
    return InProcessCalls()


@pytest.fixture(scope="module")
def start(which: tuple[str, str], tmp_path_factory: pytest.TempPathFactory, nearby: InProcessCalls) -> Iterator[Start]:
    """Starts further tenants of the kind under test."""
    kind, variant = which
    running: list[Tenant] = []
    spool: Path = tmp_path_factory.mktemp("spool")

    def begin(records: Any, **options: Json) -> Tenant:
        running.append(started(kind, records, spool, **{"variant": variant, **options}))
        nearby.add(running[-1].served)
        running[-1].transport = nearby.transport
        return running[-1]

    yield begin
    with ThreadPoolExecutor(16) as pool:
        for tenant in running:
            nearby.remove(tenant.served)
            pool.submit(tenant.served.stop)


@pytest.fixture(scope="module")
def library_tenant(start: Start) -> Tenant:
    """The small library, served once a module."""
    return start(library())


@pytest.fixture(scope="module")
def said(library_tenant: Tenant) -> tuple[Schema, frozenset[str]]:
    """The schema and the abilities, asked once a module."""

    async def ask() -> tuple[Schema, frozenset[str]]:
        one = library_tenant.connect()
        schema = await one.schema()
        await library_tenant.disconnect()
        called = {"network", "checks"} if "https" in library_tenant.kind.schemes else set[str]()
        return schema, abilities(one, schema, library_tenant.wired.containers["folder"]) | called

    return asyncio.run(ask())


@pytest.fixture
def schema(said: tuple[Schema, frozenset[str]]) -> Schema:
    """The schema of the library."""
    return said[0]


@pytest.fixture
def can(said: tuple[Schema, frozenset[str]]) -> frozenset[str]:
    """The abilities, as words."""
    return said[1]


@pytest.fixture(autouse=True)
def able(which: tuple[str, str], library_tenant: Tenant, request: pytest.FixtureRequest, can: frozenset[str]) -> None:
    """Skips what the service says it cannot do, and fails where the table expects that it can."""
    needed = {each for marker in request.node.iter_markers("needs") for each in marker.args}
    if needed:
        missing = needed - can
        lost = missing - library_tenant.absent
        assert not lost, f"{which[0]} has lost {', '.join(sorted(lost))}"
        if missing:
            pytest.skip(f"{which[0]} says it has no {', '.join(sorted(missing))}")


@pytest.fixture
async def tenant(library_tenant: Tenant, request: pytest.FixtureRequest) -> AsyncIterator[Tenant]:
    """The module's tenant: no faults left over, each scripted one struck, the calls within their bound."""
    async for one in watched(library_tenant, request):
        yield one


@pytest.fixture
async def fresh(start: Start, request: pytest.FixtureRequest) -> AsyncIterator[Callable[..., Tenant]]:
    """Starts a tenant of this test alone, watched in the same way."""
    made: list[Tenant] = []

    def begin(records: Any = None, **options: Json) -> Tenant:
        made.append(start(library() if records is None else records, **options))
        return made[-1]

    yield begin
    for one in made:
        await one.disconnect()
        assert not one.faults.unhit(), "a scripted fault never struck"


async def watched(tenant: Tenant, request: pytest.FixtureRequest) -> AsyncIterator[Tenant]:
    bound = request.node.get_closest_marker("calls")
    before = sum(tenant.world.api_calls.values())
    yield tenant
    await tenant.disconnect()
    missed = tenant.faults.unhit()
    tenant.faults.clear()
    assert not missed, "a scripted fault never struck"
    spent = sum(tenant.world.api_calls.values()) - before
    assert spent <= (bound.args[0] if bound else CALLS), f"{spent} API calls are too many for this test"


@pytest.fixture
async def service(tenant: Tenant) -> Service:
    """A connection that may write, its schema read."""
    made = tenant.connect()
    await made.schema()
    return made


@pytest.fixture
async def source(tenant: Tenant) -> Service:
    """A connection that only reads, its schema read."""
    made = tenant.connect(read_only=True)
    await made.schema()
    return made
