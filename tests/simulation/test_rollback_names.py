"""Terms and containers that a run renamed get their former names back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.api.bootstrap import connect
from dam_sync.api.job_file import job_of
from dam_sync.emulators import profile_of
from dam_sync.model.asset import Placement
from dam_sync.model.capabilities import Operation
from dam_sync.model.service import Service
from dam_sync.model.values import Json, Term, value_to_json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.services import discover
from dam_sync.store.store import SqlStore
from dam_sync.transfer.budget import MemoryBudget
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.virtual.edits import EDITS
from tests.support.virtual.moves import LAGS
from tests.support.virtual.rolling import roll_back
from tests.support.virtual.scene import ACCEPTED, Scene, scene

RENAMING = {Operation.RENAME_TERM, Operation.RENAME_CONTAINER}
ABLE = [kind for kind in KINDS if discover()[kind].capabilities.operations >= RENAMING]
Names = tuple[list[Term], list[Placement]]


async def connected(job: Scene) -> Service:
    service = connect(job_of(job.job), "target", job.universe.options(), MemoryBudget(1 << 24), read_only=False)
    await service.probe()
    await service.schema()
    return service


async def names_of(job: Scene) -> Names:
    service = await connected(job)
    vocabulary = (await service.schema()).fields[f"{profile_of(job.target.kind).prefix}subject"].vocabulary
    terms = sorted([term async for term in service.terms(vocabulary)], key=lambda term: term.id)
    places = sorted([place async for place in service.containers()], key=lambda place: (place.kind, place.path))
    await service.close()
    return terms, places


async def rename(job: Scene) -> None:
    """A run that renames a term and a container, and says so in the ledger as runs do."""
    service, storage = await connected(job), job.universe.storage
    vocabulary = (await service.schema()).fields[f"{profile_of(job.target.kind).prefix}subject"].vocabulary
    term = await anext(term async for term in service.terms(vocabulary) if term.label == "Sea")
    able = service.capabilities.renames
    place = await anext(each async for each in service.containers() if each.path[-1] == "Ours" and each.kind in able)
    renamed, path = replace(term, label="Ocean"), (*place.path[:-1], "Theirs")
    store = await SqlStore.open(job.job.parent / "state" / "job.db", job.universe.clock, storage=storage)
    run = await store.begin("move", "run")

    async def new_term() -> Json:
        return value_to_json(await service.rename_term(vocabulary, term, renamed))

    async def new_place() -> Json:
        await service.rename_container(place, path)
        return True

    with recording(WriteRecord(term.id, {"term": [value_to_json(term), value_to_json(renamed)]})):
        await store.run_journal("terms").run(f"rename_term:{vocabulary}:Sea:Ocean", new_term, idempotent=True)
    sides = [{"kind": place.kind, "path": [*each]} for each in (place.path, path)]
    with recording(WriteRecord(place.id, {"container": sides})):
        name = f"rename_container:{place.kind}:/Ours:/Theirs"
        await store.run_journal("containers").run(name, new_place, idempotent=True)
    await store.finish(run.id, {"operations": {"rename_term": 1, "rename_container": 1}}, listed=False)
    await store.close()
    await service.close()
    await job.universe.clock.sleep(LAGS)


@pytest.mark.parametrize("kind", ABLE if EVERYTHING else ABLE[-1:])
def test_renamed_terms_and_containers_are_renamed_back(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, EDITS[kind][:1], exposure=ACCEPTED) as job:
        do, before = job.universe.do, job.universe.do(names_of(job))
        do(rename(job))
        assert do(names_of(job)) != before
        assert roll_back(job, 2).counts == {"renamed back": 2}
        labels = [(term.label, term.path) for term in before[0]]
        terms, places = do(names_of(job))
        assert (sorted((term.label, term.path) for term in terms), places) == (sorted(labels), before[1])
        assert roll_back(job, 2).done
