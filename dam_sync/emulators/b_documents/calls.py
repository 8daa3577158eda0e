"""One call in, one response out: credentials, parameters, transactions, errors, replays. Plain ASGI."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from dam_sync.emulators.b_documents.batches import usable_type
from dam_sync.emulators.b_documents.idempotency import Headers
from dam_sync.emulators.b_documents.parts import parts_of
from dam_sync.emulators.b_documents.records import Document, FileBlob, Refusal, User
from dam_sync.emulators.b_documents.render import View
from dam_sync.emulators.b_documents.security import require
from dam_sync.emulators.b_documents.server import Server
from dam_sync.emulators.b_documents.values import Reader
from dam_sync.emulators.kit.bodies import pieces_of
from dam_sync.emulators.kit.environment import Json

_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})


@dataclass(frozen=True, slots=True)
class Reply:
    """Status and JSON, or bytes, or an ASGI application that answers by itself."""

    status: int = 200
    json: Json = None
    body: bytes = b""
    media_type: str = "application/json"
    headers: Headers = ()
    app: ASGIApp | None = field(default=None, compare=False)

    def sent(self) -> bytes:
        """The body's bytes."""
        if self.json is None:
            return self.body
        return json.dumps(self.json, ensure_ascii=False, separators=(",", ":")).encode()


