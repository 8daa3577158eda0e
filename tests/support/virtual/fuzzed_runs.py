"""Runs whose services respond as no service should, each by its number, and what must not come of it."""

from __future__ import annotations

import itertools
import logging
import os
import random
import resource
import signal
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, Final

import httpx
import structlog

from dam_sync.emulators import profile_of
from dam_sync.model.error_origin import BUGS
from dam_sync.model.errors import DamSyncError, InternalError
from dam_sync.report.report import Report
from tests.support.measuring.peak_memory import own_peak
from tests.support.pairs import KINDS
from tests.support.sample.rotation import SEED
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.loop import Stuck
from tests.support.virtual.moves import Move, Simulation, digest, plain
from tests.support.virtual.mutated_responses import OPS, Mutation, misheaded, mutated, remade
from tests.support.virtual.network_faults import Endless, Weather
from tests.support.virtual.reply import Reply

ANSWERS: Final = int(os.environ.get("DAM_SYNC_FUZZ", "40"))  # fuzzed responses in all, half to reads, half to writes
ALONE: Final = os.environ.get("DAM_SYNC_CASE", "")  # `c_brandlibrary:writes:17`: the only case to be tried
SECONDS: Final = 30.0  # of this processor that a run may take
MEBIBYTES: Final = 400  # that a process may ever have held that does nothing else
MOST_CALLS: Final = 4_000
LONGEST: Final = 30 * 86_400.0  # virtual seconds
HEADERS: Final = 0.08  # part of the cases in which a header is changed
CALLS: Final = (1, 1, 2, 3)  # endpoints whose responses are changed in one case
ONCE: Final = 0.3  # part of the cases in which one response alone is changed
READS, WRITES = "reads", "writes"


class Hung(BaseException):
    """A run that took too long; nothing in the product may catch it."""


@dataclass(frozen=True, slots=True)
class Case:
    """One run. kind: the service whose responses are changed; to: `reads` or `writes`."""

    kind: str
    to: str
    number: int

    @property
    def rng(self) -> random.Random:
        """Its chance."""
        return random.Random(f"fuzz {SEED} {self}")

    def __str__(self) -> str:
        return f"{self.kind}:{self.to}:{self.number}"


@dataclass
class Fuzzing:
    """Changes responses of one service on their way back. given: the changes, by call and number of its response,
    instead of drawn ones."""

    move: Move
    case: Case
    role: str
    ops: Mapping[str, str]
    rng: random.Random
    nth: int | None
    given: Mapping[tuple[str, int], Mutation] | None = None
    seen: Counter[str] = field(default_factory=Counter)
    changed: dict[tuple[str, int], Mutation] = field(default_factory=dict)
    arrived: Mapping[str, Any] = field(default_factory=dict)

    @property
    def made(self) -> list[Mutation]:
        """The changes in their order."""
        return [*self.changed.values()]

    @property
    def plain(self) -> dict[tuple[str, int], Mutation]:
        """Those that say something a service may say."""
        return {place: made for place, made in self.changed.items() if made.is_plain}

    def attach(self) -> None:
        """From now on."""
        network = self.move.universe.network
        carry: Callable[[httpx.Request], Any] = network.carry

        async def carried(outgoing: httpx.Request) -> Reply:
            try:
                reply: Reply = await carry(outgoing)
            except BUGS:  # an emulator that is given what it said before
                reply = Reply(500, [(b"content-length", b"0")], [b""])
            if network.called(outgoing) is getattr(self.move, self.role).app and reply.status:
                self.change(outgoing, reply)
            return reply

        network.carry = carried  # type: ignore[method-assign]

    def change(self, outgoing: httpx.Request, reply: Reply) -> None:
        """The response, if it is one that is changed."""
        app = getattr(self.move, self.role).app
        call = Weather.name_of(app, outgoing.method, str(outgoing.url))
        op = self.ops.get(call)
        if op is None:
            return
        self.seen[call] += 1
        place = call, self.seen[call]
        made = self._drawn(op, place, reply) if self.given is None else self._given(place, reply)
        if made is not None:
            self.changed[place] = made

    def _drawn(self, op: str, place: tuple[str, int], reply: Reply) -> Mutation | None:
        if self.nth is not None and place[1] != self.nth:
            return None
        return misheaded(reply, self.rng) if op == "header" else mutated(reply, op, self.rng)

    def _given(self, place: tuple[str, int], reply: Reply) -> Mutation | None:
        made = (self.given or {}).get(place)
        return None if made is None else remade(reply, made)


