"""Links are asked without a credential, within limits, and never in a private network."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from dam_sync.http.probe import AT_ONCE, HOPS, LinkProbe
from dam_sync.model.clock import SystemClock
from tests.support.network.raw_server import RawServer, Said, Seen
from tests.support.network.resolver import Resolver


def probe(**options: bool) -> LinkProbe:
    return LinkProbe(SystemClock(), **options)


async def test_a_link_is_followed_without_a_credential_and_without_reading_a_body() -> None:
    def say(seen: Seen) -> Said:
        if seen.path == "/old":
            return Said(301, headers={"Location": "/new?x=1"})
        if seen.path == "/new":
            return Said(405) if seen.method == "HEAD" else Said(206, b"x")
        return Said(404)

    asking = probe()
    async with RawServer(say) as server:
        found = await asking.ask(f"{server.url}/old")
        gone = await asking.ask(f"{server.url}/gone")
        await asking.close()
    assert (found.status, found.hops, found.good) == ("206", 1, True)
    assert (gone.status, gone.good, gone.text) == ("404", False, "404")
    assert [(seen.method, seen.path) for seen in server.seen] == [
        *(("HEAD", "/old"), ("HEAD", "/new"), ("GET", "/new"), ("HEAD", "/gone"), ("GET", "/gone"))
    ]
    assert all("authorization" not in seen.headers and "cookie" not in seen.headers for seen in server.seen)
    assert server.seen[2].headers["range"] == "bytes=0-0"


@pytest.mark.parametrize(
    "location",
    [
        *("http://10.0.0.1/a", "https://169.254.169.254/latest", "http://router.local/", "http://[fd00::1]/"),
        "http://intranet/",
    ],
)
async def test_a_redirect_into_a_private_network_is_not_followed(location: str) -> None:
    asking = probe()
    async with RawServer(lambda seen: Said(302, headers={"Location": location})) as server:
        found = await asking.ask(f"{server.url}/old")
        await asking.close()
    assert found.status == "private address, not asked"
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "url", ["http://192.168.0.1/x", "https://host.internal/x", "http://0x7f.1/x", "http://2130706433/x"]
)
async def test_a_link_into_a_private_network_is_not_asked(url: str) -> None:
    found = await probe(loopback=False).ask(url)
    assert found.status == "private address, not asked"


async def test_a_link_of_somewhere_else_does_not_lead_to_this_computer() -> None:
    """Though a service of the job is on it."""
    moved = {"Location": "http://127.0.0.1:6379/"}
    transport = httpx.MockTransport(lambda request: httpx.Response(302, headers=moved))
    asking = LinkProbe(SystemClock(), transport=transport)
    found = await asking.ask("https://links.example/old")
    assert (found.status, found.hops) == ("private address, not asked", 1)
    assert (await probe(loopback=False).ask("http://127.0.0.1:6379/")).status == "private address, not asked"


async def test_redirects_without_end_and_to_other_schemes_end() -> None:
    asking = probe()
    async with RawServer(lambda seen: Said(302, headers={"Location": "/again"})) as server:
        assert (await asking.ask(f"{server.url}/")).status == "too many redirects"
        assert len(server.seen) == HOPS + 1
    async with RawServer(lambda seen: Said(302, headers={"Location": "file:///etc/passwd"})) as server:
        assert (await asking.ask(f"{server.url}/")).status == "redirects to an invalid URL"
    await asking.close()
    asking = probe()
    assert not (await asking.ask(f"{server.url}/")).good
    await asking.close()


FORM = b"<html><form action='/in'><input name=p TYPE = 'password'></form></html>"
SCRIPT = b"<html><script>location='/sso/start'</script></html>"
PLAYER = b"<html><video src=x></video></html>"


def page(body: bytes, status: int = 200, **headers: str) -> Said:
    return Said(status, body, headers={"Content-Type": "text/html; charset=utf-8", **headers})


SITE = {
    "/form.jpg": page(FORM),
    "/form": page(FORM),
    "/script": page(SCRIPT),
    "/page.jpg": page(PLAYER),
    "/page.html": page(PLAYER),
    "/player": page(PLAYER),
    "/attached.jpg": page(PLAYER, **{"Content-Disposition": "attachment; filename=x.html"}),
    "/moved.jpg": Said(302, headers={"Location": "/app/login.jsp?requestedUrl=x"}),
    "/app/login.jsp": page(PLAYER),
    "/elsewhere": Said(302, headers={"Location": "/start"}),
    "/start": page(PLAYER),
    "/again": Said(302, headers={"Location": "/again"}),
    "/in": Said(302, headers={"Location": "http://10.0.0.1/sso"}),
    "/401": Said(401),
    "/403": Said(403),
    "/404": Said(404),
    "/410": Said(410),
    "/429": Said(429),
    "/503": Said(503),
    "/file.jpg": Said(200, b"jpeg", headers={"Content-Type": "image/jpeg"}),
}
SEEN = {
    "/form.jpg": ("a login page", False, False),
    "/form": ("a login page", False, False),
    "/script": ("a page in place of a file", False, True),
    "/page.jpg": ("a page in place of a file", False, True),
    "/page.html": ("200", True, True),
    "/player": ("200", True, True),
    "/attached.jpg": ("200", True, True),
    "/moved.jpg": ("a login page", False, False),
    "/elsewhere": ("a page in place of a file", False, True),
    "/again": ("too many redirects", False, None),
    "/in": ("private address, not asked", False, None),
    "/401": ("401", False, False),
    **{f"/{status}": (str(status), False, None) for status in (403, 404, 410)},
    **{f"/{status}": (str(status), None, None) for status in (429, 503)},
    "/file.jpg": ("200", True, True),
}


async def test_a_login_is_distinguished_from_a_file() -> None:
    """opens: whether anybody was seen to get the file; may_open: whether somebody may get it who must not."""
    asking = probe()
    async with RawServer(lambda seen: SITE.get(seen.path, Said(404))) as server:
        found = {path: await asking.ask(f"{server.url}{path}") for path in SEEN}
        told = await asking.ask(f"{server.url}/page.jpg", page=True)
        login = await asking.ask(f"{server.url}/form", page=True)
        await asking.close()
    assert {path: (each.status, each.opens, each.may_open) for path, each in found.items()} == SEEN
    assert (told.opens, login.opens) == (True, False)
    unreached = await probe(loopback=False).ask("http://192.168.0.1/x")
    assert (unreached.opens, unreached.may_open) == (None, None)


async def test_a_link_that_refuses_head_is_asked_as_a_visitor_does() -> None:
    """Otherwise a link that opens would pass for one that does not."""
    asking = probe()
    async with RawServer(lambda seen: Said(404) if seen.method == "HEAD" else Said(206, b"x")) as server:
        assert (await asking.ask(f"{server.url}/file.jpg")).opens is True
        await asking.close()


async def test_a_few_links_are_asked_at_once() -> None:
    asking = probe()
    async with RawServer(lambda seen: Said(200, pause=0.2)) as server:
        found = await asyncio.gather(*(asking.ask(f"{server.url}/{number}") for number in range(3 * AT_ONCE)))
        await asking.close()
    assert {each.status for each in found} == {"200"}
    assert server.most_under_way <= AT_ONCE


@pytest.mark.parametrize("addresses", [("10.0.0.1",), ("93.184.216.34", "127.0.0.1"), ("::1",), ("::ffff:10.0.0.1",)])
async def test_a_name_with_one_private_ip_address_is_not_asked(addresses: tuple[str, ...]) -> None:
    asking = LinkProbe(SystemClock(), names=Resolver(*addresses))
    assert (await asking.ask("http://innocent.example/file.jpg")).status == "private address, not asked"
    await asking.close()


@pytest.mark.parametrize("location", ["http://127.0.0\u30021/", "http://127.0.0.1\uff0e/", "http://10.0.0\uff611/"])
async def test_a_redirect_is_judged_as_it_would_be_sent(location: str) -> None:
    moved = {"Location": location.encode()}
    transport = httpx.MockTransport(lambda request: httpx.Response(302, headers=moved))
    found = await LinkProbe(SystemClock(), transport=transport).ask("https://links.example/old")
    assert (found.status, found.hops) == ("private address, not asked", 1)


@pytest.mark.parametrize("name", ["innocent.example", "xn--bcher-kva.example", "bücher.example", "BÜCHER.example"])
async def test_a_link_whose_name_leads_into_a_private_network_is_not_asked(name: str) -> None:
    """Also by a name with characters outside ASCII, which is resolved as another text than it is written."""
    async with RawServer(lambda _: Said()) as server:
        asking = LinkProbe(SystemClock(), names=Resolver("127.0.0.1"))
        found = await asking.ask(f"http://{name}:{server.port}/file.jpg")
        await asking.close()
    assert found.status == "private address, not asked"
    assert server.seen == []
