"""What a link of one asset leads to or returns ends the work on that asset, never the run."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from dam_sync.model.errors import ConfigError, IntegrityError, Rejected, Transient
from tests.support.network.clients import client_of, get
from tests.support.network.raw_server import RawServer, Said, said


@pytest.mark.parametrize("redirected", [False, True])
async def test_a_link_to_a_host_without_a_valid_certificate_concerns_its_asset_alone(redirected: bool) -> None:
    """Whoever may put such a link into one asset could otherwise end every run of the library."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(Path(__file__).parents[2] / "support" / "self_signed.pem")
    async with RawServer(lambda _: said({}), tls=tls) as elsewhere:
        link = f"{elsewhere.url}/file"
        moved = Said(302, b"", {"Location": link})
        async with RawServer(lambda _: moved) as server, client_of(server) as client:
            path = "/v2/file" if redirected else link
            with pytest.raises(Rejected, match="no secure connection to") as refused:
                await client.stream(get(path, asset="a1"))
            assert "SSL_CERT_FILE" in refused.value.hint
            with pytest.raises(ConfigError, match="no secure connection to"):
                await client.stream(get(path))
        assert elsewhere.seen == []


async def test_redirects_without_end_of_one_asset_concern_it_alone() -> None:
    async with RawServer(lambda _: Said(302, b"", {"Location": "/v2/file"})) as server, client_of(server) as client:
        with pytest.raises(Rejected, match="more than 5 redirects"):
            await client.stream(get("/v2/file", asset="a1"))


@pytest.mark.parametrize(
    "response",
    [
        Said(206, b"x" * 9, {"Content-Range": "bytes 0-8/9"}),
        Said(206, b"x", {"Content-Range": "bytes 7-" + "9" * 5000 + "/*"}),
        Said(416, b"", {"Content-Range": "bytes 0-8/*"}),
        Said(300, b""),
    ],
)
async def test_what_a_link_of_one_asset_returns_concerns_it_alone(response: Said) -> None:
    async with RawServer(lambda _: response) as server, client_of(server, attempts=1) as client:
        request = get(f"{server.url}/file", asset="a1", bare=True)
        with pytest.raises((Rejected, Transient, IntegrityError)):
            await client.stream(request, 7)
