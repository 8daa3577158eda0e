"""Credentials: what they send, when they renew, and that a rotating one survives a crash."""

from __future__ import annotations

import asyncio
import base64
import json
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs

import jwt
import pytest

from dam_sync.http.auth.base import (
    Authenticator,
    Basic,
    Bearer,
    ClientCredentials,
    HeaderAuth,
    RotatingToken,
    SignedToken,
    TokenAsBasic,
    TokenRequester,
    fingerprint_of,
)
from dam_sync.http.client import Client
from dam_sync.model.errors import ConfigError, ContractBroken, Denied, Transient
from dam_sync.model.limits import Pace
from tests.support.network.clients import client_of, get, post, wiring_of
from tests.support.network.raw_server import RawServer, Said, Seen, said
from tests.support.state.credential_store import MemoryCredentialStore
from tests.support.stepped_clock import SteppedClock

KEY = "sharedkey123"
CLAIMS = {"client_id": "demo-instance-id", "login": "dam-sync"}


class TokenServer:
    """Grants rotating tokens and responds to calls that carry the newest access token."""

    def __init__(self, first: str = "wrt_first_0000000") -> None:
        self.refresh = first
        self.access = ""
        self.granted = 0
        self.story: list[str] = []
        self.expires_in: Any = 28800
        self.lose_next = False

    def __call__(self, seen: Seen) -> Said:
        if seen.path == "/v2/oauth/access-token":
            return self._grant(seen)
        good = bool(self.access) and seen.headers.get("authorization") == f"Bearer {self.access}"
        self.story.append("used" if good else "refused")
        return said({"ok": good}, 200 if good else 401)

    def _grant(self, seen: Seen) -> Said:
        assert "authorization" not in seen.headers
        fields = json.loads(seen.body)
        assert (fields["grant_type"], fields["client_id"]) == ("refresh_token", "client-1")
        if fields["refresh_token"] != self.refresh:
            self.story.append("no grant")
            return said({"error": "invalid_grant", "error_description": "token consumed"}, 400)
        self.granted += 1
        self.refresh, self.access = f"wrt_number_{self.granted:08}", f"wat_number_{self.granted:08}"
        self.story.append("granted")
        grant = {"access_token": self.access, "refresh_token": self.refresh, "expires_in": self.expires_in}
        return said(grant)


def rotating(
    server: RawServer, credentials: MemoryCredentialStore, clock: SteppedClock, first: str = "wrt_first_0000000"
) -> RotatingToken:
    url = f"{server.url}/v2/oauth/access-token"
    return RotatingToken(url, "client-1", "client-secret-1", first, credentials, "e-demo", clock)


# fixed ones


@pytest.mark.parametrize(
    ("auth", "scheme", "plain"),
    [
        (Basic("dam-sync", "pä:ss-word"), "Basic", "dam-sync:pä:ss-word"),
        (TokenAsBasic("wat_demo_b1d3c61e03c6"), "Basic", "wat_demo_b1d3c61e03c6:x-oauth-basic"),
        (Bearer("wat_demo_b1d3c61e03c6"), "Bearer", "wat_demo_b1d3c61e03c6"),
    ],
)
async def test_fixed_credentials(auth: HeaderAuth, scheme: str, plain: str) -> None:
    headers = await auth.headers()
    shown, _, value = headers["Authorization"].partition(" ")
    assert shown == scheme
    assert (base64.b64decode(value).decode() if scheme == "Basic" else value) == plain
    assert await auth.renew(headers) is False
    assert plain not in repr(auth)
    assert value not in repr(auth)
    assert isinstance(auth, Authenticator)
    assert not isinstance(auth, TokenRequester)


async def test_a_refused_fixed_credential_is_denied_at_once() -> None:
    async with RawServer(lambda _: said({}, 401)) as server, client_of(server) as client:
        with pytest.raises(Denied) as caught:
            await client.send(get())
    assert len(server.seen) == 1
    assert caught.value.exit_code == 7
    assert caught.value.hint


# signed ones


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
async def test_a_token_is_signed_again_at_four_fifths_of_its_lifetime(algorithm: str) -> None:
    clock = SteppedClock(start=datetime(2026, 3, 1, tzinfo=UTC))
    auth = SignedToken(CLAIMS, KEY, algorithm, timedelta(minutes=10), clock)
    first = (await auth.headers())["Authorization"]
    token = first.removeprefix("Bearer ")
    with warnings.catch_warnings():  # the reader minds the short key as well
        warnings.simplefilter("ignore")
        read = jwt.decode(token, KEY, algorithms=[algorithm], options={"verify_exp": False, "verify_iat": False})
    assert jwt.get_unverified_header(token)["alg"] == algorithm
    issued = int(datetime(2026, 3, 1, tzinfo=UTC).timestamp())
    assert read == {**CLAIMS, "iat": issued, "exp": issued + 600}
    await clock.advance(479)
    assert (await auth.headers())["Authorization"] == first
    await clock.advance(1)
    assert (await auth.headers())["Authorization"] != first


