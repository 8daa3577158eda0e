"""Credentials of a server that keeps one token for a client and user: shared, renewed, never fought over."""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest

from dam_sync.http.auth.base import RENEWALS, Authenticator, Basic, SignedToken
from dam_sync.http.auth.oauth import (
    JWT_BEARER,
    DeviceIdentity,
    HeaderToken,
    JwtBearerGrant,
    LoginToken,
    OAuthClient,
    SharedConsent,
    UserConsent,
)
from dam_sync.model.errors import ContractBroken, Denied
from tests.support.network.clients import client_of, get, post
from tests.support.network.raw_server import RawServer, Said, Seen, said
from tests.support.state.credential_store import MemoryCredentialStore
from tests.support.stepped_clock import SteppedClock

KEY = "shared-key-0123456789-shared-key-0123456789-shared-key-0123456789"
SECRET = "client-secret-1"


class TokenServer:
    """One pair of tokens; a renewal ends both of the old pair at once (wire B 1.4)."""

    def __init__(self) -> None:
        self.access, self.refresh, self.code = "", "refresh-of-the-job", "code-123456"
        self.number = self.dead = 0  # the first ones end before a call of theirs arrives
        self.life: Any = 3599
        self.story: list[str] = []
        self.fields: list[dict[str, str]] = []

    def __call__(self, seen: Seen) -> Said:
        if seen.path != "/oauth2/token":
            good = (
                self.number > self.dead
                and bool(self.access)
                and seen.headers.get("authorization") == f"Bearer {self.access}"
            )
            self.story.append("used" if good else "refused")
            return said({"ok": good}, 200 if good else 401)
        fields = {key: values[0] for key, values in parse_qs(seen.body.decode()).items()}
        self.fields.append(fields)
        match fields["grant_type"]:
            case "refresh_token" if fields["refresh_token"] == self.refresh:
                return self._pair()
            case "authorization_code" if fields["code"] == self.code:
                self.code = ""
                return self._pair()
            case grant if grant == JWT_BEARER:
                return self._pair() if not self.access else self._same()
        self.story.append("no grant")
        return said({"error": "invalid_grant", "error_description": "Cannot refresh token"}, 400)

    def _pair(self) -> Said:
        self.number += 1
        self.access, self.refresh = f"access-token-{self.number:08}", f"refresh-token-{self.number:08}"
        self.story.append("granted")
        return self._same()

    def _same(self) -> Said:
        return said({"access_token": self.access, "refresh_token": self.refresh, "expires_in": self.life})


def consented(
    server: RawServer, credentials: MemoryCredentialStore, clock: SteppedClock, consent: UserConsent
) -> SharedConsent:
    client = OAuthClient(f"{server.url}/oauth2/token", "dam-sync", SECRET)
    return SharedConsent(client, consent, credentials, "b-demo", clock)


REFRESH = UserConsent(refresh_token="refresh-of-the-job")


# -- consent -----------------------------------------------------------------------------------------------------------


async def test_many_calls_at_once_renew_once() -> None:
    clock, tokens = SteppedClock(auto=True), TokenServer()
    credentials = MemoryCredentialStore(tokens.story)
    async with (
        RawServer(tokens) as server,
        client_of(server, auth=consented(server, credentials, clock, REFRESH), clock=clock) as client,
    ):
        await asyncio.gather(*(client.send(get()) for _ in range(12)))
        assert tokens.number == 1
        tokens.access = "ended by the service"
        await asyncio.gather(*(client.send(post()) for _ in range(12)))
        assert tokens.number == 2
        clock.skip(3599 * 0.8 + 1)
        await asyncio.gather(*(client.send(get()) for _ in range(12)))
        assert tokens.number == 3
    assert "no grant" not in tokens.story


@pytest.mark.parametrize("send", [get, post])
async def test_tokens_that_end_before_their_call_are_renewed_a_few_times(send: Any) -> None:
    """The upload takes longer than a token lives."""
    clock, tokens = SteppedClock(auto=True), TokenServer()
    tokens.dead = 3
    async with (
        RawServer(tokens) as server,
        client_of(
            server, auth=consented(server, MemoryCredentialStore(tokens.story), clock, REFRESH), clock=clock
        ) as client,
    ):
        await asyncio.gather(*(client.send(send()) for _ in range(12)))
    assert tokens.number == 4
    assert "no grant" not in tokens.story


async def test_a_call_that_every_token_is_refused_for_ends() -> None:
    clock, tokens = SteppedClock(auto=True), TokenServer()
    tokens.dead = 1000
    async with (
        RawServer(tokens) as server,
        client_of(
            server, auth=consented(server, MemoryCredentialStore(tokens.story), clock, REFRESH), clock=clock
        ) as client,
    ):
        with pytest.raises(Denied):
            await client.send(post())
    assert tokens.number == 1 + RENEWALS
    assert tokens.story.count("refused") == 1 + RENEWALS


