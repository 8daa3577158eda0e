"""Terms and containers that others renamed at the target are no edit of the assets, whichever command compares them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.api.adopt import Adoption, adopt_job
from dam_sync.api.explain_live import job_explain_live
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import InvalidValue
from dam_sync.services import discover
from tests.simulation.test_resumed_creates import conflicts, killed, unlinked
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.virtual.moves import Move
from tests.support.virtual.source_edits import RENAMES
from tests.support.virtual.state_location import change
from tests.support.virtual.two_tenants import ACCEPTED, TwoTenants, scene
from tests.support.virtual.universe import LAGS

RENAMING = {Operation.RENAME_TERM, Operation.RENAME_CONTAINER}
ABLE = [kind for kind in KINDS if discover()[kind].capabilities.operations & RENAMING and kind in RENAMES]
each_able = pytest.mark.parametrize("kind", ABLE if EVERYTHING else ABLE[-2:-1])


def renamed_at_target(job: TwoTenants) -> None:
    """Words of service E have no ids: another name is another word of the asset."""
    for rename in RENAMES[job.target.kind][: 1 if job.target.kind == "e_profiles" else None]:
        rename(job.target.app.state)
    job.universe.do(job.settle())


@each_able
def test_explain_live_says_whose_name_it_is(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (), exposure=ACCEPTED) as job:
        renamed_at_target(job)
        named = {source: difference for source, _, difference in job.verify()["differences"]}
        patterns = set[str]()
        for source in named:
            facts = job.universe.do(job_explain_live(job.job, source, "source", job.universe.options()))
            patterns |= {one["pattern"] for one in facts["live"]["differences"]}

        assert patterns <= {"renamed at the target"}  # one asset is compared without containers that list members


@each_able
def test_an_adoption_finds_no_difference(tmp_path: Path, kind: str) -> None:
    with scene(tmp_path, kind, (), exposure=ACCEPTED) as job:
        renamed_at_target(job)
        change(job.job, "DELETE FROM link")
        report = job.universe.do(adopt_job(job.job, job.universe.options(), Adoption(dry_run=True)))
        assert [note for note in report.notes if "differ" in note] == [], report.notes


async def renamed_terms(move: Move) -> None:
    """Somebody gives every term of the target another name."""
    async with move.service("target") as service:
        schema = await service.schema()
        for vocabulary in schema.vocabularies:
            for term in [term async for term in service.terms(vocabulary)]:
                with suppress(InvalidValue):  # some lists are the service's own
                    await service.rename_term(
                        vocabulary,
                        term,
                        replace(term, label=f"{term.label} theirs", path=(*term.path[:-1], f"{term.label} theirs")),
                    )
    await move.universe.clock.sleep(LAGS)


@pytest.mark.parametrize("part", [0.52, 0.6])
def test_a_partial_create_is_completed(tmp_path: Path, part: float) -> None:
    with killed(tmp_path, ("a_hypermedia", "d_templates"), part) as move:
        partial = unlinked(move)
        move.universe.do(renamed_terms(move))
        move.live_to_the_end()
        assert (conflicts(move), unlinked(move)) == ([], []), partial