@pytest.mark.parametrize("algorithm", ["none", "RS256", "ES256", "HS1", "", "hs256"])
def test_other_algorithms_are_refused(algorithm: str) -> None:
    with pytest.raises(ConfigError, match="HS256, HS384, HS512"):
        SignedToken(CLAIMS, KEY, algorithm, timedelta(minutes=10), SteppedClock())


def test_an_empty_key_is_refused_and_none_is_shown() -> None:
    with pytest.raises(ConfigError):
        SignedToken(CLAIMS, "", "HS256", timedelta(minutes=10), SteppedClock())
    assert KEY not in repr(SignedToken(CLAIMS, KEY, "HS256", timedelta(minutes=10), SteppedClock()))


async def test_a_refused_signed_token_is_signed_again_once() -> None:
    clock = SteppedClock(auto=True)
    auth = SignedToken(CLAIMS, KEY, "HS256", timedelta(minutes=10), clock)

    def handler(_: Seen) -> Said:
        clock.skip(1)
        return said({}, 401) if len(server.seen) == 1 else said({"ok": 1})

    async with RawServer(handler) as server, client_of(server, auth=auth, clock=clock) as client:
        assert (await client.send(post())).status == 200
    assert len({seen.headers["authorization"] for seen in server.seen}) == 2


# granted ones


def credentials_server(status: int = 200, **grant: Any) -> Callable[[Seen], Said]:
    def handler(seen: Seen) -> Said:
        if seen.path == "/token":
            return said({"access_token": f"granted-{len(seen.body)}-token", **grant}, status)
        return said({"ok": 1})

    return handler


async def test_client_credentials_go_as_a_form() -> None:
    clock = SteppedClock(auto=True)
    async with RawServer(credentials_server(expires_in="300.0")) as server:
        auth = ClientCredentials(f"{server.url}/token", "id", "s&cret-value", "openid", clock)
        async with client_of(server, auth=auth, clock=clock) as client:
            await asyncio.gather(*(client.send(get()) for _ in range(8)))
            clock.skip(240)
            await client.send(get())
        asked = [seen for seen in server.seen if seen.path == "/token"]
        assert len(asked) == 2
        assert asked[0].headers["content-type"] == "application/x-www-form-urlencoded"
        assert parse_qs(asked[0].body.decode()) == {
            "grant_type": ["client_credentials"],
            "client_id": ["id"],
            "client_secret": ["s&cret-value"],
            "scope": ["openid"],
        }
        assert client.calls == {"GET /v2/thing": 9, "POST /token": 2}
        assert "s&cret-value" not in repr(auth)


@pytest.mark.parametrize("life", [10**400, "soon", None], ids=["huge", "no number", "none"])
async def test_a_life_that_is_no_time_is_used_until_it_is_refused(life: Any) -> None:
    clock = SteppedClock(auto=True)
    async with RawServer(credentials_server(expires_in=life)) as server:
        auth = ClientCredentials(f"{server.url}/token", "id", "s&cret-value", "openid", clock)
        async with client_of(server, auth=auth, clock=clock) as client:
            await client.send(get())
            clock.skip(10_000_000)
            await client.send(get())
        assert client.calls == {"GET /v2/thing": 2, "POST /token": 1}


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_refused_client_credentials_are_denied(status: int) -> None:
    async with RawServer(credentials_server(status, error="invalid_client")) as server:
        auth = ClientCredentials(f"{server.url}/token", "id", "secret-value", "", SteppedClock())
        async with client_of(server, auth=auth) as client:
            with pytest.raises(Denied, match="invalid_client") as caught:
                await client.send(get())
    assert "client_secret" in caught.value.hint
    assert client.calls == {"POST /token": 1}


async def test_a_token_server_in_trouble_is_transient() -> None:
    async with RawServer(lambda _: said({}, 503)) as server:
        auth = ClientCredentials(f"{server.url}/token", "id", "secret-value", "", SteppedClock())
        async with client_of(server, auth=auth, attempts=2) as client:
            with pytest.raises(Transient):
                await client.send(get())
    assert {seen.path for seen in server.seen} == {"/token"}


