"""A library of which some people see less than others, moved to a target that may show it to more of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dam_sync.api.adopt import Adoption, adopt_job
from dam_sync.api.emulation.sandbox import write_job
from dam_sync.model.asset import AssetId, Patch, Rights
from dam_sync.model.capabilities import Feature
from dam_sync.model.exposure import EXPOSURE
from dam_sync.report.report import Report
from dam_sync.store.base import from_text
from tests.support.jobs.audience import Seen, Sight, wider
from tests.support.libraries.restricted import OPTIONS, WITHOUT_GROUPS, library, receiving
from tests.support.virtual.moves import served, sides_of, suggested
from tests.support.virtual.opposite_job import asked_between
from tests.support.virtual.state_location import ask, forget, job_in, state_for
from tests.support.virtual.two_tenants import TwoTenants
from tests.support.virtual.universe import Tenant, Universe, job_of

PUBLIC, BEFORE = frozenset({"public"}), datetime(2003, 1, 1, tzinfo=UTC)


class RestrictedMove(TwoTenants):
    """Nothing is moved yet."""

    def accept(self, *rules: str) -> None:
        """The job accepts these exposure rules, and no others."""
        self.policy(exposure=dict.fromkeys(rules, "accept"))

    def close(self, *rules: str) -> None:
        """By these rules, and by no others, it writes assets hidden."""
        self.policy(exposure=dict.fromkeys(rules, "close"))

    @property
    def can_close(self) -> bool:
        """Whether the target hides assets."""

        async def asked() -> bool:
            async with self.service() as service:
                return (await service.schema()).capabilities.writes(Feature.CLOSED)

        return self.universe.do(asked())

    def twins(self) -> dict[str, str]:
        """Target ids by source id, by the state."""
        return dict(ask(self.job, "SELECT source, target FROM link ORDER BY source"))

    def recorded_as_hidden(self) -> set[str]:
        """Source ids of the links that say so."""
        rows = ask(self.job, "SELECT source, draft FROM link")
        return {source for source, draft in rows if from_text(draft).get("closed")}

    def seen(self, role: str = "target") -> Mapping[str, Sight]:
        """Who sees what there now, as the service itself knows."""
        return _seen_at(self.target if role == "target" else self.source).now

    def widened(self, twins: Mapping[str, str]) -> set[str]:
        """Source ids of the assets that more people see at the target than at the source."""
        here, there = self.seen("source"), self.seen()
        nobody = frozenset[Any]()
        return {one for one, twin in twins.items() if wider(there.get(twin, nobody), here.get(one, nobody))}

    def exposed(self) -> set[str]:
        """Source ids of what is set aside because more people would see it."""
        rows = ask(self.job, "SELECT asset, cause FROM work WHERE action = 'parked'")
        return {asset for asset, cause in rows if cause.startswith(f"{EXPOSURE}: ")}

    def differing_in_exposure(self) -> set[str]:
        """Source ids of what a verification says that more people see than may."""
        return {source for source, _, found in self.verify("fields")["differences"] if found["path"] == EXPOSURE}

    def open_by_hand(self, target: str) -> None:
        """Somebody shows one asset of the target to everybody."""
        groups = frozenset[str]() if self.target.kind in WITHOUT_GROUPS else PUBLIC
        opened = Patch(status="published", rights=Rights(groups=groups, release_at=BEFORE), closed=False)

        async def change() -> None:
            async with self.service() as service:
                await service.schema()
                await service.update(AssetId(target), opened)

        self.universe.do(change())
        self.universe.do(self.settle())

    def lose_state(self) -> None:
        """The state is gone."""
        self.universe.end_connections()
        forget(self.job)

    def adopt(self, *, dry_run: bool = False) -> Report:
        """An adoption by markers."""
        asked = Adoption(dry_run=dry_run)
        return self.universe.do(adopt_job(job_of(self.job), self.universe.options(), asked))


def _seen_at(tenant: Tenant) -> Seen:
    told: Any = SimpleNamespace(ask=lambda path: tenant.app.state.audience.as_json())
    return Seen.of(told)


@contextmanager
def restricted_move(folder: Path, kinds: tuple[str, str]) -> Iterator[RestrictedMove]:
    """Both tenants and a job between them, which accepts nothing."""
    libraries, asked = (library(kinds[0]), receiving()), asked_between(kinds, OPTIONS)
    with Universe(1) as universe:
        source, target = served(universe, folder, kinds, libraries)
        job = job_in(folder)
        mapping = job.with_name("mapping.yaml")
        write_job(job, "move", *sides_of((source, target), asked), mapping, state=state_for(job))
        mapping.write_text(suggested(kinds, libraries, asked), encoding="utf-8")
        yield RestrictedMove(universe, source, target, job, ())
