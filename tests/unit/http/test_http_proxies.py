"""The proxy that the environment names: calls go by it, and its troubles are reported as its own."""

from __future__ import annotations

import base64
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from dam_sync.http.failures import NotSent
from dam_sync.http.proxies import proxy_to
from dam_sync.http.redaction import redact
from dam_sync.http.transport import NetworkTransport
from dam_sync.model.errors import ConfigError
from tests.support.network.clients import client_of, get, post
from tests.support.network.proxy import Proxy
from tests.support.network.raw_server import RawServer, free_port, said

NAMES = [f"{name}_proxy" for name in ("http", "https", "all", "no")]
SECRET = "s3cret of the proxy"


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy but those of a test."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
async def trusting() -> AsyncIterator[NetworkTransport]:
    """The network with any certificate trusted: that is not what is tried here."""
    transport = NetworkTransport(httpx.create_ssl_context(verify=False))
    yield transport
    await transport.aclose()


@pytest.fixture
async def server() -> AsyncIterator[RawServer]:
    """A service that only the proxy knows."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(Path(__file__).parents[2] / "support" / "self_signed.pem")
    async with RawServer(lambda _: said({"by": "proxy"}), tls=tls) as served:
        yield served


async def test_calls_go_by_the_proxy(
    server: RawServer, trusting: NetworkTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Proxy(server.port) as proxy, client_of("https://dam.example", transport=trusting) as client:
        monkeypatch.setenv("HTTPS_PROXY", f"http://user:{SECRET.replace(' ', '%20')}@{proxy.name}")
        for request in (get(), post()):
            assert (await client.send(request)).json() == {"by": "proxy"}
    assert set(proxy.seen) == {"CONNECT dam.example:443 HTTP/1.1"}
    told = base64.b64encode(f"user:{SECRET}".encode()).decode()
    assert {each["proxy-authorization"] for each in proxy.headers} == {f"Basic {told}"}
    assert [each.method for each in server.seen] == ["GET", "POST"]
    assert all("proxy-authorization" not in each.headers for each in server.seen)
    assert all("authorization" not in each for each in proxy.headers)
    assert SECRET not in redact(f"a text with {SECRET}")


async def test_this_host_is_never_reached_by_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
    async with RawServer(lambda _: said({})) as served, client_of(served) as client:
        await client.send(get())
    assert len(served.seen) == 1


async def test_a_proxy_that_wants_a_login_is_for_the_operator(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Proxy(server.port, status=407) as proxy, client_of("https://dam.example") as client:
        monkeypatch.setenv("ALL_PROXY", proxy.name)
        with pytest.raises(
            ConfigError, match=rf"the proxy {proxy.name} refuses the connection to dam.example \(407\)"
        ) as told:
            await client.send(post())
    assert "HTTPS_PROXY" in told.value.hint
    assert server.seen == []


@pytest.mark.parametrize("status", [403, 502])
async def test_a_proxy_that_refuses_a_tunnel_may_open_one_later(
    server: RawServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    async with (
        Proxy(server.port, status=status) as proxy,
        client_of("https://dam.example", attempts=2) as client,
    ):
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.name}")
        with pytest.raises(NotSent, match=rf"the proxy {proxy.name} .*\({status}\)"):
            await client.send(post())
    assert len(proxy.seen) == 2


async def test_a_proxy_that_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
    async with client_of("https://dam.example", attempts=1) as client:
        with pytest.raises(NotSent, match=rf"proxy 127.0.0.1:{port}"):
            await client.send(get())


@pytest.mark.parametrize(
    ("environment", "address", "url"),
    [
        ({}, "https://dam.example/x", None),
        ({"https_proxy": "http://p:1"}, "https://dam.example/x", "http://p:1"),
        ({"HTTPS_PROXY": "p.example:3128"}, "https://dam.example/x", "http://p.example:3128"),
        ({"HTTPS_PROXY": "https://p:1"}, "https://dam.example:8443/x", "https://p:1"),
        ({"HTTP_PROXY": "http://p:1"}, "https://dam.example/x", None),
        ({"ALL_PROXY": "http://p:1"}, "https://dam.example/x", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other,.example"}, "https://dam.example/x", None),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "dam.example:8443"}, "https://dam.example/x", "http://p:1"),
        ({"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, "https://dam.example/x", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https://[::1]:8443/x", None),
        ({"HTTPS_PROXY": "http://p:1"}, "https://localhost/x", None),
    ],
)
def test_the_environment_names_the_proxy(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], address: str, url: str | None
) -> None:
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    found = proxy_to(address)
    assert (found and found.url) == url


@pytest.mark.parametrize("named", ["socks5://p:1080", "http://", "http://p:port", "ftp://p"])
def test_a_proxy_that_cannot_be_used_is_reported_at_once(monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", named)
    with pytest.raises(ConfigError, match="proxy") as told:
        proxy_to("https://dam.example/x")
    assert "HTTPS_PROXY" in told.value.hint
