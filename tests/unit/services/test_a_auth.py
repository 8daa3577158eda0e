"""Every way into service A, also when a token ends in the middle of a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest

from dam_sync.model.asset import AssetId
from dam_sync.model.errors import ConfigError, Denied
from dam_sync.model.service import Service
from tests.support.services.connected_a import Open, Tenant, asset, serving
from tests.support.services.connections import HastyClock, entries

EXCHANGE = "POST /auth/realms/demo/protocol/openid-connect/token"
FIVE_MINUTES = 300


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


def tenant_of(opened: Open, **options: object) -> Tenant:
    return opened(*(asset(n) for n in range(1, 13)), **{"oidc": True, **options})


def signed(algorithm: str = "HS256", **more: str) -> Mapping[str, str]:
    claims = {"flow": "signed_token", "client_id": "demo-instance-id", "login": "dam-sync"}
    return {**claims, "key": "sharedkey123", "algorithm": algorithm, **more}


def client(tenant: Tenant, **more: str) -> Mapping[str, str]:
    address = f"{tenant.served.url}/auth/realms/demo/protocol/openid-connect/token"
    given = {"flow": "client_credentials", "token_url": address, "client_id": "client-1"}
    return {**given, "client_secret": "client-secret-1", **more}


async def fetch_all(service: Service, tenant: Tenant) -> None:
    found = await asyncio.gather(*(service.fetch(AssetId(identity)) for identity in tenant.truth()))
    assert {each.id for each in found} == set(tenant.truth())


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
async def test_tokens_are_signed_in_every_algorithm(opened: Open, algorithm: str) -> None:
    assert (await tenant_of(opened).connect(signed(algorithm), read_only=True).probe()).total == 12


async def test_another_algorithm_is_a_diagnostic_of_the_job(opened: Open) -> None:
    with pytest.raises(ConfigError):
        tenant_of(opened).connect(signed("RS256"))


@pytest.mark.parametrize("wrong", [{"key": "otherkey99"}, {"client_id": "other-instance"}, {"login": "nobody"}])
async def test_a_signature_that_is_not_believed_is_denied(opened: Open, wrong: Mapping[str, str]) -> None:
    with pytest.raises(Denied):
        await tenant_of(opened).connect(signed(**wrong)).probe()


async def test_a_token_is_signed_again_before_it_expires(opened: Open) -> None:
    tenant = tenant_of(opened)
    clock = HastyClock(tenant.world)
    service = tenant.connect(signed(), read_only=True, clock=clock)
    await service.schema()
    for _ in range(3):
        await clock.sleep(9 * 60)
        await fetch_all(service, tenant)
    assert not tenant.world.refused


async def test_an_old_release_takes_no_signed_token(opened: Open) -> None:
    tenant = tenant_of(opened, release="4.27.0")
    with pytest.raises(Denied) as refused:
        await tenant.connect(signed()).probe()
    assert "basic" in refused.value.hint
    assert (await tenant.connect().probe()).total == 12


async def test_an_access_token_that_ended_is_renewed_once_for_all_who_call(opened: Open) -> None:
    tenant = tenant_of(opened)
    service = tenant.connect(client(tenant), read_only=True)
    await service.schema()
    exchanges = tenant.world.api_calls[EXCHANGE]
    for turn in range(1, 4):
        tenant.world.advance(FIVE_MINUTES + 1)  # the service's clock alone, so that ours still believes in the token
        await fetch_all(service, tenant)
        assert tenant.world.api_calls[EXCHANGE] == exchanges + turn
    assert set(tenant.world.refused) <= {"401", "security-invalidAuthorization"}


async def test_a_token_is_renewed_before_it_ends(opened: Open) -> None:
    tenant = tenant_of(opened)
    clock = HastyClock(tenant.world)
    service = tenant.connect(client(tenant), read_only=True, clock=clock)
    await service.schema()
    exchanges = tenant.world.api_calls[EXCHANGE]
    await clock.sleep(0.85 * FIVE_MINUTES)
    await fetch_all(service, tenant)
    assert tenant.world.api_calls[EXCHANGE] == exchanges + 1
    assert not tenant.world.refused


async def test_a_lost_response_of_the_exchange_costs_one_more(opened: Open) -> None:
    tenant = tenant_of(opened)
    tenant.faults.add([{"match": EXCHANGE, "nth": 1, "do": "reset_after"}])
    assert (await tenant.connect(client(tenant), read_only=True).probe()).total == 12
    assert tenant.world.api_calls[EXCHANGE] == 2


async def test_a_refused_client_is_denied_at_once_and_not_shown(opened: Open) -> None:
    tenant = tenant_of(opened)
    with pytest.raises(Denied) as refused:
        await tenant.connect(client(tenant, client_secret="never-a-secret")).probe()
    assert tenant.world.api_calls[EXCHANGE] == 1
    assert "never-a-secret" not in f"{refused.value!r} {refused.value} {refused.value.hint}"


async def test_an_instance_that_takes_no_tokens_of_the_provider_says_so(opened: Open) -> None:
    tenant = tenant_of(opened, oidc=False)
    with pytest.raises(Denied):
        await tenant.connect(client(tenant)).probe()


async def test_a_password_changed_in_mid_run_stops_it(opened: Open) -> None:
    tenant = tenant_of(opened)
    service = tenant.connect(read_only=True)
    assert len(await entries(service)) == 12
    tenant.faults.add([{"match": "GET /api/dam/medias/*", "do": "status:401"}])
    before = sum(tenant.world.api_calls.values())
    with pytest.raises(Denied):
        await service.fetch(AssetId(next(iter(tenant.truth()))))
    assert sum(tenant.world.api_calls.values()) == before + 1


async def test_the_right_on_a_user_interface_is_asked_for(opened: Open) -> None:
    interface = "9b2321ab-acd5-11eb-9c13-b07b254d250d"
    tenant = tenant_of(opened, interfaces=[interface])
    assert (await tenant.connect(client_id_header=interface).probe()).total == 12
    with pytest.raises(Denied) as refused:
        await tenant.connect(client_id_header="00000000-0000-0000-0000-000000000000").probe()
    assert "client_id_header" in refused.value.hint
