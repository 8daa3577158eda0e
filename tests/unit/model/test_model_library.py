"""When a source and a target are one library, when one lies in the other, and when they are two."""

from __future__ import annotations

import pytest

from dam_sync.model.library import Library, Overlap, overlap_of, reached_alike

PATHS = ("/api/v1", "/api")
MUSEUM, OTHER = "https://museum.dam.example", "https://other.dam.example"


def server(url: str = MUSEUM, name: str = "default", within: str = "/a/b") -> Library:
    return Library.of_server("server", url, PATHS, name, tuple(within.strip("/").split("/")) if within != "/" else ())


def customer(url: str = "https://api.dam.example", name: str = "museum") -> Library:
    return Library.of_customer("customer", [url], name)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (server(), Overlap.SAME),
        (server("https://MUSEUM.dam.example:443/api/v1/"), Overlap.SAME),
        (server("https://museum.dam.example./API"), Overlap.SAME),
        (server(within="/a/b/c"), Overlap.TARGET_INSIDE),
        (server(within="/a/b/c/d"), Overlap.TARGET_INSIDE),
        (server(within="/a"), Overlap.SOURCE_INSIDE),
        (server(within="/"), Overlap.SOURCE_INSIDE),
        (server(within="/a/bc"), None),
        (server(within="/a/c"), None),
        (server(name="second"), None),
        (server(OTHER), None),
        (server(f"{MUSEUM}/second"), None),
        (server(f"{MUSEUM}:8443"), None),
        (customer(MUSEUM), None),
    ],
    ids=lambda each: getattr(each, "shown", str(each)),
)
def test_a_server_is_known_by_its_url_repository_and_root(target: Library, expected: Overlap | None) -> None:
    assert overlap_of(server(), target) is expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (customer(), Overlap.SAME),
        (customer("https://API.dam.example/v2/"), Overlap.SAME),
        (customer(name="archive"), None),
        (customer("https://uat.dam.example"), Overlap.POSSIBLE),
        (customer("https://uat.dam.example", "archive"), None),
        (customer(name=""), Overlap.POSSIBLE),
        (customer("https://uat.dam.example", ""), None),
    ],
    ids=lambda each: getattr(each, "shown", str(each)),
)
def test_a_customer_of_many_is_known_by_the_name(target: Library, expected: Overlap | None) -> None:
    assert overlap_of(customer(), target) is expected
    assert overlap_of(target, customer()) is expected


def test_two_services_of_this_computer_are_two_if_their_ports_differ() -> None:
    ports = [customer(f"http://{host}:{port}") for host in ("localhost", "127.0.0.1") for port in (8001, 8002)]
    found = [[overlap_of(first, second) for second in ports] for first in ports]
    assert found == [[Overlap.SAME if (at - other) % 2 == 0 else None for other in range(4)] for at in range(4)]


def test_the_ip_address_of_a_host_proves_a_customer_and_hints_at_a_server() -> None:
    """A host may tell the servers that it has from each other by the name that it is called."""
    known = {"museum.dam.example": "10.0.0.5", "other.dam.example": "10.0.0.6", "api.dam.example": "10.0.0.7"}

    def numbers(host: str) -> frozenset[str]:
        return frozenset({host, known.get(host, host)})

    assert reached_alike(server(), server("https://10.0.0.5"), numbers) is Overlap.POSSIBLE
    assert reached_alike(server(), server(OTHER), numbers) is None
    assert reached_alike(server(), server("https://10.0.0.5:8443"), numbers) is None
    assert reached_alike(customer(), customer("https://10.0.0.7"), numbers) is Overlap.SAME
    assert reached_alike(customer(), customer("https://10.0.0.7", "archive"), numbers) is None
