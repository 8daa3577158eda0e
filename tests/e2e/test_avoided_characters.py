"""Names with characters that the target asks to be avoided: changed by rule, reported, found again by later runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dam_sync.api.emulation.sandbox import Emulated
from dam_sync.api.jobs import verify_job
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import hurried, joined, living, planned, ran, tenant_of
from tests.support.libraries.every_feature import OWN_MARKS, receiving

FILES = ["it's _100% sure_ #1; a+b.jpg", "50%.jpg", "50#.jpg", "blanks around .jpg", "con.jpg", "(1) [2] {3}.jpg"]
FOLDERS = [["Boxes; 50% #1"], ["Boxes; 50% #1", "Box 1/2"], ["a,b"], ["a+b"], ["Plain"], ["To do, soon"]]
RULE = "characters that the target avoids"


def library() -> list[dict[str, object]]:
    return [
        *SCHEMA,
        *({"record": "container", "kind": "folder", "path": path} for path in FOLDERS),
        *(
            asset(
                number,
                filename=name,
                versions=[{"name": name, "generate": {"size": 700, "seed": number}}],
                placements=[{"kind": "folder", "path": path}],
            )
            for number, (name, path) in enumerate(zip(FILES, FOLDERS, strict=True), 1)
        ),
    ]


@pytest.mark.parametrize("made_by_hand", [False, True])
def test_names_are_changed_by_rule_and_found_again(tmp_path: Path, made_by_hand: bool) -> None:
    """Also where a person made a container under the name that the source has."""
    there = [{"record": "container", "kind": "category", "path": ["a,b"]}] if made_by_hand else []
    with (
        hurried(),
        tenant_of("b_documents", library()) as first,
        tenant_of("e_profiles", [*receiving(), *there], variant="" if made_by_hand else "strict_names") as second,
    ):
        pair = joined(
            tmp_path,
            Emulated("b_documents", first.url),
            Emulated("e_profiles", second.url),
            (first, second),
            OWN_MARKS,
        )
        plan, done = planned(pair), ran(pair)
        assert done["parked"] == []
        assert (plan["operations"], plan["losses"]) == (done["operations"], done["losses"])
        told = {row["path"]: row["assets"] for row in done["losses"] if row["rule"] == RULE}
        assert told == {"filename": 5, "placements.folder[]": 5}
        found = living(pair.target).values()
        names = sorted(row["filename"] for row in found)
        assert len(set(names)) == len(FILES)
        assert {"50_.jpg", "blanks around.jpg"} <= set(names)
        paths = {tuple(place["path"]) for row in found for place in row["placements"]}
        expected = {("Boxes； 50％ ＃1",), ("Boxes； 50％ ＃1", "Box 1／2"), ("a＋b",), ("Plain",), ("To do， soon",)}
        assert paths == expected | {("a,b",) if made_by_hand else ("a，b",)}
        verdict = asyncio.run(verify_job(pair.job, small_jobs.options(), None, "100%")).as_json()["verdict"]
        assert (verdict["equal"], verdict["different"], verdict["missing"]) == (len(FILES), 0, 0)
        assert ran(pair)["operations"] == {}
