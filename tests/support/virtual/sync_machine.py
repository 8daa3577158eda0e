"""Two libraries that people edit for many cycles, and a job that keeps them in step through faults and crashes."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from dam_sync.api.conflicts import ConflictRequest, job_conflicts
from dam_sync.api.emulation.sandbox import write_job, write_suggested_mapping
from dam_sync.api.jobs import verify_job
from dam_sync.api.state_commands import job_errors
from dam_sync.model.asset import AssetId
from dam_sync.model.capabilities import Operation
from dam_sync.model.conflict import CONFLICT
from dam_sync.model.errors import DamSyncError, NotFound, Rejected, SafetyStop
from dam_sync.report.report import Report
from dam_sync.services import discover
from tests.conformance.catalogue import LINK
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.libraries.every_feature import OWN_MARKS
from tests.support.services.profiles import marker_in, profile_of
from tests.support.virtual.fault_scripts import applicable
from tests.support.virtual.fuse import AFTER, BEFORE, CALL, COMMIT, Fuse, Point
from tests.support.virtual.fuse import KINDS as MOMENTS
from tests.support.virtual.moves import options_of, side_of
from tests.support.virtual.network_faults import Trouble
from tests.support.virtual.random_edits import ACTS, Crowd, acts_of
from tests.support.virtual.state_location import ask, is_there, job_in, state_for
from tests.support.virtual.sync_judge import Judge
from tests.support.virtual.target_edits import library, receiving
from tests.support.virtual.universe import LAGS, Tenant, Universe

ROLES = ("source", "target")
POLICIES = ("park", "source", "target", "newest", "merge")
DRIFTS = ("tell", "repair", "ignore")
ROTATION, CAP, GRACE = 3, 0.2, 2  # runs; share of the linked assets; days
LIVES, TROUBLED = 8, 3  # runs in which one must go through; those of them that have trouble
PAUSES = (0.0, 60.0, 3_600.0, 86_400.0)  # seconds between cycles
LIES = frozenset({"garble", "empty", "odd:0", "odd:2"})  # see `Script.lies`: only a verification shows it
FULL = 2  # times as many assets as at the beginning: then no new ones are made, and more are trashed and purged
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done to a pair of services, from its seed alone."""

    kinds: tuple[str, str]
    seed: int = 1
    cycles: int = 3
    edits: int = 30  # in one cycle, over both libraries
    assets: int = 12  # at the beginning


