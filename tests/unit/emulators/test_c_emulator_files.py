"""The emulated service C takes and gives bytes as its wire contract says: uploads, processing, links, versions."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from dam_sync.emulators.c_brandlibrary.uploads import crc32c
from tests.support.services.emulated_c import Rig, asset_row

Start = Callable[..., Rig]
CELL = 262_144
DAY = 86_400


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:
        yield lambda *rows, **options: stack.enter_context(Rig(rows, **options))


def session_of(rig: Rig, **headers: str) -> tuple[str, str]:
    """A new resumable session and the object it fills."""
    request = rig.get("/upload_requests")
    answer = rig.store.post(request["resumable_upload_url"], headers={"x-goog-resumable": "start", **headers})
    assert answer.status_code == 201
    return answer.headers["location"], request["object_url"]


def put(rig: Rig, address: str, data: bytes, start: int, total: int | str) -> httpx.Response:
    """One chunk."""
    span = f"bytes {start}-{start + len(data) - 1}/{total}" if data else f"bytes */{total}"
    return rig.store.put(address, content=data, headers={"Content-Range": span})


def only(rig: Rig, asset: str) -> dict[str, Any]:
    """The attributes of an asset's only attachment, and its id."""
    (row,) = rig.attachments(asset)
    return {"id": row["id"], **row["attributes"]}


# -- single uploads ----------------------------------------------------------------------------------------------------


def test_an_upload_request_is_flat_and_unique(start: Start) -> None:
    rig = start()
    one, other = rig.get("/upload_requests"), rig.get("/upload_requests")
    assert set(one) == {"upload_url", "resumable_upload_url", "service", "object_url"}
    assert not set(one.values()) & (set(other.values()) - {"gcs"})


@pytest.mark.parametrize("method", ["PUT", "POST"])
@pytest.mark.parametrize("kind", ["image/png", ""])
def test_a_single_upload_by_either_method_with_its_sums(start: Start, method: str, kind: str) -> None:
    rig, data = start(), b"some bytes"
    headers = {"Content-Type": kind} if kind else {}
    answer = rig.store.request(method, rig.get("/upload_requests")["upload_url"], content=data, headers=headers)
    md5 = hashlib.md5(data)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["etag"] == f'"{md5.hexdigest()}"'
    assert f"md5={base64.b64encode(md5.digest()).decode()}" in answer.headers["x-goog-hash"]
    assert crc32c(b"123456789") == 0xE3069283


def test_upload_links_end_after_a_day_and_bear_no_forgery(start: Start) -> None:
    rig = start()
    request = rig.get("/upload_requests")
    forged = rig.store.put(request["upload_url"] + "0", content=b"x")
    assert (forged.status_code, "SignatureDoesNotMatch" in forged.text) == (403, True)
    assert rig.store.put(request["resumable_upload_url"], content=b"x").status_code == 403
    assert rig.store.get(request["object_url"]).status_code == 403
    credential = {"Authorization": "Bearer x"}
    assert rig.store.put(request["upload_url"], content=b"x", headers=credential).status_code == 400
    rig.world.advance(DAY - 1)
    assert rig.store.put(request["upload_url"], content=b"x").status_code == 200
    rig.world.advance(2)
    late = rig.store.put(request["upload_url"], content=b"x")
    assert (late.status_code, "<Code>ExpiredToken</Code>" in late.text) == (400, True)


def test_sending_again_overwrites_until_the_object_is_used(start: Start) -> None:
    rig = start()
    request = rig.get("/upload_requests")
    for data in (b"first", b"second"):
        assert rig.store.put(request["upload_url"], content=data).status_code == 200
    key = rig.create({"name": "N", "attachments": [{"url": request["object_url"], "filename": "a.txt"}]})
    rig.world.advance(6)
    assert only(rig, key["data"][0]["id"])["size"] == len(b"second")
    assert rig.store.put(request["upload_url"], content=b"third").status_code == 403