async def test_both_tokens_are_stored_before_either_is_used() -> None:
    clock, tokens = SteppedClock(auto=True), TokenServer()
    credentials = MemoryCredentialStore(tokens.story)
    async with (
        RawServer(tokens) as server,
        client_of(server, auth=consented(server, credentials, clock, REFRESH), clock=clock) as client,
    ):
        await client.send(get())
    assert tokens.story == ["granted", "saved", "used"]


async def test_a_second_process_takes_the_pair_of_the_first() -> None:
    """Were it to renew, it would end the token of the first."""
    clock, tokens = SteppedClock(auto=True), TokenServer()
    credentials = MemoryCredentialStore(tokens.story)
    async with (
        RawServer(tokens) as server,
        client_of(server, auth=consented(server, credentials, clock, REFRESH), clock=clock) as one,
        client_of(server, auth=consented(server, credentials, clock, REFRESH), clock=clock) as two,
    ):
        for client in (one, two, one, two):
            assert (await client.send(get())).json() == {"ok": True}
        assert tokens.number == 1
        tokens.access = "ended by the service"
        for client in (one, two, one, two):
            assert (await client.send(get())).json() == {"ok": True}
        assert tokens.number == 2
    assert "no grant" not in tokens.story


async def test_who_loses_the_race_takes_the_winners_pair() -> None:
    clock, tokens = SteppedClock(auto=True), TokenServer()
    credentials, late = MemoryCredentialStore(tokens.story), MemoryCredentialStore()
    async with RawServer(tokens) as server:
        winner = consented(server, credentials, clock, REFRESH)
        async with client_of(server, auth=winner, clock=clock) as client:
            await client.send(get())
        loser = consented(server, late, clock, REFRESH)  # it read the credentials before the winner wrote

        async def afterwards(name: str) -> str | None:
            late.kept = credentials.kept if tokens.story[-1] == "no grant" else {}
            return late.kept.get(name)

        late.load = afterwards  # type: ignore[method-assign]
        async with client_of(server, auth=loser, clock=clock) as client:
            assert (await client.send(get())).json() == {"ok": True}
    assert tokens.number == 1


async def test_a_code_is_changed_once_and_then_refreshed() -> None:
    clock, tokens = SteppedClock(auto=True), TokenServer()
    credentials = MemoryCredentialStore(tokens.story)
    consent = UserConsent(code="code-123456", redirect_uri="http://localhost:8765/cb", code_verifier="verifier")
    async with RawServer(tokens) as server:
        for _ in range(2):  # two processes, one after the other
            async with client_of(server, auth=consented(server, credentials, clock, consent), clock=clock) as client:
                assert (await client.send(get())).json() == {"ok": True}
            clock.skip(4000)
    assert [fields["grant_type"] for fields in tokens.fields] == ["authorization_code", "refresh_token"]
    assert tokens.fields[0]["code_verifier"] == "verifier"
    assert tokens.fields[0]["redirect_uri"] == "http://localhost:8765/cb"
    assert {fields["client_secret"] for fields in tokens.fields} == {SECRET}


async def test_a_refused_consent_is_denied_with_a_way_out() -> None:
    clock, tokens = SteppedClock(auto=True), TokenServer()
    consent = UserConsent(refresh_token="refresh-of-another-day")
    async with (
        RawServer(tokens) as server,
        client_of(server, auth=consented(server, MemoryCredentialStore(), clock, consent), clock=clock) as client,
    ):
        with pytest.raises(Denied, match="Cannot refresh token") as caught:
            await client.send(get())
    assert "consent again" in caught.value.hint
    assert "refresh-of-another-day" not in str(caught.value.as_json())
    assert SECRET not in repr(client)


async def test_a_consent_newly_put_into_the_job_comes_first() -> None:
    clock, tokens = SteppedClock(auto=True), TokenServer()
    credentials = MemoryCredentialStore(tokens.story)
    async with RawServer(tokens) as server:
        async with client_of(server, auth=consented(server, credentials, clock, REFRESH), clock=clock) as client:
            await client.send(get())
        tokens.refresh, tokens.access = "refresh-of-a-new-consent", ""
        again = consented(server, credentials, clock, UserConsent(refresh_token="refresh-of-a-new-consent"))
        async with client_of(server, auth=again, clock=clock) as client:
            assert (await client.send(get())).json() == {"ok": True}


@pytest.mark.parametrize("stored", ["", "[]", "{}", '{"refresh_token": 1, "renew_at": "soon"}'])
async def test_a_credential_store_with_something_else_in_it_is_no_harm(stored: str) -> None:
    clock, tokens = SteppedClock(auto=True), TokenServer()
    credentials = MemoryCredentialStore(tokens.story)
    credentials.kept["b-demo"] = stored
    async with (
        RawServer(tokens) as server,
        client_of(server, auth=consented(server, credentials, clock, REFRESH), clock=clock) as client,
    ):
        assert (await client.send(get())).json() == {"ok": True}