@dataclass
class SyncMachine:
    """The world of one plan. happened: what was done, and refused; stops: what stopped runs."""

    plan: Plan
    universe: Universe
    source: Tenant
    target: Tenant
    job: Path
    rng: random.Random
    policy: dict[str, Any]
    judge: Judge
    happened: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    sizes: set[int] = field(default_factory=set)  # of files that people made
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MOMENTS, 40))
    called: Counter[tuple[str, str]] = field(default_factory=Counter)  # by the last run, by role and name
    report: Report | None = None

    # -- the whole -----------------------------------------------------------------------------------------------------

    def lives(self) -> None:
        """Every cycle, then the end."""
        for _ in range(self.plan.cycles):
            self.cycle()
        self.come_to_rest()

    def cycle(self) -> None:
        """People edit both libraries, then the job runs until it is through."""
        for role in self.rng.sample(ROLES, len(ROLES)):
            self.edit(role, self.plan.edits // 2)
        self.wait(self.rng.choice(PAUSES))
        if self.rng.random() < 0.3:
            self.decide(self.rng.choice(("source", "target")))
        self.run(troubled=True)

    def come_to_rest(self) -> None:
        """Without faults, until a rotation has found nothing more to do; then source and target are compared. Again
        when somebody has decided all conflicts."""
        self.wait(GRACE * DAY + LAGS)
        self.run(troubled=False, full=True)
        self.wait(LAGS)
        self.run(troubled=False)
        self.retry()
        self._run_until_nothing_changes()
        self.judge.at_rest(self.verify(), self.errors(), self.conflicts())
        if self.conflicts():
            self.decide("source")
            self._run_until_nothing_changes()
            self.judge.at_rest(self.verify(), self.errors(), self.conflicts())
            rows = self.errors()
            for row in self.conflicts():
                if all(each["cause"] == CONFLICT for each in rows if each["asset"] == row["asset"]):
                    self.judge.wrong.append(
                        f"undecided: {row}; {[each for each in rows if each['asset'] == row['asset']]}"
                    )

    def _run_until_nothing_changes(self) -> None:
        done = list[dict[str, int]]()
        while len(done) <= ROTATION or any(done[-ROTATION:]):
            if len(done) > 3 * ROTATION:
                self.judge.wrong.append(f"does not come to rest: {done}, at last {self.judge.last_writes()}")
                return
            self.run(troubled=False)
            self.wait(LAGS)
            assert self.report is not None
            done.append(self.report.operations)

    def summary(self) -> str:
        """What was done, what stopped runs, and what was found at the end."""
        edits = sum(
            number for name, number in self.happened.items() if name.startswith(ROLES) and "refused" not in name
        )
        parts = [
            f"seed {self.plan.seed}: {edits} edits, {self.happened['faults']} faults",
            f"policy {self.policy['conflicts']}, {self.policy['drift']}",
        ]
        return "; ".join((*parts, f"stops {dict(self.stops)}", f"found {dict(self.judge.seen)}"))

    # -- people --------------------------------------------------------------------------------------------------------

    def edit(self, role: str, number: int) -> None:
        """So many random edits of one library."""
        self.universe.do(self._edit(role, number))

    async def _edit(self, role: str, number: int) -> None:
        async with self.universe.service(self.job, role) as service:
            await service.schema()
            named = self.judge.renamed if role == "target" else set[str]()
            crowd = Crowd(service, getattr(self, role), self.rng, self.numbers, self.sizes, named)
            weights = acts_of(service)
            for _ in range(number):
                crowd.look()
                drawn = crowd.weighed(weights, FULL * self.plan.assets)
                name = self.rng.choices(list(drawn), list(drawn.values()))[0]
                await self._act(crowd, role, name)

    async def _act(self, crowd: Crowd, role: str, name: str) -> None:
        identity = self.rng.choice(crowd.living())
        try:
            await ACTS[name][1](crowd, await crowd.service.fetch(AssetId(identity)))
        except (Rejected, NotFound) as error:
            self.happened[f"{role} {name} refused: {error.message}"] += 1
        else:
            self.happened[f"{role} {name}"] += 1

    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.universe.do(self.universe.clock.sleep(seconds))

    # -- the job -------------------------------------------------------------------------------------------------------

    def run(self, *, troubled: bool, full: bool = False) -> None:
        """Runs until one is through, and what they did to the target."""
        before = self.judge.before(self.links())
        options: dict[str, Any] = {"full": full}
        for life in range(LIVES):
            if self._lives(options, troubled=troubled and life < TROUBLED):
                break
        else:
            self.judge.wrong.append(f"not through in {LIVES} runs: {dict(self.stops)}")
        if options.get("lifted"):
            self.write_policy()
        self.judge.after(before, self.policy["max_deletes"], lifted=bool(options.get("lifted")))

    def _lives(self, options: dict[str, Any], *, troubled: bool) -> bool:
        """One process; whether its run is through."""
        fuse, weather = Fuse(self._point() if troubled else None), self.universe.network.weather
        weather.lines[:], called = self._troubles() if troubled else [], self._calls()
        try:
            self.universe.do(self._process(fuse, options))
        except (KeyboardInterrupt, SystemExit):
            raise
        except DamSyncError as error:
            self.stops[f"{type(error).__name__}: {error.message}"] += 1
            if isinstance(error, SafetyStop):
                self._accept(error, options)
        except BaseException:
            if not fuse.blown:
                raise
            self.stops["killed"] += 1
        else:
            self.counts, self.called = dict(fuse.counts), self._calls() - called
            return True
        finally:
            self.happened["faults"] += sum(line.hits for line in weather.lines)
            weather.clear()
            self.universe.do(self.universe.network.calm())
        return False

    async def _process(self, fuse: Fuse, options: dict[str, Any]) -> None:
        given = {key: value for key, value in options.items() if key != "lifted"}
        self.report = await self.universe.process(self.job, fuse, **given)

    def _accept(self, stop: SafetyStop, options: dict[str, Any]) -> None:
        """As an operator does who has looked."""
        if "max_deletes" in stop.message:
            options["lifted"] = True
            self.write_policy(max_deletes="100%")
        else:
            options["accept_changes"] = True

    def _point(self) -> Point | None:
        if self.rng.random() < 0.5:
            return None
        kind = self.rng.choice((COMMIT, CALL))
        return Point(kind, self.rng.choice((BEFORE, AFTER)), self.rng.randint(1, max(1, self.counts[kind])))

    def _troubles(self) -> list[Trouble]:
        """A few faults, at calls that the last run made."""
        if self.rng.random() < 0.4 or not self.called:
            return []
        calls = self.rng.choices(list(self.called), list(self.called.values()), k=self.rng.randint(1, 4))
        return [self._trouble(*each) for each in dict.fromkeys(calls)]

    def _trouble(self, role: str, call: str) -> Trouble:
        side: Tenant = getattr(self, role)
        words = [do for do in applicable(role, side.kind, call) if do not in LIES and not do.startswith("sleeps:9")]
        *how, do = self.rng.choice(words).split(" ")
        number = self.rng.randint(1, self.called[role, call])
        if how == ["since"]:
            return Trouble(side.app, call, do, since=number)
        return Trouble(side.app, call, do, nth=number, sticky=how == ["sticky"])

    def _calls(self) -> Counter[tuple[str, str]]:
        """All calls so far, by role and name."""
        roles = {self.source.app: "source", self.target.app: "target"}
        called = self.universe.network.weather.called
        return Counter({(roles[app], name): number for (app, name), number in called.items()})

    # -- operators -----------------------------------------------------------------------------------------------------

    def decide(self, take: str) -> None:
        """Somebody decides all open conflicts."""
        if self.conflicts():
            self.happened[f"decided: {take}"] += 1
            asked = ConflictRequest(take)
            self.universe.do(job_conflicts(self.job, asked, self.universe.clock, self.universe.storage))

    def retry(self) -> None:
        """Somebody lets everything that is parked be tried again, but for conflicts."""
        causes = sorted({row["cause"] for row in self.errors()} - {CONFLICT})
        if causes:
            done = job_errors(self.job, causes, True, self.universe.clock, self.universe.storage)
            self.universe.do(done)

    def errors(self) -> list[dict[str, Any]]:
        """What is parked."""
        done = job_errors(self.job, (), False, self.universe.clock, self.universe.storage)
        return list(self.universe.do(done)["assets"])

    def conflicts(self) -> list[dict[str, Any]]:
        """Open conflicts."""
        done = job_conflicts(self.job, None, self.universe.clock, self.universe.storage)
        return list(self.universe.do(done)["conflicts"])

    def verify(self) -> Mapping[str, Any]:
        """What a verification finds."""
        report = self.universe.do(verify_job(self.job, self.universe.options(), "digest", "100%"))
        assert report.verdict is not None
        return report.verdict

    def links(self) -> dict[str, str]:
        """Source ids by target id."""
        if not is_there(self.job):
            return {}
        return dict(ask(self.job, "SELECT target, source FROM link"))

    def write_policy(self, **changed: Any) -> None:
        """The policy in the job file, some of it changed for a while."""
        yaml = YAML()
        data = yaml.load(self.job.read_text(encoding="utf-8"))
        data["policy"] = {**ACCEPTED, **self.policy, **changed}
        with self.job.open("w", encoding="utf-8") as out:
            yaml.dump(data, out)


def relations_between(kinds: tuple[str, str]) -> dict[str, str]:
    """Kinds of relation of the target by those of the source, where they differ."""
    names = [profile_of(kind).relation or LINK for kind in kinds]
    without = any(Operation.RELATE not in discover()[kind].capabilities for kind in kinds)
    return {} if without or names[0] == names[1] else {names[0]: names[1]}


def drawn(rng: random.Random) -> dict[str, Any]:
    """A policy."""
    return {
        "deletes": "trash",
        "max_deletes": f"{CAP:.0%}",
        "grace": f"{GRACE}d",
        "rotation": ROTATION,
        "conflicts": rng.choice(POLICIES),
        "drift": rng.choice(DRIFTS),
    }


@contextmanager
def machine(folder: Path, plan: Plan, chosen: random.Random | None = None) -> Iterator[SyncMachine]:
    """Moved once; nobody has edited anything. chosen: chooses instead of the plan's seed."""
    rng = chosen or random.Random(f"machine {plan.seed} {plan.kinds}")
    policy = drawn(rng)
    with Universe(plan.seed) as universe:
        universe.network.weather.most = 100_000_000
        rows = (library(plan.assets), receiving())
        source, target = (
            universe.tenant(kind, given, **options_of(kind)) for kind, given in zip(plan.kinds, rows, strict=True)
        )
        job = job_in(folder)
        mapping = job.with_name("mapping.yaml")
        write_job(job, "machine", side_of(source), side_of(target), mapping, state=state_for(job))
        marker = marker_in(plan.kinds[1], OWN_MARKS)
        universe.do(write_suggested_mapping(job, mapping, marker, universe.options()))
        kinds = relations_between(plan.kinds)
        if kinds:
            with mapping.open("a", encoding="utf-8") as out:
                out.write(f"relations: {{kinds: {json.dumps(kinds)}}}\n")
        judge = Judge(source, target, job, marker, policy["drift"], policy["conflicts"])
        made = SyncMachine(plan, universe, source, target, job, rng, policy, judge)
        made.write_policy()
        made.run(troubled=False)
        made.wait(LAGS)
        yield made
