"""A storage of its own process: `GET /N` gives N bytes, `PUT` takes any. It does as little as it can, so that whoever
talks to it is measured. Started as `python -m tests.support.network.storage_process https` (or `http`); prints its
port."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PEM = Path(__file__).parents[1] / "self_signed.pem"
BLOCK = bytes(range(256)) * 4096  # 1 MiB
LENGTH = re.compile(rb"content-length: *([0-9]+)", re.IGNORECASE)
GO_ON = b"HTTP/1.1 100 Continue\r\n\r\n"
DONE = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


@contextmanager
def storage_process(scheme: str = "https") -> Iterator[str]:
    """Its URL."""
    with storage(scheme) as (url, _):
        yield url


@contextmanager
def storage(scheme: str = "https") -> Iterator[tuple[str, int]]:
    """Its URL and the id of its process."""
    process = subprocess.Popen([sys.executable, "-m", __name__, scheme], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"{scheme}://127.0.0.1:{int(process.stdout.readline())}", process.pid
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _serve(tls: ssl.SSLContext | None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sys.stdout.write(f"{listening.getsockname()[1]}\n")
        sys.stdout.flush()
        while True:
            connected, _ = listening.accept()
            threading.Thread(target=_talk, args=(tls, connected), daemon=True).start()


def _tls() -> ssl.SSLContext:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(PEM)
    return tls


def _talk(tls: ssl.SSLContext | None, connected: socket.socket) -> None:
    with suppress(OSError), tls.wrap_socket(connected, server_side=True) if tls else connected as stream:
        while head := _head(stream):
            words = head.split(b" ", 2)
            if words[0] == b"GET":
                _give(stream, int(words[1].strip(b"/")))
            else:
                _take(stream, head)


def _head(stream: socket.socket) -> bytes:
    """A request up to its body; what came of the body follows it."""
    head = b""
    while b"\r\n\r\n" not in head:
        block = stream.recv(65536)
        if not block:
            return b""
        head += block
    return head


def _give(stream: socket.socket, size: int) -> None:
    stream.sendall(b'HTTP/1.1 200 OK\r\nETag: "%d"\r\nContent-Length: %d\r\n\r\n' % (size, size))
    whole, rest = divmod(size, len(BLOCK))
    for _ in range(whole):
        stream.sendall(BLOCK)
    stream.sendall(BLOCK[:rest])


def _take(stream: socket.socket, head: bytes) -> None:
    head, _, body = head.partition(b"\r\n\r\n")
    found = LENGTH.search(head)
    left = (int(found[1]) if found else 0) - len(body)
    if b"100-continue" in head.lower():
        stream.sendall(GO_ON)
    taken = bytearray(len(BLOCK))
    while left > 0:
        left -= stream.recv_into(taken, min(left, len(taken))) or left
    stream.sendall(DONE)


if __name__ == "__main__":
    _serve(_tls() if sys.argv[1] == "https" else None)
