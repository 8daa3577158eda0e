"""A connection between processes of a cluster that ends without a closing message of TLS, as Dask's connections do."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from dam_sync.cluster.tls import ClusterSecurity

SECONDS = 30.0


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Closes what a test opened."""
    with ExitStack() as opened:
        yield opened


@pytest.fixture(scope="module")
def security() -> ClusterSecurity:
    return ClusterSecurity.temporary()  # type: ignore[no-untyped-call, no-any-return]


def connected(security: ClusterSecurity, stack: ExitStack) -> tuple[ssl.SSLSocket, ssl.SSLSocket]:
    """The ends of the client and of the scheduler, which have exchanged a byte; no call of theirs waits any more."""
    listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    accepted: list[ssl.SSLSocket] = []

    def accept() -> None:
        there = listener.accept()[0]
        accepted.append(security.get_listen_args("scheduler")["ssl_context"].wrap_socket(there, server_side=True))

    thread = threading.Thread(target=accept)
    thread.start()
    here = socket.create_connection(listener.getsockname(), SECONDS)
    client = stack.enter_context(security.get_connection_args("client")["ssl_context"].wrap_socket(here))
    thread.join(SECONDS)
    scheduler = stack.enter_context(accepted[0])
    for sender, receiver in ((client, scheduler), (scheduler, client)):
        sender.sendall(b"x")
        assert receiver.recv(1) == b"x"
    for each in (client, scheduler):
        each.setblocking(False)
    return client, scheduler


def test_the_end_of_a_connection_is_no_error_of_another(security: ClusterSecurity, stack: ExitStack) -> None:
    healthy, _ = connected(security, stack)
    ending, peer = connected(security, stack)
    ending.shutdown(socket.SHUT_RDWR)  # of the socket below TLS, as Dask ends a connection
    ending.close()
    with suppress(OSError):
        peer.send(b"x")
    assert peer.recv(1) == b""
    with pytest.raises(ssl.SSLWantReadError):
        healthy.recv(1)


def test_without_certificates_there_is_no_context() -> None:
    plain = ClusterSecurity()  # type: ignore[no-untyped-call]
    assert plain.get_connection_args("client")["ssl_context"] is None
    assert plain.get_listen_args("worker")["ssl_context"] is None
