"""Two containers of the source that have one path become one at the target: a named loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.jobs import run_job
from tests.support.pairs import EVERYTHING
from tests.support.virtual.moves import Move, Simulation
from tests.support.virtual.universe import job_of

TARGETS = ("e_profiles", "c_brandlibrary", "b_documents")


def losses(move: Move) -> list[tuple[str, int]]:
    """Of two containers with one path, in a run: their rules and assets."""
    options = move.universe.options(full=True)
    report = move.universe.do(run_job(job_of(move.job), options))
    return [(loss["path"], loss["assets"]) for loss in report.losses if loss["rule"] == "same path"]


def twin(move: Move) -> Any:
    """Another folder with the title of one beside it, and an asset of its own."""
    library = move.source.app.state.instance.library
    first, second = [media for media in library.medias.values() if media.folders][:2]
    here = library.folders.by_id[first.folders[0]]
    made = library.folders.add(here.parent, here.title)
    for number in second.folders:
        library.folders.by_id[number].members.discard(second.id)
    made.members.add(second.id)
    library.store(replace(second, folders=(made.id,)))
    return library, made


@pytest.mark.parametrize("target", TARGETS if EVERYTHING else TARGETS[:1])
def test_folders_with_one_path_become_one_with_a_named_loss(tmp_path: Path, target: str) -> None:
    with Simulation(tmp_path, ("a_hypermedia", target)).moving() as move:
        library, made = twin(move)
        ((path, assets),) = losses(move)
        assert path.startswith("placements.")
        assert assets >= 1
        library.folders.by_id[made.id] = replace(made, title="Another title")
        assert losses(move) == []
