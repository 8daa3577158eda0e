"""The keys of a job file that `watch` reads: schedules, hours, notifications."""

from __future__ import annotations

from contextlib import suppress
from datetime import time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dam_sync.config.job import job_of_code
from dam_sync.config.schedule import HoursWindow, NotifyConfig, ScheduleConfig
from dam_sync.model.errors import ConfigError
from dam_sync.services import discover

SIDE = {"kind": "a_hypermedia", "base_url": "https://a.example", "auth": {"flow": "basic", "login": "x"}}


def job_with(**keys: Any) -> Any:
    side = {**SIDE, "auth": {**SIDE["auth"], "password": "${env:A}"}}  # type: ignore[dict-item]
    data = {"version": 1, "name": "job", "source": side, "target": side, "mapping": "m.yaml", **keys}
    return job_of_code(data, Path("/jobs"), discover())


def refused(model: Any, **keys: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(keys)
    return " ".join(str(error["msg"]) for error in caught.value.errors())


def test_a_schedule_by_cron_or_by_interval() -> None:
    schedule = job_with(schedule={"cron": "*/15 * * * *", "zone": "Europe/Paris", "jitter": "2m"}).schedule
    assert (schedule.cron, schedule.zone) == ("*/15 * * * *", ZoneInfo("Europe/Paris"))
    assert (schedule.every, schedule.jitter) == (None, timedelta(minutes=2))
    assert job_with(schedule={"every": "15m"}).schedule.every == timedelta(minutes=15)
    assert job_with().schedule is None


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "either cron or every"),
        ({"cron": "* * * * *", "every": "1h"}, "either cron or every"),
        ({"cron": "* * * *"}, "cron expression of five fields (wrong number of fields)"),
        ({"cron": "* * * * * *"}, "cron expression of five fields (wrong number of fields)"),
        ({"cron": "@daily"}, "cron expression of five fields (wrong number of fields)"),
        ({"cron": "0 0 31 2 *"}, "cron expression of five fields (bad day-of-month)"),
        ({"every": "15"}, "should be a duration"),
        ({"every": 900}, "should be a duration"),
        ({"every": "9s"}, "between 10s and 366d"),
        ({"every": "400d"}, "between 10s and 366d"),
        ({"every": "99999999999999d"}, "should be at most 36525d"),
        ({"every": "10m", "jitter": "10m"}, "jitter should be shorter than every"),
        ({"cron": "* * * * *", "jitter": "2d"}, "jitter should be at most 1d"),
    ],
    ids=str,
)
def test_what_is_not_a_schedule_is_refused(keys: dict[str, Any], message: str) -> None:
    assert message in refused(ScheduleConfig, **keys)


@given(st.lists(st.text("0123456789*/-,#LWSUNMONJAN ", max_size=6), min_size=5, max_size=5))
def test_any_text_is_a_cron_expression_or_refused(fields: list[str]) -> None:
    with suppress(ValidationError):
        ScheduleConfig(cron=" ".join(fields))


@pytest.mark.parametrize("hours", ["20:00-06:00", ["20:00 - 06:00"]])
def test_hours_may_cross_midnight(hours: Any) -> None:
    assert job_with(limits={"hours": hours}).limits.hours == (HoursWindow(time(20), time(6)),)


def test_several_windows() -> None:
    windows = job_with(limits={"hours": ["00:00-06:30", "19:15-23:59"]}).limits.hours
    assert windows == (HoursWindow(time(0), time(6, 30)), HoursWindow(time(19, 15), time(23, 59)))


@pytest.mark.parametrize("hours", ["20-06", "20:00-20:00", "24:00-06:00", "20:00", [], 7, [7], ["20:00-06:00", "x"]])
def test_what_are_no_hours_is_refused(hours: Any) -> None:
    with pytest.raises(ConfigError, match=r"limits\.hours: should be times of day"):
        job_with(limits={"hours": hours})


def test_a_command_is_split_into_words() -> None:
    notify = NotifyConfig.model_validate({"command": "mail -s 'dam sync' ops@museum.example", "on": ["parked"]})
    assert notify.command == ("mail", "-s", "dam sync", "ops@museum.example")
    assert notify.on == ("parked",)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({}, "either url or command"),
        ({"url": "https://x", "command": "true"}, "either url or command"),
        ({"url": "http://x"}, "begins with https://"),
        ({"url": "https://x", "secret": "${X}"}, "is not a reference to a secret"),
        ({"url": "https://x", "secret": "abc"}, "a literal secret is not allowed"),
        ({"command": "true", "secret": "${env:X}"}, "a command needs none"),
        ({"command": "echo '"}, "quotes that do not match"),
    ],
    ids=str,
)
def test_what_is_no_notification_is_refused(keys: dict[str, Any], message: str) -> None:
    assert message in refused(NotifyConfig, **keys)


def test_references_of_a_notification_are_resolved_when_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_with(notify={"url": "${env:NOTIFY_URL}"})
    with pytest.raises(ConfigError, match=r"notify\.url: \$\{env:NOTIFY_URL\} is not set"):
        job.notify_secret("url")
    monkeypatch.setenv("NOTIFY_URL", "https://hook.example/secret")
    assert job.notify_secret("url") == "https://hook.example/secret"
    assert job.notify_secret("secret") == ""
    assert "hook.example" not in repr(job)
