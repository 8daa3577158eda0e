"""`check` is a gate: three words, every fault at once, and it fails when every asset would be parked later."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.support.jobs.small_jobs import SOURCE, Small, hurry, photo, photos, small, spoiling

LONG = "y" * 2_000
MARKER = "srckey: {marker: true}"


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fast, but not so fast that a slow start of a command shows as a clock that is wrong."""
    hurry(monkeypatch)
    monkeypatch.setattr("tests.support.jobs.small_jobs.FASTER", 15.0)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    with small(tmp_path_factory.mktemp("desk")) as made:
        yield made


@pytest.fixture
def desk(shared: Small) -> Iterator[Small]:
    """Its files may be spoilt."""
    with spoiling(shared):
        yield shared


def found(job: Small, code: int) -> dict[str, list[dict[str, Any]]]:
    """Findings by their level; a check never ends with 4."""
    data = job.ran("check", "--json", "--no-progress", code=code).data
    assert data["ok"] == (code == 0)
    marks: dict[str, list[dict[str, Any]]] = {"OK": [], "WARN": [], "FAULT": []}
    for row in data["findings"]:
        marks[row["mark"]].append(row)
        assert row["exit_code"] != 4
    return marks


def mapped(job: Small, *pairs: tuple[str, str]) -> None:
    path = job.pair.folder / "mapping.yaml"
    text = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def test_a_job_in_order(desk: Small) -> None:
    marks = found(desk, 0)
    assert marks["FAULT"] == []
    told = {row["subject"]: row["message"] for row in marks["OK"]}
    assert told["assets"] == "the first 4 assets can be written"
    assert str(desk.state) in told["state"]


def test_notifications_that_nobody_would_get(desk: Small) -> None:
    with desk.pair.job.open("a", encoding="utf-8") as job:
        job.write("notify: {command: ./notify.sh}\n")
    (row,) = [row for row in found(desk, 0)["WARN"] if row["subject"] == "notify"]
    program = desk.pair.folder / "notify.sh"
    assert row["message"] == f"the command {program} of notify cannot be run by this user"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    assert all(row["subject"] != "notify" for row in found(desk, 0)["WARN"])


def test_a_secret_that_every_user_can_read(desk: Small) -> None:
    with TemporaryDirectory() as name:
        file = Path(name, "hook")
        file.write_text("https://hooks.example/1\n", encoding="utf-8")
        Path(name).chmod(0o755)
        file.chmod(0o644)
        with desk.pair.job.open("a", encoding="utf-8") as job:
            job.write(f"notify: {{url: '${{file:{file}}}'}}\n")
        (row,) = [row for row in found(desk, 0)["WARN"] if row["subject"] == "secrets"]
        assert row["message"] == f"every user of this computer can read the secret in {file}"
        assert row["hint"] == f"`chmod 600 {file}`"
        file.chmod(0o600)
        assert all(row["subject"] != "secrets" for row in found(desk, 0)["WARN"])


def test_every_asset_would_be_parked(tmp_path: Path) -> None:
    with small(tmp_path, [photo(each, credit=LONG) for each in (1, 2, 3)]) as job:
        (row,) = found(job, 2)["FAULT"]
        assert row["message"].startswith("every one of the first 3 assets would be parked: mapping fields.credit")
        assert "asset 8801" in row["message"]
        assert job.pair.target.writes == 0


def test_some_assets_would_be_parked(tmp_path: Path) -> None:
    with small(tmp_path, [*photos(3), photo(4, credit=LONG)]) as job:
        assert any("1 of the first 4 would be parked" in row["message"] for row in found(job, 0)["WARN"])


def test_values_that_a_field_rule_would_drop_are_named(desk: Small) -> None:
    line = "shotDate: {from: fields.inventory, pipe: [date], on_error: drop}"
    mapped(desk, ("  inventory: {from: fields.inventory}\n", ""), ("shotDate: {from: fields.shot_date}", line))
    (row,) = [row for row in found(desk, 0)["WARN"] if row["subject"] == "values"]
    assert row["message"] == (
        "of the first 4 assets, values would be dropped: fields.inventory of 4 assets (“MU.00001” is not a date of the "
        "form iso)"
    )
    assert "`in`" in row["hint"]


def test_a_mapping_without_a_marker(desk: Small) -> None:
    mapped(desk, (MARKER, ""))
    (row,) = found(desk, 2)["FAULT"]
    assert "no field is the marker" in row["message"]
    for verb in ("plan", "run"):
        desk.ran(verb, "--no-progress", code=2).says("no field is the marker", "marker: none")
    mapped(desk, ("version: 1", "version: 1\nmarker: none"))
    found(desk, 0)


