"""Any two emulated services with a suggested mapping between them, and what the state says of a run."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from dam_sync.api.emulation.sandbox import write_job, write_suggested_mapping
from dam_sync.api.jobs import plan_job, run_job, verify_job
from dam_sync.emulators.kit.profile import Profile
from dam_sync.services import discover
from tests.support.jobs import small_jobs
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.folder_jobs import FolderTenant, Side, side_of
from tests.support.jobs.rollbacks import undone_afterwards
from tests.support.jobs.tenants import Pair, Tenant, emulated
from tests.support.services import background_stop
from tests.support.services.profiles import FOLDER, marker_in, profile_of
from tests.support.services.small_limits import limited, small_parts

Row = Mapping[str, Any]
QUICK = {"lag": 0.2}
NOT_READ = re.compile(r"(\w+)s are not read")
FASTER = 10.0  # how much faster than ours the clock goes by which both services and the run between them live
ON_REQUEST = ("sections",)
NOT_CARRIED = {
    "the target's list is flat; the paths": "terms.paths",
    "the target's list has one language; other languages": "terms.languages",
    "the target's list has no synonyms; synonyms": "terms.synonyms",
}
LOSSES = "SELECT asset, losses FROM work"
REFUSED = "SELECT owner, kind FROM relation WHERE refused <> ''"


@contextmanager
def any_pair(
    folder: Path, source: str, target: str, library: Sequence[Row], empty: Sequence[Row], marker: str, **more: Any
) -> Iterator[Pair]:
    """Both tenants for as long as the block runs, with a job between them; files of `large_for(target)` bytes go to the
    target in parts."""
    with hurried(), tenant_of(source, library) as first, receiver_of(target, empty) as second:
        into = side_of(target, second, profile_of(target).parted)
        pair = joined(folder, side_of(source, first, asked_of(source)), into, (first, second), marker, **more)
        pair.connectors = limited({target: small_parts(target)})
        with undone_afterwards(pair, small_jobs.options):
            yield pair


def asked_of(source: str) -> dict[str, str]:
    """Options by which a source is asked for what it does not read by itself."""
    return {name: "on" for name in ON_REQUEST if name in discover()[source].options.model_fields}


def large_for(target: str) -> int:
    """Bytes of a file that travels in three parts where `small_parts` holds."""
    return profile_of(target).part * 5 // 2


@contextmanager
def hurried() -> Iterator[None]:
    """Emulated services and runs of this process live by one faster clock, so that waiting costs little."""
    with pytest.MonkeyPatch.context() as patch:
        small_jobs.hurry(patch, small_jobs.FastClock())
        small_jobs.set_right()
        patch.setattr(small_jobs, "FASTER", FASTER)
        yield


def receiver_of(kind: str, records: Sequence[Row]) -> AbstractContextManager[Tenant]:
    """One emulated tenant, quick, that takes small parts; an empty folder, which takes what its source has."""
    return tenant_of(kind, () if kind == FOLDER else records, **profile_of(kind).parted_emulated)


@contextmanager
def tenant_of(kind: str, records: Sequence[Row], **more: Any) -> Iterator[Tenant]:
    """One emulated tenant, quick, or a folder."""
    if kind == FOLDER:
        with TemporaryDirectory() as path:
            yield folder_tenant(Path(path) / "library", records)
        return
    trial: Profile = profile_of(kind)
    options = {**trial.emulated, **trial.demo_emulated, **QUICK, **more}
    if discover()[kind].capabilities.limits.pace.per_second is not None:
        del options["rate"]  # as documented: a run must keep to it without being configured to
    clock = small_jobs.CLOCK if isinstance(small_jobs.CLOCK, small_jobs.FastClock) else None
    tenant = emulated(kind, records, None, clock, **options)
    try:
        yield tenant
    finally:
        if tenant.served is not None:
            background_stop.stop(tenant.served)


def folder_tenant(path: Path, records: Sequence[Row]) -> FolderTenant:
    """A folder with these records; not there yet where there are none."""
    tenant = FolderTenant(path)
    if records:
        tenant.side.fill(records)
    return tenant


def joined(folder: Path, source: Side, target: Side, tenants: tuple[Tenant, Tenant], marker: str, **more: Any) -> Pair:
    """A job between two tenants, with a suggested mapping."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = folder / "mapping.yaml"
    job = write_job(folder / "job.yaml", "pair", source, target, mapping, **{"policy": ACCEPTED, **more})
    asyncio.run(write_suggested_mapping(job, mapping, marker_in(target.kind, marker)))
    return Pair(*tenants, job, folder)


def name_relations(pair: Pair, kinds: Mapping[str, str]) -> None:
    """Add to the mapping what kinds of relation are called in the target."""
    mapping = pair.folder / "mapping.yaml"
    mapping.write_text(
        f"{mapping.read_text(encoding='utf-8')}relations: {{kinds: {json.dumps(kinds)}}}\n", encoding="utf-8"
    )


def planned(pair: Pair) -> dict[str, Any]:
    """The report of a plan, made in this process."""
    return asyncio.run(plan_job(pair.job, small_jobs.options(connectors=pair.connectors))).as_json()


def ran(pair: Pair) -> dict[str, Any]:
    """The report of a run, made in this process."""
    return asyncio.run(run_job(pair.job, small_jobs.options(connectors=pair.connectors))).as_json()


def verified(pair: Pair) -> dict[str, Any]:
    """The verdict of a verification, made in this process."""
    options = small_jobs.options(connectors=pair.connectors)
    verdict: dict[str, Any] = asyncio.run(verify_job(pair.job, options, "fields", "100%")).as_json()["verdict"]
    return verdict


@dataclass(frozen=True, slots=True)
class Moved:
    """What the state says of a run. losses: paths of the losses of each source asset, refused relations too; twins:
    what each became; parked: causes; steps: the writes, by source asset."""

    losses: Mapping[str, Sequence[str]]
    twins: Mapping[str, str]
    parked: Mapping[str, str]
    journal: Sequence[tuple[str, str]]


def moved(pair: Pair) -> Moved:
    """The state of a job that ran."""
    with closing(sqlite3.connect(pair.folder / "state" / "job.db")) as connection:
        ask = connection.execute
        told = {asset: [loss["path"] for loss in json.loads(text) or ()] for asset, text in ask(LOSSES)}
        for asset, kind in ask(REFUSED):
            told[asset].append(f"relations.{kind}")
        twins = dict(ask("SELECT source, target FROM link").fetchall())
        parked = dict(ask("SELECT asset, cause FROM work WHERE action = 'parked'").fetchall())
        return Moved(told, twins, parked, ask("SELECT asset, operation FROM ledger ORDER BY seq").fetchall())


def losses_in(notes: Iterable[str]) -> list[str]:
    """Paths of what is lost of every asset or term, as losses would name them."""
    unread = [f"placements.{found[1]}" for note in notes if (found := NOT_READ.match(note))]
    return [*unread, *(path for note in notes for text, path in NOT_CARRIED.items() if text in note)]


def living(tenant: Tenant) -> dict[str, Row]:
    """Assets by id, but for those in the trash."""
    return {row["id"]: row for row in tenant.assets if row["status"] != "trash"}