@dataclass
class Reference:
    """A move in which nothing goes wrong. calls: how often which service was called by which name."""

    simulation: Simulation
    assets: Mapping[str, Any]
    losses: Counter[str]
    notes: Counter[str]
    calls: Counter[tuple[str, str]]


@dataclass
class FuzzResults:
    """What came of the cases."""

    runs: int = 0
    answers: int = 0
    stopped: int = 0
    parked: int = 0
    reported: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.answers} fuzzed answers in {self.runs} runs, seed {SEED}: {self.stopped} runs stopped, "
            f"{self.parked} with parked assets, {self.reported} with losses; the longest took {self.seconds:.1f} s, "
            f"{peak():.0f} MiB at most"
        )


def tried_from(kind: str, to: str, start: int, answers: int) -> tuple[str, list[str]]:
    """Cases from a number on until so many responses were changed: what came of them, and what is wrong."""
    came = tried((Case(kind, to, number) for number in itertools.count(start)), answers)
    return str(came), came.wrong


def tried_alone(case: Case) -> list[str]:
    """What is wrong with one case."""
    return tried(iter([case]), 1).wrong


def tried(cases: Iterator[Case], answers: int) -> FuzzResults:
    """Cases until so many responses were changed."""
    came = FuzzResults()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    while came.answers < answers and (case := next(cases, None)) is not None:
        try_one(case, came)
        if peak() > MEBIBYTES:
            came.wrong.append(f"{again(case)}: {peak():.0f} MiB were held")
            break
    structlog.reset_defaults()
    return came


def try_one(case: Case, came: FuzzResults) -> None:
    """One run of one case."""
    rng = case.rng
    role = "target" if case.to == WRITES or rng.random() < 0.4 else "source"
    kinds = (case.kind, rng.choice(KINDS)) if role == "source" else (rng.choice(KINDS), case.kind)
    reference = reference_of(kinds)
    calls = sorted(
        call for side, call in reference.calls if side == role and is_read(case.kind, call) == (case.to == READS)
    )
    if not calls:
        return
    some = rng.sample(calls, min(len(calls), rng.choice(CALLS)))
    ops = {call: "header" if rng.random() < HEADERS else rng.choice(OPS) for call in some}
    nth = rng.randint(1, reference.calls[role, some[0]]) if rng.random() < ONCE else None
    with reference.simulation.moving() as move:
        move.universe.network.weather.most = MOST_CALLS
        fuzzing = Fuzzing(move, case, role, ops, rng, nth)
        fuzzing.attach()
        wrong = "; ".join(judged(fuzzing, reference, came))
    came.runs += 1
    came.answers += len(fuzzing.made)
    if wrong and fuzzing.arrived:
        with reference.simulation.moving() as move:
            plainly = Fuzzing(move, case, role, ops, rng, nth, given=fuzzing.plain)
            plainly.attach()
            if not "".join(judged(plainly, reference, FuzzResults())) and plainly.arrived == fuzzing.arrived:
                wrong = ""  # what a service may say, and said, made the difference
    if wrong:
        made = ", ".join(map(str, fuzzing.made[:6]))
        came.wrong.append(
            f"{again(case)}\n  {kinds[0]} to {kinds[1]}, {', '.join(some)} of the {role}: {made}\n  {wrong}"
        )