@pytest.mark.parametrize("answer", [Said(200, b"<html>"), said({}), said([1]), said({"access_token": 7})])
async def test_a_token_response_without_a_token_breaks_the_contract(answer: Said) -> None:
    async with RawServer(lambda _: answer) as server:
        auth = ClientCredentials(f"{server.url}/token", "id", "secret-value", "", SteppedClock())
        async with client_of(server, auth=auth) as client:
            with pytest.raises(ContractBroken):
                await client.send(get())


async def test_a_token_server_elsewhere_is_not_counted_as_the_api() -> None:
    async with RawServer(credentials_server()) as server, RawServer(credentials_server()) as tokens:
        auth = ClientCredentials(f"{tokens.url}/token", "id", "secret-value", "", SteppedClock())
        async with client_of(server, auth=auth, read_only=True) as client:
            await client.send(get())
        assert client.calls == {"GET /v2/thing": 1}
        assert len(tokens.seen) == 1


# rotating ones


async def test_many_calls_at_once_renew_once() -> None:
    clock, credentials, tokens = SteppedClock(auto=True), MemoryCredentialStore(), TokenServer()
    async with (
        RawServer(tokens) as server,
        client_of(server, auth=rotating(server, credentials, clock), clock=clock) as client,
    ):
        await asyncio.gather(*(client.send(get()) for _ in range(20)))
        assert tokens.granted == 1
        tokens.access = "revoked by the service"
        await asyncio.gather(*(client.send(post()) for _ in range(20)))
        assert tokens.granted == 2
        clock.skip(28800 * 0.8)
        await asyncio.gather(*(client.send(get()) for _ in range(20)))
        assert tokens.granted == 3
    assert "no grant" not in tokens.story


async def test_the_new_refresh_token_is_stored_before_the_new_access_token_is_used() -> None:
    clock, tokens = SteppedClock(auto=True), TokenServer()
    credentials = MemoryCredentialStore(tokens.story)
    async with (
        RawServer(tokens) as server,
        client_of(server, auth=rotating(server, credentials, clock), clock=clock) as client,
    ):
        await client.send(get())
    assert tokens.story == ["granted", "saved", "used"]


async def test_after_a_crash_between_storing_and_using_the_stored_one_is_used() -> None:
    clock, credentials, tokens = SteppedClock(auto=True), MemoryCredentialStore(), TokenServer()
    async with RawServer(tokens) as server:
        auth = rotating(server, credentials, clock)
        async with client_of(server, auth=auth, clock=clock):
            await auth.headers()  # stored; the process ends before any call
        assert tokens.story == ["granted"]
        async with client_of(server, auth=rotating(server, credentials, clock), clock=clock) as client:
            assert (await client.send(get())).json() == {"ok": True}
    assert tokens.story == ["granted", "used"]


async def test_what_cannot_be_stored_is_not_used() -> None:
    clock, credentials, tokens = SteppedClock(auto=True), MemoryCredentialStore(), TokenServer()
    credentials.broken = True
    async with (
        RawServer(tokens) as server,
        client_of(server, auth=rotating(server, credentials, clock), clock=clock) as client,
    ):
        with pytest.raises(OSError, match="no room"):
            await client.send(get())
    assert "used" not in tokens.story


async def test_a_consumed_refresh_token_is_denied_with_a_way_out() -> None:
    clock, credentials, tokens = (
        SteppedClock(auto=True),
        MemoryCredentialStore(),
        TokenServer("wrt_another_111111"),
    )
    async with (
        RawServer(tokens) as server,
        client_of(server, auth=rotating(server, credentials, clock), clock=clock) as client,
    ):
        with pytest.raises(Denied, match="token consumed") as caught:
            await client.send(get())
    assert "consent again" in caught.value.hint
    assert "wrt_first_0000000" not in str(caught.value.as_json())


async def test_another_process_that_renewed_in_between_does_no_harm() -> None:
    clock, credentials, tokens = SteppedClock(auto=True), MemoryCredentialStore(), TokenServer()
    async with (
        RawServer(tokens) as server,
        client_of(server, auth=rotating(server, credentials, clock), clock=clock) as one,
        client_of(server, auth=rotating(server, credentials, clock), clock=clock) as two,
    ):
        for client in (one, two, one, two):
            assert (await client.send(get())).json() == {"ok": True}
    assert "no grant" not in tokens.story


async def test_the_newest_stored_token_is_tried_before_giving_up() -> None:
    """Processes that do not know the lock store newer ones while this one is refused, also more than once."""
    clock, credentials, tokens = SteppedClock(auto=True), MemoryCredentialStore(), TokenServer("wrt_third_00000000")
    given = fingerprint_of("wrt_first_0000000")
    later = ["wrt_third_00000000", "wrt_second_000000"]

    def handler(seen: Seen) -> Said:
        response = tokens(seen)
        if "token" in seen.path and later:
            credentials.kept[f"e-demo-{given}"] = json.dumps({"given": given, "refresh_token": later.pop()})
        return response

    async with (
        RawServer(handler) as server,
        client_of(server, auth=rotating(server, credentials, clock), clock=clock) as client,
    ):
        assert (await client.send(get())).json() == {"ok": True}
    assert tokens.story == ["no grant", "no grant", "granted", "used"]


