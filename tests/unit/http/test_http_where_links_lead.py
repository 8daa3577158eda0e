"""Where a link leads is judged as the connection will see it: by the host as it is sent, and by the address that is
connected to, whatever the name, the spelling or the name server says."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
from aiohttp import ClientConnectorError, ClientSession
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.http.client import Client
from dam_sync.http.connector import HostNames, RefusedAddress, connector_into
from dam_sync.http.reach import ANYWHERE, INTERNET, THIS_HOST, Networks, Reach, canonical_host, reach_of
from dam_sync.http.transport import NetworkTransport
from dam_sync.http.urls import canonical_url, one_spelling
from dam_sync.model.errors import ConfigError, ContractBroken, Rejected, Transient
from tests.support.network.clients import client_of, get
from tests.support.network.proxy import Proxy
from tests.support.network.raw_server import RawServer, Said, said
from tests.support.network.resolver import Resolver

PUBLIC = "93.184.216.34"
BASE = "https://dam.example"
DOTS = ("\u3002", "\uff0e", "\uff61")
NUMBERS = (
    *("127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "172.16.0.9", "100.64.0.1", "0.0.0.0"),
    *("224.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.0.192", "168.63.129.16", "100.100.100.200"),
)
OTHERS = (
    *(
        "localhost",
        "localhost.",
        "LOCALHOST",
        "a.localhost",
        "intranet",
        "printer.local",
        "PRINTER.Local.",
        "x.internal",
    ),
    *("[::1]", "[::]", "[fe80::1]", "[fe80::1%25eth0]", "[::1%25lo]", "[fd00::1]", "[fd00:ec2::254]", "[fec0::1]"),
    *(
        "[ff02::1]",
        "[2001:db8::1]",
        "[3fff::1]",
        "[5f00::1]",
        "[100::1]",
        "[2001:2::1]",
        "[FE80::A]",
        "[0:0:0:0:0:0:0:1]",
    ),
    *("[64:ff9b:1::a00:1]", "[2a00:1450::5efe:10.0.0.1]", "[2a00:1450::200:5efe:a00:1]", "[v1.fe80::a]", "[::1]evil"),
    *("[::1", "::1", "[]", "127.0.0.1..", "a..example", ".example", "-", "*.example", "a b.example", "xn--.example"),
    *("dam.example\\@10.0.0.1", "10.0.0.1\\@dam.example", "10.0.0.1\\.dam.example", "dam.example%00.10.0.0.1"),
    *("dam.example@10.0.0.1", "10.0.0.1@dam.example", "a:b@10.0.0.1", "10.0.0.1:80@dam.example", "dam.example:443:80"),
    *("dam.example:0", "dam.example:65536", "dam.example:+443", "dam.example:\u0664\u0664\u0663", "10.0.0.1:4_43"),
    *("\u2487\u2487.0.0.1", "dam\u2100.example", "dam.\uff4cocal", "dam.lo\u2064cal", "loc\u00ad\u0061lhost"),
    *(
        "loca\uff4chost",
        "\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54",
        "127.1",
        "10.1",
        "0",
        "10.2.3",
        "0x",
        "a.0x7f",
    ),
)


def spelled(number: str) -> Iterator[str]:
    """An IPv4 address as somebody may write it who wants that a reader does not see it."""
    parts = [int(part) for part in number.split(".")]
    whole = int.from_bytes(bytes(parts))
    low = f"{whole >> 16:x}:{whole & 0xFFFF:x}"
    yield from (number, f"{number}.", str(whole), hex(whole), f"0{whole:o}")
    yield from (".".join(map(hex, parts)), ".".join(f"0{part:o}" for part in parts), ".".join(f"{p:03}" for p in parts))
    yield f"{parts[0]}.{whole & 0xFFFFFF}"
    for dot in DOTS:
        yield from (number.replace(".", dot), dot.join(number.rsplit(".", 1)), number + dot)
    yield "".join(chr(ord(each) + 0xFEE0) if each.isdigit() else each for each in number)
    yield "".join(chr(0x2460 + int(each) - 1) if each in "123456789" else each for each in number)
    yield "".join(f"%{ord(each):02x}" for each in number)
    yield number.replace(".", "%2E")
    for network in ("::ffff:", "::", "64:ff9b::", "::ffff:0:", "64:ff9b:1::", "2a00:1450::5efe:"):
        yield f"[{network}{low}]"
        yield f"[{network}{number}]".upper()
    yield f"[2002:{low}::1]"
    yield f"[2001:0:5bb8:d822:0:0:{(~whole & 0xFFFFFFFF) >> 16:x}:{~whole & 0xFFFF:x}]"


HOSTS = (*(each for number in NUMBERS for each in spelled(number)), *OTHERS)


@pytest.fixture
async def listening() -> AsyncIterator[RawServer]:
    """A server on this computer, which nobody is to reach."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(Path(__file__).parents[2] / "support" / "self_signed.pem")
    async with RawServer(lambda _: said({"secret": 1}), tls=tls) as server:
        yield server


