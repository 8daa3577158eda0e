"""The emulated service B against its wire contract, by plain HTTP: uploads and downloads."""

from __future__ import annotations

import base64
import hashlib
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from dam_sync.emulators.b_documents.options import options_of
from tests.support.services.emulated_b import API, Open, Platform, platforms, reference


@pytest.fixture
def opened() -> Iterator[Open]:
    with platforms() as made:
        yield made


@pytest.fixture
def platform(opened: Open) -> Platform:
    return opened()


def chunk(platform: Platform, batch: str, number: int, body: bytes, count: int = 3, size: int = 9) -> httpx.Response:
    headers = {"X-Upload-Type": "chunked", "X-Upload-Chunk-Index": str(number), "X-Upload-Chunk-Count": str(count)}
    answer: httpx.Response = platform.send(batch, body, **headers, **{"X-File-Size": str(size)})
    return answer


# -- uploads -----------------------------------------------------------------------------------------------------------


def test_batches(platform: Platform) -> None:
    begun = platform.http.post(f"{API}/upload/new/default")
    assert (begun.status_code, begun.json()["provider"], begun.json()["fileEntries"]) == (200, "default", [])
    legacy = platform.http.post(f"{API}/upload")
    assert (legacy.status_code, set(legacy.json())) == (201, {"batchId"})
    assert platform.http.post(f"{API}/upload/new/none").status_code == 400
    assert platform.get("/upload/handlers") == {"handlers": [{"name": "default"}]}
    batch = begun.json()["batchId"]
    platform.get(f"/upload/{batch}", 204)
    platform.get("/upload/none", 404)
    assert platform.get(f"/upload/{batch}/info")["fileEntries"] == []
    platform.send(batch)
    assert platform.get(f"/upload/{batch}") == [{"name": "cat.jpg", "size": 5, "uploadType": "normal"}]


def test_a_whole_file(platform: Platform) -> None:
    batch = platform.batch()
    sent = platform.send(batch, b"hello", "%C3%A9t%C3%A9%20a+b.jpg")
    assert sent.status_code == 201
    assert sent.json() == {
        "uploaded": "true", "batchId": batch, "fileIdx": "0", "uploadType": "normal", "uploadedSize": "5",
    }  # fmt: skip
    assert platform.get(f"/upload/{batch}/0")["name"] == "été a b.jpg"
    platform.send(batch, b"other bytes")
    made = platform.create("a", file__content=reference(batch))["properties"]["file:content"]
    assert (made["digest"], made["length"]) == (hashlib.md5(b"other bytes").hexdigest(), "11")
    assert made["mime-type"] == "image/jpeg"


def test_what_an_upload_refuses(platform: Platform) -> None:
    batch = platform.batch()
    assert platform.http.post(f"{API}/upload/{batch}/0", files={"file": b"x"}).status_code == 400
    assert platform.http.post(f"{API}/upload/{batch}/x", content=b"x").status_code == 400
    assert platform.http.post(f"{API}/upload/none/0", content=b"x").status_code == 404
    assert chunk(platform, batch, 0, b"x", size="nine").status_code == 400  # type: ignore[arg-type]
    assert platform.http.post(f"{API}/upload/{batch}/refreshToken").status_code == 501
    platform.get(f"/upload/{batch}/7", 404)


def test_chunks_in_any_order(platform: Platform) -> None:
    batch = platform.batch()
    first = chunk(platform, batch, 2, b"ghi")
    assert (first.status_code, first.json()["uploadedChunkIds"]) == (202, [2])
    assert chunk(platform, batch, 2, b"ghi").status_code == 500
    assert chunk(platform, batch, 3, b"ghi").status_code == 500
    asked = platform.http.get(f"{API}/upload/{batch}/0")
    assert (asked.status_code, asked.json()) == (
        202, {"name": "cat.jpg", "size": 9, "uploadType": "chunked", "uploadedChunkIds": [2], "chunkCount": 3},
    )  # fmt: skip
    assert (
        platform.create("early", file__content=reference(batch), headers={"X-Batch-No-Drop": "true"})["properties"][
            "file:content"
        ]
        is None
    )
    assert chunk(platform, batch, 0, b"abc").status_code == 202
    assert chunk(platform, batch, 1, b"def").status_code == 201
    assert platform.http.get(f"{API}/upload/{batch}/0").status_code == 200
    made = platform.create("a", file__content=reference(batch))["properties"]["file:content"]
    assert made["digest"] == hashlib.md5(b"abcdefghi").hexdigest()


def test_nothing_checks_a_chunk(platform: Platform) -> None:
    batch = platform.batch()
    chunk(platform, batch, 0, b"abc", count=2, size=1000)
    assert chunk(platform, batch, 1, b"d", count=2, size=5).status_code == 201
    assert platform.get(f"/upload/{batch}/0")["size"] == 1000
    made = platform.create("a", file__content=reference(batch))["properties"]["file:content"]
    assert made["length"] == "4"