def judged(fuzzing: Fuzzing, reference: Reference, came: FuzzResults) -> Iterator[str]:
    """What is wrong with how the run went."""
    move, report = fuzzing.move, None
    try:
        with limited(came):
            report = move.universe.do(move.universe.process(move.job, Fuse()))
    except InternalError as error:
        yield f"internal error:\n{trace(error.problem or error)}"
    except DamSyncError:
        came.stopped += 1
    except (Hung, Endless, Stuck) as error:
        yield f"it hung: {type(error).__name__} {error}"
    except Exception as error:  # noqa: BLE001 -- that is what is looked for
        yield f"traceback:\n{trace(error)}"
    with limited(came):
        move.universe.do(move.universe.network.calm())
    if move.universe.loop.time() > LONGEST:
        yield f"it took {move.universe.loop.time() / 86_400:.0f} virtual days"
    if report is not None and fuzzing.made:
        yield from silent(fuzzing, reference, report, came)


def silent(fuzzing: Fuzzing, reference: Reference, report: Report, came: FuzzResults) -> Iterator[str]:
    """What a run that went through lost silently."""
    rows = [row for row in fuzzing.move.target.assets if row["status"] != "trash"]
    if len(rows) > len(reference.assets) and not all(each.is_plain for each in fuzzing.made):
        yield f"made twice: {sorted(str(row['filename'])[:40] for row in rows)}"
    losses = losses_of(report) - reference.losses
    notes = Counter(report.notes) - reference.notes
    came.parked += bool(report.parked)
    came.reported += bool(losses)
    found = fuzzing.arrived = by_digest(rows)
    if report.parked or losses or notes or all(each.is_plain for each in fuzzing.made):
        return
    for key, row in reference.assets.items():
        if key not in found:
            yield f"{row['filename']} did not arrive, and nothing is said of it"
        elif found[key] != row:
            yield "".join(
                f"{row['filename']} {name}: {str(found[key].get(name))[:200]} instead of {str(row[name])[:200]}; "
                for name in row
                if row[name] != found[key].get(name)
            )


def by_digest(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Assets by the digest of their file, which stands for their ids wherever one refers to another."""
    names = {str(row["id"]): digest(row) for row in rows}
    return {digest(row): plain(row, names) for row in rows}


def losses_of(report: Report) -> Counter[str]:
    """Losses by path and rule, with the number of their assets."""
    return Counter({f"{loss['path']} {loss['rule']}": int(loss["assets"]) for loss in report.losses})


def is_read(kind: str, call: str) -> bool:
    """Whether it changes nothing at a service of this kind."""
    return call.startswith(("GET ", "HEAD ")) or any(fnmatch(call, read) for read in profile_of(kind).reads)


@cache
def reference_of(kinds: tuple[str, str]) -> Reference:
    """The move of this pair."""
    simulation = Simulation(Path(_folder().name) / "-".join(kinds), kinds, SEED)
    simulation.folder.mkdir()
    with simulation.moving() as move:
        report = move.universe.do(move.universe.process(move.job, Fuse()))
        rows = [row for row in move.target.assets if row["status"] != "trash"]
        roles = {id(getattr(move, role).app): role for role in ("source", "target")}
        called = move.universe.network.weather.called
        return Reference(
            simulation,
            by_digest(rows),
            losses_of(report),
            Counter(report.notes),
            Counter({(roles[id(app)], call): number for (app, call), number in called.items()}),
        )


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="dam-sync-fuzz-")  # removed when this process ends


@contextmanager
def limited(came: FuzzResults) -> Iterator[None]:
    """No run takes more of the processor than it may. Raises Hung."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hung(f"{SECONDS:.0f} s of the processor, in {''.join(traceback.format_stack(frame)[-3:])}")

    began = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        came.seconds = max(came.seconds, resource.getrusage(resource.RUSAGE_SELF).ru_utime - began)


def peak() -> float:
    """The most memory this process ever held, in MiB."""
    return own_peak() / 2**20


def trace(error: BaseException) -> str:
    """The last frames of a traceback."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    lines = traceback.format_exception(error)
    return "".join(lines[-8:])[-3_000:]


def again(case: Case) -> str:
    """The line that repeats a case alone."""
    return f"DAM_SYNC_SEED={SEED} DAM_SYNC_CASE={case} .venv/bin/pytest tests/fuzz"