def network(*addresses: str, **names: str) -> NetworkTransport:
    """Connections that trust any certificate; names lead to `addresses`, `dam.example` to the internet unless said."""
    known = {"dam.example": names.pop("dam", PUBLIC).split(), **{f"{name}.example": [to] for name, to in names.items()}}
    return NetworkTransport(httpx.create_ssl_context(verify=False), Resolver(*addresses, names=known))


def file(url: str, asset: str = "7") -> object:
    return get(url, operation="GET the file", asset=asset, bare=True)


async def test_no_spelling_of_a_host_leads_into_a_private_network(listening: RawServer) -> None:
    """Every name leads to this computer, so that whatever is connected to is seen."""
    assert len(HOSTS) > 350
    transport = network("127.0.0.1")
    async with client_of(BASE, transport=transport, attempts=1) as client:
        for host in HOSTS:
            for url in (
                f"https://{host}/f",
                f"https://{host}:{listening.port}/f",
                f"HTTPS://{host}:{listening.port}?f",
            ):
                with pytest.raises(Rejected):
                    await client.stream(file(url))
                with pytest.raises(Rejected):
                    await client.link_for_others(file(url))
            assert listening.connections == 0, host
    await transport.aclose()
    assert listening.connections == 0


@pytest.mark.parametrize(
    "host", ["b\u00fccher.example", "B\u00dcCHER.example", "xn--bcher-kva.example", "dam_2.example"]
)
async def test_a_name_that_leads_into_a_private_network_is_not_connected_to(listening: RawServer, host: str) -> None:
    transport = network("127.0.0.1")
    async with client_of(BASE, transport=transport, attempts=1) as client:
        with pytest.raises(Rejected, match="private network") as refused:
            await client.stream(file(f"https://{host}:{listening.port}/f"))
        assert "operator of the service" in refused.value.hint
        with pytest.raises(ContractBroken, match="private network"):
            await client.send(get(f"https://{host}:{listening.port}/f", operation="GET page 2"))
    await transport.aclose()
    assert listening.connections == 0


@pytest.mark.parametrize(
    "addresses",
    [
        *(["10.0.0.1"], ["127.0.0.1"], ["::1"], ["fe80::1%eth0"], ["169.254.169.254"], ["100.64.1.1"], ["0.0.0.0"]),
        *([PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC], ["2a00:1450:4001:81b::200e", "::ffff:127.0.0.1"]),
    ],
)
async def test_one_private_ip_address_refuses_a_name(listening: RawServer, addresses: list[str]) -> None:
    transport = network(*addresses)
    async with client_of(BASE, transport=transport, attempts=1) as client:
        with pytest.raises(Rejected, match="private network"):
            await client.stream(file(f"https://files.example:{listening.port}/f"))
        with pytest.raises(Rejected, match="private network"):
            await client.link_for_others(file(f"https://files.example:{listening.port}/f"))
    await transport.aclose()
    assert listening.connections == 0


async def test_a_name_that_leads_elsewhere_after_it_was_judged_is_judged_again(listening: RawServer) -> None:
    names = Resolver(PUBLIC)
    transport = NetworkTransport(httpx.create_ssl_context(verify=False), names)
    link = file(f"https://files.example:{listening.port}/f")
    async with client_of(BASE, transport=transport, attempts=1) as client:
        assert await client.link_for_others(link)
        names.addresses = ("127.0.0.1",)
        with pytest.raises(Rejected, match="private network"):
            await client.stream(link)
    await transport.aclose()
    assert listening.connections == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"])