def test_a_wrong_chunk_means_starting_over(platform: Platform) -> None:
    batch = platform.batch()
    chunk(platform, batch, 0, b"bad")
    assert platform.http.delete(f"{API}/upload/{batch}/0").status_code == 204
    assert platform.http.delete(f"{API}/upload/{batch}/0").status_code == 404
    assert chunk(platform, batch, 0, b"abc").json()["uploadedChunkIds"] == [0]


def test_chunks_before_the_2021_releases(opened: Open) -> None:
    platform = opened(variant="ancient")
    assert chunk(platform, platform.batch(), 0, b"abc").status_code == 308


def test_a_cancelled_batch(opened: Open) -> None:
    for variant, status in (("", 410), ("older", 404)):
        platform = opened(variant=variant)
        batch = platform.batch()
        assert platform.http.delete(f"{API}/upload/{batch}").status_code == 204
        assert platform.send(batch).status_code == status


def test_a_batch_dies_four_hours_after_it_was_touched(platform: Platform) -> None:
    batch = platform.batch()
    platform.send(batch)
    for _ in range(3):
        platform.advance(14_399)
        platform.get(f"/upload/{batch}")
    platform.advance(14_401)
    platform.get(f"/upload/{batch}", 404)
    assert platform.create("a", file__content=reference(batch))["properties"]["file:content"] is None
    assert options_of({}).batch_life == 240 * 60


def test_complete_compares(platform: Platform) -> None:
    batch = platform.batch()
    platform.send(batch, b"hello")
    good = {"name": "a", "fileSize": 5, "etag": hashlib.md5(b"hello").hexdigest()}
    path = f"{API}/upload/{batch}/0/complete"
    assert platform.http.post(path, json=good).status_code == 200
    for wrong in ({"fileSize": 6}, {"etag": "x"}):
        assert platform.http.post(path, json={**good, **wrong}).status_code == 409


def test_executing_on_a_batch_drops_it(platform: Platform) -> None:
    uid = platform.named(2)
    batch = platform.batch()
    platform.send(batch, b"one", "one.pdf")
    body = {"params": {"document": uid, "xpath": "files:files", "save": "true"}}
    path = f"{API}/upload/{batch}/0/execute/Blob.AttachOnDocument"
    kept = {"X-Batch-No-Drop": "true", "X-NXVoidOperation": "true"}
    assert [platform.http.post(path, json=body, headers=kept).status_code for _ in range(2)] == [204, 204]
    assert len(platform.doc(uid)["properties"]["files:files"]) == 2
    assert platform.http.post(path, json=body).content == b"one"
    assert platform.http.post(path, json=body).status_code == 404
    assert platform.http.delete(f"{API}/id/{uid}/@blob/files:files/1/file").status_code == 204
    assert len(platform.doc(uid)["properties"]["files:files"]) == 2


def test_importing_chooses_the_type(platform: Platform) -> None:
    made = []
    for _ in range(2):
        batch = platform.batch()
        platform.send(batch, b"x", "a%20very%20long%20name%20of%20a%20picture.jpg")
        body = {"params": {}, "context": {"currentDocument": "/default-domain/workspaces/Press"}}
        answer = platform.http.post(f"{API}/upload/{batch}/0/execute/FileManager.Import", json=body)
        made.append(answer.json())
    assert [each["type"] for each in made] == ["Picture", "Picture"]
    assert made[0]["path"].endswith("/a very long name of a pi")
    assert made[0]["uid"] != made[1]["uid"]


# -- downloads ---------------------------------------------------------------------------------------------------------


def test_the_ways_to_a_file(platform: Platform) -> None:
    uid = platform.named(1)
    row = platform.true(uid)
    blob = platform.doc(uid)["properties"]["file:content"]
    bodies = {
        platform.http.get(path).content
        for path in (
            f"{API}/id/{uid}/@blob/file:content", f"{API}/id/{uid}/@blob/blobholder:0", f"/nxfile/default/{uid}",
            f"/nxfile/default/{uid}/file:content", f"/nxfile/default/{uid}/file:content/any.jpg",
            urlsplit(blob["data"]).path,
        )
    }  # fmt: skip
    assert [hashlib.md5(body).hexdigest() for body in bodies] == [row["versions"][-1]["digests"]["md5"]]
    attached = platform.doc(uid)["properties"]["files:files"][0]["file"]
    assert len(platform.http.get(attached["data"]).content) == 300
    operation = {"input": f"doc:{uid}", "params": {"xpath": "files:files/0/file"}}
    assert len(platform.http.post(f"{API}/automation/Document.GetBlob", json=operation).content) == 300
    for path in (f"/id/{uid}/@blob/files:files/9/file", f"/id/{uid}/@blob/no:such", "/id/none/@blob/file:content"):
        platform.get(path, 404)
    old = row["versions"][0]
    assert len(platform.http.get(f"{API}/id/{old['id']}/@blob/file:content").content) == old["size"]


