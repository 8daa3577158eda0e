"""The waves of a job: which one a run is of, whether it may begin, and what is known of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from dam_sync.api.bootstrap import ConnectedJob
from dam_sync.api.reports.differences import DifferingAssets
from dam_sync.config.job import JobConfig
from dam_sync.config.waves import WaveConfig
from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.stopping import Deadline
from dam_sync.engine.context.waves import NO_WAVE, WaveRun
from dam_sync.mapping.wave_selection import WaveReading
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import ConfigError, SafetyStop, StopKind
from dam_sync.model.values import Json, instant_text
from dam_sync.report.report import Report
from dam_sync.store.note_keys import (
    RUNS_OF_WAVE,
    SIGNED_WAVE,
    VERIFIED_WAVE,
    WATERMARK,
    WAVES,
    key_of_wave,
    wave_key,
    window_key,
)
from dam_sync.store.rollbacks import rollback_of
from dam_sync.store.rows import RunRow
from dam_sync.store.store import SqlStore
from dam_sync.store.waves import WaveCounts

RUN = "run"
NO_WAVES = "the job has no waves"
NO_WAVES_HINT = "leave out --wave, or add `waves:` to the job file: `dam-sync help waves`"
END_OF_FREEZE = "stopped at the end of the freeze window of wave {}"


@dataclass(frozen=True, slots=True)
class WaveWait:
    """Why a run of a wave may not begin now. of_freeze: it is outside of the freeze window; otherwise it comes after
    another wave."""

    text: str
    of_freeze: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class WaveState:
    """What is known of a wave. runs: finished ones that stand; unfinished: the number of an interrupted one, or 0;
    waits: why a run may not begin now."""

    config: WaveConfig
    counts: WaveCounts | None = None
    runs: tuple[int, ...] = ()
    unfinished: int = 0
    verified: Mapping[str, Json] | None = None
    signed: Mapping[str, Json] | None = None
    waits: tuple[WaveWait, ...] = ()

    @property
    def name(self) -> str:
        """As in the job file."""
        return self.config.name

    @property
    def last(self) -> int:
        """The number of its last run that stands, or 0."""
        return self.runs[-1] if self.runs else 0

    @property
    def checked(self) -> bool:
        """Whether it was verified since its last run."""
        return self.verified is not None and self.verified["run"] == self.last

    @property
    def stage(self) -> str:
        """In words, for `status`."""
        if self.unfinished:
            return f"run {self.unfinished} is not finished"
        if self.signed is not None:
            since = f", moved again by run {self.last}" if self.last != self.signed["run"] else ""
            return f"signed off after run {self.signed['run']} by {self.signed['by']}{since}"
        if self.last:
            return f"moved by run {self.last}, {self._to_be}"
        return "; ".join(map(str, self.waits)) if self.waits else "may run"

    @property
    def clean(self) -> bool:
        """Whether that verification opens the sign-off."""
        return self.checked and self.verified is not None and bool(self.verified["clean"])

    @property
    def _to_be(self) -> str:
        if self.checked and not self.clean:
            return "verified with differences, to be verified again once they are repaired"
        return "to be signed off" if self.checked else "to be verified"

    @property
    def next(self) -> str:
        """The command that it waits for; empty if it is signed off, or may not run now."""
        if self.unfinished or (not self.last and not self.waits):
            return RUN
        if not self.last or self.signed is not None:
            return ""
        return "signoff" if self.clean else "verify"


@dataclass(frozen=True, slots=True)
class WaveBook:
    """All waves of a job, in their order. unsorted: no asset was sorted into them yet."""

    states: tuple[WaveState, ...]
    current: RunRow | None = None  # the run that is not finished
    current_wave: str | None = None
    begun: bool = False  # whether that run listed anything
    in_no_wave: int = 0
    former: tuple[str, ...] = ()  # waves that the library was sorted into, and that the job does not have any more
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(state.name for state in self.states))

    @classmethod
    async def of(cls, job: JobConfig, store: SqlStore, now: datetime) -> WaveBook:
        """As the state has it."""
        current = await store.unfinished(RUN)
        rolled_back = await store.rollbacks()
        wave = await store.get_meta(wave_key(current.id)) if current is not None else None
        begun = current is not None and await store.get_meta(window_key(current.id)) is not None
        noted = await store.get_meta(WAVES) if job.waves else None
        counts = await store.wave_counts() if noted is not None else {}
        sorted_into = frozenset(noted["names"] if noted is not None else ())
        states: list[WaveState] = []
        for config in job.waves:
            state = await _state_of(config, store, rolled_back)
            unfinished = current.id if current is not None and wave == config.name else 0
            found = counts.get(config.name, WaveCounts()) if config.name in sorted_into else None
            state = replace(state, unfinished=unfinished, counts=found)
            states.append(replace(state, waits=tuple(_waits(state, states, now))))
        in_no_wave = counts[""].selected if "" in counts else 0
        former = tuple(sorted(sorted_into - {config.name for config in job.waves}))
        return cls(tuple(states), current, wave, begun, in_no_wave, former)

    def named(self, name: str) -> WaveState:
        """Raises ConfigError for a name that no wave has."""
        for state in self.states:
            if state.name == name:
                return state
        hint = nearest(name, self.names) if self.states else NO_WAVES_HINT
        raise ConfigError(f"there is no wave {name}" if self.states else NO_WAVES, hint=hint)

    def chosen(self, name: str, *, plan: bool = False) -> WaveState | None:
        """The wave to run: the unfinished one; the one that is named; otherwise the first that was not moved, or the
        one moved longest ago. None for a job without waves. Raises SafetyStop if it may not run; a plan may be made of
        any."""
        self._refuse_foreign(name)
        name = self.current_wave or name
        if not (name or self.states):
            return None
        found = self.named(name) if name else self._next(plan=plan)
        if found.waits and not plan:
            raise SafetyStop(
                f"wave {found.name} may not run now: {'; '.join(map(str, found.waits))}", hint=_hint(found)
            )
        return found

    def _refuse_foreign(self, name: str) -> None:
        """Raises SafetyStop if the unfinished run is of another wave, or of none."""
        if self.current is None:
            return
        number, wave = self.current.id, self.current_wave
        if wave is None:
            if self.begun and self.states:
                hint = "finish it without `waves` in the job file, then add them"
                raise SafetyStop(f"run {number} is not finished, and began when the job had no waves", hint=hint)
        elif wave not in self.names:
            hint = f"put the wave {wave} back into the job file until that run is finished"
            raise SafetyStop(f"run {number} of wave {wave} is not finished, and the job has no such wave", hint=hint)
        elif name not in ("", wave):
            hint = f"first finish it: `run JOB --wave {wave}`"
            raise SafetyStop(f"run {number} of wave {wave} is not finished, so wave {name} cannot begin", hint=hint)

    def _next(self, *, plan: bool) -> WaveState:
        free = [state for state in self.states if plan or not state.waits]
        fresh = [state for state in free if not state.last]
        if fresh or free:
            return fresh[0] if fresh else min(free, key=lambda state: state.last)
        return next((state for state in self.states if not state.last), self.states[0])


async def _state_of(config: WaveConfig, store: SqlStore, rollbacks: Sequence[RunRow]) -> WaveState:
    own = set(await store.get_meta(key_of_wave(RUNS_OF_WAVE, config.name)) or ())
    undone = max((row.id for row in rollbacks if rollback_of(row) in own), default=0)
    later = await store.runs_numbered(number for number in own if number > undone)  # what stands is from these
    done = tuple(sorted(row.id for row in later.values() if row.state == "done"))
    notes = [await store.get_meta(key_of_wave(key, config.name)) for key in (VERIFIED_WAVE, SIGNED_WAVE)]
    verified, signed = (note if note is not None and note["run"] in done else None for note in notes)
    return WaveState(config, runs=done, verified=verified, signed=signed)


def _waits(state: WaveState, above: Sequence[WaveState], now: datetime) -> Iterator[WaveWait]:
    """Why a run of the wave may not begin now."""
    before = {each.name: each for each in above}
    for name in state.config.after:
        if before[name].signed is None:
            yield WaveWait(f"wave {name} is not signed off" if before[name].last else f"wave {name} was not moved yet")
    freeze = state.config.freeze
    if freeze is not None and now < freeze.begins:
        yield WaveWait(f"its freeze window begins at {freeze.shown(freeze.begins)}", of_freeze=True)
    if freeze is not None and now >= freeze.ends:
        yield WaveWait(f"its freeze window ended at {freeze.shown(freeze.ends)}", of_freeze=True)


def _hint(state: WaveState) -> str:
    if any(wait.of_freeze for wait in state.waits):
        return "run it within the window, or change `freeze` in the job file once people agreed on another"
    return "`status JOB` shows every wave; `signoff JOB --wave NAME` signs one off once it is moved and verified"


async def begin_wave(chosen: WaveState | None, opened: ConnectedJob, context: RunContext) -> None:
    """Make the run one of this wave, before anything is listed. If the waves changed, assets that were not moved are
    sorted again. Safe to repeat."""
    if chosen is None:
        return
    store, name = context.state.store, chosen.name
    context.task.wave = wave = await wave_run_of(name, opened)
    await store.set_meta(wave_key(context.state.run.id), name)
    await _sort_again(context, wave)
    if await store.get_meta(WATERMARK) is not None:  # of runs without waves
        await store.set_meta(WATERMARK, None)
    store.work_for(name)
    freeze = chosen.config.freeze
    if freeze is not None and not context.task.dry:
        if context.target.time.earliest() < freeze.begins:  # by the clock of a service: ours is ahead
            waits = f"its freeze window begins at {freeze.shown(freeze.begins)} by the clocks of the services"
            raise SafetyStop(f"wave {name} may not run now: {waits}", hint="run it within the window")
        left = (freeze.ends - context.target.time.latest()).total_seconds()
        ends = context.clock.monotonic() + left
        if context.stopping.deadline is None or ends < context.stopping.deadline.at:
            context.stopping.deadline = Deadline(ends, END_OF_FREEZE.format(name), StopKind.FREEZE)


async def wave_run_of(name: str, opened: ConnectedJob) -> WaveRun:
    """The wave with what every wave selects. Raises ConfigError with every diagnostic."""
    reading = WaveReading(opened.job.written, opened.job.folder)
    return WaveRun(name, reading.compiled(opened.source_schema, opened.crosswalk.languages))


async def _sort_again(context: RunContext, wave: WaveRun) -> None:
    """If the waves are others than those of the last run: list everything in the next run of each."""
    store, selections = context.state.store, wave.selections
    known = await store.get_meta(WAVES) or {"digest": "", "names": []}
    if known["digest"] == selections.digest:
        return
    await store.unsort_unmoved(selections.names)
    await list_whole_source(store, {*known["names"], *selections.names})
    window = await store.get_meta(window_key(context.state.run.id))
    if window is not None:
        await store.restart_listing(context.state.run.id)
        await store.set_meta(window_key(context.state.run.id), {**window, "since": None})
    await store.set_meta(WAVES, {"digest": selections.digest, "names": list(selections.names)})


async def list_whole_source(store: SqlStore, waves: Iterable[str]) -> None:
    """Let the next run, and the next one of each of these waves, list everything instead of what changed."""
    for key in (WATERMARK, *(key_of_wave(WATERMARK, name) for name in waves)):
        await store.set_meta(key, None)


async def about_wave(context: RunContext, chosen: WaveState | None) -> list[str]:
    """For the report: how many assets each wave has, and whether a run of a planned one would be refused now."""
    if context.task.wave is None or chosen is None:
        return []
    counts = await context.state.store.wave_counts()
    each = [f"{name} {counts.get(name, WaveCounts()).selected:,}" for name in context.task.wave.selections.names]
    none = counts[""].selected if "" in counts else 0
    notes = [f"wave {context.task.wave.name}; assets of each wave: {', '.join(each)}; {NO_WAVE}: {none:,}"]
    if context.task.dry and chosen.waits:
        notes.append(f"a run of wave {chosen.name} would be refused now: {'; '.join(map(str, chosen.waits))}")
    return notes


async def note_verified(
    job: JobConfig, context: RunContext, report: Report, sample: str, differing: DifferingAssets
) -> None:
    """Remember the result of a verification for the sign-off of each wave that it was about. One of everything counts
    for each wave that was moved, with what it found of the assets of that wave."""
    if report.verdict is None or not job.waves:
        return
    store, book = context.state.store, await WaveBook.of(job, context.state.store, context.clock.now())
    at = instant_text(context.clock.now().replace(microsecond=0))
    facts = {"at": at, "level": report.verdict["level"], "sample": sample}
    verified = (
        [book.named(context.task.wave.name)] if context.task.wave else [state for state in book.states if state.last]
    )
    wrong = await _waves_that_differ(context, report, differing)
    for state in verified:
        clean = not report.early and wrong is not None and state.name not in wrong
        await store.set_meta(key_of_wave(VERIFIED_WAVE, state.name), {"run": state.last, **facts, "clean": clean})


async def _waves_that_differ(context: RunContext, report: Report, differing: DifferingAssets) -> Collection[str] | None:
    """The waves of the assets that differ; None if these may be of any wave."""
    if report.clean:
        return ()
    if context.task.wave is not None or differing.many:
        return None
    return {row.wave for row in (await context.state.store.sorted_assets(differing.ids)).values()}


def rows_of(book: WaveBook) -> list[dict[str, Any]]:
    """The waves as `status` shows them. Numbers are null before a run sorted the library into a wave of
    that name."""
    return [
        {
            "wave": state.name,
            "stage": state.stage,
            **{key: getattr(state.counts, key, None) for key in ("selected", "moved", "parked", "open", "left")},
            "run": state.last or None,
            "after": list(state.config.after),
            "freeze": _freeze(state.config),
            "verified": state.verified if state.checked else None,
            "signed": state.signed,
            "next": state.next,
        }
        for state in book.states
    ]


def _freeze(config: WaveConfig) -> str:
    freeze = config.freeze
    return "" if freeze is None else freeze.window
