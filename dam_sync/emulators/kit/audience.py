"""Who sees the assets of an emulated tenant: outsiders by class, now and at every moment so far.

A viewer is a class of people who are neither administrators nor the owner of the job's credential: `public` (no login),
`user` (an ordinary user with no special group), `group:NAME` (an ordinary user who is in that group besides). Services
with download levels add `:preview` and `:download`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Protocol

from dam_sync.emulators.kit.environment import Environment, Json

PUBLIC, USER = "public", "user"
NOBODY: frozenset[str] = frozenset()


def group(name: str) -> str:
    """The viewer who is in a group."""
    return f"group:{name}"


class Sights(Protocol):
    """What a service says of its assets. An asset that is gone, or in the trash, is seen by nobody."""

    def assets(self) -> Iterable[str]:
        """The ids of all assets."""
        ...

    def viewers(self, asset: str, at: datetime) -> frozenset[str]:
        """Who would see the asset at that moment if nobody changed anything until then."""
        ...

    def turns(self, asset: str) -> Iterable[datetime]:
        """When that changes by itself: release and expiry dates, begin and end of rights."""
        ...


class NoSights:
    """Of an emulator whose assets nobody sees."""

    def assets(self) -> Iterable[str]:
        """None."""
        return ()

    def viewers(self, asset: str, at: datetime) -> frozenset[str]:
        """Nobody."""
        return NOBODY

    def turns(self, asset: str) -> Iterable[datetime]:
        """Never."""
        return ()


_Course = tuple[tuple[datetime, frozenset[str]], ...]
"""Who sees an asset from which moment on, unless somebody changes something."""


class Audience:
    """The history of what outsiders see. Assets of a catalogue count as seen before; everything after is recorded.

    The service says which assets a call may have changed (`changed`, `all_changed`); `settle` compares afterwards, so
    that one call is one moment. What the clock alone opens is recorded with its own time whenever somebody asks.
    """

    def __init__(self, world: Environment, sights: Sights | None = None) -> None:
        self._world = world
        self._sights = sights or NoSights()
        self._loaded = world.now()
        self._courses: dict[str, _Course] | None = None
        self._changed: set[str] = set()
        self._all = False
        self._opened: list[dict[str, Json]] = []

    def forget(self) -> None:
        """Assets are seen as they are from now on; what was before is forgotten."""
        self._loaded, self._courses = self._world.now(), None
        self._changed.clear()
        self._opened.clear()

    def begin(self) -> None:
        """Before the first change: remember who sees what. Later calls do nothing."""
        if self._courses is None:
            self._courses = {asset: self._course(asset, self._loaded) for asset in self._sights.assets()}

    def changed(self, *assets: str) -> None:
        """These assets, or what leads to them, may be seen by others now."""
        self._changed.update(assets)

    def all_changed(self) -> None:
        """Any asset may be seen by others now."""
        self._all = True

    def settle(self) -> None:
        """Record what the changes since the last time opened; called after each call."""
        if self._courses is None or not (self._changed or self._all):
            return
        now = self._world.now()
        assets = {*self._sights.assets(), *self._courses} if self._all else set(self._changed)
        self._changed.clear()
        self._all = False
        for asset in sorted(assets):
            self._renew(asset, now)

    def now(self) -> Mapping[str, list[str]]:
        """The viewers of each asset that anybody sees, at this moment."""
        self._catch_up()
        at = self._world.now()
        seen = {asset: self._sights.viewers(asset, at) for asset in self._sights.assets()}
        return {asset: sorted(viewers) for asset, viewers in seen.items() if viewers}

    def opened(self) -> list[dict[str, Json]]:
        """Each moment an asset became visible to a viewer who did not see it before, oldest first."""
        self._catch_up()
        return sorted(self._opened, key=lambda row: (row["at"], row["asset"], row["viewer"]))

    def as_json(self) -> Mapping[str, Json]:
        """What `GET /_emulator/audience` answers."""
        return {"now": self.now(), "opened": self.opened()}

    def _catch_up(self) -> None:
        self.begin()
        self.all_changed()
        self.settle()

    def _renew(self, asset: str, now: datetime) -> None:
        """Play the asset's course up to now, then see who sees it after the change."""
        courses = self._courses
        if courses is None:
            return
        seen = NOBODY
        for number, (at, viewers) in enumerate(courses.get(asset, ())):
            if at > now:
                break
            if number:
                self._record(asset, at, viewers - seen)
            seen = viewers
        course = courses[asset] = self._course(asset, now)
        self._record(asset, now, course[0][1] - seen)

    def _record(self, asset: str, at: datetime, viewers: frozenset[str]) -> None:
        self._opened += [{"at": at.isoformat(), "asset": asset, "viewer": viewer} for viewer in sorted(viewers)]

    def _course(self, asset: str, at: datetime) -> _Course:
        sights = self._sights
        turns = sorted({turn for turn in sights.turns(asset) if turn > at})
        return tuple((moment, _same(sights.viewers(asset, moment))) for moment in (at, *turns))


@lru_cache(maxsize=1024)
def _same(viewers: frozenset[str]) -> frozenset[str]:
    """One object for equal sets: a tenant has many assets and few audiences."""
    return viewers
