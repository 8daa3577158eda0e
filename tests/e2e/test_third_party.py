"""A package outside this repository, written by `dam-sync help adding-a-service` alone, migrates into a service."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dam_sync.emulators import profile_of
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.any_pair import living, receiver_of
from tests.support.jobs.tenants import CREDENTIALS
from tests.support.libraries.every_feature import receiving

PACKAGE = Path(__file__).parent / "third_party"
E = "e_profiles"
TOKEN = "gallery-token"
MAPPING = """\
version: 1
vocabularies:
  words: {{target: {prefix}keywords, match: [exact, casefold], unmatched: create}}
profile: {{default: Photo}}
fields:
  {prefix}srckey: {{marker: true}}
  {prefix}title: {{from: fields.title}}
  {prefix}legend: {{from: fields.caption}}
  {prefix}keywords: {{from: "fields.keywords[]", pipe: [{{vocabulary: words}}]}}
  {prefix}shot: {{from: fields.taken}}
asset:
  filename: {{from: filename}}
"""


def picture(number: int) -> tuple[dict[str, Any], bytes]:
    data = hashlib.sha256(str(number).encode()).digest() * (50 * number)
    file = {
        "name": f"picture-{number}.jpg",
        "size": len(data),
        "type": "image/jpeg",
        "md5": hashlib.md5(data).hexdigest(),
    }
    item = {
        "id": f"g{number:03}",
        "updated": f"2026-03-0{number}T10:00:00Z",
        "title": f"Picture {number}",
        "file": file,
    }
    return {**item, "caption": f"No. {number}", "keywords": ["sea", f"n{number}"], "taken": "2025-12-24"}, data


PICTURES = {item["id"]: (item, data) for item, data in map(picture, range(1, 8))}


class Gallery(BaseHTTPRequestHandler):
    """The three endpoints."""

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(401, b"{}")
            return
        url = urlsplit(self.path)
        match url.path.strip("/").split("/"):
            case ["items"]:
                self._answer(200, json.dumps(self._listed(parse_qs(url.query))).encode())
            case ["items", name] if name in PICTURES:
                self._answer(200, json.dumps(PICTURES[name][0]).encode())
            case ["items", name, "file"] if name in PICTURES:
                self._answer(200, PICTURES[name][1], "image/jpeg")
            case _:
                self._answer(404, b"{}")

    def _listed(self, query: Mapping[str, list[str]]) -> dict[str, Any]:
        after, limit = query.get("after", [""])[0], int(query["limit"][0])
        names = [name for name in sorted(PICTURES) if name > after]
        page = names[:limit]
        rest = page[-1] if len(names) > limit else None
        return {"gallery": "acme", "total": len(PICTURES), "items": [PICTURES[name][0] for name in page], "next": rest}

    def _answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Not shown."""


@contextmanager
def gallery() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Gallery)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of processes in which the package is installed, as far as entry points are concerned."""
    site = tmp_path / "site"
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    about = site / f"acme_gallery-{project['version']}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in named.items())
        for group, named in project["entry-points"].items()
    )
    (about / "entry_points.txt").write_text(points)
    (site / "acme_gallery").symlink_to(PACKAGE / "acme_gallery")
    root = Path(__file__).parents[2]
    return {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{root}", "GALLERY": TOKEN, "TARGET": CREDENTIALS[E]}


def dam_sync(environment: Mapping[str, str], *arguments: str, check: int = 0) -> str:
    command = [sys.executable, "-m", "dam_sync", *arguments]
    done = subprocess.run(command, env=dict(environment), capture_output=True, text=True, timeout=300)
    assert done.returncode == check, f"exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout + (done.stderr if check else "")


def job_for(folder: Path, source: str, target: str) -> Path:
    (folder / "mapping.yaml").write_text(MAPPING.format(prefix=profile_of(E).prefix), encoding="utf-8")
    job = folder / "job.yaml"
    sides = {
        "source": {
            "kind": "acme_gallery",
            "base_url": source,
            "auth": {"flow": "token", "token": "${env:GALLERY}"},
            "options": {"page": 3},
        },
        "target": {
            "kind": E,
            "base_url": target,
            "tenant_url": target,
            "auth": {"flow": "token", "token": "${env:TARGET}"},
            "options": {"index_lag": 1},
        },
    }
    body = {"version": 1, "name": "gallery", **sides, "mapping": "mapping.yaml", "state": "job.db", "policy": ACCEPTED}
    job.write_text(json.dumps(body), encoding="utf-8")  # JSON is YAML
    return job


def test_a_connector_of_another_distribution_migrates_its_library(tmp_path: Path, installed: dict[str, str]) -> None:
    with gallery() as source, receiver_of(E, receiving()) as target:
        job = job_for(tmp_path, source, target.url)
        plan = json.loads(dam_sync(installed, "plan", str(job), "--json", "--no-progress"))
        report = json.loads(dam_sync(installed, "run", str(job), "--json", "--no-progress"))
        assert (report["counts"]["created"], report["parked"]) == (len(PICTURES), [])
        assert plan["source"]["calls"] == report["source"]["calls"], "what its table of costs says"
        assert not [note for note in plan["notes"] if "does not state its API calls" in note]
        found = {row["filename"]: row for row in living(target).values()}
        for item, data in PICTURES.values():
            row = found[item["file"]["name"]]
            assert row["versions"][-1]["digests"]["sha256"] == hashlib.sha256(data).hexdigest()
            assert row["fields"][f"{profile_of(E).prefix}title"] == item["title"]
        assert '"equal": 7' in dam_sync(installed, "verify", str(job), "--level", "digest", "--json", "--no-progress")


def test_a_broken_package_is_named_and_stops_no_other_job(tmp_path: Path, installed: dict[str, str]) -> None:
    points = next((tmp_path / "site").glob("*.dist-info")) / "entry_points.txt"
    points.write_text("[dam_sync.services]\nacme_gallery = acme_gallery:NOWHERE\n")
    job = job_for(tmp_path, "http://127.0.0.1:1", "http://127.0.0.1:1")
    told = dam_sync(installed, "check", str(job), check=2)
    assert "the service acme_gallery of the distribution acme-gallery 1.0 cannot be used" in told
    job.write_text(job.read_text().replace("acme_gallery", "a_gallery"))
    told = dam_sync(installed, "check", str(job), check=2)
    assert "there is no kind a_gallery" in told
    assert "cannot be used" not in told
