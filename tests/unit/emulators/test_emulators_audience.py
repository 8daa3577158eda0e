"""The history of what outsiders see: by changes, by the clock, and nothing that only seemed to open within one call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from dam_sync.emulators.kit.audience import Audience
from dam_sync.emulators.kit.environment import Environment

START = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass
class Still:
    """A clock that stands still; only `Environment.advance` moves the time."""

    at: datetime = START

    def now(self) -> datetime:
        """The moment."""
        return self.at

    async def sleep(self, seconds: float) -> None:
        """Nothing waits here."""


@dataclass
class Shelf:
    """Assets with a release date, or none when they are not shown."""

    releases: dict[str, datetime | None] = field(default_factory=dict)

    def assets(self) -> Iterable[str]:
        """All of them."""
        return list(self.releases)

    def viewers(self, asset: str, at: datetime) -> frozenset[str]:
        """Users, from the release on."""
        release = self.releases.get(asset)
        return frozenset({"user"}) if release and release <= at else frozenset()

    def turns(self, asset: str) -> Iterable[datetime]:
        """The release."""
        release = self.releases.get(asset)
        return (release,) if release else ()


def opened(audience: Audience) -> list[tuple[str, timedelta]]:
    """Which asset opened, how long after the start."""
    return [(row["asset"], datetime.fromisoformat(row["at"]) - START) for row in audience.opened()]


def at(hours: float) -> datetime:
    return START + timedelta(hours=hours)


def test_what_was_loaded_counts_as_seen_and_a_change_is_recorded_when_it_is_complete() -> None:
    world, shelf = Environment(clock=Still()), Shelf({"old": at(-1), "new": None})
    audience = Audience(world, shelf)
    audience.begin()
    shelf.releases["new"] = at(-1)
    audience.changed("new")
    world.advance(3600)
    audience.settle()
    assert audience.now() == {"old": ["user"], "new": ["user"]}
    assert opened(audience) == [("new", timedelta(hours=1))]


def test_what_opens_and_closes_within_one_call_was_open_at_no_moment() -> None:
    shelf = Shelf({"a": None})
    audience = Audience(Environment(clock=Still()), shelf)
    audience.begin()
    for release in (at(-1), None):
        shelf.releases["a"] = release
        audience.changed("a")
    audience.settle()
    assert not audience.opened()
    assert not audience.now()


def test_the_clock_alone_opens_an_asset_at_its_own_moment() -> None:
    world, shelf = Environment(clock=Still()), Shelf({"a": at(2)})
    audience = Audience(world, shelf)
    assert not audience.now()
    world.advance(3 * 3600)
    assert audience.now() == {"a": ["user"]}
    assert opened(audience) == [("a", timedelta(hours=2))]
    assert opened(audience) == [("a", timedelta(hours=2))]  # asking does not open it again


def test_what_the_clock_opened_before_a_change_closed_it_stays_in_the_history() -> None:
    world, shelf = Environment(clock=Still()), Shelf({"a": at(2)})
    audience = Audience(world, shelf)
    audience.begin()
    world.advance(3 * 3600)
    shelf.releases["a"] = None
    audience.changed("a")
    audience.settle()
    assert not audience.now()
    assert opened(audience) == [("a", timedelta(hours=2))]


def test_an_asset_that_closes_and_opens_again_is_in_the_history_twice() -> None:
    world, shelf = Environment(clock=Still()), Shelf()
    audience = Audience(world, shelf)
    audience.begin()
    for release in (at(0), None, at(0)):
        shelf.releases["a"] = release
        audience.changed("a")
        audience.settle()
    assert [asset for asset, _ in opened(audience)] == ["a", "a"]


def test_a_change_that_no_service_announced_is_seen_when_somebody_asks() -> None:
    shelf = Shelf({"a": None})
    audience = Audience(Environment(clock=Still()), shelf)
    audience.begin()
    shelf.releases = {"a": at(-1), "b": at(-1)}
    assert [asset for asset, _ in opened(audience)] == ["a", "b"]