def test_second_readings_of_single_uploads(start: Start) -> None:
    rig = start(variant="post_only")
    request = rig.get("/upload_requests")
    assert rig.store.put(request["upload_url"], content=b"x").status_code == 403
    assert rig.store.post(request["upload_url"], content=b"x").status_code == 200
    limits = [start(variant=name).app.state.tenant.options.single_most for name in ("", "small_single")]
    assert limits == [None, 500_000_000]
    small = start(single_limit=10)
    for size, status in ((10, 200), (11, 400)):
        assert small.store.put(small.get("/upload_requests")["upload_url"], content=b"x" * size).status_code == status


# -- resumable uploads -------------------------------------------------------------------------------------------------


def test_a_resumable_upload_step_by_step(start: Start) -> None:
    rig = start()
    data = bytes(range(256)) * 2050
    address, target = session_of(rig)
    status = put(rig, address, b"", 0, len(data))
    assert (status.status_code, "range" in status.headers) == (308, False)
    first = put(rig, address, data[:CELL], 0, len(data))
    assert (first.status_code, first.headers["range"]) == (308, f"bytes=0-{CELL - 1}")
    assert put(rig, address, b"", 0, len(data)).headers["range"] == f"bytes=0-{CELL - 1}"
    assert put(rig, address, data[CELL:], CELL, len(data)).status_code == 200
    assert put(rig, address, b"", 0, len(data)).status_code == 200
    key = rig.create({"name": "N", "attachments": [{"url": target, "filename": "a.bin"}]})["data"][0]["id"]
    rig.world.advance(6)
    assert rig.store.get(only(rig, key)["url"]).content == data


def test_chunks_that_do_not_fit_are_refused(start: Start) -> None:
    rig = start()
    address, _ = session_of(rig)
    assert put(rig, address, b"x" * 1000, 0, 5000).status_code == 400
    assert put(rig, address, b"x" * CELL, CELL, 4 * CELL).status_code == 400
    assert rig.store.put(address, content=b"x", headers={"Content-Range": "bytes 0-9/20"}).status_code == 400
    assert rig.store.put(address, content=b"x", headers={"Content-Range": "nonsense"}).status_code == 400
    assert put(rig, address, b"x" * CELL, 0, "*").status_code == 308
    assert put(rig, address, b"x" * (CELL + 5), 0, CELL + 5).status_code == 200


def test_less_may_be_stored_than_was_sent(start: Start) -> None:
    for rig in (start(), start(variant="partial_chunks")):
        if not rig.app.state.tenant.plays:
            rig.faults.add([{"match": "PUT /up/*", "do": "play:partial", "times": 1}])
        address, _ = session_of(rig)
        data = b"y" * (4 * CELL)
        assert put(rig, address, data, 0, len(data)).headers["range"] == f"bytes=0-{2 * CELL - 1}"
        assert put(rig, address, data[2 * CELL :], 2 * CELL, len(data)).status_code == 200


def test_sessions_are_cancelled_unknown_and_old(start: Start) -> None:
    rig = start()
    address, _ = session_of(rig)
    assert rig.store.delete(address).status_code == 499
    assert put(rig, address, b"", 0, 5).status_code == 404
    address, _ = session_of(rig)
    rig.world.advance(7 * DAY - 1)
    assert put(rig, address, b"", 0, 5).status_code == 308
    rig.world.advance(2)
    assert put(rig, address, b"", 0, 5).status_code == 410
    request = rig.get("/upload_requests")
    rig.world.advance(DAY + 1)
    late = rig.store.post(request["resumable_upload_url"], headers={"x-goog-resumable": "start"})
    assert late.status_code == 400


def test_a_session_may_be_named_in_a_body(start: Start) -> None:
    rig = start(variant="location_body")
    request = rig.get("/upload_requests")
    answer = rig.store.post(request["resumable_upload_url"], headers={"x-goog-resumable": "start"})
    assert (answer.status_code, "location" in answer.headers) == (200, False)
    assert put(rig, answer.json()["location"], b"12345", 0, 5).status_code == 200


# -- processing --------------------------------------------------------------------------------------------------------


