"""The login that gives a session: refreshed in time, by one for all, and never lost over an empty refresh token."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dam_sync.http.auth.base import Authenticator, TokenRequester
from dam_sync.http.auth.session import SessionLogin
from dam_sync.model.errors import ContractBroken, Denied
from tests.support.network.clients import client_of, get
from tests.support.network.raw_server import RawServer, Said, Seen, said
from tests.support.stepped_clock import SteppedClock

PASSWORD = "s3cret-Pass1"


class LoginServer:
    """Sessions for a password; `blank`: refreshing returns no new refresh token."""

    def __init__(self, clock: SteppedClock) -> None:
        self.clock = clock
        self.story: list[str] = []
        self.live: set[str] = set()
        self.refresh = ""
        self.given = 0
        self.blank = False
        self.refuses_refresh = False
        self.life = 3600.0

    def __call__(self, seen: Seen) -> Said:
        if seen.path == "/v1/auth/token":
            return self._token(seen)
        good = seen.headers.get("authorization") in self.live
        assert "bearer" not in seen.headers.get("authorization", "").lower()
        assert seen.headers["accesstoken"] == f"access-{seen.headers['authorization']}"
        self.story.append("used" if good else "refused")
        return said({"ok": good} if good else {"message": "Unauthorized"}, 200 if good else 401)

    def _token(self, seen: Seen) -> Said:
        body = json.loads(seen.body)
        if "session" in body:
            if self.refuses_refresh or body["session"]["refreshToken"] != self.refresh:
                self.story.append("no refresh")
                return said({"status": "error", "message": "Incorrect username or password."}, 401)
            self.story.append("refreshed")
            return said(self._session(refresh="" if self.blank else f"refresh-{self.given}-12345678"))
        if body.get("password") != PASSWORD:
            self.story.append("no login")
            return said({"status": "error", "message": "Incorrect username or password."}, 401)
        self.story.append("login")
        return said(self._session(refresh=f"refresh-{self.given}-12345678"))

    def _session(self, refresh: str) -> Any:
        self.given += 1
        token = f"token-number-{self.given:06}"
        self.live.add(token)
        self.refresh = refresh or self.refresh
        end = round((self.clock.now().timestamp() + self.life) * 1000)
        session = {"authorization": token, "accessToken": f"access-{token}", "refreshToken": refresh}
        return {"password": "", "session": {**session, "expireEpoch": end}}


def login(server: RawServer, clock: SteppedClock, password: str = PASSWORD) -> SessionLogin:
    return SessionLogin(f"{server.url}/v1/auth/token", "svc", password, clock)


def test_it_is_an_authenticator_and_shows_nothing() -> None:
    auth = SessionLogin("https://api.example/v1/auth/token", "svc", PASSWORD, SteppedClock())
    assert isinstance(auth, Authenticator)
    assert isinstance(auth, TokenRequester)
    assert PASSWORD not in repr(auth)


async def test_one_login_serves_all_who_ask_at_once() -> None:
    clock = SteppedClock(auto=True)
    script = LoginServer(clock)
    async with RawServer(script) as server, client_of(server, auth=login(server, clock), clock=clock) as client:
        await asyncio.gather(*(client.send(get()) for _ in range(8)))
    assert script.story == ["login", *["used"] * 8]


async def test_a_session_is_refreshed_before_it_ends() -> None:
    clock = SteppedClock(auto=True)
    script = LoginServer(clock)
    async with RawServer(script) as server, client_of(server, auth=login(server, clock), clock=clock) as client:
        await client.send(get())
        await clock.sleep(3600 - 301)
        await client.send(get())
        await clock.sleep(2)
        await asyncio.gather(*(client.send(get()) for _ in range(4)))
    assert script.story == ["login", "used", "used", "refreshed", *["used"] * 4]


async def test_a_refused_session_is_refreshed_once_for_all() -> None:
    clock = SteppedClock(auto=True)
    script = LoginServer(clock)
    async with RawServer(script) as server, client_of(server, auth=login(server, clock), clock=clock) as client:
        await client.send(get())
        script.live.clear()
        await asyncio.gather(*(client.send(get()) for _ in range(4)))
    assert script.story.count("refreshed") == 1
    assert script.story.count("login") == 1


async def test_an_empty_refresh_token_keeps_the_old_one() -> None:
    clock = SteppedClock(auto=True)
    script = LoginServer(clock)
    script.blank = True
    async with RawServer(script) as server, client_of(server, auth=login(server, clock), clock=clock) as client:
        for _ in range(4):
            await client.send(get())
            await clock.sleep(3590)
    assert [step for step in script.story if step != "used"] == ["login", "refreshed", "refreshed", "refreshed"]


@pytest.mark.parametrize(
    ("refuses_refresh", "later", "renewal"),
    [
        pytest.param(True, 3590, ["no refresh", "login"], id="refresh token refused"),
        pytest.param(False, 30 * 24 * 3600, ["login"], id="refresh token past its month: not tried"),
    ],
)
async def test_without_a_valid_refresh_token_the_password_is_used(
    refuses_refresh: bool, later: float, renewal: list[str]
) -> None:
    clock = SteppedClock(auto=True)
    script = LoginServer(clock)
    async with RawServer(script) as server, client_of(server, auth=login(server, clock), clock=clock) as client:
        await client.send(get())
        script.refuses_refresh = refuses_refresh
        await clock.sleep(later)
        await client.send(get())
    assert script.story == ["login", "used", *renewal, "used"]


async def test_a_session_shorter_than_the_reserve_is_used_all_the_same() -> None:
    clock = SteppedClock(auto=True)
    script = LoginServer(clock)
    script.life = 60.0
    async with RawServer(script) as server, client_of(server, auth=login(server, clock), clock=clock) as client:
        for _ in range(3):
            await client.send(get())
    assert script.story == ["login", *["used"] * 3]


async def test_a_wrong_password_is_denied_and_not_shown() -> None:
    clock = SteppedClock(auto=True)
    script = LoginServer(clock)
    auth = "wrong-Pass-9"
    async with (
        RawServer(script) as server,
        client_of(server, auth=login(server, clock, auth), clock=clock) as client,
    ):
        with pytest.raises(Denied) as denied:
            await client.send(get())
    assert script.story == ["no login"]
    assert auth not in str(denied.value)
    assert "password" in denied.value.hint


async def test_a_missing_api_key_is_distinguished_from_a_wrong_password() -> None:
    clock = SteppedClock(auto=True)

    def script(seen: Seen) -> Said:
        return said({"message": "Forbidden"}, 403)

    async with RawServer(script) as server, client_of(server, auth=login(server, clock), clock=clock) as client:
        with pytest.raises(Denied) as denied:
            await client.send(get())
    assert "API key" in str(denied.value)


async def test_a_response_without_a_session_is_reported() -> None:
    clock = SteppedClock(auto=True)
    async with (
        RawServer(lambda seen: said({"ok": True})) as server,
        client_of(server, auth=login(server, clock), clock=clock) as client,
    ):
        with pytest.raises(ContractBroken):
            await client.send(get())