def test_diagnostics_of_the_mapping_are_reported_one_by_one_with_their_lines(desk: Small) -> None:
    mapped(desk, ("credit: {", "credits: {"), ("default: documents", "default: papers"))
    marks = found(desk, 2)
    rows = marks["FAULT"]
    assert len(rows) == 2
    assert all(row["file"].endswith("mapping.yaml") and row["line"] > 1 for row in rows)
    (missing,) = [row["message"] for row in marks["WARN"] if row["subject"] == "target schema"]
    assert "1 field that the mapping writes does not exist at the target: credits (" in missing


def test_a_container_that_the_source_lacks(desk: Small) -> None:
    mapped(desk, ("version: 1", "version: 1\nselect: {containers: [/Libary]}"))
    rows = found(desk, 2)["FAULT"]
    assert any("the source has no /Libary" in row["message"] and "/Library" in row["hint"] for row in rows)


def test_a_password_that_is_refused(desk: Small) -> None:
    desk.credential(SOURCE, "wrong-word-of-mine")
    try:
        rows = found(desk, 7)["FAULT"]
    finally:
        desk.credential(SOURCE, "secret-a")
    assert [row["subject"] for row in rows] == ["source"]
    assert "the password of dam-sync was refused" in rows[0]["message"]
    assert "HTML" not in rows[0]["message"]


def test_a_url_with_a_path_too_many(desk: Small) -> None:
    url = desk.pair.source.url
    desk.edit(f"base_url: {url}\n", f"base_url: {url}/web/start\n")
    (row,) = [row for row in found(desk, 2)["FAULT"] if row["subject"] == "source"]
    assert "responds, but not like a_hypermedia" in row["message"]
    assert row["hint"] == f"did you mean base_url: {url}?"


@pytest.mark.parametrize("command", ["run", "plan"])
def test_nothing_begins_at_a_url_with_a_path_too_many(desk: Small, command: str) -> None:
    url = desk.pair.source.url
    desk.edit(f"base_url: {url}\n", f"base_url: {url}/web/start\n")
    done = desk.ran(command, "--no-progress", code=2)
    done.says(f"source.base_url: {url}/web/start responds, but not like a_hypermedia", f"did you mean base_url: {url}?")
    assert "--retry" not in done.text


@pytest.mark.parametrize("command", ["check", "plan", "inspect"])
def test_the_calls_that_a_service_counted_are_shown_without_an_option(desk: Small, command: str) -> None:
    done = desk.ran(command, "--no-progress", code=0)
    done.says("the service counted", "of this account from", "the option calls_per_month is not set")


class Page(BaseHTTPRequestHandler):
    """A web site: every URL is a page for people."""

    def do_GET(self) -> None:
        body = b"<!doctype html><html><head><title>Museum</title></head><body>Welcome</body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


