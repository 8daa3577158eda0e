"""A library that was moved between two services, whose assets then leave the source and come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from dam_sync.api.conflicts import job_conflicts
from dam_sync.api.emulation.sandbox import write_job
from dam_sync.api.job_status import job_status
from dam_sync.api.jobs import plan_job, run_job, verify_job
from dam_sync.api.state_commands import job_errors
from dam_sync.model.asset import AssetId, Draft, Patch, Relation
from dam_sync.model.capabilities import MembershipWrite
from dam_sync.model.connector import Connector
from dam_sync.model.run_options import RunOptions
from dam_sync.model.service import Service
from dam_sync.model.values import Json
from dam_sync.report.report import Report
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.services.profiles import FOLDER, profile_of
from tests.support.state.memory_journal import MemoryJournal
from tests.support.virtual.fuse import Fuse
from tests.support.virtual.moves import TITLE, retitled, served, sides_of, suggested
from tests.support.virtual.small_library import receiving
from tests.support.virtual.state_location import ask, beside, job_in, state_for
from tests.support.virtual.target_edits import bytes_of
from tests.support.virtual.universe import LAGS, Tenant, Universe

ASSETS = 8


@dataclass
class Removals:
    """A library that was moved, and people who remove assets. connectors: instead of the usual ones."""

    universe: Universe
    source: Tenant
    target: Tenant
    job: Path
    connectors: Mapping[str, Connector] | None = None

    @property
    def folders(self) -> Sequence[Path]:
        """All that is written to in this world."""
        return [beside(self.job), self.source.folder, self.target.folder]

    def live(self, fuse: Fuse | None = None) -> Fuse:
        """One run that lists everything, behind `fuse`, or one that never blows; that fuse."""
        return self.universe.live(self.job, fuse, full=True)

    def options(self, **options: Any) -> RunOptions:
        made = self.universe.options(**options)
        return made if self.connectors is None else replace(made, connectors=self.connectors)

    def run(self, **options: Any) -> Report:
        """One run, and time for every index to catch up."""
        report = self.universe.do(run_job(self.job, self.options(**options)))
        self.wait(LAGS)
        return report

    def plan(self, **options: Any) -> Report:
        return self.universe.do(plan_job(self.job, self.options(**options)))

    def verify(self) -> Any:
        return self.universe.do(verify_job(self.job, self.options(), "digest", "100%")).verdict

    def status(self) -> Any:
        return self.universe.do(job_status(self.job, self.universe.clock))

    def retry(self) -> int:
        """How many parked assets are put back into the queue."""
        done = job_errors(self.job, (), True, self.universe.clock, self.universe.storage)
        return int(self.universe.do(done)["retried"])

    def errors(self) -> list[dict[str, Any]]:
        """What is parked."""
        done = job_errors(self.job, (), False, self.universe.clock, self.universe.storage)
        return list(self.universe.do(done)["assets"])

    def conflicts(self) -> Any:
        return self.universe.do(job_conflicts(self.job, None, self.universe.clock, self.universe.storage))

    def wait(self, seconds: float) -> None:
        self.universe.do(self.universe.clock.sleep(seconds))

    def policy(self, **policy: Any) -> None:
        """Another policy in the job file."""
        yaml = YAML()
        data = yaml.load(self.job.read_text(encoding="utf-8"))
        data["policy"] = {**ACCEPTED, **policy}
        with self.job.open("w", encoding="utf-8") as out:
            yaml.dump(data, out)

    def links(self) -> dict[str, str]:
        """Target ids by source id."""
        return dict(ask(self.job, "SELECT source, target FROM link ORDER BY source"))

    def ledger(self) -> list[tuple[str, str]]:
        """Every write: the operation and the asset."""
        return [(each, asset) for each, asset in ask(self.job, "SELECT operation, asset FROM ledger ORDER BY seq")]

    def living(self) -> set[str]:
        """Ids of the target that are not in its trash."""
        return {row["id"] for row in self.target.assets if row["status"] != "trash"}

    def remove(self, sources: Iterable[str], role: str = "source") -> None:
        """People move these to the trash of their service."""
        self._each(role, sources, lambda service, each: service.remove(each))

    def restore(self, sources: Iterable[str], role: str = "source") -> None:
        """People take these out of the trash."""
        draft = Draft(None, "", status="published")
        self._each(role, sources, lambda service, each: service.restore(each, draft))

    def edit(self, targets: Iterable[str], key: str, text: str, role: str = "target") -> None:
        """People change these at the target."""
        self._each(role, targets, lambda service, each: service.update(each, Patch(fields={key: text})))

    def retitle(self, sources: Iterable[str]) -> None:
        """People give these another title."""
        key = profile_of(self.source.kind).prefix + TITLE

        async def changed(service: Service, each: AssetId) -> None:
            title = retitled((await service.fetch(each)).fields[key])
            await service.update(each, Patch(fields={key: title}))

        self._each("source", sources, changed)

    def replace_files(self, assets: Iterable[str], role: str = "source") -> None:
        """People upload another file over these."""

        async def replaced(service: Service, each: AssetId) -> None:
            await service.replace(each, bytes_of(await service.fetch(each)), MemoryJournal())

        self._each(role, assets, replaced)

    def seen_by(self, targets: Iterable[str]) -> set[str]:
        """Groups that see any of these at the target, as it reports them."""
        found = set[str]()

        async def read(service: Service, each: AssetId) -> None:
            found.update((await service.fetch(each)).rights.groups)

        self._each("target", targets, read)
        return found

    def place_elsewhere(self, targets: Iterable[str]) -> None:
        """People put these into a further container at the target."""

        async def placed(service: Service, each: AssetId) -> None:
            members = [member async for member in service.members()]
            its = {member.placement for member in members if each in member.assets}
            bulk = [
                place
                async for place in service.containers()
                if service.capabilities.membership(place.kind) is MembershipWrite.IN_BULK and place not in its
            ]
            await service.place(bulk[0], [each], [])

        self._each("target", targets, placed)

    def relate(self, owner: str, other: str, role: str = "target", *, undo: bool = False) -> None:
        """People relate an asset to another, or undo it."""

        async def related(service: Service, each: AssetId) -> None:
            kind = min((await service.schema()).relation_kinds or {"parent"})
            await (service.unrelate if undo else service.relate)(each, Relation(kind, AssetId(other)))

        self._each(role, [owner], related)

    def _each(self, role: str, ids: Iterable[str], act: Any) -> None:
        async def acted() -> None:
            async with self.universe.service(self.job, role) as service:
                await service.schema()
                for each in ids:
                    await act(service, AssetId(each))
            await self.universe.clock.sleep(LAGS)

        self.universe.do(acted())


def note_of(side: Tenant) -> str:
    """The key of a text field."""
    return f"{profile_of(side.kind).prefix}note"


@contextmanager
def removing(
    folder: Path, kinds: tuple[str, str], containers: Sequence[Json] = (), variant: str = "", **policy: Any
) -> Iterator[Removals]:
    """Moved, with a policy that removes what left the source. containers: those that the target has before; variant:
    that it plays."""
    rows = [*SCHEMA, *(asset(number) for number in range(1, ASSETS + 1))]
    libraries = rows, [] if kinds[1] == FOLDER else [*receiving(), *containers]
    with Universe(1) as universe:
        source, target = served(universe, folder, kinds, libraries, variant)
        job = job_in(folder)
        mapping = job.with_name("mapping.yaml")
        write_job(job, "move", *sides_of((source, target)), mapping, state=state_for(job))
        mapping.write_text(suggested(kinds, libraries), encoding="utf-8")
        made = Removals(universe, source, target, job)
        made.policy(**{"deletes": "trash", "max_deletes": "50%", "grace": "7d", **policy})
        report = made.run()
        assert report.counts["created"] == ASSETS, report.parked
        yield made
