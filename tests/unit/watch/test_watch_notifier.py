"""Notifications: which events, what they contain, how they are signed, and that no run waits for them."""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from dam_sync.api.watching import deliver, signature
from dam_sync.config.job import JobConfig, job_of_code
from dam_sync.engine.guards.exposure import exposure_stop
from dam_sync.engine.guards.finding import GuardFinding, refuse
from dam_sync.engine.guards.mass_deletion import Disappearance
from dam_sync.model.errors import ConfigError, DamSyncError, Denied, Rejected, SafetyStop, Transient
from dam_sync.model.run_options import RunOptions
from dam_sync.model.values import Json
from dam_sync.services import discover
from dam_sync.watch.notifier import MOST, Notifier, event_of, events_of
from dam_sync.watch.scheduler import RunResult, WatchRecord
from tests.support.network.raw_server import RawServer, in_turn, said
from tests.support.stepped_clock import SteppedClock

AT = datetime(2026, 6, 1, 12, tzinfo=UTC)
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
EVENT = {"id": "msg_1", "type": "run.stopped", "timestamp": AT.isoformat(), "data": {"job": "museum"}}


def job_with(folder: Path = Path("/jobs"), **notify: Any) -> JobConfig:
    side = {"kind": "a_hypermedia", "base_url": "https://a.example"}
    side["auth"] = {"flow": "basic", "login": "x", "password": "${env:A}"}  # type: ignore[assignment]
    data = {"version": 1, "name": "museum", "source": side, "target": side, "mapping": "m.yaml", "notify": notify}
    return job_of_code(data, folder, discover())


def ended(result: RunResult, error: DamSyncError | None = None, *, failures: int = 0, **parked: int) -> WatchRecord:
    record = WatchRecord(AT, failures=failures, parked=parked).begun(AT)
    return record.ended_with(result, AT, 0.5, error)


