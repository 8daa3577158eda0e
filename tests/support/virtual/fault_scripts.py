"""Fault scripts: which faults apply to which call, what a migration makes of them, and how it ends."""

from __future__ import annotations

import random
import re
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from typing import Any, Final

from dam_sync.api.jobs import verify_job
from dam_sync.api.state_commands import job_errors
from dam_sync.emulators import profile_of
from dam_sync.model.errors import DamSyncError
from tests.support.virtual.damaged_listings import DAMAGES
from tests.support.virtual.fuse import Fuse, Point
from tests.support.virtual.moves import Move, Simulation, State, differences
from tests.support.virtual.network_faults import Endless, Trouble, Weather
from tests.support.virtual.state_location import ask

ROLES: Final = ("source", "target")
WHERE: Final = ("first", "middle", "last")
LIVES: Final = 4  # runs after which it must be through, besides one for each thing that goes wrong
RETRIES: Final = 3  # times that what is parked is let be tried again
MOST: Final = 30  # times the calls of the reference, and
LONGEST: Final = 86_400.0  # seconds without those that the computer slept, after which a run is endless
PARKED: Final = ("asset", "cause", "operation", "message", "hint")
SIGNED: Final = re.compile(r"(?i)[?&](signature|expires|token|x-amz-[a-z-]+|sig|policy)=")
UNCERTAIN: Final = "Uncertain"

Calls = Mapping[tuple[str, str], int]

ANYWHERE: Final = (
    *("refused", "unreachable", "lost", "mute", "stalls", "trickles", "reset_before", "reset_after"),
    *("status:500", "status:502", "status:503", "status:504", "status:429", "throttle:7", "throttle:1800"),
    *("status:401", "status:403", "status:404", "status:408", "html:200", "html:502"),
    *("truncate:0.5", "wrong_length:0.5", "garble", "empty", "odd:0", "odd:2", "delay:40"),
    *("sticky status:403", "sticky status:404", "since status:503", "since refused", "since throttle:2"),
    *("sleeps:60", "sleeps:4000", "sleeps:90000", "sleeps:900000", "advance:300", "advance:-300"),
)
"""What can happen to any call."""
LIES: Final = frozenset({"empty", "odd:0", "odd:2"})
OTHER_BYTES: Final = frozenset({"garble", "wrong_length:0.5"})
"""Of a download, where neither a digest nor a size is known."""
IDEMPOTENT: Final = frozenset({"GET", "HEAD", "PUT", "DELETE"})


@dataclass(frozen=True, slots=True, order=True)
class Script:
    """One fault at one call of one service, the first, a middle, the last or the n-th of its name: `since` on all calls
    of this name from there on, `sticky` on all for the same URL, until the first run that it stops has ended; else
    once.
    """

    role: str
    call: str
    do: str
    where: str = "first"

    @property
    def kind(self) -> str:
        """The fault without its call."""
        return self.do

    def lies(self, kind: str) -> bool:
        """Whether nobody can know but by reading back: a write is said to be done that never reached its service of
        this kind, in a response that may be one of its own, or was delivered twice; or other bytes, or none, come of a
        file whose digest it does not tell.
        """
        if self.call.startswith(("GET ", "HEAD ")):
            trial, bytes_differ = profile_of(kind), self.do in LIES | OTHER_BYTES and " storage " in self.call
            return bytes_differ and ("digests" in trial.quiet or self.call in trial.undigested)
        return self.do in LIES or (self.do == "twice" and self.call in profile_of(kind).appends)

    def hides(self, kind: str) -> bool:
        """Whether a service of this kind then says that the account lacks a feature."""
        refused = self.do.endswith(("status:403", "status:404"))
        return refused and self.call in profile_of(kind).optional

    def trouble(self, move: Move, calls: Calls) -> Trouble:
        """As a line of the script of the network; calls: how many there are of each."""
        many = calls[self.role, self.call]
        number = (
            int(self.where)
            if self.where.isdigit()
            else {"first": 1, "middle": (many + 1) // 2, "last": many}[self.where]
        )
        app = getattr(move, self.role).app
        *how, do = self.do.split(" ")
        if how == ["since"]:
            return Trouble(app, self.call, do, since=number)
        return Trouble(app, self.call, do, nth=number, sticky=how == ["sticky"])

    def __str__(self) -> str:
        return f"{self.do} at the {self.where} {self.call} of the {self.role}"


def applicable(role: str, kind: str, call: str) -> Iterator[str]:
    """The faults that can happen to this call of a service of this kind."""
    trial, method = profile_of(kind), call.partition(" ")[0]
    yield from ANYWHERE
    if method in IDEMPOTENT or any(fnmatch(call, read) for read in trial.reads):
        yield "twice"
    if " storage " in call or "/files/{id}" in call:
        yield "status:416"
    if role == "target":
        yield from (do for match, words in trial.plays.items() if fnmatch(call, match) for do in words)
    if fnmatch(call, trial.listing):
        yield from sorted(DAMAGES if role == "source" else DAMAGES - {"no_library"})


def scripts(kinds: tuple[str, str], calls: Calls, rng: random.Random) -> list[Script]:
    """Every fault at every call, at the first, a middle or the last of its name."""
    return [
        Script(role, call, do, rng.choice(WHERE) if calls[role, call] > 1 else "first")
        for role, kind in zip(ROLES, kinds, strict=True)
        for call in sorted(name for side, name in calls if side == role)
        for do in applicable(role, kind, call)
    ]


def calls_of(move: Move) -> Counter[tuple[str, str]]:
    """How often each service was called by which name."""
    roles = {id(getattr(move, role).app): role for role in ROLES}
    return Counter({(roles[id(app)], call): n for (app, call), n in move.universe.network.weather.called.items()})


@dataclass
class Reference:
    """A move without faults."""

    simulation: Simulation
    want: State
    calls: Counter[tuple[str, str]]
    points: list[Point]

    @classmethod
    def of(cls, simulation: Simulation) -> Reference:
        """Moves once."""
        with simulation.moving() as move:
            fuse = move.live()
            calls = calls_of(move)
            return cls(simulation, move.state(), calls, fuse.points())


@dataclass
class Ending:
    """How a move under these scripts went: what was wrong, what stopped runs, what was parked, what never happened."""

    wrong: list[str] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    parked: list[str] = field(default_factory=list)
    unhit: list[Script] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)  # differences that `verify` reports
    calls: int = 0


