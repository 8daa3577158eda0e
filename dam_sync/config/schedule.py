"""The keys of a job file that only `watch` reads: when to run, during which hours, webhooks, and whom to notify."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Annotated, Literal, Self, TypeAlias
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from dam_sync.config.secrets import FORMS, OPENING, REFERENCE
from dam_sync.config.side import StrictModel, is_loopback_url
from dam_sync.model.run_options import DURATION, SECONDS
from dam_sync.model.values import Json

SHORTEST = timedelta(seconds=10)  # between two runs
LONGEST = timedelta(days=366)
CENTURY = timedelta(days=36_525)  # of any duration
WINDOW = r"([01]\d|2[0-3]):([0-5]\d)\s*-\s*([01]\d|2[0-3]):([0-5]\d)"
EXAMPLE_START = datetime(2026, 1, 1, tzinfo=UTC)  # any: an expression is tried from here
EVENTS = ("finished", "parked", "conflicts", "stopped")


def _duration(given: Json) -> Json:
    """`90s`, `15m`, `8h` or `7d`."""
    match = DURATION.match(given.strip()) if isinstance(given, str) else None
    if match is None:
        raise ValueError("should be a duration: 90s, 15m, 8h or 7d")
    seconds = float(match[1]) * SECONDS[match[2]]
    if seconds > CENTURY.total_seconds():
        raise ValueError(f"should be at most {CENTURY.days}d")
    return timedelta(seconds=seconds)


Duration: TypeAlias = Annotated[timedelta, BeforeValidator(_duration, json_schema_input_type=str)]


class ScheduleConfig(StrictModel):
    """When runs begin: by a cron expression in a time zone, or at an interval. jitter: a random delay of up to this."""

    cron: str | None = None
    zone: ZoneInfo = Field(default_factory=lambda: ZoneInfo("UTC"))
    every: Duration | None = None
    jitter: Duration | None = None

    @field_validator("cron")
    @classmethod
    def _an_expression(cls, cron: str | None) -> str | None:
        if cron is not None:
            try:
                if len(cron.split()) != 5:
                    raise CronSimError("Wrong number of fields")
                next(CronSim(cron, EXAMPLE_START))
            except (CronSimError, StopIteration, ValueError, TypeError, AssertionError) as error:
                reason = str(error).lower() if isinstance(error, CronSimError) else "it never matches"
                raise ValueError(
                    f'should be a cron expression of five fields ({reason}), for example "*/15 * * * *"'
                ) from None
        return cron

    @field_validator("every")
    @classmethod
    def _not_too_often(cls, every: timedelta | None) -> timedelta | None:
        if every is not None and not SHORTEST <= every <= LONGEST:
            raise ValueError("should be between 10s and 366d")
        return every

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.cron is None) == (self.every is None):
            raise ValueError("should have either cron or every")
        jitter = self.jitter or timedelta()
        if self.every is not None and jitter >= self.every:
            raise ValueError("jitter should be shorter than every")
        if jitter > timedelta(days=1):
            raise ValueError("jitter should be at most 1d")
        return self


@dataclass(frozen=True, slots=True)
class HoursWindow:
    """Part of every day in which runs are allowed, by local time; it may cross midnight."""

    start: time
    end: time


def _windows(given: Json) -> Json:
    """`20:00-06:00`, or several."""
    found = []
    for text in [given] if isinstance(given, str) else given if isinstance(given, list) and given else [None]:
        match = re.fullmatch(WINDOW, text.strip()) if isinstance(text, str) else None
        if match is None or match.group(1, 2) == match.group(3, 4):
            raise ValueError('should be times of day, for example "20:00-06:00"')
        found.append(HoursWindow(time(int(match[1]), int(match[2])), time(int(match[3]), int(match[4]))))
    return tuple(found)


Hours: TypeAlias = Annotated[tuple[HoursWindow, ...], BeforeValidator(_windows, json_schema_input_type=str | list[str])]


def _words(given: Json) -> Json:
    """A command line as a list of words."""
    if not isinstance(given, str):
        return given
    try:
        return shlex.split(given)
    except ValueError:
        raise ValueError("has quotes that do not match") from None


def _a_reference(secret: str) -> str:
    if REFERENCE.fullmatch(secret) is None:
        what = "is not a reference to a secret" if OPENING in secret else "a literal secret is not allowed"
        raise ValueError(f"{what}; write {FORMS}")
    return secret


SecretReference: TypeAlias = Annotated[str, AfterValidator(_a_reference)]


class WebhooksConfig(StrictModel):
    """Where webhooks of the source arrive. listen: address of `watch` on this host; public_url: what the service calls,
    which a proxy passes on to it; secret: proves that deliveries are genuine."""

    listen: str = ""
    public_url: str
    secret: SecretReference = Field(default="", repr=False)

    @field_validator("public_url")
    @classmethod
    def _safe_url(cls, url: str) -> str:
        if not url.startswith("https://") and not is_loopback_url(url):
            raise ValueError("should be a URL that begins with https://")
        if set("?#@") & set(url):
            raise ValueError("should have no query, fragment or user")
        return url.rstrip("/")


class NotifyConfig(StrictModel):
    """Whom to tell what happened: a URL or a command. secret: signs what is sent to a URL."""

    url: str = ""
    command: Annotated[tuple[str, ...], BeforeValidator(_words, json_schema_input_type=str | list[str])] = ()
    secret: SecretReference = Field(default="", repr=False)
    on: tuple[Literal["finished", "parked", "conflicts", "stopped"], ...] = ("parked", "conflicts", "stopped")

    @field_validator("url")
    @classmethod
    def _safe_url(cls, url: str) -> str:
        if REFERENCE.fullmatch(url) is None and not url.startswith("https://") and not is_loopback_url(url):
            raise ValueError("should be a URL that begins with https://, or a reference such as ${env:NOTIFY_URL}")
        return url

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.url) == bool(self.command):
            raise ValueError("should have either url or command")
        if self.secret and not self.url:
            raise ValueError("secret signs what is sent to a url; a command needs none")
        return self
