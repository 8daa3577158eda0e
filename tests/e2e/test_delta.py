"""After the first run: only what changed at the source is written, and what somebody changed in the target is kept."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.request import Request, urlopen

from tests.e2e.conftest import ASSETS
from tests.e2e.test_migration import digests
from tests.support.jobs.tenants import Pair, Tenant

SOURCE = {"Authorization": "Basic " + base64.b64encode(b"dam-sync:secret-a").decode()}
TARGET = {"Authorization": "Bearer wat_demo_b1d3c61e03c6"}


def call(tenant: Tenant, method: str, path: str, headers: dict[str, str], body: Any = None) -> Any:
    """One call of the service's own API, as its users would make it."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = Request(
        tenant.url + path, data=data, method=method, headers={"Content-Type": "application/json", **headers}
    )
    with urlopen(request) as reply:
        text = reply.read().decode()
        return json.loads(text) if text else dict(reply.headers)


def settle(tenants: Pair) -> None:
    """Let the source's search index catch up."""
    tenants.source.ask("/_emulator/clock", {"advance": 5})


def by_title(assets: list[dict[str, Any]], title: str) -> dict[str, Any]:
    return next(asset for asset in assets if asset["fields"].get("title") == title)


def test_nothing_but_the_changed_field_is_written(tenants: Pair) -> None:
    tenants.cli("run", str(tenants.job), "--no-progress")
    first = tenants.source.assets[10]["id"]
    call(
        tenants.source,
        "PUT",
        f"/api/dam/medias/{first}/metadatas/title",
        {**SOURCE, "Content-Language": "en"},
        {"value": "New words"},
    )
    settle(tenants)
    plan = tenants.json("plan", str(tenants.job))
    assert plan["operations"] == {"update": 1}
    tenants.target.forget_calls()
    report = tenants.json("run", str(tenants.job))
    assert report["operations"] == {"update": 1}
    assert report["counts"]["updated"] == 1
    assert by_title(tenants.target.assets, "New words")
    assert len(tenants.target.assets) == ASSETS
    assert tenants.target.writes == 1, tenants.target.calls


def test_a_new_file_becomes_a_new_version(tenants: Pair) -> None:
    tenants.cli("run", str(tenants.job), "--no-progress")
    first = tenants.source.assets[10]["id"]
    name = base64.b64encode(b"new.jpg").decode()
    headers = {**SOURCE, "X-SVC-Base64FileName": name, "Content-Type": "image/jpeg"}
    file = call(tenants.source, "POST", "/api/dam/files", headers, b"new bytes of the picture")
    link = {"_links": {"from": {"href": f"{tenants.source.url}/api/dam/files/{file['id']}"}}}
    call(tenants.source, "POST", f"/api/dam/medias/{first}/file-versions", SOURCE, link)
    settle(tenants)
    report = tenants.json("run", str(tenants.job))
    assert report["operations"]["version"] == 1
    assert digests(tenants.target.assets) == digests(tenants.source.assets)


def test_what_somebody_changed_in_the_target_is_parked_not_overwritten(tenants: Pair) -> None:
    tenants.cli("run", str(tenants.job), "--no-progress")
    chosen = tenants.source.assets[10]
    title = chosen["fields"]["title"]["texts"]["en"]
    there = by_title(tenants.target.assets, title)["id"]
    call(tenants.target, "PUT", f"/v2/assets/{there}/metadata?patch=title", TARGET, {"fields": {"title": ["By hand"]}})
    path = f"/api/dam/medias/{chosen['id']}/metadatas/title"
    call(tenants.source, "PUT", path, {**SOURCE, "Content-Language": "en"}, {"value": "From the source"})
    settle(tenants)
    tenants.cli("run", str(tenants.job), "--no-progress", check=4)
    assert by_title(tenants.target.assets, "By hand")
    parked = tenants.json("errors", str(tenants.job))
    assert parked["causes"][0]["cause"] == "conflict"
    job = tenants.job.read_text(encoding="utf-8")
    tenants.job.write_text(job.replace("policy: {", "policy: {conflicts: overwrite, "), encoding="utf-8")
    tenants.json("errors", str(tenants.job), "--retry")
    tenants.cli("run", str(tenants.job), "--no-progress")
    assert by_title(tenants.target.assets, "From the source")


