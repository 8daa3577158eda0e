"""Every way into service E, also when a token ends in the middle of a run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta

import httpx
import pytest

from dam_sync.model.asset import AssetId
from dam_sync.model.errors import Denied
from dam_sync.model.service import Service
from tests.support.services.connected_e import START, TOKEN, Open, Tenant, asset, consent, serving
from tests.support.services.connections import EVERYTHING, entries

EXCHANGE = "POST /v2/oauth/access-token"
EIGHT_HOURS = 8 * 3600


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


def tenant_of(opened: Open, count: int = 12) -> Tenant:
    return opened(*(asset(n, START + timedelta(hours=n)) for n in range(count)), rate=None)


def oauth(tenant: Tenant) -> Mapping[str, str]:
    client = {"flow": "oauth", "client_id": "client-1", "client_secret": "client-secret-1"}
    return {**client, "refresh_token": consent(tenant.served.url)}


async def fetch_all(service: Service, tenant: Tenant) -> None:
    found = await asyncio.gather(*(service.fetch(AssetId(identity)) for identity in tenant.truth()))
    assert {each.id for each in found} == set(tenant.truth())


def kept(tenant: Tenant) -> str:
    (stored,) = tenant.credentials.kept.values()
    return str(json.loads(stored)["refresh_token"])


async def test_an_access_token_that_ended_is_renewed_once_for_all_who_call(opened: Open) -> None:
    tenant = tenant_of(opened)
    service = tenant.connect(oauth(tenant), read_only=True)
    await service.schema()
    exchanges, before = tenant.world.api_calls[EXCHANGE], kept(tenant)
    for turn in range(1, 4):
        tenant.world.advance(EIGHT_HOURS + 1)  # the service's clock alone, so that ours still believes in the token
        await fetch_all(service, tenant)
        assert tenant.world.api_calls[EXCHANGE] == exchanges + turn
        assert kept(tenant) != before
        before = kept(tenant)
    assert set(tenant.world.refused) <= {"401"}


async def test_a_token_is_renewed_before_it_ends(opened: Open) -> None:
    tenant = tenant_of(opened)
    service = tenant.connect(oauth(tenant), read_only=True)
    await service.schema()
    exchanges = tenant.world.api_calls[EXCHANGE]
    await tenant.clock.sleep(0.85 * EIGHT_HOURS)  # both clocks
    await fetch_all(service, tenant)
    assert tenant.world.api_calls[EXCHANGE] == exchanges + 1
    assert not tenant.world.refused


async def test_a_listing_outlives_its_token(opened: Open) -> None:
    tenant = opened(*(asset(n, START + timedelta(hours=n)) for n in range(230)), rate=None)
    service = tenant.connect(oauth(tenant), read_only=True)
    found = []
    async for shard in service.shards(EVERYTHING):
        async for batch in service.crawl(shard, None):
            found += [entry.id for entry in batch.entries]
            tenant.world.advance(EIGHT_HOURS + 1)
    assert sorted(found) == sorted(tenant.truth())


async def test_a_token_revoked_in_mid_run_is_renewed(opened: Open) -> None:
    tenant = tenant_of(opened)
    service = tenant.connect(oauth(tenant), read_only=True)
    await service.schema()
    header = dict(await service.api.auth.headers())  # type: ignore[attr-defined]
    async with httpx.AsyncClient(base_url=tenant.served.url, headers=header, verify=False) as http:
        assert (await http.delete("/v2/oauth/access-token")).is_success
    await fetch_all(service, tenant)


async def test_two_connections_share_one_consent(opened: Open) -> None:
    """The source and the target of a job, or two processes: the newest refresh token is taken from the store."""
    tenant = tenant_of(opened)
    auth = oauth(tenant)
    both = [tenant.connect(auth, read_only=True) for _ in range(2)]
    for _ in range(3):
        for service in both:
            await fetch_all(service, tenant)
        tenant.world.advance(EIGHT_HOURS + 1)


async def test_a_lost_response_of_the_exchange_asks_for_consent(opened: Open) -> None:
    """The refresh token is consumed, and the new one has never come: only a person can help."""
    tenant = tenant_of(opened)
    service = tenant.connect(oauth(tenant), read_only=True)
    await service.schema()
    tenant.world.advance(EIGHT_HOURS + 1)
    tenant.faults.add([{"match": EXCHANGE, "nth": 1, "do": "reset_after"}])
    with pytest.raises(Denied) as refused:
        await fetch_all(service, tenant)
    assert "consent" in refused.value.hint
    assert kept(tenant) not in f"{refused.value!r} {refused.value} {refused.value.hint}"


async def test_a_new_consent_in_the_job_file_comes_before_the_credential_store(opened: Open) -> None:
    tenant = tenant_of(opened)
    await tenant.connect(oauth(tenant), read_only=True).probe()
    tenant.credentials.kept = {
        name: json.dumps({**json.loads(text), "refresh_token": "wrt_demo_used_up"})
        for name, text in tenant.credentials.kept.items()
    }
    assert (await tenant.connect(oauth(tenant), read_only=True).probe()).total == 12


@pytest.mark.parametrize("change", [{"client_secret": "never-a-secret"}, {"refresh_token": "wrt_demo_unknown"}])
async def test_a_refused_client_or_consent_is_denied_at_once(opened: Open, change: Mapping[str, str]) -> None:
    tenant = tenant_of(opened)
    with pytest.raises(Denied) as refused:
        await tenant.connect({**oauth(tenant), **change}).probe()
    assert tenant.world.api_calls[EXCHANGE] == 2  # the consent itself, and one more
    assert not any(secret in str(refused.value) for secret in change.values())


@pytest.mark.parametrize("form", ["bearer", "basic"])
async def test_a_personal_token_removed_in_mid_run_stops_it(opened: Open, form: str) -> None:
    tenant = tenant_of(opened)
    service = tenant.connect({**TOKEN, "form": form}, read_only=True)
    assert len(await entries(service)) == 12
    async with httpx.AsyncClient(base_url=tenant.served.url, verify=False) as http:
        gone = await http.delete("/v2/oauth/access-token", headers={"Authorization": f"Bearer {TOKEN['token']}"})
        assert gone.is_success
    before = sum(tenant.world.api_calls.values())
    with pytest.raises(Denied):
        await service.fetch(AssetId(next(iter(tenant.truth()))))
    assert sum(tenant.world.api_calls.values()) == before + 1


def test_the_emulated_consent_is_good_many_times_and_its_tokens_are_good_once(opened: Open) -> None:
    tenant = opened(consents=["wrt_demo_standing"])
    sent = {"client_id": "client-1", "client_secret": "client-secret-1", "grant_type": "refresh_token"}
    with httpx.Client(base_url=tenant.served.url, verify=False) as http:
        pairs = [
            http.post("/v2/oauth/access-token", json={**sent, "refresh_token": "wrt_demo_standing"}).json()
            for _ in range(3)
        ]
        assert len({pair["refresh_token"] for pair in pairs}) == 3
        statuses = [
            http.post("/v2/oauth/access-token", json={**sent, "refresh_token": pairs[0]["refresh_token"]}).status_code
            for _ in range(2)
        ]
    assert statuses == [200, 400]