def test_a_new_asset_is_there_at_once_and_its_sizes_come_later(start: Start) -> None:
    rig = start()
    key = rig.made(data=b"12345")
    new = rig.get(f"/assets/{key}", include="attachments")["included"][0]["attributes"]
    assert [new[name] for name in ("size", "width", "height", "mimetype", "thumbnail_url")] == [None] * 5
    identity = only(rig, key)["id"]
    path = f"/attachments/{identity}"
    assert rig.get(path, fields="is_processing")["data"]["attributes"]["is_processing"] is True
    before = rig.get(f"/assets/{key}", fields="updated_at")["data"]["attributes"]["updated_at"]
    rig.world.advance(5)
    after = rig.get(path, fields="is_processing,version_count,metadata,extension")["data"]["attributes"]
    assert (after["size"], after["mimetype"], after["is_processing"]) == (5, "image/jpeg", False)
    assert (after["version_count"], after["metadata"]["mime_type"]) == (1, "image/jpeg")
    asset = rig.get(f"/assets/{key}", fields="updated_at")["data"]["attributes"]
    assert asset["updated_at"] > before
    assert rig.store.get(asset["thumbnail_url"]).status_code == 200


def test_a_source_that_cannot_be_reached_is_no_error(start: Start) -> None:
    rig = start()
    unsent = rig.get("/upload_requests")["object_url"]
    old = rig.uploaded()
    rig.world.advance(7 * DAY + 1)
    for url in ("http://127.0.0.1:9/a.jpg", unsent, old):
        key = rig.create({"name": "N", "attachments": [{"url": url}]})["data"][0]["id"]
        rig.world.advance(60)
        assert only(rig, key)["size"] is None
        assert only(rig, key)["filename"]


def test_the_service_fetches_from_elsewhere(start: Start) -> None:
    source, rig = start(asset_row("1")), start()
    link = only(source, source.of("1"))["url"]
    key = rig.create({"name": "N", "attachments": [{"url": link, "filename": "a.jpg"}]})["data"][0]["id"]
    rig.world.advance(6)
    for _ in range(2000):
        found = only(rig, key)
        if found["size"] is not None:
            break
    assert found["size"] == 1000
    assert rig.truth(key)["versions"][0]["digests"] == source.truth(source.of("1"))["versions"][0]["digests"]


def test_one_object_for_two_assets(start: Start) -> None:
    for variant, size in (("", 5), ("single_use", None)):
        rig = start(variant=variant)
        row = {"name": "N", "attachments": [{"url": rig.uploaded(), "filename": "a.jpg"}]}
        rig.create(row)
        rig.world.advance(6)
        key = rig.create(row)["data"][0]["id"]
        rig.world.advance(6)
        assert only(rig, key)["size"] == size


def test_an_identical_upload_vanishes_after_ten_minutes_where_that_is_on(start: Start) -> None:
    rig = start(asset_row("1"), variant="duplicates")
    first, twin = rig.made("A", b"same"), rig.made("B", b"same")
    rig.world.advance(599)
    rig.get(f"/assets/{twin}")
    rig.world.advance(2)
    rig.get(f"/assets/{twin}", 403)
    rig.get(f"/assets/{first}")


def test_generated_tags_come_late(start: Start) -> None:
    rig = start(variant="auto_tags")
    key = rig.made()
    rig.world.advance(10)
    assert rig.get(f"/assets/{key}/tags")["data"] == []
    rig.world.advance(60)
    (tag,) = rig.get(f"/assets/{key}/tags")["data"]
    assert tag["attributes"]["auto_generated"] is True
    assert tag["attributes"]["source"]
    assert rig.truth(key)["machine_tags"] == ["harbour"]


# -- links -------------------------------------------------------------------------------------------------------------


def test_links_are_new_each_time_and_expire(start: Start) -> None:
    rig = start(asset_row("1"))
    one, other = only(rig, rig.of("1")), only(rig, rig.of("1"))
    assert one["url"] != other["url"]
    assert {rig.store.get(each["url"]).content for each in (one, other)} == {rig.store.get(one["url"]).content}
    assert rig.store.get(one["url"].replace("Signature=", "Signature=0")).status_code == 403
    assert rig.store.get(one["url"], headers={"Authorization": "Bearer x"}).status_code == 400
    rig.world.advance(DAY + 2)
    assert rig.store.get(one["url"]).status_code == 403
    assert rig.store.get(only(rig, rig.of("1"))["url"]).status_code == 200
    assert rig.store.get(one["thumbnail_url"]).status_code == 200
    rig.world.advance(6 * DAY + 2)
    assert rig.store.get(one["thumbnail_url"]).status_code == 403


