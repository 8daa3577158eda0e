"""What an adoption compares of an asset that is at the target already, and what it leaves to the next run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dam_sync.engine.compare.file_keys import version_key
from dam_sync.engine.run.adopt import MatchingWorker
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Revision, Rights
from dam_sync.model.codec import draft_to_json
from dam_sync.model.link import LinkRow
from tests.support.comparisons import FILE, asset_of, category
from tests.support.purposes import Purposes
from tests.support.random_states import EVERYBODY, SENT, State, Target

DRAFT = Draft(
    None,
    "a.jpg",
    status="published",
    placements=frozenset({category("p")}),
    rights=Rights(groups=EVERYBODY),
)
SOURCE = Asset(AssetId("S"), Revision("r1"), filename="a.jpg", versions=(FILE,))
PAPER = FileRef("p", "paper.pdf", 5)


def worker(seen: Asset, target: Target = Target()) -> MatchingWorker:  # noqa: B008
    """Of an adoption of this asset of the target."""
    made: Any = object.__new__(MatchingWorker)
    made.context, made.uncompared = Purposes(State(target, (DRAFT,), DRAFT, seen, seen, DRAFT)).context, 0
    return made  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({}, []),
        ({"rights": Rights()}, []),
        ({"rights": Rights(groups=frozenset("g"))}, ["groups"]),
        ({"placements": frozenset()}, []),
        ({"placements": frozenset({category("q")})}, ["placements"]),
        ({"tags": frozenset({"more"})}, []),
    ],
    ids=["equal", "everybody without a group", "a few people", "it carries no containers", "another container", "more"],
)
def test_what_counts_as_a_difference(changes: dict[str, Any], paths: list[str]) -> None:
    """Containers that the asset does not carry are left to `verify`; a group may stand for everybody."""
    seen = asset_of(DRAFT, **changes)
    link = LinkRow("S", "X", draft=draft_to_json(DRAFT))
    assert worker(seen, Target(shown=False))._differing(SOURCE, DRAFT, seen, link) == paths


@pytest.mark.parametrize(
    ("versions", "attachments", "there", "read_again", "parts"),
    [
        ((FILE,), (), asset_of(DRAFT), False, []),
        ((FILE, SENT), (), asset_of(DRAFT), True, []),
        ((FILE,), (PAPER,), asset_of(DRAFT), True, ["attachments"]),
        ((FILE,), (PAPER,), asset_of(DRAFT, attachments=(PAPER,)), False, []),
        ((FILE,), (PAPER,), asset_of(DRAFT, attachments=(replace(PAPER, size=6),)), False, ["attachments"]),
    ],
    ids=["equal", "a version is to be sent", "an attachment is to be sent", "equal attachments", "another attachment"],
)
def test_the_next_run_reads_an_asset_of_which_files_are_still_to_be_written(
    versions: tuple[FileRef, ...], attachments: tuple[FileRef, ...], there: Asset, read_again: bool, parts: list[str]
) -> None:
    """Nothing changed at the source, so that it would skip the asset. Another file of that name is left to a repair."""
    ours = replace(SOURCE, versions=versions, attachments=attachments)
    keys = tuple(map(version_key, attachments))
    link = LinkRow("S", "X", "r1", versions=(version_key(FILE),), attachments=keys, draft=draft_to_json(DRAFT))
    made, found = worker(there)._compared_files(ours, there, link)
    assert (made.source_revision, found) == ("" if read_again else "r1", parts)
    assert made.attachments == (() if read_again else keys)
