"""A library moved between two services of one kind, and somebody who edits the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from dam_sync.api.emulation.sandbox import write_job
from dam_sync.api.jobs import plan_job, run_job, verify_job
from dam_sync.model.asset import AssetId
from dam_sync.model.service import Service
from dam_sync.model.values import Term
from dam_sync.report.report import Report
from tests.support.jobs.any_pair import asked_of
from tests.support.services.profiles import FOLDER, profile_of
from tests.support.virtual.moves import served, sides_of, suggested
from tests.support.virtual.state_location import ask, job_in, state_for
from tests.support.virtual.target_edits import Change, Edit, Hand, library, receiving
from tests.support.virtual.universe import LAGS, Tenant, Universe, job_of

ACCEPTED = dict.fromkeys(("expiry_dropped", "unreleased_as_released", "groups_widened"), "accept")
REOPENS = {**ACCEPTED, "reopened_by_repair": "accept"}
SPARE = 3  # assets that nobody edits


@dataclass
class TwoTenants:
    """A library that was moved between two services of one kind, and somebody who edits the target."""

    universe: Universe
    source: Tenant
    target: Tenant
    job: Path
    edits: Sequence[Edit]
    edited: dict[str, Edit] = field(default_factory=dict)  # by target id

    def run(self, **options: Any) -> Report:
        """One run, and time for every index to catch up."""
        report = self.universe.do(run_job(job_of(self.job), self.universe.options(**options)))
        self.universe.do(self.settle())
        return report

    async def settle(self, role: str = "target") -> None:
        """Let every index catch up."""
        await self.universe.settle(self.job, role)

    def service(self, role: str = "target") -> AbstractAsyncContextManager[Service]:
        """The service of this role, with all rights."""
        return self.universe.service(self.job, role)

    def names(self, role: str = "target") -> dict[str, str]:
        """What terms and containers are called there, by kind or vocabulary and id."""
        return self.universe.do(self._names(role))

    async def _names(self, role: str) -> dict[str, str]:
        async with self.service(role) as service:
            schema = await service.schema()
            found = {f"{place.kind} {place.id}": place.text async for place in service.containers()}
            for key in schema.vocabularies:
                found |= {f"{key} {term.id}": term.label async for term in service.terms(key)}
            return found

    def make_named(self, container: str, term: str) -> None:
        """Somebody adds a container of each kind that can be renamed, and a subject next to Sea, at the target."""
        self.universe.do(self._make_named(container, term))
        self.universe.do(self.settle())

    async def _make_named(self, container: str, term: str) -> None:
        async with self.service() as service:
            schema = await service.schema()
            for kind in service.capabilities.renames:
                await service.ensure_container(kind, (container,))
            subject = schema.fields[profile_of(self.target.kind).prefix + "subject"]
            sea = await anext(each async for each in service.terms(subject.vocabulary) if each.label == "Sea")
            await service.ensure_term(subject.vocabulary, Term(term, parent=sea.parent))

    def plan(self, **options: Any) -> Report:
        """A plan."""
        return self.universe.do(plan_job(job_of(self.job), self.universe.options(**options)))

    def verify(self, level: str = "digest") -> Any:
        """What a verification finds."""
        return self.universe.do(verify_job(job_of(self.job), self.universe.options(), level, "100%")).verdict

    def found(self, verdict: Any) -> dict[str, set[str]]:
        """Names of the edits by what was reported of their assets: differences and additions, by path."""
        told: dict[str, set[str]] = {}
        for part in ("differences", "extras"):
            for _, target, difference in verdict[part]:
                told.setdefault(self.edited[target].name if target in self.edited else target, set()).add(
                    f"{part}: {difference['path']}"
                )
        return told

    def edit(self, role: str = "target") -> None:
        """Every edit, on an asset of its own."""
        self.universe.do(self._edit(role))
        self.universe.do(self.settle())

    async def _edit(self, role: str) -> None:
        side = self.target if role == "target" else self.source
        async with self.service(role) as service:
            await service.schema()
            rows = sorted(side.assets, key=lambda row: int(row["filename"].split()[1].partition(".")[0]))
            ids = [row["id"] for row in rows]
            spare = tuple(AssetId(each) for each in reversed(ids[len(self.edits) :]))  # the last leads to no other
            hand = Hand(service, side.kind, side.app.state, spare)
            for identity, edit in zip(ids, self.edits, strict=False):
                self.edited[identity if role == "target" else self.target_of(identity)] = edit
                await edit.change(hand, await service.fetch(AssetId(identity)))

    def edit_originals(self) -> None:
        """Every edit, on a source asset of its own."""
        self.universe.do(self._edit_originals())

    async def _edit_originals(self) -> None:
        async with self.service("source") as service:
            await service.schema()
            hand = Hand(service, self.source.kind, self.source.app.state, ())
            rows = sorted(self.source.assets, key=lambda row: int(row["filename"].split()[1].partition(".")[0]))
            ids = [row["id"] for row in rows]
            for identity, edit in zip(ids, self.edits, strict=False):
                await edit.change(hand, await service.fetch(AssetId(identity)))
        await self.universe.clock.sleep(LAGS)

    def change_source(self, change: Change, *, every: bool = True) -> None:
        """Change assets of the source: all of them, or the one whose twin was edited first."""
        self.universe.do(self._change_source(change, every))

    async def _change_source(self, change: Change, every: bool) -> None:
        async with self.service("source") as service:
            await service.schema()
            first = "" if every else self.source_of(next(iter(self.edited)))
            hand = Hand(service, self.source.kind, self.source.app.state, ())
            for row in self.source.assets:
                if every or row["id"] == first:
                    await change(hand, await service.fetch(AssetId(row["id"])))
        await self.universe.clock.sleep(LAGS)

    def change_target(self, change: Change) -> None:
        """Change all assets of the target."""
        self.universe.do(self._change_target(change))
        self.universe.do(self.settle())

    async def _change_target(self, change: Change) -> None:
        async with self.service() as service:
            await service.schema()
            hand = Hand(service, self.target.kind, self.target.app.state, ())
            for row in self.target.assets:
                await change(hand, await service.fetch(AssetId(row["id"])))

    def edit_source(self, changes: Mapping[str, Change]) -> None:
        """Change the twins of edited assets at the source, each by the name of its edit."""
        self.universe.do(self._edit_source(changes))

    async def _edit_source(self, changes: Mapping[str, Change]) -> None:
        async with self.service("source") as service:
            await service.schema()
            hand = Hand(service, self.source.kind, self.source.app.state, ())
            for target, edit in self.edited.items():
                if edit.name in changes:
                    await changes[edit.name](hand, await service.fetch(AssetId(self.source_of(target))))
        await self.settle("source")

    def source_of(self, target: str) -> str:
        """The source asset that became this one."""
        return str(ask(self.job, "SELECT source FROM link WHERE target = ?", target)[0][0])

    def target_of(self, source: str) -> str:
        """What became of a source asset."""
        return str(ask(self.job, "SELECT target FROM link WHERE source = ?", source)[0][0])

    def twin_of(self, edit: Edit) -> str:
        """The asset of the target that got this edit."""
        return next(target for target, each in self.edited.items() if each.name == edit.name)

    def policy(self, **policy: Any) -> None:
        """Another policy in the job file."""
        yaml = YAML()
        data = yaml.load(self.job.read_text(encoding="utf-8"))
        data["policy"] = policy
        with self.job.open("w", encoding="utf-8") as out:
            yaml.dump(data, out)


@contextmanager
def scene(folder: Path, kind: str, edits: Sequence[Edit], into: str = "", **policy: Any) -> Iterator[TwoTenants]:
    """A library with an asset for each edit and some more, moved between two services of one kind, or `into` one of
    another kind, and verified to be clean."""
    with moved(folder, (kind, into or kind), library(len(edits) + SPARE), **policy) as made:
        made.edits = edits
        yield made


@contextmanager
def moved(folder: Path, kinds: tuple[str, str], rows: Sequence[Any], **policy: Any) -> Iterator[TwoTenants]:
    """A library moved from a service of one kind to one of the other, and verified to be clean."""
    libraries = rows, [] if kinds[1] == FOLDER else receiving()
    asked = None if FOLDER in kinds else (asked_of(kinds[0]), profile_of(kinds[1]).parted)
    with Universe(1) as universe:
        source, target = served(universe, folder, kinds, libraries)
        job = job_in(folder)
        mapping = job.with_name("mapping.yaml")
        write_job(job, "move", *sides_of((source, target), asked), mapping, state=state_for(job))
        mapping.write_text(suggested(kinds, libraries, asked), encoding="utf-8")
        made = TwoTenants(universe, source, target, job, ())
        made.policy(**policy)
        report = made.run()
        assert report.counts["created"] == sum(row["record"] == "asset" for row in rows), report.parked
        verdict = made.verify()
        assert (verdict["clean"], made.found(verdict)) == (True, {}), verdict["differences"] + verdict["extras"]
        yield made