class Refusing(BaseHTTPRequestHandler):
    """A server that responds to every call with 501 and a page."""

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def web(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.mark.parametrize("handler", [Page, Refusing])
def test_a_url_of_a_web_site(desk: Small, handler: type[BaseHTTPRequestHandler]) -> None:
    with web(handler) as url:
        desk.edit(f"base_url: {desk.pair.source.url}\n", f"base_url: {url}\n")
        (row,) = [row for row in found(desk, 2)["FAULT"] if row["subject"] == "source"]
    assert f"{url} responds, but not like a_hypermedia" in row["message"]
    assert "check `base_url`" in row["hint"]


@pytest.mark.parametrize(
    ("address", "code", "words"),
    [
        ("https://dam.invalid", 2, "dam.invalid: unknown host name"),
        ("http://127.0.0.1:9", 5, "127.0.0.1: port 9"),
    ],
)
def test_a_url_that_cannot_be_reached(desk: Small, address: str, code: int, words: str) -> None:
    desk.edit(f"base_url: {desk.pair.source.url}\n", f"base_url: {address}\n")
    (row,) = [row for row in found(desk, code)["FAULT"] if row["subject"] == "source"]
    assert words in row["message"]


def test_what_must_be_changed_decides_the_exit_code_and_not_what_may_pass(desk: Small) -> None:
    """An unreachable source alone is temporary; a secret of the target that is missing is not."""
    desk.edit(f"base_url: {desk.pair.source.url}\n", "base_url: http://127.0.0.1:9\n")
    desk.edit('"${file:secrets/e_profiles}"', '"${file:secrets/none}"')
    faults = found(desk, 2)["FAULT"]
    assert {(row["subject"], row["exit_code"]) for row in faults} == {("source", 5), ("target", 2)}


class Dripping(BaseHTTPRequestHandler):
    """A server whose response never ends."""

    def do_GET(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        with suppress(OSError):
            while not released.wait(0.2):
                self.wfile.write(b" ")
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


released = threading.Event()


def test_a_service_that_accepts_and_does_not_respond_is_given_up_within_seconds(desk: Small) -> None:
    released.clear()
    with web(Dripping) as url:
        desk.edit(f"base_url: {desk.pair.source.url}\n", f"base_url: {url}\n")
        began = time.monotonic()
        try:
            (row,) = [row for row in found(desk, 5)["FAULT"] if row["subject"] == "source"]
        finally:
            released.set()
    assert time.monotonic() - began < 60, "the host may be busy; it was 5 minutes"
    assert "127.0.0.1 was reached, and did not complete its response within 20 s" in row["message"]


def test_a_state_that_was_never_exported(tmp_path: Path) -> None:
    with small(tmp_path, photos(2)) as job:
        assert not any(row["subject"] == "state export" for row in found(job, 0)["WARN"])
        job.run()
        (row,) = [row for row in found(job, 0)["WARN"] if row["subject"] == "state export"]
        assert "was never exported" in row["message"]


def test_a_state_that_was_imported_has_an_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.jobs.small_jobs.FASTER", 1.0)  # the times of several commands are compared
    with small(tmp_path, photos(2)) as job:
        job.run()
        copy = tmp_path / "elsewhere" / "copy.db"
        job.ran("state", "export", str(copy), code=0)
        (job.state.with_suffix(".exported")).unlink()
        job.ran("state", "import", str(copy), code=0)
        assert [row for row in found(job, 0)["WARN"] if row["subject"] == "state export"] == []
        job.run()
        (row,) = [row for row in found(job, 0)["WARN"] if row["subject"] == "state export"]
        assert "was exported before the last run" in row["message"]


def test_what_a_later_run_does_not_see_is_reported(tmp_path: Path) -> None:
    told = "changes of folders, labels, relations and names of terms alone"
    with small(tmp_path, photos(1)) as job:
        assert any(told in row["message"] for row in found(job, 0)["OK"])
        assert not any(told in note for note in job.run().data["notes"])
        assert any(told in note and "--full" in note for note in job.run().data["notes"])
        assert not any(told in note for note in job.run("--full").data["notes"])


def test_what_an_option_has_to_decide_is_a_warning_until_it_does(tmp_path: Path) -> None:
    with small(tmp_path, photos(1), options="index_lag: 1") as job:
        told = {row["message"]: row["hint"] for row in found(job, code=0)["WARN"] if row["subject"] == "target options"}
        (versions,) = [hint for message, hint in told.items() if "older file versions are not written" in message]
        assert "version_policy: file_only" in versions
        (closing,) = [hint for message, hint in told.items() if "no profile keeps new assets of type" in message]
        assert '`options: {closed_profile: ""}` leaves it as it is' in closing
        (calls,) = [hint for message, hint in told.items() if "monthly allowance" in message]
        assert "calls_per_month: N" in calls
        job.edit("index_lag: 1", 'index_lag: 1, version_policy: none, closed_profile: "", calls_per_month: null')
        assert not [row for row in found(job, code=0)["WARN"] if row["subject"] == "target options"]


def test_what_more_people_would_see_is_a_warning_as_in_the_plan(tmp_path: Path) -> None:
    staff = {"rights": {"groups": ["staff"], "release_at": "2024-01-01T00:00:00Z"}}
    with small(tmp_path, [*photos(2), {**photo(3), **staff}, {**photo(4), "status": "archived"}]) as job:
        plan = job.ran("plan", "--json", "--no-progress", code=0).data
        aside = sum(row["count"] for row in plan["parked"] if row["cause"].startswith("exposure: "))
        (row,) = [row for row in found(job, 0)["WARN"] if row["subject"] == "assets"]
        assert row["message"].startswith(f"{aside} of the first 4 would be set aside: more people would see")
        assert row["hint"].index("close") < row["hint"].index("accept")
        assert not any("can be written" in row["message"] for row in found(job, 0)["OK"])


def test_a_toggle_that_the_service_does_not_list_is_a_warning(tmp_path: Path) -> None:
    with small(tmp_path, photos(1), options="toggles: conflicted-upload-type") as job:
        (row,) = [row for row in found(job, code=0)["WARN"] if row["subject"] == "target toggles"]
        assert "lists no opt-in behavior conflicted-upload-type" in row["message"]
        assert "did you mean conflicted-upload-metadata-type?" in row["hint"]
        job.ran("inspect", "--no-progress", code=0).says(
            "opt-in behavior conflicted-upload-metadata-type, not requested"
        )