def test_the_signature_is_that_of_the_specification() -> None:
    at = datetime.fromtimestamp(1614265330, UTC)
    made = signature(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", at, b'{"test": 2432232314}')
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    for wrong in ("not base64!", "whsec_"):
        with pytest.raises(ConfigError, match="not base64"):
            signature(wrong, "1", at, b"")


def test_a_state_of_affairs_is_reported_once() -> None:
    clean = ended(RunResult.DONE)
    parked = ended(RunResult.DONE, InvalidValue=2, conflict=1)
    assert events_of(clean, clean) == ["finished"]
    assert events_of(parked, clean) == ["finished", "conflicts", "parked"]
    assert events_of(parked, parked) == ["finished"]
    assert events_of(ended(RunResult.DONE, InvalidValue=3, conflict=1), parked) == ["finished", "parked"]
    assert events_of(ended(RunResult.FAILED, Transient("x")), clean) == ["stopped"]
    assert events_of(ended(RunResult.FAILED, Transient("x"), failures=1), clean) == []
    assert events_of(ended(RunResult.BLOCKED, SafetyStop("x")), clean) == ["stopped"]
    used_up = ended(RunResult.ALLOWANCE)
    assert (events_of(used_up, clean), events_of(used_up, used_up)) == (["stopped"], [])
    for quiet in (RunResult.BUSY, RunResult.INTERRUPTED, RunResult.LIMIT, RunResult.BUDGET):
        assert events_of(ended(quiet), clean) == []


def test_an_event_says_what_happened_and_what_to_do() -> None:
    record = ended(RunResult.BLOCKED, SafetyStop("the mapping changed", hint="run it by hand"))
    event = event_of("stopped", "museum", record, None, None, "1")
    assert (event["id"], event["type"], event["timestamp"]) == ("msg_1", "run.stopped", AT.isoformat())
    assert event["data"]["error"] == {
        "error": "SafetyStop",
        "message": "the mapping changed",
        "hint": "run it by hand",
    }
    assert event["data"]["next"] is None


def stops() -> list[DamSyncError]:
    """Errors that end a run and name an asset that only some may see, or a value of it."""
    row = {"rule": "groups_widened", "fate": "set aside", "assets": 1, "examples": ["Board/merger.jpg"]}
    exposed = exposure_stop([row])
    assert exposed is not None
    gone = Disappearance(4, 3, 1, ("Board/merger.jpg",)).finding()
    with pytest.raises(SafetyStop) as refused:
        refuse([gone, GuardFinding("the mapping changed", "look")], RunOptions())
    return [
        exposed,
        refused.value,
        Rejected("the title 'merger' is too long", asset="Board/merger.jpg", hint="shorten merger"),
        Denied("no right", service="a_hypermedia", operation="GET /x", asset="Board/merger.jpg"),
    ]


@pytest.mark.parametrize("error", stops(), ids=lambda error: type(error).__name__)
def test_an_event_names_no_asset_and_no_value(error: DamSyncError) -> None:
    """Whoever reads it may see fewer assets than the operator does."""
    assert "merger" in str(error)
    record = ended(RunResult.BLOCKED, error)
    event = event_of("stopped", "museum", record, None, None, "1")
    assert "merger" not in json.dumps(event)
    assert event["data"]["error"]["message"]
    assert event["data"]["error"]["hint"] or not error.hint
    stored = WatchRecord.of_json(json.loads(json.dumps(record.as_json())), AT)
    assert event_of("stopped", "museum", stored, None, None, "1") == event


async def test_a_url_gets_a_signed_event(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RawServer(in_turn(said({}, 503), said({}))) as server:
        monkeypatch.setenv("NOTIFY_URL", f"{server.url}/hooks/secret-path?token=abc")
        monkeypatch.setenv("NOTIFY_SECRET", SECRET)
        job = job_with(url="${env:NOTIFY_URL}", secret="${env:NOTIFY_SECRET}")
        await deliver(job, EVENT, RunOptions(clock=SteppedClock(auto=True)))
    first, second = server.seen
    assert first.target == second.target == "/hooks/secret-path?token=abc"
    assert json.loads(second.body) == EVENT
    headers = second.headers
    at = datetime.fromtimestamp(int(headers["webhook-timestamp"]), UTC)
    expected = signature(SECRET, "msg_1", at, second.body)
    assert (headers["webhook-id"], headers["webhook-signature"]) == ("msg_1", expected)


async def test_what_does_not_arrive_is_an_error_without_the_url(monkeypatch: pytest.MonkeyPatch) -> None:
    async with RawServer(lambda _: said({}, 404)) as server:
        job = job_with(url=f"{server.url}/hooks/secret-path")
        with pytest.raises(DamSyncError) as caught:
            await deliver(job, EVENT, RunOptions(clock=SteppedClock(auto=True)))
    assert "secret-path" not in str(caught.value)


async def test_a_command_gets_the_event_on_its_standard_input(tmp_path: Path) -> None:
    code = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())"
    file = tmp_path / "event.json"
    await deliver(job_with(command=[sys.executable, "-c", code, str(file)]), EVENT, RunOptions())
    assert json.loads(file.read_text(encoding="utf-8")) == EVENT
    with pytest.raises(Transient, match="exit code 3"):
        await deliver(job_with(command=[sys.executable, "-c", "raise SystemExit(3)"]), EVENT, RunOptions())
    with pytest.raises(ConfigError, match="cannot be run"):
        await deliver(job_with(command=str(tmp_path / "missing")), EVENT, RunOptions())


async def test_a_command_is_found_from_the_folder_of_the_job_file(tmp_path: Path) -> None:
    (tmp_path / "notify.sh").write_text('#!/bin/sh\ncat > "$1"\n', encoding="utf-8")
    (tmp_path / "notify.sh").chmod(0o755)
    file = tmp_path / "event.json"
    await deliver(job_with(tmp_path, command=f"./notify.sh {file}"), EVENT, RunOptions())
    assert json.loads(file.read_text(encoding="utf-8")) == EVENT


async def test_an_unpaired_surrogate_in_an_event_is_replaced(tmp_path: Path) -> None:
    """A path of this host may contain one, and so may an error that names it."""
    code = "import sys, pathlib; pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read())"
    file = tmp_path / "event.json"
    event = {**EVENT, "data": {"job": "a\udcff"}}
    await deliver(job_with(command=[sys.executable, "-c", code, str(file)]), event, RunOptions())
    assert json.loads(file.read_text(encoding="utf-8"))["data"] == {"job": "a?"}


async def test_a_url_that_is_none_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("http://[", "file:///etc/passwd", "https://"):
        monkeypatch.setenv("NOTIFY_URL", url)
        with pytest.raises(ConfigError, match="is not a URL"):
            await deliver(job_with(url="${env:NOTIFY_URL}"), EVENT, RunOptions())


async def notified(errors: list[Exception | None], events: int = 1) -> tuple[Notifier, SteppedClock, list[Json]]:
    """A notifier whose first deliveries end so, and what arrived."""
    clock, arrived, ends = SteppedClock(auto=True), list[Json](), iter(errors)

    async def delivered(job: JobConfig, event: Json) -> None:
        error = next(ends, None)
        if error is not None:
            raise error
        arrived.append(event)

    notifier = Notifier(delivered, clock)
    for _ in range(events):
        notifier.put(job_with(command="true", on=["stopped"]), EVENT)
    sender = asyncio.ensure_future(notifier.run())
    for _ in range(10_000):  # of the loop, not of the clock: on a busy host the traceback of a bug takes its time
        if notifier.sent + notifier.failed == events:
            break
        await asyncio.sleep(0)
    sender.cancel()
    return notifier, clock, arrived


async def test_a_failed_notification_is_tried_again_and_dropped_in_the_end() -> None:
    notifier, clock, arrived = await notified([Transient("x"), Transient("x"), None])
    assert (notifier.sent, notifier.failed, arrived, clock.slept) == (1, 0, [EVENT], [30.0, 60.0])
    notifier, clock, _ = await notified([Transient("x")] * 9)
    assert (notifier.sent, notifier.failed, clock.slept) == (0, 1, [30.0, 60.0, 120.0])
    with capture_logs() as logged:
        notifier, clock, _ = await notified([ConfigError("the secret is not set")])
    assert [(each["log_level"], each["problem"]) for each in logged] == [("error", "the secret is not set")]
    assert (notifier.failed, clock.slept) == (1, [])


async def test_a_bug_does_not_end_the_notifications() -> None:
    notifier, _, arrived = await notified([ValueError("a bug")] * 4, events=2)
    assert (notifier.sent, notifier.failed, arrived) == (1, 1, [EVENT])


async def test_nobody_waits_for_notifications() -> None:
    async def never(job: JobConfig, event: Json) -> None:
        await asyncio.Event().wait()

    notifier = Notifier(never, SteppedClock())
    for _ in range(MOST + 5):
        notifier.put(job_with(command="true", on=["stopped"]), EVENT)
    assert notifier.failed == 5
    notifier.put(job_with(command="true", on=["parked"]), EVENT)
    notifier.put(job_with(command="true"), {**EVENT, "type": "run.finished"})
    assert notifier.failed == 5, "an event that nobody asked for is not even queued"
