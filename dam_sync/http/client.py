"""One call in, JSON or a stream out: credentials, retries, redirects and refusals are settled here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import structlog

from dam_sync.http.auth.base import Authenticator, Exchanging
from dam_sync.http.client_config import ClientConfig
from dam_sync.http.dispatch import PreparedRequest, RequestDispatcher, prepared_request
from dam_sync.http.error_rules import Refusal, error_for
from dam_sync.http.messages import Request, Response
from dam_sync.http.multipart import FormPart
from dam_sync.http.retry import Unreadable, is_unreadable, retrying
from dam_sync.http.stream import HttpStream
from dam_sync.http.transport import RawResponse
from dam_sync.http.urls import Address, Addresses
from dam_sync.model.errors import ContractBroken, DamSyncError, Transient
from dam_sync.model.limits import MeasuredPace

__all__ = ["Client", "ClientConfig", "FormPart", "HttpStream", "Request", "Response"]

_REDIRECTS: Final = 5
_MOVED: Final = frozenset({301, 302, 303, 307, 308})
_FOLLOWED: Final = frozenset({"GET", "HEAD"})

_LONG: Final = 30.0  # seconds of a pause that are reported at once

_log = structlog.get_logger()


class Client:
    """Calls of one service with one credential. Two lanes, told apart by origin:

    - An address on one of the bases is an API call: authenticated, counted, paced, `pace.at_once` at a time.
    - Any other is storage: no credential, no cookie, not counted, never shown; `pace.storage_at_once` at a time. An
      open download counts only while a block of it is awaited, so one that rests never holds up another.

    What certainly did nothing (never reached, "too fast") is sent again, anything else only where the request is
    repeatable; after a 401 the credential is renewed once. Raises the errors of `model.errors` with service, operation
    and asset filled in; ConfigError, also at construction, for plain http beyond this machine.
    """

    def __init__(self, wiring: ClientConfig) -> None:
        self._wiring = wiring
        self._addresses = Addresses(wiring.bases)
        self._line = RequestDispatcher(wiring)
        self._retrying = {
            again: retrying(again, wiring.attempts, wiring.clock, self._log_retry) for again in (True, False)
        }
        self._announced = -_LONG  # until when a pause was reported
        if isinstance(wiring.auth, Exchanging):
            wiring.auth.attach(self._without_credential)

    def __repr__(self) -> str:
        return f"Client({self._wiring.service})"

    @property
    def calls(self) -> Mapping[str, int]:
        """API calls sent, retries included, by operation."""
        return dict(self._line.calls)

    @property
    def measured_pace(self) -> MeasuredPace:
        """The pace as it is now, and the mean time from the turn of an API call to the end of its answer."""
        line = self._line
        mean = line.answering / line.answered if line.answered else None
        return MeasuredPace(replace(self._wiring.pace, per_second=line.bucket.rate), mean)

    @property
    def storage_calls(self) -> int:
        """Requests sent to storage."""
        return self._line.storage_calls

    async def send(self, request: Request) -> Response:
        """One call, its answer read whole. Redirects are followed for GET and HEAD."""
        try:
            self._admit(request)
            answer = await self._repeated(request, self._addresses.of(request), self._shape(request), self._wiring.auth)
        except DamSyncError as problem:
            raise self._told(problem, request) from None
        reply = self._reply(request, answer)
        if reply.is_html and reply.body.strip() and 200 <= reply.status < 300:
            reply.json()  # a page for people says nothing of what was asked, least of all that a write was done
        return reply

    async def stream(self, request: Request, offset: int = 0) -> HttpStream:
        """The bytes from `offset` on, or from 0 where the server ignores ranges: see `start`. Redirects are followed.

        To be closed. Raises ContractBroken for a range that was not asked for, IntegrityError when the file has become
        shorter than `offset`.
        """
        ranged = {"range": f"bytes={offset}-"} if offset > 0 else {}
        headers = {**request.headers, "accept-encoding": "identity", **ranged}
        try:
            self._admit(request)
            shape = replace(self._shape(replace(request, headers=headers)), whole=False)
            answer = await self._repeated(request, self._addresses.of(request), shape, self._wiring.auth)
            try:
                return HttpStream(answer, offset, self._line, lambda problem: self._told(problem, request))
            except BaseException:
                await answer.aclose()
                raise
        except DamSyncError as problem:
            raise self._told(problem, request) from None

    async def close(self) -> None:
        """Close every connection; safe to repeat."""
        await self._line.close()

    async def _without_credential(self, request: Request) -> Response:
        """A token call in the name of our authenticator."""
        address = self._addresses.named(request)
        if not address.api:
            address = replace(address, where=f"the token server {address.host}")
        try:
            answer = await self._repeated(request, address, self._shape(request), None)
        except DamSyncError as problem:
            raise self._told(problem, request) from None
        return self._reply(request, answer)

    async def _repeated(
        self, request: Request, address: Address, shape: PreparedRequest, auth: Authenticator | None
    ) -> RawResponse:
        try:
            answer: RawResponse = await self._retrying[request.again](self._once, request, address, shape, auth)
        except Unreadable as garbled:
            return garbled.answer
        return answer

    async def _once(
        self, request: Request, address: Address, shape: PreparedRequest, auth: Authenticator | None
    ) -> RawResponse:
        """One attempt, over redirects; a success, or an accepted status."""
        for _ in range(_REDIRECTS + 1):
            answer = await self._authorised(request, address, shape, auth)
            location = answer.headers.get("location", "")
            if not (answer.status in _MOVED and location and request.method in _FOLLOWED):
                return self._judged(request, address, shape, answer)
            target = self._addresses.moved(address, location, request)
            if target.origin != address.origin or target.api != address.api:
                shape = shape.elsewhere()
            address = target
        raise ContractBroken(f"more than {_REDIRECTS} redirects")

    async def _authorised(
        self, request: Request, address: Address, shape: PreparedRequest, auth: Authenticator | None
    ) -> RawResponse:
        """One exchange; on the API lane with the credential, which is renewed once when it is refused."""
        if not address.api or auth is None:
            return await self._line.exchange(shape, address, {})
        seen = await auth.headers()
        answer = await self._line.exchange(shape, address, seen)
        if answer.status != 401 or 401 in request.accept or not await auth.renew(seen):
            return answer
        await answer.aclose()
        seen = await auth.headers()
        return await self._line.exchange(shape, address, seen)

    def _judged(self, request: Request, address: Address, shape: PreparedRequest, answer: RawResponse) -> RawResponse:
        status = answer.status
        if 200 <= status < 300 or status in request.accept:
            if shape.whole and request.again and address.api and is_unreadable(request, answer):
                raise Unreadable(answer)
            return answer
        if status == 416 and "range" in shape.headers and "content-range" in answer.headers:
            return answer
        pause = self._wiring.retry_after(answer.headers, self._wiring.clock.now()) if status >= 400 else None
        refusal = Refusal(
            status=status,
            headers=answer.headers,
            body=answer.body,
            service=self._wiring.service,
            operation=request.operation,
            asset=request.asset,
            where=address.where,
            retry_after=pause,
        )
        raise error_for(self._wiring.rules, refusal)

    def _shape(self, request: Request) -> PreparedRequest:
        return prepared_request(request, self._wiring.clock.token)

    def _admit(self, request: Request) -> None:
        if self._wiring.read_only and not request.harmless:
            raise ContractBroken(
                f"{self._wiring.service} is opened read-only, and {request.method} would write",
                hint="this is a fault of the program, nothing was sent; please report it",
            )

    def _reply(self, request: Request, answer: RawResponse) -> Response:
        return Response(
            answer.status, answer.headers, answer.body, self._wiring.service, request.operation, request.asset
        )

    def _told(self, problem: DamSyncError, request: Request) -> DamSyncError:
        return problem.within(service=self._wiring.service, operation=request.operation, asset=request.asset)

    def _log_retry(self, problem: Transient, seconds: float) -> None:
        _log.info("call.repeated", service=self._wiring.service, problem=str(problem), wait=round(seconds, 3))
        until = self._wiring.clock.monotonic() + seconds
        if seconds >= _LONG and until > self._announced + _LONG:  # calls beside this one wait for the same
            self._announced = until
            _log.error(
                "call.waits",
                service=self._wiring.service,
                seconds=round(seconds),
                message="the service asked for a pause; the run goes on by itself after it, Ctrl-C ends it now",
            )