def test_ranges_of_a_file(start: Start) -> None:
    rig = start(asset_row("1"))
    url = only(rig, rig.of("1"))["url"]
    whole = rig.store.get(url)
    assert (len(whole.content), whole.headers["content-type"]) == (1000, "image/jpeg")
    part = rig.store.get(url, headers={"Range": "bytes=900-", "If-Range": whole.headers["etag"]})
    assert (part.status_code, part.headers["content-range"]) == (206, "bytes 900-999/1000")
    assert part.content == whole.content[900:]
    assert rig.store.get(url, headers={"Range": "bytes=900-", "If-Range": '"other"'}).status_code == 200
    assert rig.store.get(url, headers={"Range": "bytes=5000-"}).status_code == 416
    assert rig.store.head(url).headers["content-length"] == "1000"


def test_view_only_assets_give_no_link(start: Start) -> None:
    rig = start(asset_row("1", view_only=True))
    assert only(rig, rig.of("1"))["url"] is None


# -- attachments and versions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "size"), [("", None), ("stale_size", 1000)])
def test_a_new_version_replaces_the_old_bytes(start: Start, variant: str, size: int | None) -> None:
    rig = start(asset_row("1"), variant=variant)
    key = rig.of("1")
    old = only(rig, key)
    body = {"data": {"attributes": {"url": rig.uploaded(b"newer"), "filename": "b.png"}}}
    rig.send("PUT", f"/attachments/{old['id']}", body)
    assert rig.store.get(old["url"]).status_code == 403
    assert only(rig, key)["size"] == size
    assert rig.store.get(only(rig, key)["url"]).status_code == 404
    rig.world.advance(6)
    new = only(rig, key)
    assert (new["size"], new["filename"], new["mimetype"]) == (5, "b.png", "image/png")
    assert rig.store.get(new["url"]).content == b"newer"
    detail = rig.get(f"/attachments/{old['id']}", fields="version_count")["data"]["attributes"]
    assert detail["version_count"] == 2
    assert [row["size"] for row in rig.truth(key)["versions"]] == [1000, 5]


def test_older_versions_are_a_number_alone(start: Start) -> None:
    versions = [{"name": "a.jpg", "generate": {"size": 100 + n, "seed": n}} for n in range(3)]
    rig = start(asset_row("1", versions=versions, attachments=[{"name": "b.pdf", "generate": {"size": 7, "seed": 1}}]))
    first, second = rig.attachments(rig.of("1"))
    assert [first["attributes"]["position"], second["attributes"]["position"]] == [0, 1]
    assert first["attributes"]["size"] == 102
    assert rig.get(f"/attachments/{first['id']}", fields="version_count")["data"]["attributes"]["version_count"] == 3
    assert rig.get(f"/libraries/{rig.library}/attachments", include="asset")["meta"]["total_count"] == 2


def test_attachments_are_added_never_replaced_and_at_most_75(start: Start) -> None:
    rig = start(asset_row("1", versions=[]))
    key = rig.of("1")
    more = [{"url": rig.uploaded(b"x"), "filename": f"{n}.txt"} for n in range(2)]
    rig.send("PUT", f"/assets/{key}", {"data": {"attributes": {"attachments": more[:1]}}})
    rig.send("PUT", f"/assets/{key}", {"data": {"attributes": {"attachments": more}}})
    names = [row["attributes"]["filename"] for row in rig.attachments(key)]
    assert names == ["0.txt", "0.txt", "1.txt"]
    rig.send("PUT", f"/assets/{key}", {"data": {"attributes": {"attachments": more[:1] * 72}}})
    rig.send("PUT", f"/assets/{key}", {"data": {"attributes": {"attachments": more[:1]}}}, 422)
    rig.create({"name": "N", "attachments": more[:1] * 76}, status=422)
    rig.create({"name": "N", "attachments": more[:1] * 75})
    first = rig.attachments(key)[0]["id"]
    assert rig.send("DELETE", f"/attachments/{first}") == {}
    rig.get(f"/attachments/{first}", 403)
    assert rig.attachments(key)[0]["attributes"]["position"] == 0
