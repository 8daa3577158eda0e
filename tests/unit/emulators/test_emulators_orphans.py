"""The emulators say truthfully what lies about besides assets, until it is used, ended, or its time is over."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx

from tests.support.services.emulated_a import tenant as tenant_a
from tests.support.services.emulated_b import API, platforms, reference
from tests.support.services.emulated_c import Rig
from tests.support.services.emulated_d import schema_rows, served
from tests.support.services.emulated_e import tenants

DAY = 86_400


def kinds(url: str) -> Counter[str]:
    """What the control route reports, by kind."""
    rows: list[dict[str, Any]] = httpx.get(f"{url}/_emulator/orphans", trust_env=False, verify=False).json()
    assert all({"kind", "id", "age", "bytes", "life"} == row.keys() for row in rows)
    return Counter(row["kind"] for row in rows)


def test_a_temporary_file_lies_about_until_it_is_a_media_or_its_hour_is_over() -> None:
    with tenant_a() as a:
        before = kinds(a.served.url)
        made = a.upload()
        assert kinds(a.served.url) - before == {"temporary file": 1}
        a.ok(
            "POST", "/medias", {"_links": {"from": {"href": f"{a.served.url}/api/dam/files/{made.rpartition('/')[2]}"}}}
        )
        assert kinds(a.served.url) - before == {"media never placed": 1}
        a.upload()
        a.ok("POST", "/users/2/selections")
        assert kinds(a.served.url) - before == {"media never placed": 1, "temporary file": 1, "selection": 1}
        a.served.app.world.advance(3601)
        assert kinds(a.served.url) - before == {"media never placed": 1}


def test_b_batch_lies_about_until_it_is_dropped_or_forgotten() -> None:
    with platforms() as opened:
        b = opened()
        url = b.served.url
        before = kinds(url)
        batch = b.batch()
        assert kinds(url) - before == {"empty batch": 1}
        b.send(batch)
        assert kinds(url) - before == {"batch": 1}
        b.create("cat", file__content=reference(batch))  # which drops the batch
        b.create("dog")
        assert kinds(url) - before == {"document without a file": 1}
        kept = b.batch()
        b.send(kept)
        b.http.delete(f"{API}/upload/{kept}")
        b.batch()
        b.advance(240 * 60 + 1)
        assert kinds(url) - before == {"document without a file": 1}


def test_c_objects_and_sessions_are_orphans_until_they_are_used_cancelled_or_purged() -> None:
    with Rig() as c:
        url = c.url
        c.get("/upload_requests")
        object_url = c.uploaded()
        request = c.get("/upload_requests")
        started = c.store.post(request["resumable_upload_url"], headers={"x-goog-resumable": "start"})
        assert kinds(url) == {"upload request": 1, "uploaded object": 1, "upload session": 1}
        assert c.store.delete(started.headers["location"]).status_code == 499
        c.create({"name": "One", "attachments": [{"url": object_url, "filename": "one.jpg"}]})
        assert kinds(url) == {"upload request": 2, "file still to come": 1}
        c.world.advance(DAY + 1)
        assert not kinds(url)
        c.uploaded()
        c.create({"name": "Two"})
        c.world.advance(7 * DAY + 1)
        assert kinds(url) == {"asset without a file": 1}


def test_d_uploads_with_parts_and_records_without_a_file_stay_permanently() -> None:
    with served(schema_rows(), part=1 << 16, multipart_least=100) as d:
        url = d.served.url
        made, begun = (d.made("film.mov", filesize=(1 << 16) + 10) for _ in range(2))
        assert d.put(begun["urls"][0]["url"], b"x" * (1 << 16)).status_code == 200
        assert kinds(url) == {"record without a file": 2, "upload session": 1, "upload session without parts": 1}
        d.world.advance(DAY + 1)
        assert kinds(url) == {"record without a file": 2, "upload session": 1}
        d.renew()
        d.post("/asset/complete", {**{k: begun[k] for k in ("fileId", "filename", "uploadId")}, "action": "cancel"})
        for one in (made, begun):
            d.post(f"/asset/{one['objectId']}/delete", {"action": "delete", "deleteType": "full"})
        assert not kinds(url)


def test_e_sessions_and_files_of_no_asset_end_after_a_week() -> None:
    with tenants() as opened:
        e = opened()
        url = e.served.url
        session = str(e.http.post("/v2/uploads/chunks/start").json()["session_id"])
        sent = e.http.post(
            "/v2/uploads/chunks/upload", data={"session_id": session, "chunk_number": "1"}, files={"file": b"bytes"}
        )
        assert kinds(url) == {"upload session": 1}
        done = {"session_id": session, "tags": [sent.json()["tag"]]}
        file = e.http.post("/v2/uploads/chunks/complete", json=done).json()["file_id"]
        assert kinds(url) == {"file of no asset": 1}
        form = {"profile": "files", "filename": "a.jpg", "file_id": file}
        assert e.http.post("/v2/uploads", files={key: (None, text) for key, text in form.items()}).status_code == 201
        assert not kinds(url)
        e.http.post("/v2/uploads/chunks/start")
        e.world.advance(7 * DAY + 1)
        assert not kinds(url)
