"""One form for every spelling of a URL, and another for what leads elsewhere."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model.url_forms import address_of, host_of

ONE_HOST = [
    {"museum.dam.example", "MUSEUM.dam.Example", "museum.dam.example.", "museum。dam.example", "ｍuseum.dam.example"},
    {"bücher.example", "BÜCHER.example", "xn--bcher-kva.example", "XN--BCHER-KVA.EXAMPLE", "bu\u0308cher.example"},
    {"straße.example", "xn--strae-oqa.example", "STRAßE.example"},
    {"strasse.example"},
    {"10.0.0.5", "10.5", "0x0a000005", "012.0.0.5", "167772165", "::ffff:10.0.0.5"},
    {"2001:db8::1", "2001:0DB8:0:0:0:0:0:1", "2001:db8::0001"},
    {"localhost", "LOCALHOST.", "127.0.0.1", "127.1", "::1", "0.0.0.0", "::ffff:127.0.0.1", "::"},
    {"127.0.0.2"},
    {"museum.localhost"},
    {"other.dam.example"},
]
ONE_PATH = [{"", "/", "//"}, {"/site", "/site/", "//site//", "/./site", "/x/../site", "/%73ite"}, {"/site2"}]
ONE_PORT = [{"", ":443", ":"}, {":8443", ":08443"}]


def netloc(host: str, port: str) -> str:
    return f"[{host}]{port}" if ":" in host else f"{host}{port}"


@pytest.mark.parametrize("spellings", ONE_HOST, ids=min)
def test_every_spelling_of_a_host_is_one_host(spellings: set[str]) -> None:
    assert len({host_of(each) for each in spellings}) == 1


def test_no_two_hosts_have_one_form() -> None:
    assert len({host_of(min(spellings)) for spellings in ONE_HOST}) == len(ONE_HOST)


def test_every_spelling_of_a_url_is_one_url_and_no_other() -> None:
    found = {}
    for hosts, paths, ports in product(ONE_HOST, ONE_PATH, ONE_PORT):
        urls = [f"https://{netloc(*each[:2])}{each[2]}" for each in product(hosts, ports, paths)]
        forms = {address_of(url) for url in urls}
        assert len(forms) == 1, urls
        found[forms.pop()] = urls
    assert len(found) == len(ONE_HOST) * len(ONE_PATH) * len(ONE_PORT)


def test_http_and_https_are_one_service_at_their_usual_ports() -> None:
    assert address_of("http://localhost") == address_of("https://127.0.0.1:443/") == address_of("http://[::1]:80")
    assert address_of("http://localhost:8080") == address_of("https://127.0.0.1:8080")
    assert address_of("http://localhost:8080") != address_of("http://localhost:8081")


@given(st.text(max_size=60))
def test_no_text_is_more_than_no_url(text: str) -> None:
    try:
        form = address_of(f"https://{text}")
    except ValueError:
        return
    assert host_of(form.host) == form.host