def test_an_asset_in_the_trash_is_left_alone_in_the_target(tenants: Pair) -> None:
    tenants.cli("run", str(tenants.job), "--no-progress")
    first = tenants.source.assets[10]["id"]
    request = Request(f"{tenants.source.url}/api/dam/medias/{first}", method="DELETE", headers=SOURCE)
    urlopen(request).close()
    settle(tenants)
    tenants.cli("run", str(tenants.job), "--no-progress")
    assert len(tenants.target.assets) == ASSETS


def test_assets_that_left_the_source_are_reported(tenants: Pair) -> None:
    tenants.cli("run", str(tenants.job), "--no-progress")
    first = tenants.source.assets[10]["id"]
    for address in (f"/api/dam/medias/{first}", f"/api/dam/medias/{first}?definitive=true"):
        urlopen(Request(tenants.source.url + address, method="DELETE", headers=SOURCE)).close()
    settle(tenants)
    report = tenants.json("run", str(tenants.job), "--full")
    (told,) = [note for note in report["notes"] if "gone from the source" in note]
    assert told.startswith(f"1 asset moved before is gone from the source ({first}")
    assert len(tenants.target.assets) == ASSETS


def test_a_changed_mapping_stops_until_the_operator_says_how_to_go_on(tenants: Pair) -> None:
    mapping = tenants.folder / "mapping.yaml"
    job = tenants.job.read_text(encoding="utf-8")
    original = next(line for line in job.splitlines() if line.startswith("mapping: ")).removeprefix("mapping: ")
    with open(original, encoding="utf-8") as text:
        mapping.write_text(text.read(), encoding="utf-8")
    tenants.job.write_text(job.replace(original, str(mapping)), encoding="utf-8")
    tenants.cli("run", str(tenants.job), "--no-progress")
    changed = mapping.read_text(encoding="utf-8").replace(
        "  inventory: {from: fields.inventory}", "  inventory: {from: fields.inventory, pipe: [lower]}"
    )
    mapping.write_text(changed, encoding="utf-8")
    refused = tenants.cli("run", str(tenants.job), "--no-progress", check=6)
    assert "--full" in refused.stderr
    report = tenants.json("run", str(tenants.job), "--full")
    assert report["operations"] == {"update": ASSETS}


def test_another_tenant_under_the_same_state_is_refused(tenants: Pair) -> None:
    tenants.cli("run", str(tenants.job), "--no-progress")
    job = tenants.job.read_text(encoding="utf-8")
    tenants.job.write_text(job.replace("127.0.0.1", "localhost"), encoding="utf-8")
    refused = tenants.cli("run", str(tenants.job), "--no-progress", check=6)
    assert "the state belongs to a source called 127.0.0.1" in refused.stderr


def test_a_second_run_at_the_same_time_is_refused_naming_the_first(tenants: Pair) -> None:
    first = tenants.start_until(lambda: tenants.target.writes > 0, "run", str(tenants.job), "--no-progress")
    try:
        second = tenants.cli("run", str(tenants.job), "--no-progress", check=5)
        assert str(first.pid) in second.stderr
    finally:
        assert first.wait() == 0


def test_ctrl_c_ends_cleanly_and_the_next_run_resumes(tenants: Pair) -> None:
    first = tenants.start_until(lambda: tenants.target.writes >= 10, "run", str(tenants.job), "--no-progress")
    first.send_signal(2)
    assert first.wait() == 5
    assert 0 < len(tenants.target.assets) < ASSETS
    assert tenants.json("run", str(tenants.job))["counts"]["created"] == ASSETS
    assert len(tenants.target.assets) == ASSETS
