"""Authentication methods that sign requests, as the connector of another distribution may bring them."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import AsyncIterator, Generator

import httpx
import pytest

from dam_sync.http import bounds
from dam_sync.http.client import Request
from dam_sync.model.errors import ContractBroken, Denied, Unsupported
from tests.support.network.clients import client_of, get, post
from tests.support.network.raw_server import RawServer, Said, Seen, said

KEY = b"signing-key-5e1f"
CHALLENGE = 'Digest realm="library", nonce="8c1f", qop="auth", algorithm=SHA-256'


class Hmac(httpx.Auth):
    """Signs method, URL and body, and a number that makes every request another."""

    requires_request_body = True

    def __init__(self) -> None:
        self.signed = 0

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        self.signed += 1
        request.headers["x-nonce"] = str(self.signed)
        request.headers["x-signature"] = signature(
            request.method, request.url.raw_path.decode(), str(self.signed), request.content
        )
        yield request


class Unsigned(httpx.Auth):
    """As for large objects: the body is announced, not read."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        request.headers["x-signature"] = f"unsigned {request.headers['content-length']}"
        yield request


def signature(method: str, path: str, nonce: str, body: bytes) -> str:
    """What the server expects."""
    text = f"{method}\n{path}\n{nonce}\n{hashlib.sha256(body).hexdigest()}"
    return hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()


def is_signed(seen: Seen) -> bool:
    """Whether the signature is that of the request as it came."""
    headers = seen.headers
    want = signature(seen.method, seen.target, headers.get("x-nonce", ""), seen.body)
    return headers.get("x-signature") == want


def checking(seen: Seen) -> Said:
    """A server that looks at signatures."""
    return said({"ok": True}) if is_signed(seen) else said({}, 403)


async def blocks() -> AsyncIterator[bytes]:
    """A body that is streamed."""
    yield b"first, "
    yield b"second"


async def test_method_url_and_body_are_signed_as_they_are_sent() -> None:
    async with RawServer(checking) as server, client_of(server, auth=Hmac()) as client:
        await client.send(get("/v2/thing", params=(("name", "é & ü"), ("page", "2"))))
        await client.send(post(json={"title": "Łódź"}))
        await client.send(Request("PUT /file", "PUT", "/file", body=blocks, size=13))
        await client.send(Request("PUT /file", "PUT", "/file", body=b"x" * (2 * bounds.BLOCK)))
    assert [seen.method for seen in server.seen] == ["GET", "POST", "PUT", "PUT"]


async def test_every_attempt_is_signed_again() -> None:
    answers = iter([said({}, 503), said({}, 503)])

    def handler(seen: Seen) -> Said:
        assert is_signed(seen)
        return next(answers, said({}))

    async with RawServer(handler) as server, client_of(server, auth=Hmac()) as client:
        await client.send(get())
    assert [seen.headers["x-nonce"] for seen in server.seen] == ["1", "2", "3"]


async def test_a_large_body_is_signed_unread_or_not_at_all() -> None:
    size = bounds.LARGEST_REPLY + 1
    large = Request("PUT /file", "PUT", "/file", body=lambda: repeated(size), size=size)
    async with RawServer(lambda _: said({})) as server:
        async with client_of(server, auth=Hmac()) as client:
            with pytest.raises(Unsupported, match="cannot be signed"):
                await client.send(large)
        assert server.seen == []
        async with client_of(server, auth=Unsigned()) as client:
            await client.send(large)
    assert [seen.headers["x-signature"] for seen in server.seen] == [f"unsigned {size}"]


async def repeated(size: int) -> AsyncIterator[bytes]:
    """So many bytes."""
    for start in range(0, size, bounds.BLOCK):
        yield bytes(min(bounds.BLOCK, size - start))


async def test_storage_gets_no_signature_of_ours() -> None:
    async with (
        RawServer(lambda _: said({})) as storage,
        RawServer(lambda _: said({})) as server,
        client_of(server, auth=Hmac()) as client,
    ):
        await client.send(get(f"{storage.url}/objects/1"))
        await client.send(get(f"{server.url}/objects/1?Signature=abc"))
    assert [name for seen in (*storage.seen, *server.seen) for name in seen.headers if name.startswith("x-")] == []


async def test_the_digest_method_of_httpx_gets_its_challenge() -> None:
    def handler(seen: Seen) -> Said:
        if 'nonce="8c1f"' in seen.headers.get("authorization", ""):
            return said({"ok": True})
        return Said(401, b"{}", {"WWW-Authenticate": CHALLENGE})

    auth = httpx.DigestAuth("dam-sync", "s3cret of the library")
    async with RawServer(handler) as server, client_of(server, auth=auth) as client:
        made = await client.send(Request("PUT /file", "PUT", "/file", body=blocks, size=13))
    assert made.json() == {"ok": True}
    assert [seen.body for seen in server.seen] == [b"first, second"] * 2
    assert client.calls == {"PUT /file": 2}


async def test_a_refused_signature_is_for_the_operator() -> None:
    async with RawServer(lambda _: said({}, 401)) as server, client_of(server, auth=Hmac()) as client:
        with pytest.raises(Denied):
            await client.send(get())
    assert len(server.seen) == 1


class Endless(httpx.Auth):
    """Wants one more, always."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        while True:
            yield request


class Elsewhere(httpx.Auth):
    """Sends something else."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        yield httpx.Request("GET", "https://elsewhere.example/")


@pytest.mark.parametrize(("auth", "sent"), [(Endless(), 3), (Elsewhere(), 0)])
async def test_a_method_that_goes_on_and_on_or_elsewhere_is_ended(auth: httpx.Auth, sent: int) -> None:
    async with RawServer(lambda _: said({})) as server, client_of(server, auth=auth) as client:
        with pytest.raises(ContractBroken, match="authentication method"):
            await client.send(get())
    assert len(server.seen) == sent
