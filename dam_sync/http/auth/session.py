"""Session login: a pair of tokens, refreshed before they expire; the password is the fallback."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from dam_sync.http.auth.base import REFUSED, GrantedToken, refusal_text
from dam_sync.http.error_rules import explanation
from dam_sync.http.messages import Response
from dam_sync.http.redaction import hide, hide_issued
from dam_sync.model.clock import Clock
from dam_sync.model.errors import ContractBroken, Denied
from dam_sync.model.values import Json

RESERVE = timedelta(seconds=300)  # wire D 1.4: refresh when less than this remains
KEPT = timedelta(days=29)  # wire D 1.4: refresh tokens end 30 days after the login
UNSAID = timedelta(minutes=50)  # a session without an expiry lives an hour (spec 002, Authentication, Service D)
_HINT = "check api_key, username and password in the job file"


class SessionLogin(GrantedToken):
    """A session from user name and password (wire D 1.3), refreshed before it expires or when refused; concurrent
    callers share one renewal. A refresh without a new refresh token keeps the old one; a refused refresh falls back to
    the password. Raises Denied if that is refused, Transient when the server does not respond."""

    def __init__(self, token_url: str, username: str, password: str, clock: Clock) -> None:
        super().__init__(token_url, clock)
        self._login = {"username": username, "password": password}
        self._session: dict[str, str] = {}
        self._kept_until = 0.0
        hide(password)

    async def _renewed(self) -> None:
        if not await self._refreshed():
            await self._logged_in()

    async def _refreshed(self) -> bool:
        """Refresh the session; returns whether that succeeded."""
        if not self._session.get("refreshToken") or self._clock.monotonic() >= self._kept_until:
            return False
        asked = {name: self._session[name] for name in ("accessToken", "refreshToken")}
        reply = await self._send(replace(self._call(), json={"session": asked}))
        if reply.status in REFUSED:
            return False
        self._take(reply)
        return True

    async def _logged_in(self) -> None:
        reply = await self._send(replace(self._call(), json=self._login))
        if reply.status in REFUSED:
            self._session, self._headers = {}, {}
            raise _denied(reply)
        self._take(reply)
        self._kept_until = self._clock.monotonic() + KEPT.total_seconds()

    def _take(self, reply: Response) -> None:
        data: Any = reply.json()
        session = data.get("session") if isinstance(data, dict) else None
        if not isinstance(session, dict) or not session.get("authorization"):
            raise ContractBroken("the login response has no session", operation=reply.operation)
        fresh = {name: str(session.get(name) or "") for name in ("authorization", "accessToken", "refreshToken")}
        fresh["refreshToken"] = fresh["refreshToken"] or self._session.get("refreshToken", "")
        hide_issued(*fresh.values())
        self._session = fresh
        self._renew_at = self._clock.monotonic() + self._life(session.get("expireEpoch"))
        # both tokens, because no document says which is read (wire D 1.2)
        self._headers = {"Authorization": fresh["authorization"], "AccessToken": fresh["accessToken"]}

    def _life(self, end: Json) -> float:
        """Seconds until the session is renewed; one with too short a lifetime is used until it is refused."""
        try:
            left = float(end) / 1000 - self._clock.now().timestamp()
        except (TypeError, ValueError):
            return UNSAID.total_seconds()
        reserve = RESERVE.total_seconds()
        return left - reserve if left > 2 * reserve else max(left / 2, 1.0)


def _denied(reply: Response) -> Denied:
    message, _ = explanation(reply.headers, reply.body)
    key = reply.status == 403 and message.casefold() == "forbidden"
    text = "the API key was refused" if key else "the login was refused"
    text = refusal_text(text, reply.status, message)
    hint = "check api_key in the job file" if key else _HINT
    error = Denied(text, service=reply.service, operation=reply.operation, hint=hint)
    error.status = reply.status
    return error
