"""Commands of one job one after the other, each of which may be killed, while people edit both libraries in between."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dam_sync.api.adopt import Adoption, adopt_job
from dam_sync.api.conflicts import ConflictRequest, job_conflicts
from dam_sync.api.jobs import run_job
from dam_sync.api.redirects import RedirectRequest, job_redirects
from dam_sync.api.rollback import RollbackRequest, rollback_job
from dam_sync.api.state_commands import job_errors
from dam_sync.api.state_copies import job_export, job_gc, job_import
from dam_sync.model.errors import DamSyncError, Unsupported
from dam_sync.model.service import TRASH
from tests.support.virtual.fuse import AFTER, BEFORE, CALL, COMMIT, Fuse, Point
from tests.support.virtual.removals import Removals, note_of, removing
from tests.support.virtual.state_location import ask
from tests.support.virtual.universe import FUSE, LAGS, job_of

LARGEST = 45  # the last commit or call at which a command is killed
ALL = "100%"
FEW = 3
CHANGED = "changed at the target"  # parked: it left the source, and somebody had changed it at the target
ATTEMPTS = 6  # runs in which the job must come to rest
Command = Callable[[Fuse], Coroutine[Any, Any, Any]]


@dataclass
class CommandSequence:
    """One world, and what was done in it. wrong: what is lost or doubled at the end."""

    job: Removals
    rng: random.Random
    done: list[str] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    export: Path | None = None
    gone: set[str] = field(default_factory=set)  # source ids that people removed
    replaced: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def lives(self, steps: int) -> None:
        """So many commands, then runs until nothing changes."""
        for _ in range(steps):
            if self.rng.random() < 0.6:
                self._edit()
            found = self._commands()
            name = self.rng.choice(sorted(found))
            self._command(name, found[name], self._point())
        self._come_to_rest()
        self._judge()

    # -- commands ------------------------------------------------------------------------------------------------------

    def _commands(self) -> dict[str, Command]:
        found: dict[str, Command] = {
            "run": self._run(),
            "run --full": self._run(full=True),
            "run --repair": self._run(repair=True),
            "run --only": self._run(only=frozenset({self._any_source()})),
            "run --limit": self._run(limit=FEW),
            "run --accept-changes": self._run(accept_changes=True),
            "adopt": self._adopt,
            "adopt --by-file": self._adopt_by_file,
            "state gc": self._gc,
            "state export": self._export,
            "errors --retry": lambda fuse: job_errors(
                self.job.job, self._causes(), True, self.job.universe.clock, self.job.universe.storage
            ),
            "conflicts": lambda fuse: job_conflicts(
                self.job.job, ConflictRequest("source"), self.job.universe.clock, self.job.universe.storage
            ),
            "redirects": self._redirects,
        }
        if self.export is not None:
            found["state import"] = self._import
        if self._runs():
            found |= {f"rollback {each}": self._rollback for each in (1, 2, 3)}
        return found

    def _command(self, name: str, command: Command, point: Point | None) -> None:
        """One process; what it refused or stopped at counts as done."""
        fuse = Fuse(point)
        before = name if point is None else f"{name} killed {point}"
        try:
            self.job.universe.live_through(command, fuse)
        except DamSyncError as error:
            self.done.append(f"{before}: {type(error).__name__}: {error.message}")
        else:
            self.done.append(before if fuse.blown or point is None else f"{name}, through")
        self.job.wait(LAGS)

    def _run(self, **options: Any) -> Command:
        async def process(fuse: Fuse) -> Any:
            FUSE.set(fuse)
            return await run_job(job_of(self.job.job), self.job.universe.options(fuse, **options))

        return process

    async def _rollback(self, fuse: Fuse) -> Any:
        FUSE.set(fuse)
        run = self.rng.choice(self._runs())
        self.done.append(f"(of run {run})")
        asked = RollbackRequest(run, False, ALL)
        return await rollback_job(self.job.job, self.job.universe.options(fuse), asked)

    async def _adopt(self, fuse: Fuse) -> Any:
        FUSE.set(fuse)
        return await adopt_job(self.job.job, self.job.universe.options(fuse), Adoption())

    async def _adopt_by_file(self, fuse: Fuse) -> Any:
        FUSE.set(fuse)
        return await adopt_job(self.job.job, self.job.universe.options(fuse), Adoption(by_file=True))

    async def _redirects(self, fuse: Fuse) -> Any:
        FUSE.set(fuse)
        asked = RedirectRequest(self.job.job.parent / f"redirects-{next(self.numbers)}.csv")
        return await job_redirects(self.job.job, self.job.universe.options(fuse), asked)

    async def _gc(self, fuse: Fuse) -> None:
        apart(lambda: job_gc(self.job.job, "0d", self.job.universe.clock))

    async def _export(self, fuse: Fuse) -> None:
        target = self.job.job.parent / f"export-{next(self.numbers)}.db"
        apart(lambda: job_export(self.job.job, target, self.job.universe.clock))
        self.export = target

    async def _import(self, fuse: Fuse) -> None:
        assert self.export is not None
        export = self.export
        apart(lambda: job_import(self.job.job, export, self.job.universe.clock))

    def _point(self) -> Point | None:
        if self.rng.random() < 0.35:
            return None
        return Point(self.rng.choice((COMMIT, CALL)), self.rng.choice((BEFORE, AFTER)), self.rng.randint(1, LARGEST))

    def _runs(self) -> list[int]:
        chosen = "SELECT id FROM run WHERE command IN ('run', 'only') ORDER BY id"
        return [number for (number,) in ask(self.job.job, chosen)]

    def _causes(self) -> list[str]:
        return sorted({row["cause"] for row in self.job.errors()})

    # -- people --------------------------------------------------------------------------------------------------------

    def _edit(self) -> None:
        acts: dict[str, Callable[[list[str]], None]] = {
            "retitled": self.job.retitle,
            "files replaced": self.job.replace_files,
            "removed": self._remove,
            "brought back": self._bring_back,
            "edited at the target": self._edit_target,
        }
        name, sources = self.rng.choice(sorted(acts)), self._some()
        if name == "files replaced":  # once each: the second time, it would be the same file
            sources = [each for each in sources if each not in self.replaced]
            self.replaced.update(sources)
        self.done.append(f"({name}: {sources})")
        acts[name](sources)

    def _remove(self, sources: list[str]) -> None:
        if len(self.gone) < FEW:
            self.job.remove(sources[:1])
            self.gone.update(sources[:1])

    def _bring_back(self, _: list[str]) -> None:
        with suppress(Unsupported):
            self.job.restore(sorted(self.gone))
            self.gone.clear()

    def _edit_target(self, sources: list[str]) -> None:
        links, living = self.job.links(), self.job.living()
        targets = [links[each] for each in sources if links.get(each) in living]
        self.job.edit(targets, note_of(self.job.target), f"edited {next(self.numbers)}")

    def _living_sources(self) -> list[str]:
        return sorted(row["id"] for row in self.job.source.assets if row["status"] != TRASH)

    def _any_source(self) -> str:
        return self.rng.choice(self._living_sources())

    def _some(self) -> list[str]:
        return self.rng.sample(self._living_sources(), self.rng.randint(1, 3))

    # -- the end -------------------------------------------------------------------------------------------------------

    def _come_to_rest(self) -> None:
        """The operator follows the hints: a run, what it says to adopt, what is parked tried again."""
        for number in range(ATTEMPTS):
            before = len(self.done)
            self._command("run", self._run(), None)
            if "rollback of run" in (stop := " ".join(self.done[before:])):
                self._command("run --accept-changes", self._run(accept_changes=True), None)
            elif "markers of this source" in stop:
                self._command("adopt", self._adopt, None)
            elif number and ":" not in stop:
                break
            elif ":" in stop:
                self._command("run --accept-changes", self._run(accept_changes=True), None)
            self._command("errors --retry", self._commands()["errors --retry"], None)
            self.job.wait(8 * 86_400.0)
        self._command("conflicts", self._commands()["conflicts"], None)
        for _ in range(2):  # assets that left the source are moved to the trash by the second one
            self._command("run --repair --full", self._run(repair=True, full=True, accept_changes=True), None)
            self.job.wait(8 * 86_400.0)

    def _judge(self) -> None:
        living = [row for row in self.job.target.assets if row["status"] != TRASH]
        links = {target: source for source, target in self.job.links().items()}
        of = Counter(links.get(row["id"], f"no link: {row['id']} {row['filename']}") for row in living)
        wanted = set(self._living_sources())
        for source in sorted(wanted - of.keys()):
            self.wrong.append(f"lost: {source}")
        parked = [(row["asset"], row["cause"], row["message"]) for row in self.job.errors()]
        kept = {asset for asset, cause, _ in parked if cause == CHANGED}
        for source, number in of.items():
            if number > 1 or source not in wanted | kept:
                self.wrong.append(f"left or doubled: {source} ({number})")
        verdict = self.job.verify()
        if not verdict["clean"]:
            self.wrong.append(f"differs: {verdict['differences']} {verdict.get('missing')}")
        if left := [row for row in parked if row[1] != CHANGED]:
            self.wrong.append(f"parked: {left}")


def apart(work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
    """In a thread with an event loop of its own: commands that reach no service use the threads of the system."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(lambda: asyncio.run(work())).result()


@contextmanager
def sequence(folder: Path, kinds: tuple[str, str], seed: object) -> Iterator[CommandSequence]:
    """A moved library."""
    with removing(folder, kinds, conflicts="source", grace="1d", max_deletes="100%") as job:
        job.universe.network.weather.most = 10_000_000
        yield CommandSequence(job, random.Random(f"{seed} {kinds}"))