def test_headers_of_a_file(platform: Platform) -> None:
    uid = platform.named(2)
    path = f"{API}/id/{uid}/@blob/file:content"
    digest = platform.true(uid)["versions"][0]["digests"]["md5"]
    plain = platform.http.get(path, headers={"Want-Digest": "md5"})
    assert plain.headers["etag"] == f'"{digest}"'
    assert plain.headers["digest"] == f"MD5={base64.b64encode(bytes.fromhex(digest)).decode()}"
    assert plain.headers["content-disposition"] == "attachment; filename*=UTF-8''photo%202.jpg"
    assert plain.headers["accept-ranges"] == "bytes"
    assert platform.http.get(path, params={"inline": "true"}).headers["content-disposition"].startswith("inline")
    assert "content-md5" in platform.http.get(path, headers={"Want-Digest": "contentMD5"}).headers
    ranged = platform.http.get(path, headers={"Want-Digest": "contentMD5", "Range": "bytes=0-1"})
    assert "content-md5" not in ranged.headers
    assert platform.http.get(path, headers={"If-None-Match": f'"{digest}"'}).status_code == 304
    since = {"If-Modified-Since": plain.headers["last-modified"]}
    assert platform.http.get(path, headers=since).status_code == 304
    head = platform.http.head(path)
    assert (head.status_code, head.headers["content-length"], head.content) == (200, "1002", b"")


def test_ranges_with_their_quirks(platform: Platform) -> None:
    path = f"{API}/id/{platform.named(2)}/@blob/file:content"
    whole = platform.http.get(path).content

    def asked(text: str) -> httpx.Response:
        return platform.http.get(path, headers={"Range": text})

    for text, body, shown in (
        ("bytes=0-9", whole[:10], "bytes 0-9/1002"),
        ("bytes=1000-", whole[1000:], "bytes 1000-1001/1002"),
        ("bytes=-4", whole[-4:], "bytes 998-1001/1002"),
    ):
        answer = asked(text)
        assert (answer.status_code, answer.content, answer.headers["content-range"]) == (206, body, shown)
    for text in ("bytes=1002-", "bytes=5000-", "bytes=0-1,3-4", "bytes=x", "bytes=9-2", "octets=0-1"):
        assert (asked(text).status_code, asked(text).content) == (200, whole)


def test_an_end_beyond_the_file_is_not_clamped(platform: Platform) -> None:
    origin = urlsplit(platform.served.url)
    basic = base64.b64encode(b"Administrator:secret-b").decode()
    with socket.create_connection((str(origin.hostname), int(origin.port or 0)), 10) as raw:
        raw.sendall(
            f"GET {API}/id/{platform.named(2)}/@blob/file:content HTTP/1.1\r\nHost: {origin.netloc}\r\n"
            f"Authorization: Basic {basic}\r\nRange: bytes=1000-1999\r\n\r\n".encode()
        )
        data = b""
        while piece := raw.recv(65536):
            data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    assert b"206" in head.splitlines()[0]
    assert b"content-length: 1000" in head.lower()
    assert len(body) == 2


def test_direct_downloads_redirect_to_the_store(opened: Open) -> None:
    platform = opened(direct=True)
    path = f"{API}/id/{platform.named(2)}/@blob/file:content"
    link = platform.http.get(path)
    assert link.status_code == 302
    where = link.headers["location"]
    assert urlsplit(where).netloc != urlsplit(platform.served.url).netloc
    with platform.client() as plain:
        assert len(plain.get(where).content) == 1002
        assert plain.get(where, headers={"Authorization": "Basic eDp5"}).status_code == 400
        assert plain.head(where).status_code == 403
        platform.advance(3601)
        assert plain.get(where).status_code == 403


def test_digests_by_another_algorithm_or_late(opened: Open) -> None:
    platform = opened(digest="SHA-256")
    blob = platform.doc(platform.named(2))["properties"]["file:content"]
    assert (blob["digestAlgorithm"], len(blob["digest"])) == ("SHA-256", 64)
    late = opened(digest_lag=5.0)
    batch = late.batch()
    late.send(batch)
    made = late.create("a", file__content=reference(batch))
    assert made["properties"]["file:content"]["digest"] is None
    late.advance(6)
    after = late.doc(made["uid"])
    assert after["properties"]["file:content"]["digest"] == hashlib.md5(b"bytes").hexdigest()
    assert after["changeToken"] != made["changeToken"]


def test_a_length_may_be_a_number(opened: Open) -> None:
    platform = opened(variant="second")
    assert platform.doc(platform.named(2))["properties"]["file:content"]["length"] == 1002
