"""The emulated service A: uploads, new versions, attachments, downloads (wire A 12, lines 9, 17, 22)."""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.support.services.emulated_a import Tenant, last_number, photo, tenant


@pytest.fixture
def a() -> Iterator[Tenant]:
    with tenant([photo(1), photo(2)]) as made:
        yield made


def until(a: Tenant, done: Callable[[], bool]) -> None:
    """Give the server turns until it has done something."""
    for _ in range(1000):
        if done():
            return
        a.plain.get(f"{a.served.url}/_emulator/calls")
    raise AssertionError("the server did not get there")


# 9: uploads


def begin(a: Tenant, size: int, name: str = "big.jpg") -> httpx.Response:
    headers = {
        "Content-Length": "0",
        "X-SVC-FileName": name,
        "X-SVC-Upload-Content-Type": "image/jpeg",
        "X-SVC-Upload-Content-Length": str(size),
    }
    return a.http.post("/files", headers=headers)


def chunk(a: Tenant, where: str, data: bytes, start: int, total: int) -> httpx.Response:
    return a.http.put(where, content=data, headers={"Content-Range": f"bytes {start}-{start + len(data) - 1}/{total}"})


def test_a_small_file_in_one_request(a: Tenant) -> None:
    name = base64.b64encode("été 1.jpg".encode()).decode()
    answer = a.http.post("/files", content=b"abc", headers={"X-SVC-Base64FileName": name, "Content-Type": "image/jpeg"})
    made = answer.json()
    assert (made["fileName"], made["size"], made["fileContentType"]) == ("été 1.jpg", 3, "image/jpeg")
    assert answer.headers["location"] == made["_links"]["self"]["href"]
    assert a.no("POST", "/files", content=b"abc") == (400, "file-name-missing")
    raw = a.http.post("/files", content=b"x", headers={b"X-SVC-FileName": "é.jpg".encode("latin-1")})
    assert raw.json()["fileName"] == "é.jpg"


def test_odd_instances_return_size_as_text_and_self_as_a_plain_string() -> None:
    with tenant(odd_descriptors=True) as a:
        made = a.http.post("/files", content=b"abc", headers={"X-SVC-FileName": "a.jpg"}).json()
        assert made["size"] == "3"
        assert a.http.get(made["_links"]["self"]).json()["id"] == made["id"]


@pytest.mark.parametrize(("variant", "unit"), [("", 1000), ("binary-units", 1024)])
def test_one_request_takes_no_more_than_its_limit(variant: str, unit: int) -> None:
    with tenant(variant=variant, single_mb=1) as a:
        headers = {"X-SVC-FileName": "a.jpg"}
        assert a.http.post("/files", content=b"x" * (unit * unit), headers=headers).status_code == 201
        assert a.no("POST", "/files", content=b"x" * (unit * unit + 1), headers=headers) == (413, "file-too-large")


def test_a_large_file_comes_in_chunks(a: Tenant) -> None:
    answer = begin(a, 10)
    where = answer.headers["location"]
    assert (answer.status_code, answer.json()["nextExpectedRanges"]) == (201, ["0-"])
    first = chunk(a, where, b"01234", 0, 10)
    assert (first.status_code, first.json()["nextExpectedRanges"]) == (202, ["5-"])
    assert a.get(where)["nextExpectedRanges"] == ["5-"]
    assert a.no("POST", "/medias", {"_links": {"from": {"href": where}}}) == (409, "file-incomplete")
    last = chunk(a, where, b"56789", 5, 10)
    assert last.status_code == 200
    assert not last.json().get("nextExpectedRanges")
    media = a.get(f"/medias/{last_number(a.ok('POST', '/medias', {'_links': {'from': {'href': where}}}))}")
    assert media["checkSums"]["md5"] == hashlib.md5(b"0123456789").hexdigest()


@pytest.mark.parametrize(("start", "total", "length"), [(6, 10, 2), (4, 10, 2), (5, 11, 2), (5, 10, 6)])
def test_a_bad_range_is_refused_with_what_is_expected(a: Tenant, start: int, total: int, length: int) -> None:
    where = begin(a, 10).headers["location"]
    chunk(a, where, b"01234", 0, 10)
    answer = chunk(a, where, b"x" * length, start, total)
    assert (answer.status_code, answer.json()["nextExpectedRanges"]) == (416, ["5-"])
    assert a.no("PUT", where, content=b"x")[0] == 416
    assert chunk(a, where, b"56789", 5, 10).status_code == 200