# -- assertions --------------------------------------------------------------------------------------------------------


def bearer(server: RawServer, clock: SteppedClock) -> JwtBearerGrant:
    signer = SignedToken({"sub": "jdoe", "iss": "dam-sync"}, KEY, "HS512", timedelta(minutes=10), clock)
    return JwtBearerGrant(OAuthClient(f"{server.url}/oauth2/token", "dam-sync"), signer, clock)


async def test_an_assertion_is_signed_and_changed_for_a_token() -> None:
    clock, tokens = SteppedClock(auto=True), TokenServer()
    async with RawServer(tokens) as server, client_of(server, auth=bearer(server, clock), clock=clock) as client:
        assert (await client.send(get())).json() == {"ok": True}
    (fields,) = tokens.fields
    assert (fields["grant_type"], fields["client_id"]) == (JWT_BEARER, "dam-sync")
    assert "client_secret" not in fields
    read = jwt.decode(
        fields["assertion"], KEY, algorithms=["HS512"], options={"verify_exp": False, "verify_iat": False}
    )
    assert (read["sub"], read["iss"]) == ("jdoe", "dam-sync")


async def test_the_rest_of_a_tokens_life_is_not_asked_for_again_and_again() -> None:
    """Asked again while it is good, the service gives the same token with what is left of its life."""
    clock, tokens = SteppedClock(auto=True), TokenServer()
    tokens.life = "100.0"
    async with RawServer(tokens) as server, client_of(server, auth=bearer(server, clock), clock=clock) as client:
        for _ in range(9):
            await client.send(get())
            clock.skip(10)
        assert len(tokens.fields) == 1
        clock.skip(20)
        await client.send(get())
    assert len(tokens.fields) == 2


async def test_a_refused_assertion_is_denied() -> None:
    clock = SteppedClock(auto=True)
    async with (
        RawServer(lambda _: said({"error": "invalid_client"}, 400)) as server,
        client_of(server, auth=bearer(server, clock), clock=clock) as client,
    ):
        with pytest.raises(Denied, match="invalid_client") as caught:
            await client.send(get())
    assert "key" in caught.value.hint


# -- login tokens ------------------------------------------------------------------------------------------------------

HEADER = "X-Authentication-Token"


async def test_a_token_in_its_own_header() -> None:
    auth = HeaderToken(HEADER, "7f3c1a52-login-token")
    assert isinstance(auth, Authenticator)
    assert await auth.headers() == {HEADER: "7f3c1a52-login-token"}
    assert await auth.renew(await auth.headers()) is False
    assert "7f3c1a52" not in repr(auth)


async def test_user_and_password_fetch_a_login_token_once() -> None:
    asked: list[dict[str, list[str]]] = []
    tokens = iter(["login-token-0001", "login-token-0002"])
    good = ""

    def handler(seen: Seen) -> Said:
        nonlocal good
        if seen.path == "/authentication/token":
            basic = base64.b64decode(seen.headers["authorization"].partition(" ")[2]).decode()
            assert basic == "jdoe:secret-word"
            asked.append(parse_qs(urlsplit(seen.target).query))
            good = next(tokens)
            return Said(201, good.encode(), {"Content-Type": "text/plain"})
        assert "authorization" not in seen.headers
        return said({"ok": 1}, 200 if seen.headers.get(HEADER.lower()) == good else 401)

    clock = SteppedClock(auto=True)
    async with RawServer(handler) as server:
        auth = LoginToken(
            f"{server.url}/authentication/token", Basic("jdoe", "secret-word"), DeviceIdentity(HEADER), clock
        )
        async with client_of(server, auth=auth, clock=clock) as client:
            await asyncio.gather(*(client.send(get()) for _ in range(5)))
            assert len(asked) == 1
            good = "revoked"
            assert (await client.send(get())).status == 200
    assert len(asked) == 2
    assert asked[0]["applicationName"] == asked[0]["deviceId"] == ["dam-sync"]
    assert asked[0]["permission"] == ["rw"]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Said(401, b"<html>"), Denied),
        (Said(200, b"<html><body>Log in</body></html>", {"Content-Type": "text/html"}), ContractBroken),
        (Said(201, b""), ContractBroken),
        (Said(201, b"two words"), ContractBroken),
    ],
)
async def test_what_is_no_login_token_is_not_used(answer: Said, error: type[Exception]) -> None:
    clock = SteppedClock(auto=True)
    async with RawServer(lambda _: answer) as server:
        auth = LoginToken(
            f"{server.url}/authentication/token", Basic("jdoe", "secret-word"), DeviceIdentity(HEADER), clock
        )
        async with client_of(server, auth=auth, clock=clock, attempts=2) as client:
            with pytest.raises(error):
                await client.send(get())