class Call:
    """One request by a known user."""

    def __init__(self, server: Server, scope: Scope, receive: Receive) -> None:
        self.server, self.scope, self._receive = server, scope, receive
        self.params: Mapping[str, str] = scope.get("path_params", {})
        self.headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        self.user: User = server.repository.people.users[server.options.user]
        self.raw = b""
        self.attached: tuple[FileBlob, ...] = ()

    @cached_property
    def pairs(self) -> list[tuple[str, str]]:
        """The query string, decoded, in order."""
        return parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True)

    @cached_property
    def query(self) -> Mapping[str, str]:
        """The query string; of repeated parameters the last."""
        return dict(self.pairs)

    @cached_property
    def reader(self) -> Reader:
        """Reads properties; knows which batches were resolved."""
        return self.server.reader(self.user)

    @cached_property
    def view(self) -> View:
        """What of documents is to be shown."""
        schemas = self.wanted("properties", "x.nxproperties", "x.nxdocumentproperties")
        return View(
            self.user,
            frozenset(schemas),
            tuple(self.wanted("enrichers.document", "x.nxenrichers.document", "x.nxcontext.category")),
            frozenset(self.wanted("fetch.document", "x.nxfetch.document")),
            bool(self.wanted("translate.directoryentry")),
        )

    @cached_property
    def _wishes(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for key, value in [*self.pairs, *self.headers.items()]:
            name = re.sub(r"[-_]", ".", key.lower())
            found.setdefault(name, []).extend(part.strip() for part in value.split(",") if part.strip())
        return found

    def wanted(self, *names: str) -> list[str]:
        """The values of a header or parameter under any of its names: comma lists, repeatable."""
        return [value for name in names for value in self._wishes.get(name, ())]

    def flag(self, name: str) -> bool:
        """Whether a header or parameter says `true`."""
        return "true" in [value.lower() for value in self.wanted(name)]

    @cached_property
    def body(self) -> Mapping[str, Json]:
        """The JSON object that was sent. Raises 400."""
        try:
            sent = json.loads(self.raw or b"{}")
        except ValueError:
            raise Refusal(400, "Unable to read the body: not JSON") from None
        if not isinstance(sent, dict):
            raise Refusal(400, "Unable to read the body: not an object")
        return sent

    async def unpack(self) -> None:
        """Of a multipart body: the JSON part as the body, the others as files next to it. Raises 400."""
        kind = self.headers.get("content-type", "")
        if not kind.lower().startswith("multipart/"):
            return
        files: list[FileBlob] = []
        parts = parts_of(kind, self.raw)
        self.raw = b""
        for part in parts:
            if part.media_type.startswith("application/json") and not part.filename:
                self.raw = part.data
            else:
                blob = await self.server.objects.keep(part.data)
                files.append(FileBlob(part.filename, usable_type(part.media_type, part.filename), blob))
        self.attached = tuple(files)

    def document(self) -> Document:
        """The document of the path, by id or by path. Raises 403, 404."""
        repository = self.server.repository
        if "id" in self.params:
            doc = repository.get(self.params["id"])
        else:
            doc = repository.at("/" + self.params.get("path", ""))
        require(repository, self.user, doc, "Read")
        return doc

    def shown(self, doc: Document, status: int = 200) -> Reply:
        """A document as the response."""
        return Reply(status, self.server.writer.document(doc, self.view))

    def stream(self) -> AsyncIterator[bytes]:
        """The bytes of the body as they come. Raises ClientDisconnect."""
        return pieces_of(self._receive)


Handler = Callable[[Call], Reply]
Streaming = Callable[[Call], Awaitable[Reply]]


class Endpoint:
    """A handler as an ASGI application. `public` needs no credentials; `streams` reads the body itself; `browser`
    sends whoever has none to the login page."""

    def __init__(
        self,
        server: Server,
        handler: Handler | None = None,
        *,
        streams: Streaming | None = None,
        public: bool = False,
        browser: bool = False,
    ) -> None:
        self._server, self._handler, self._streams = server, handler, streams
        self._public, self._browser = public, browser

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the call; a Refusal becomes its error body."""
        server = self._server
        plays: Sequence[str] = scope.get("emulation.play", ())
        if "restart" in plays:
            server.restart()
        server.repository.agenda.run()
        call = Call(server, scope, receive)
        try:
            reply = await self._answered(call, plays)
        except ClientDisconnect:
            return
        if reply.app is not None:
            await reply.app(scope, receive, send)
        else:
            await answer(reply, send)

    async def _answered(self, call: Call, plays: Sequence[str]) -> Reply:
        refusal = None if self._public else self._admitted(call)
        if refusal is not None:
            return refusal
        key = call.headers.get("idempotency-key", "") if call.scope["method"] not in _SAFE else ""
        if not key or not self._server.options.at_least("2021.0"):
            return await self._handled(call, plays)
        return await self._once(call, plays, key)

    def _admitted(self, call: Call) -> Reply | None:
        """Sets who calls; a response for whoever may not, or asks for another repository."""
        server = self._server
        user = server.accounts.user(call.headers, call.query, server.below(call.scope["path"]))
        if user is None:
            return login_wanted(call) if self._browser else unauthenticated(call)
        call.user = user
        known = [*call.wanted("x.nxrepository", "nxrepository"), "default"]
        return None if known[0] == "default" else refused(call, Refusal(404, f"Unknown repository: {known[0]}"))

    async def _once(self, call: Call, plays: Sequence[str], key: str) -> Reply:
        """The work of an idempotency key: done once, then replayed. `play:crash` leaves the key as running."""
        keys, echo = self._server.keys, (b"idempotency-key", key.encode())
        kept = keys.known(key)
        if kept is not None:
            if kept.status is None:
                return Reply(409, headers=(echo,))
            return Reply(kept.status, body=kept.body, media_type="", headers=(*kept.headers, echo))
        keys.begin(key)
        try:
            reply = await self._handled(call, plays)
        except BaseException:
            keys.forget(key)
            raise
        if "crash" not in plays and reply.app is None:
            kind = ((b"content-type", reply.media_type.encode()),) if reply.sent() else ()
            keys.end(key, reply.status, (*reply.headers, *kind), reply.sent())
        return replace(reply, headers=(*reply.headers, echo))

    async def _handled(self, call: Call, plays: Sequence[str]) -> Reply:
        try:
            if self._streams is not None:
                return await self._streams(call)
            call.raw = b"".join([piece async for piece in call.stream()])
            await call.unpack()
            return self._worked(call, plays)
        except Refusal as refusal:
            return refused(call, refusal)
        finally:
            self._dropped(call)

    def _worked(self, call: Call, plays: Sequence[str]) -> Reply:
        assert self._handler is not None
        server, started = self._server, self._server.world.now()
        with server.repository.transaction() as transaction:
            if "dropped" in plays:
                server.batches.drop_all()
            if "conflict" in plays:
                raise Refusal(409, "Concurrent update")
            reply = self._handler(call)
            limit = call.headers.get("vendor-transaction-timeout", "")
            most = float(limit) if limit.isdigit() else server.options.transaction
            took = (server.world.now() - started).total_seconds()
            took += sum(float(word.partition(":")[2]) for word in plays if word.startswith("slow:"))
            if took > most or "rollback" in plays:
                raise Refusal(500, "Transaction timeout")
            touched = list(transaction.saved)
        if touched and call.flag("nx.es.sync"):
            for uid in touched:
                server.search.index.at_once(uid)
        return reply

    def _dropped(self, call: Call) -> None:
        """Every batch that was resolved goes at the end of the request, successful or not (wire B 6.2)."""
        if "reader" in call.__dict__ and not call.flag("x.batch.no.drop"):
            for batch in call.reader.used:
                self._server.batches.drop(batch)


async def answer(reply: Reply, send: Send) -> None:
    """Send a reply."""
    body = reply.sent()
    headers = list(reply.headers)
    if body and reply.media_type:
        headers.append((b"content-type", reply.media_type.encode()))
    if reply.status not in (204, 304):
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if reply.status in (204, 304) else body})


def unauthenticated(call: Call) -> Reply:
    """401 as the container writes it, never as JSON."""
    page = b"<!doctype html><html><head><title>HTTP Status 401</title></head><body><h1>Unauthorized</h1></body></html>"
    quiet = "cookie" in call.headers or "x-authentication-token" in call.headers
    challenge = () if quiet else ((b"www-authenticate", b'Basic realm="default"'),)
    return Reply(401, body=page, media_type="text/html;charset=utf-8", headers=challenge)


def login_wanted(call: Call) -> Reply:
    """What a browser gets on `nxfile`: a page that leads to the login page, or a redirect to it."""
    where = f"{call.server.base()}/login.jsp?requestedUrl=nxfile"
    if "login_redirect" in call.server.options.plays:
        return Reply(302, headers=((b"location", where.encode()),))
    page = f"<html><head><script>location.href={json.dumps(where)}</script></head><body>Sign in</body></html>"
    return Reply(401, body=page.encode(), media_type="text/html;charset=utf-8")


def refused(call: Call, refusal: Refusal) -> Reply:
    """The error body: JSON when JSON is accepted, the report of a 422 only then."""
    if refusal.status == 401:
        return unauthenticated(call)
    if refusal.empty:
        return Reply(refusal.status)
    accept = call.headers.get("accept", "*/*")
    if "json" not in accept and "*/*" not in accept:
        page = f"<html><body><h1>HTTP Status {refusal.status}</h1></body></html>".encode()
        return Reply(refusal.status, body=page, media_type="text/html;charset=utf-8")
    detailed = "application/json" in accept or ("*/*" in accept and "any_accept" in call.server.options.plays)
    if refusal.body is not None and (refusal.status != 422 or detailed):
        return Reply(refusal.status, refusal.body)
    return Reply(refusal.status, exception(refusal.status, refusal.message))


def exception(status: int, message: str) -> Json:
    """The error entity; from 500 on the message says nothing."""
    text = "Internal Server Error" if status >= 500 else message
    return {"entity-type": "exception", "status": status, "message": text}