async def test_the_socket_itself_is_refused_whatever_was_judged_before(host: str) -> None:
    """Without the judgement of URLs, and for an address that no resolver sees."""
    connector = connector_into(INTERNET, HostNames(Resolver(PUBLIC)))
    async with RawServer(lambda _: said({})) as server, ClientSession(connector=connector) as session:
        with pytest.raises(ClientConnectorError) as refused:
            await session.get(f"http://{host}:{server.port}/")
        assert isinstance(refused.value.os_error, RefusedAddress)
        assert server.connections == 0


async def test_a_kept_connection_is_not_used_by_a_request_that_may_not_lead_there(listening: RawServer) -> None:
    """A link on the host of a configured token server, say: it would find the connection of that."""
    transport = network("127.0.0.1")
    url = f"https://files.example:{listening.port}/f"
    request = httpx.Request("GET", url, extensions={"timeout": {}})
    await (await transport.handle_async_request(request)).aread()
    assert listening.connections == 1
    async with client_of(BASE, transport=transport, attempts=1) as client:
        with pytest.raises(Rejected, match="private network"):
            await client.stream(file(url))
    await transport.aclose()
    assert len(listening.seen) == 1


async def said_by(client: Client, url: str) -> bytes:
    stream = await client.stream(file(url))
    found = b"".join([bytes(block) async for block in stream])
    await stream.aclose()
    return found


@pytest.mark.parametrize("host", ["127.0.0.1", "files.example", "[::ffff:127.0.0.1]", "127.0.0\u30021"])
async def test_a_service_that_is_on_this_host_may_lead_here(listening: RawServer, host: str) -> None:
    """Its base is a public name; nobody outside decides where it leads."""
    transport = network("127.0.0.1", dam="127.0.0.1")
    async with client_of(BASE, transport=transport, attempts=1) as client:
        assert await said_by(client, f"https://{host}:{listening.port}/f") == b'{"secret": 1}'
    await transport.aclose()


@pytest.mark.parametrize(
    ("dam", "files", "refused"),
    [
        ("10.0.0.9", "10.0.0.8", False),
        ("fd00::9", "10.0.0.8", False),
        ("10.0.0.9", "127.0.0.1", True),
        ("10.0.0.9", "169.254.169.254", True),
        ("10.0.0.9", "100.100.100.200", True),
        (f"10.0.0.9 {PUBLIC}", "10.0.0.8", True),
        (PUBLIC, "10.0.0.8", True),
    ],
)
async def test_a_service_leads_no_further_inside_than_it_is_itself(dam: str, files: str, refused: bool) -> None:
    """One of whose addresses some are public is public: it may say so itself."""
    transport = network(dam=dam, files=files)
    async with client_of(BASE, transport=transport) as client:
        link = file("https://files.example/f")
        if refused:
            with pytest.raises(Rejected, match="private network"):
                await client.link_for_others(link)
        else:
            assert await client.link_for_others(link) == "https://files.example/f"
    await transport.aclose()


async def test_a_service_whose_name_leads_inside_later_is_no_private_one() -> None:
    """Whoever owns the name could otherwise open the network of the operator by a second answer."""
    names = Resolver(PUBLIC, names={"files.example": ["10.0.0.8"]})
    transport = NetworkTransport(resolver=names)
    assert await transport.farthest(BASE, ("https", "dam.example", 443)) == Reach.PUBLIC
    names.addresses = ("10.0.0.9",)
    async with client_of(BASE, transport=transport) as client:
        with pytest.raises(Rejected, match="private network"):
            await client.link_for_others(file("https://files.example/f"))
    await transport.aclose()


async def test_a_name_that_is_not_known_is_given_to_nobody() -> None:
    transport = network()
    async with client_of(BASE, transport=transport) as client:
        with pytest.raises(Transient, match=r"files\.example is not known"):
            await client.link_for_others(file("https://files.example/f"))
    await transport.aclose()