def test_a_chunk_that_broke_off_leaves_nothing_of_itself(a: Tenant) -> None:
    where = begin(a, 10).headers["location"]
    chunk(a, where, b"012", 0, 10)
    place = urlsplit(where)
    login = base64.b64encode(b"dam-sync:secret-a").decode()
    head = f"PUT {place.path} HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Basic {login}\r\n"
    head += "Content-Length: 7\r\nContent-Range: bytes 3-9/10\r\n\r\n"
    with socket.create_connection((str(place.hostname), place.port or 0)) as raw:
        raw.sendall(head.encode() + b"345")
        until(a, lambda: a.world.at_once == 1)
        busy = a.no("PUT", where, content=b"3456789", headers={"Content-Range": "bytes 3-9/10"})
        assert busy == (409, "file-busy")
    until(a, lambda: a.world.at_once == 0)
    assert a.get(where)["nextExpectedRanges"] == ["3-"]
    assert chunk(a, where, b"3456789", 3, 10).status_code == 200


def test_files_have_at_most_20_gb_and_chunks_20_mb_on_strict_instances(a: Tenant) -> None:
    assert begin(a, 20 * 10**9).status_code == 201
    assert begin(a, 20 * 10**9 + 1).status_code == 413
    with tenant(variant="small-chunks") as b:
        where = begin(b, 30_000_000).headers["location"]
        assert chunk(b, where, bytes(20_000_001), 0, 30_000_000).status_code == 413
        assert chunk(b, where, bytes(20_000_000), 0, 30_000_000).status_code == 202


def test_descriptors_expire(a: Tenant) -> None:
    where, big = a.upload(), begin(a, 10).headers["location"]
    a.world.advance(3601)
    for one in (where, big):
        assert a.no("GET", one) == (404, "file-not-found")
    assert chunk(a, big, b"01234", 0, 10).status_code == 404
    assert a.no("POST", "/medias", {"_links": {"from": {"href": where}}}) == (404, "file-not-found")


# 17: versions, attachments


def test_a_new_version_becomes_the_current_one(a: Tenant) -> None:
    number = a.first_id()
    own = f"/medias/{number}"
    before = a.get(own)
    a.ok("POST", f"{own}/file-versions", {"_links": {"from": {"href": a.upload(b"second", "two.jpg")}}})
    after = a.get(own)
    assert (after["fileVersionCount"], after["originalFileName"], after["title"]) == (2, "two.jpg", before["title"])
    assert after["_links"]["svc:hires"] != before["_links"]["svc:hires"]
    assert after["updateDate"] > before["updateDate"]
    assert len(a.plain.get(before["_links"]["svc:hires"]["href"]).content) == before["fileSize"]
    new, old = a.get(f"{own}/file-versions")["_embedded"]["file-version"]
    assert a.no("DELETE", new["_links"]["self"]["href"]) == (409, "file-version-current")
    a.ok("PUT", old["_links"]["self"]["href"], {"current": True})
    assert a.get(own)["checkSums"] == before["checkSums"]
    a.ok("DELETE", new["_links"]["self"]["href"])
    assert a.get(own)["fileVersionCount"] == 1


def test_a_version_of_another_type_is_refused_or_not(a: Tenant) -> None:
    link = {"_links": {"from": {"href": a.upload(b"%PDF", "a.pdf", "application/pdf")}}}
    assert a.no("POST", f"/medias/{a.first_id()}/file-versions", link) == (400, "form-type-mismatch")
    with tenant([photo(1)], variant="any-version-type") as b:
        link = {"_links": {"from": {"href": b.upload(b"%PDF", "a.pdf", "application/pdf")}}}
        assert b.ok("POST", f"/medias/{b.first_id()}/file-versions", link).status_code == 201


def test_attachments_take_their_bytes_at_a_signed_link(a: Tenant) -> None:
    own = f"/medias/{a.first_id()}/attachments"
    made = a.ok("POST", own, {"fileName": "plan.pdf", "mediaType": "application/pdf", "fileSize": 4}).json()
    assert made["status"] == "PENDING_TO_ONLINE"
    assert a.plain.put(made["_links"]["svc:upload-link"]["href"], content=b"plan").status_code == 200
    read = a.get(own)["_embedded"]["attachment"]
    assert read["status"] == "ONLINE"
    assert a.plain.get(read["_links"]["svc:download-link"]["href"]).content == b"plan"
    a.world.advance(901)
    assert a.plain.put(made["_links"]["svc:upload-link"]["href"], content=b"late").status_code == 403


# 22: faults


def test_a_descriptor_may_expire_in_mid_upload(a: Tenant) -> None:
    where = begin(a, 10).headers["location"]
    assert chunk(a, where, b"01234", 0, 10).status_code == 202
    a.served.app.faults.add([{"match": "PUT /api/dam/files/*", "do": "play:expire", "times": 1}])
    assert chunk(a, where, b"56789", 5, 10).status_code == 404


def test_a_download_may_break_and_go_on(a: Tenant) -> None:
    media = a.get(f"/medias/{a.first_id()}")
    href = media["_links"]["svc:hires"]["href"]
    a.served.app.faults.add([{"match": "GET /medias/*", "do": "truncate:0.3", "times": 1}])
    with pytest.raises(httpx.RemoteProtocolError):
        a.plain.get(href)
    assert a.plain.get(href, headers={"Range": "bytes=300-"}).status_code == 206