async def test_a_refresh_token_newly_put_into_the_job_comes_first() -> None:
    clock, credentials, tokens = SteppedClock(auto=True), MemoryCredentialStore(), TokenServer()
    async with RawServer(tokens) as server:
        async with client_of(server, auth=rotating(server, credentials, clock), clock=clock) as client:
            await client.send(get())
        tokens.refresh = "wrt_consented_again"
        async with client_of(
            server, auth=rotating(server, credentials, clock, "wrt_consented_again"), clock=clock
        ) as client:
            assert (await client.send(get())).json() == {"ok": True}
    assert "no grant" not in tokens.story


async def test_two_consents_for_one_client_are_stored_apart() -> None:
    """Source and target of a job may be two tenants behind one host."""
    clock, credentials = SteppedClock(auto=True), MemoryCredentialStore()
    tenants = {"wrt_first_0000000": TokenServer(), "wrt_second_000000": TokenServer("wrt_second_000000")}
    for _ in range(2):
        for first, tokens in tenants.items():
            async with (
                RawServer(tokens) as server,
                client_of(server, auth=rotating(server, credentials, clock, first), clock=clock) as client,
            ):
                assert (await client.send(get())).json() == {"ok": True}
    assert [tokens.granted for tokens in tenants.values()] == [1, 1]
    assert not any("no grant" in tokens.story for tokens in tenants.values())


async def test_what_an_earlier_release_stored_is_still_used() -> None:
    clock, credentials, tokens = SteppedClock(auto=True), MemoryCredentialStore(), TokenServer()
    async with RawServer(tokens) as server:
        async with client_of(server, auth=rotating(server, credentials, clock), clock=clock) as client:
            await client.send(get())
        credentials.kept = {"e-demo": next(iter(credentials.kept.values()))}
        async with client_of(server, auth=rotating(server, credentials, clock), clock=clock) as client:
            assert (await client.send(get())).json() == {"ok": True}
    assert "no grant" not in tokens.story


async def test_a_server_that_keeps_the_refresh_token_is_asked_once_by_all_processes() -> None:
    def handler(seen: Seen) -> Said:
        nonlocal asked
        asked += "oauth" in seen.path
        return said({"access_token": "wat_steady_0001", "refresh_token": ""} if "oauth" in seen.path else {"ok": 1})

    asked = 0

    credentials = MemoryCredentialStore()
    async with (
        RawServer(handler) as server,
        client_of(server, auth=rotating(server, credentials, SteppedClock())) as client,
        client_of(server, auth=rotating(server, credentials, SteppedClock())) as other,
    ):
        await client.send(get())
        await other.send(get())
    assert asked == 1


async def test_an_unreadable_credential_store_falls_back_to_the_job() -> None:
    clock, credentials, tokens = SteppedClock(auto=True), MemoryCredentialStore(), TokenServer()
    credentials.kept["e-demo"] = "not json"
    async with (
        RawServer(tokens) as server,
        client_of(server, auth=rotating(server, credentials, clock), clock=clock) as client,
    ):
        assert (await client.send(get())).json() == {"ok": True}


async def test_a_renewal_does_not_wait_for_the_call_that_needs_it() -> None:
    clock, credentials, tokens = SteppedClock(auto=True), MemoryCredentialStore(), TokenServer()
    async with RawServer(tokens) as server:
        auth = rotating(server, credentials, clock)
        async with client_of(server, auth=auth, clock=clock, pace=Pace(None, 1, 1)) as client:
            async with asyncio.timeout(5):
                await asyncio.gather(*(client.send(get()) for _ in range(5)))


async def test_without_a_client_nothing_can_be_granted() -> None:
    auth = ClientCredentials("https://idp.example/token", "id", "secret-value", "", SteppedClock())
    with pytest.raises(ContractBroken):
        await auth.headers()
    Client(wiring_of("https://dam.example", auth=auth))
    assert isinstance(auth, TokenRequester)


@pytest.mark.parametrize("token", ["s3cret-\u00e9-token", "s3cret\ntoken"])
def test_the_error_for_a_token_that_no_header_can_carry_does_not_contain_it(token: str) -> None:
    with pytest.raises(ConfigError) as told:
        Bearer(token)
    assert "s3cret" not in f"{told.value} {told.value.hint}"