@dataclass
class Storm:
    """One move under faults, from the first run to the end."""

    reference: Reference
    move: Move
    ending: Ending = field(default_factory=Ending)

    @property
    def weather(self) -> Weather:
        return self.move.universe.network.weather

    def blow(self, scripts: Sequence[Script], points: Sequence[Point] = (), pauses: Sequence[float] = ()) -> Ending:
        """The scripts until a run they stopped has ended, crashes at `points` in the first runs, `pauses` in seconds
        after runs; then runs without faults until all is there."""
        weather = self.weather
        weather.most = MOST * self.reference.calls.total()
        lines = weather.lines[:] = [script.trouble(self.move, self.reference.calls) for script in scripts]
        clock, began = self.move.universe.clock, self.move.universe.clock.monotonic()
        try:
            self._through(list(points), list(pauses))
            self.ending.unhit = [script for script, line in zip(scripts, lines, strict=True) if not line.hits]
            self.ending.wrong += [f"never played: {each}" for each in self._unplayed()]
            asleep = sum(pauses) + sum(line.number * line.hits for line in weather.lines if line.action == "sleeps")
            weather.clear()
            self._unparked()
            if any(script.hides(getattr(self.move, script.role).kind) for script in scripts):
                self._through([], [])
            if clock.monotonic() - began > LONGEST + asleep:
                raise Endless(f"{clock.monotonic() - began:.0f} s, {asleep:.0f} of them asleep")
            different = list(self._differences(len(scripts) + len(points)))
            lies = any(script.lies(getattr(self.move, script.role).kind) for script in scripts)
            if different and lies and self._verify_tells():
                self.ending.verified, different = different, []
            self.ending.wrong += different
        except AssertionError as problem:
            self.ending.wrong.append(f"{type(problem).__name__}: {problem}")
        except Exception as problem:  # noqa: BLE001 -- whatever else comes out of a run is the finding
            self.ending.wrong.append(f"not one of ours: {kind_and_places(problem)}")
        self.ending.calls = weather.called.total()
        return self.ending

    def _through(self, points: list[Point], pauses: list[float]) -> None:
        """Runs until one goes through; what strikes on and on does so in the first run that it stops."""
        lives = LIVES + len(self.weather.lines) + len(points)
        for _ in range(lives):
            try:
                crashed = self.move.live(Fuse(points.pop(0) if points else None)).blown
            except DamSyncError as error:
                self.move.universe.do(self.move.universe.network.calm())
                self._stopped(error)
                self._calms()
            else:
                if not crashed:
                    return
            if pauses:
                self.move.universe.do(self.move.universe.clock.sleep(pauses.pop(0)))
        raise AssertionError(f"not moved in {lives} runs: {self.ending.stops}")

    def _calms(self) -> None:
        """What would never end is over."""
        for line in self.weather.lines:
            if line.hits and (line.since or line.sticky):
                line.since, line.path, line.nth = None, "", None

    def _unplayed(self) -> list[str]:
        return [line for tenant in (self.move.source, self.move.target) for line in tenant.app.faults.unhit()]

    def _unparked(self) -> None:
        """As a person does who reads `errors` and lets them be tried again."""
        self.move.full = False
        for _ in range(RETRIES):
            rows = parked(self.move)
            if not rows and not self._refused():
                return
            for row in rows:
                self._parked(row)
            causes = [UNCERTAIN] if any(row["cause"] == UNCERTAIN for row in rows) else []
            for chosen in ([], causes) if causes else ([],):
                universe = self.move.universe
                universe.do(job_errors(self.move.job, chosen, True, universe.clock, universe.storage))
            self._through([], [])
        if rows := parked(self.move):
            raise AssertionError(f"parked again and again: {rows}")

    def _verify_tells(self) -> bool:
        """Whether `verify` sees a difference or an addition; what is found untrue is for a person to mend."""
        report = self.move.universe.do(verify_job(self.move.job, self.move.universe.options(), "bytes", "100%"))
        assert report.verdict is not None
        return not report.verdict["clean"] or bool(report.verdict["extras"])

    def _refused(self) -> int:
        """Memberships and relations that a service refused."""
        return sum(count(self.move, f"SELECT count(*) FROM {table} WHERE refused <> ''") for table in REFUSABLE)

    def _parked(self, row: Mapping[str, str]) -> None:
        self.ending.parked.append(f"{row['cause']}: {row['message']} ({row['operation']})")
        if not all(row[name] for name in ("asset", "cause", "message", "hint")):
            self.ending.wrong.append(f"parked without a reason: {row}")
        self._clean(" ".join(row.values()))

    def _stopped(self, error: DamSyncError) -> None:
        self.ending.stops.append(f"{type(error).__name__}: {error}")
        if not error.message or not error.hint:
            self.ending.wrong.append(f"stopped without a hint: {type(error).__name__}: {error}")
        self._clean(f"{error} {error.hint}")

    def _clean(self, text: str) -> None:
        """No secret, no signed link."""
        for tenant in (self.move.source, self.move.target):
            if any(secret in text for secret in profile_of(tenant.kind).secrets) or SIGNED.search(text):
                self.ending.wrong.append(f"says too much: {text}")

    def _differences(self, in_doubt: int) -> Iterator[str]:
        """Of what counts: how often a step was recorded depends on what was refused, and what is left over on whether
        it could be taken away."""
        state, want = self.move.state(), self.reference.want
        state.assets = [without_trash(row) for row in state.assets]
        uses_up = profile_of(self.move.target.kind).uses_up
        for told in differences(state, want, in_doubt=in_doubt, uses_up=uses_up):
            if not told.startswith(("steps ", "left in the target")):
                yield told


