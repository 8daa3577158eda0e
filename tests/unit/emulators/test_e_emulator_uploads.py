"""The emulated service E: uploads as a form and in chunks. Numbers are the checklist's."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator

import httpx
import pytest

from tests.support.services.emulated_e import BOTH, TOKEN, Open, Tenant, asset_row, tenants


@pytest.fixture
def tenant_of() -> Iterator[Open]:
    with tenants() as opened:
        yield opened


def test_9_upload_takes_what_the_profile_gives(tenant_of: Open) -> None:
    tenant = tenant_of(processing=10.0)
    made = tenant.uploaded("x.jpg", body=b"12345", metadata='{"fields":{"srckey":["k"]}}')
    asset = tenant.get(f"/v2/assets/{made}", expand="metadata,security,status,metadata_info,file_properties")
    assert asset["metadata_info"]["field_set"] == "Photo"
    assert asset["metadata"]["fields"]["author"] == ["Nobody"]
    assert asset["security"]["asset_groups"] == ["public"]
    assert asset["status"]["upload_progress"] == "pending"
    assert asset["file_properties"]["size_in_bytes"] is None
    tenant.world.advance(6)
    assert tenant.get(f"/v2/assets/{made}", expand="status")["status"]["upload_progress"] == "verifying"
    tenant.world.advance(5)
    asset = tenant.get(f"/v2/assets/{made}", expand="status,file_properties")
    assert asset["status"]["upload_progress"] == "complete"
    assert asset["file_properties"]["size_in_bytes"] == 5
    assert tenant.truth(made)["placements"][0]["path"] == ["In"]
    assert tenant.truth(made)["versions"][0]["sha256"] == hashlib.sha256(b"12345").hexdigest()
    for refused in (
        tenant.upload("y.jpg", "unknown"),
        tenant.upload("y.jpg", metadata='{"srckey":["bare map"]}'),
        tenant.upload("y.jpg", metadata='{"fields":{"colors":["Pink"]}}'),
        tenant.upload("y.jpg", file_id="unknown"),
        tenant.http.post("/v2/uploads", json={}),
        tenant.http.post("/v2/uploads", data={"profile": "files"}, files={"none": (None, "")}),
    ):
        assert refused.status_code == 400


@pytest.mark.parametrize(
    "body", [b"", b"no form at all", b'--B\r\nContent-Disposition: form-data; name="file"\r\n\r\nhalf of']
)
def test_9_malformed_forms_leave_nothing(tenant_of: Open, body: bytes) -> None:
    tenant = tenant_of()
    headers = {"Content-Type": "multipart/form-data; boundary=B"}
    assert tenant.http.post("/v2/uploads", content=body, headers=headers).status_code == 400
    assert list(tenant.served.app.objects.folder.iterdir()) == []


def test_9_upload_from_a_url(tenant_of: Open) -> None:
    tenant = tenant_of(asset_row("a"))
    link = tenant.search()["items"][0]["_links"]["download"]
    made = tenant.uploaded("copy.jpg", url=link)
    assert tenant.truth(made)["versions"][0]["sha256"] == tenant.truth(tenant.ids()["a"])["versions"][0]["sha256"]
    assert tenant.upload("z.jpg", url=f"{tenant.served.storage_url}/nothing").status_code == 400


def test_9_upload_from_a_url_that_is_read_later(tenant_of: Open) -> None:
    """It is pending until then, and for ever where there is nothing to read."""
    tenant = tenant_of(asset_row("a"), variant="late_fetch", processing=4.0)
    link = tenant.search()["items"][0]["_links"]["download"]
    made = tenant.uploaded("copy.jpg", url=link)
    none = tenant.uploaded("none.jpg", url=f"{tenant.served.storage_url}/nothing")

    def states() -> list[str]:
        return [tenant.get(f"/v2/assets/{key}", expand="status")["status"]["upload_progress"] for key in (made, none)]

    assert states() == ["pending", "pending"]
    tenant.world.advance(5)
    for _ in range(2_000):  # the fetch is no part of any call
        states()
        if tenant.truth(made)["versions"][0]["size"]:
            break
    tenant.world.advance(5)
    assert states() == ["complete", "pending"]
    assert tenant.truth(made)["versions"][0]["sha256"] == tenant.truth(tenant.ids()["a"])["versions"][0]["sha256"]


def test_9_conflicts_follow_the_policy_of_the_profile(tenant_of: Open) -> None:
    tenant = tenant_of()
    first = tenant.uploaded("x.jpg", metadata='{"fields":{"srckey":["one"],"author":["Ann"]}}')
    before = tenant.get(f"/v2/assets/{first}")
    tenant.world.advance(2)
    assert tenant.uploaded("X.JPG", "files", b"v2", metadata='{"fields":{"author":["Bob"]}}') == first
    asset = tenant.get(f"/v2/assets/{first}", expand="metadata")
    assert asset["metadata"]["fields"]["author"] == ["Ann"]
    assert asset["version_id"] != before["version_id"]
    assert asset["external_id"] == before["external_id"]
    assert tenant.uploaded("x.jpg", "both", b"v3", metadata='{"fields":{"author":["Bob"]}}') == first
    fields = tenant.get(f"/v2/assets/{first}", expand="metadata")["metadata"]["fields"]
    assert (fields["author"], fields["srckey"]) == (["Bob"], ["one"])
    queued = tenant.uploaded("x.jpg", "queue", b"v4")
    assert queued != first
    tenant.world.advance(7200)
    assert tenant.get(f"/v2/assets/{queued}", expand="status")["status"]["upload_progress"] == "pending"
    assert tenant.search("", **BOTH)["total_count"] == 1
    assert tenant_of(asset_row("x"), variant="refuse_names").upload("x.jpg").status_code == 409


def chunk(tenant: Tenant, session: str, number: int | str, body: bytes) -> httpx.Response:
    form = {"session_id": session, "chunk_number": str(number)}
    return tenant.http.post("/v2/uploads/chunks/upload", data=form, files={"file": ("blob", body)})


def begin(tenant: Tenant) -> str:
    return str(tenant.http.post("/v2/uploads/chunks/start").json()["session_id"])


def complete(tenant: Tenant, session: str, tags: list[str]) -> httpx.Response:
    return tenant.http.post("/v2/uploads/chunks/complete", json={"session_id": session, "tags": tags})


def test_10_chunks_in_any_order(tenant_of: Open) -> None:
    tenant = tenant_of()
    session = begin(tenant)
    parts = [bytes([n]) * 5_000_000 for n in (1, 2)] + [b"tail"]
    tags = [chunk(tenant, session, number, parts[number - 1]).json()["tag"] for number in (3, 1, 2)]
    tags[0] = chunk(tenant, session, 3, b"TAIL").json()["tag"]
    listed = tenant.http.post("/v2/uploads/chunks/status", json={"session_id": session}).json()
    assert [row["chunk_number"] for row in listed["chunks"]] == [1, 2, 3]
    assert complete(tenant, session, tags[:2]).status_code == 400
    file_id = complete(tenant, session, tags).json()["file_id"]
    made = tenant.uploaded("big.bin", file_id=file_id)
    digest = hashlib.sha256(parts[0] + parts[1] + b"TAIL").hexdigest()
    assert tenant.truth(made)["versions"][0]["sha256"] == digest
    second = tenant.uploaded("other.bin", file_id=file_id)
    assert second != made
    tenant.world.advance(7 * 86400 + 1)
    assert tenant.upload("third.bin", file_id=file_id).status_code == 400
    assert chunk(tenant, session, 1, b"x").status_code == 404


def test_10_bounds_of_chunks(tenant_of: Open) -> None:
    tenant = tenant_of()
    session = begin(tenant)
    for number in ("0", "10001", "x"):
        assert chunk(tenant, session, number, b"x").status_code == 400
    tags = [chunk(tenant, session, number, b"small").json()["tag"] for number in (1, 2)]
    assert complete(tenant, session, tags).status_code == 400
    gap = begin(tenant)
    tags = [chunk(tenant, gap, number, b"x" * 5_000_000).json()["tag"] for number in (1, 3)]
    assert complete(tenant, gap, tags).status_code == 400
    single = begin(tenant)
    tag = chunk(tenant, single, 1, b"9 bytes!!").json()["tag"]
    assert complete(tenant, single, [tag]).status_code == 200
    off = tenant_of(variant="no_chunks").http.post("/v2/uploads/chunks/start")
    assert off.status_code == 403
    assert "support" in off.json()["error_description"]


def test_10_a_chunk_that_is_too_long_is_refused(tenant_of: Open) -> None:
    tenant = tenant_of()
    session = begin(tenant)
    assert chunk(tenant, session, 1, bytes(100_000_001)).status_code == 413
    small = tenant_of(variant="small_forms")
    assert small.upload("x.bin", body=bytes(50_000_001)).status_code == 413


def test_10_only_so_many_chunks_at_once(tenant_of: Open) -> None:
    tenant = tenant_of(chunk_slots=1)
    session = begin(tenant)
    went_on, over = threading.Event(), threading.Event()
    head = b'--B\r\nContent-Disposition: form-data; name="session_id"\r\n\r\n'
    seen: list[int] = []

    def slow() -> Iterator[bytes]:
        yield head
        went_on.set()
        over.wait(60)
        yield session.encode() + b'\r\n--B\r\nContent-Disposition: form-data; name="chunk_number"\r\n\r\n1\r\n'
        yield b'--B\r\nContent-Disposition: form-data; name="file"; filename="b"\r\n\r\nbody\r\n--B--\r\n'

    def send() -> None:
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "multipart/form-data; boundary=B"}
        url = f"{tenant.served.url}/v2/uploads/chunks/upload"
        seen.append(httpx.post(url, content=slow(), headers=headers, trust_env=False, verify=False).status_code)

    thread = threading.Thread(target=send)
    thread.start()
    assert went_on.wait(10)
    for _ in range(2_000):  # the slow call may not have reached the service yet
        if tenant.world.api_calls["POST /v2/uploads/chunks/upload"]:
            break
        tenant.plain.get(f"{tenant.served.url}/_emulator/calls")
    tenant.plain.get(f"{tenant.served.url}/_emulator/calls")  # it was counted: by now it is also let in
    refused = chunk(tenant, session, 2, b"x").status_code
    over.set()
    thread.join(60)
    assert refused == 429
    assert seen == [200]
    assert chunk(tenant, session, 2, b"x").status_code == 200