@pytest.mark.parametrize(
    "location", ["https://inner.example:{}/x", "//inner.example:{}/x", "https://127.0.0\u30021:{}/x"]
)
async def test_every_hop_of_a_redirect_is_judged(
    listening: RawServer, monkeypatch: pytest.MonkeyPatch, location: str
) -> None:
    """The service is reached through a proxy, which stands for the internet."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(Path(__file__).parents[2] / "support" / "self_signed.pem")
    place = location.format(listening.port).encode().decode("latin-1")
    transport = network(inner="127.0.0.1")
    async with (
        RawServer(lambda seen: Said(302, headers={"Location": place if seen.path == "/b" else "/b"}), tls=tls) as outer,
        Proxy(outer.port) as proxy,
        client_of(BASE, transport=transport, attempts=1) as client,
    ):
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.name}")
        monkeypatch.setenv("NO_PROXY", "inner.example")
        with pytest.raises(Rejected):
            await client.stream(get("/a", operation="GET the file", asset="7"))
        assert [seen.path for seen in outer.seen] == ["/a", "/b"]
    await transport.aclose()
    assert listening.connections == 0


async def test_through_a_proxy_a_link_is_judged_by_its_text_and_the_proxy_looks_names_up(
    listening: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = network("10.0.0.1")
    async with Proxy(listening.port) as proxy, client_of(BASE, transport=transport, attempts=1) as client:
        monkeypatch.setenv("HTTPS_PROXY", f"http://{proxy.name}")
        assert await said_by(client, "https://files.example/f") == b'{"secret": 1}'
        for host in ("10.0.0.1", "10.0.0\u30021", "printer.local"):
            with pytest.raises(Rejected, match="private network"):
                await client.stream(file(f"https://{host}/f"))
    await transport.aclose()
    assert proxy.seen == ["CONNECT files.example:443 HTTP/1.1"]
    assert transport._names.inner.asked == []  # type: ignore[attr-defined]


async def test_plain_http_goes_to_an_ip_address_of_this_host() -> None:
    """A file of hosts, or a name server, may say that `localhost` is somewhere else."""
    transport = NetworkTransport(resolver=Resolver(PUBLIC, names={"localhost": ["10.0.0.1"]}))
    async with client_of("http://localhost:8080", transport=transport, attempts=1) as client:
        with pytest.raises(ConfigError, match="plain http to localhost is refused: the name leads to another host"):
            await client.send(get())
    await transport.aclose()


async def test_a_configured_token_server_may_be_anywhere(listening: RawServer) -> None:
    transport = network("127.0.0.1")
    async with client_of(BASE, transport=transport, attempts=1) as client:
        reply = await client._without_credential(get(f"https://login.example:{listening.port}/token"))
    await transport.aclose()
    assert reply.json() == {"secret": 1}


@pytest.mark.parametrize("place", ["https://10.0.0.1/t", "//printer.local/t", "https://10.0.0\uff0e1/t".encode()])
async def test_a_token_server_leads_nowhere_else(place: str | bytes) -> None:
    moved = httpx.MockTransport(lambda _: httpx.Response(302, headers={"Location": place}))  # type: ignore[dict-item]
    async with client_of(BASE, transport=moved, attempts=1) as client:
        with pytest.raises(ContractBroken, match=r"private network|invalid"):
            await client._without_credential(get("https://login.example/token"))


# texts that mean something else once they are normalized


@pytest.mark.parametrize(
    ("base", "link"),
    [
        ("https://b\u00fccher.example", "https://xn--bcher-kva.example/f"),
        ("https://dam.example", "HTTPS://DAM.Example:443/f"),
        ("https://dam.example:443", "https://dam\u3002example/f"),
        ("https://[2a00:1450::1]", "https://[2A00:1450:0:0::1]/f"),
    ],
)
async def test_a_credential_goes_to_one_host_however_it_is_written(base: str, link: str) -> None:
    async with client_of(base) as client:
        assert client._base_urls.of(get(link)).api
        other = client._base_urls.of(get("https://dam.example.org/f"))
        assert not other.api


@pytest.mark.parametrize(
    "identity", ["..", ".", "%2e%2e", ".%2E", "a/../b", "a%2F..%2Fb", "..\\b", "..%5Cb", "%2e%2e%2f", "a/./b"]
)
@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_an_id_does_not_lead_to_another_call(identity: str, method: str) -> None:
    async with RawServer(lambda _: said({})) as server, client_of(server) as client:
        for path in (f"/v2/assets/{identity}", f"/v2/assets/{identity}/metadata?a=b"):
            with pytest.raises(Rejected, match="would lead to another call"):
                await client.send(get(path, method=method, asset="7"))
        assert server.seen == []
        await client.send(get("/v2/assets/..a/b...c/%2e%2e%2ed?path=../x"))
        assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("url", "spelling"),
    [
        ("https://DAM.example:443/", "https://dam.example"),
        ("HTTPS://dam\u3002example/api/", "https://dam.example/api"),
        ("https://dam.example:8443", "https://dam.example:8443"),
        ("https://b\u00fccher.example", "https://xn--bcher-kva.example"),
        ("http://127.0.0.1:80/x", "http://127.0.0.1/x"),
        ("file:///srv/library/", "file:///srv/library"),
        ("", ""),
    ],
)
def test_what_processes_share_has_one_name(url: str, spelling: str) -> None:
    assert one_spelling(url) == spelling
    assert one_spelling(spelling) == spelling


@given(st.text(max_size=30) | st.from_regex(r"[0-9a-fx.\u3002\uff0e\uff10-\uff19%\[\]:@\\-]{1,20}", fullmatch=True))
def test_a_host_has_one_form_or_none(text: str) -> None:
    try:
        host = canonical_host(text)
    except ValueError:
        assert reach_of(text) in (Reach.OWN, reach_of(text.partition("%")[0]))
        return
    assert host.isascii()
    assert host == host.lower()
    shown = f"[{host}]" if ":" in host else host
    assert canonical_host(shown) == host
    assert reach_of(text) == reach_of(host) or text.startswith("[")
    url, origin = canonical_url(f"https://{shown}/p")
    assert origin[1] == host
    assert httpx.URL(url).raw_host.decode() == host


@pytest.mark.parametrize(
    ("address", "reach"),
    [
        *((PUBLIC, Reach.PUBLIC), ("8.8.8.8", Reach.PUBLIC), ("2a00:1450:4001:81b::200e", Reach.PUBLIC)),
        *(("::ffff:8.8.8.8", Reach.PUBLIC), ("64:ff9b::808:808", Reach.PUBLIC), ("2002:808:808::1", Reach.PUBLIC)),
        *(("10.0.0.1", Reach.PRIVATE), ("100.64.0.1", Reach.PRIVATE), ("fd00::1", Reach.PRIVATE)),
        *(("64:ff9b:1::808:808", Reach.PRIVATE), ("fec0::1", Reach.PRIVATE), ("192.88.99.1", Reach.PRIVATE)),
        *(("169.254.0.1", Reach.ADJACENT), ("fe80::1%eth0", Reach.ADJACENT), ("ff02::1", Reach.ADJACENT)),
        *(("255.255.255.255", Reach.ADJACENT), ("fd00:ec2::254", Reach.ADJACENT), ("168.63.129.16", Reach.ADJACENT)),
        *(
            ("127.8.8.8", Reach.OWN),
            ("::1", Reach.OWN),
            ("0.0.0.0", Reach.OWN),
            ("::", Reach.OWN),
            ("0.1.2.3", Reach.OWN),
        ),
        *(("64:ff9b:1::7f00:1", Reach.OWN), ("2002:7f00:1::", Reach.OWN), ("::ffff:0:127.0.0.1", Reach.OWN)),
    ],
)
def test_which_network_an_ip_address_is_in(address: str, reach: Reach) -> None:
    assert reach_of(address) == reach


def test_networks_are_nested() -> None:
    assert [INTERNET.has(reach) for reach in Reach] == [True, False, False, False]
    assert [THIS_HOST.has(reach) for reach in Reach] == [False, False, False, True]
    assert [Networks(nearest=Reach.PRIVATE).has(reach) for reach in Reach] == [True, True, False, False]
    assert all(ANYWHERE.has(reach) for reach in Reach)