def without_trash(row: Mapping[str, Any]) -> dict[str, Any]:
    """An asset without partial versions that were discarded."""
    kept = [version for version in row["versions"] if version.get("status") != "trash"]
    return {**row, "versions": kept}


REFUSABLE: Final = ("placement", "relation")


def parked(move: Move) -> list[dict[str, str]]:
    """What `errors` would report."""
    rows = ask(move.job, f"SELECT {', '.join(PARKED)} FROM work WHERE action = 'parked'")
    return [dict(zip(PARKED, map(str, row), strict=True)) for row in rows]


def count(move: Move, question: str) -> int:
    """A number from the state."""
    return int(ask(move.job, question)[0][0])


def kind_and_places(problem: BaseException) -> str:
    """The kind of an error and the places it came by in the product."""
    places = [
        f"{frame.filename.rpartition('/dam_sync/')[2]}:{frame.lineno}"
        for frame in traceback.extract_tb(problem.__traceback__)
        if "/dam_sync/" in frame.filename
    ]
    return f"{type(problem).__name__}: {problem} at {' < '.join(reversed(places[-4:]))}"


def stormed(
    reference: Reference, scripts: Sequence[Script], points: Sequence[Point] = (), pauses: Sequence[float] = ()
) -> Ending:
    """A move under these scripts; see `Storm.blow`."""
    with reference.simulation.moving() as move:
        return Storm(reference, move).blow(scripts, points, pauses)
