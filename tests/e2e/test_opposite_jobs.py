"""Two jobs in opposite directions between two tenants: what one of them moved is not moved back as a second asset."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.adopt import Adoption, adopt_job
from dam_sync.api.jobs import run_job
from dam_sync.model.asset import Patch
from dam_sync.model.errors import SafetyStop
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import any_pair, asked_of, joined, living, moved, planned, ran, verified
from tests.support.jobs.folder_jobs import side_of
from tests.support.jobs.library_edits import change_source
from tests.support.jobs.open_service import opened_service
from tests.support.jobs.tenants import Pair
from tests.support.libraries.every_feature import OWN_MARKS, everything, receiving
from tests.support.pairs import EVERYTHING, ids, pairs
from tests.support.services.profiles import profile_of

BACK_MARKS = "backkey"  # the field of the first tenant for the markers of the job that leads back
PAIRS = [one for one in pairs(2) if one[0] != one[1]]
LOSSY = [("d_templates", "c_brandlibrary"), ("e_profiles", "a_hypermedia"), ("b_documents", "d_templates")]
"""Between these, copies have labels, groups or terms that their originals do not have."""
FEW, ALL = 6, 99
FIRST = 25  # so many that are all parked for the same cause stop a run


def library(source: str, target: str, many: int = 0, few: int = FEW) -> list[dict[str, object]]:
    """A few assets, so many more that are alike, and a field for the markers of the way back."""
    rows = everything(without={*profile_of(source).refuses, *profile_of(target).refuses})
    kept = [row for row in rows if row["record"] == "asset"][:few]
    types = [row["name"] for row in rows if row["record"] == "type"]
    field = {"record": "field", "key": BACK_MARKS, "label": BACK_MARKS, "kind": "text", "types": types}
    alike = [{**kept[0], "id": f"alike-{number}", "filename": f"alike-{number}.jpg"} for number in range(many)]
    return [*(row for row in rows if row["record"] != "asset"), field, *kept, *alike]


def without_marker(pair: Pair) -> None:
    """The mapping of a job that writes none."""
    path = pair.folder / "mapping.yaml"
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if "marker: true" not in line]
    assert len(kept) == len(lines) - 1
    path.write_text("\n".join([*kept, "marker: none", ""]), encoding="utf-8")


@contextmanager
def there_and_back(
    tmp_path: Path, source: str, target: str, many: int = 0, few: int = FEW, *, marked: bool = True
) -> Iterator[tuple[Pair, Pair]]:
    """A job that ran, and one in the other direction. marked: whether the first one wrote markers."""
    rows = library(source, target, many, few)
    with any_pair(tmp_path / "there", source, target, rows, receiving(), OWN_MARKS) as there:
        if not marked:
            without_marker(there)
        ran(there)
        first, second = there.source, there.target
        sides = side_of(target, second, asked_of(target)), side_of(source, first, {})
        yield there, joined(tmp_path / "back", *sides, (second, first), BACK_MARKS)


def repaired(pair: Pair) -> dict[str, Any]:
    """The report of a repair, which reads everything again."""
    return asyncio.run(run_job(pair.job, small_jobs.options(repair=True))).as_json()


def accepted(pair: Pair) -> dict[str, Any]:
    """The report of a run with `--accept-changes`."""
    return asyncio.run(run_job(pair.job, small_jobs.options(accept_changes=True))).as_json()


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ids(PAIRS))
def test_what_a_job_moved_is_not_moved_back_but_linked(tmp_path: Path, source: str, target: str) -> None:
    with there_and_back(tmp_path, source, target) as (there, back):
        twins, before = moved(there).twins, sorted(living(back.target))
        assert len(twins) >= FEW - 1
        for command in (planned, ran):
            with pytest.raises(SafetyStop, match="another job made") as stopped:
                command(back)
            assert stopped.value.hint.startswith("`adopt JOB`")
        assert sorted(living(back.target)) == before
        assert accepted(back)["counts"]["created"] == 0
        assert set(moved(back).parked.values()) == {"came from the target"}
        assert sorted(living(back.target)) == before
        linked = asyncio.run(adopt_job(back.job, small_jobs.options(), Adoption())).as_json()["counts"]
        assert linked["linked by marker of the other direction"] == len(twins)
        assert moved(back).twins == {copy: original for original, copy in twins.items()}
        originals = [{**row} for row in back.target.assets]
        assert planned(back)["operations"] == {}
        for again in (ran(back), repaired(back)):
            assert again["operations"] == {}
            assert again["counts"]["created"] == 0
        assert moved(back).parked == {}
        assert [{**row} for row in back.target.assets] == originals
        assert verified(back)["clean"]


@pytest.mark.parametrize(("source", "target"), LOSSY, ids=ids(LOSSY))
def test_a_later_change_of_a_copy_writes_that_value_alone(tmp_path: Path, source: str, target: str) -> None:
    """What the copies differ in beside it, and the containers and terms that only they have, stay out of the
    originals."""
    with there_and_back(tmp_path, source, target) as (_, back):
        asyncio.run(adopt_job(back.job, small_jobs.options(), Adoption()))
        originals, names = living(back.target), asyncio.run(names_at(back, "target"))
        twins, key = moved(back).twins, profile_of(source).prefix + "title"
        for copy in twins:
            change_source(back.job, copy, Patch({profile_of(target).prefix + "title": f"Edited {copy}"}))
        assert ran(back)["operations"] == {"update": len(twins)}
        for copy, original in twins.items():
            before, now = originals[original], living(back.target)[original]
            assert now["fields"] == {**before["fields"], key: f"Edited {copy}"}
            assert {part for part in now if now[part] != before.get(part)} == {"fields", "changed_at"}
        assert asyncio.run(names_at(back, "target")) == names
        assert repaired(back)["operations"] == {}


def test_the_name_of_a_copy_without_a_file_is_no_difference(tmp_path: Path) -> None:
    with there_and_back(tmp_path, "a_hypermedia", "c_brandlibrary", few=ALL) as (there, back):
        assert [row for row in there.source.assets if not row.get("versions")]
        report = asyncio.run(adopt_job(back.job, small_jobs.options(), Adoption()))
        assert len(moved(back).twins) == len(moved(there).twins)
        assert [note for note in report.notes if "from what a run would write" in note] == []


async def names_at(pair: Pair, role: str) -> set[str]:
    """Containers and terms."""
    async with opened_service(pair.job, role, small_jobs.options(), read_only=True) as service:
        schema = await service.schema()
        found = {f"{place.kind} {place.text}" async for place in service.containers()}
        for key in schema.vocabularies:
            found |= {f"{key} {term.label}" async for term in service.terms(key)}
        return found


def test_a_run_that_stopped_for_it_continues_once_adopt_linked_them(tmp_path: Path) -> None:
    with there_and_back(tmp_path, "b_documents", "e_profiles", many=FIRST) as (there, back):
        twins, before = moved(there).twins, sorted(living(back.target))
        with pytest.raises(SafetyStop, match="came from the target"):
            accepted(back)
        counts = asyncio.run(adopt_job(back.job, small_jobs.options(), Adoption())).as_json()["counts"]
        assert counts["linked by marker of the other direction"] == len(twins)
        assert ran(back)["counts"]["created"] == 0
        assert sorted(living(back.target)) == before


@pytest.mark.parametrize("target", ["c_brandlibrary", "e_profiles"])
def test_what_was_linked_at_once_is_neither_read_again_nor_written(tmp_path: Path, target: str) -> None:
    """The containers of the source list their members apart, and have other names than at the target."""
    with there_and_back(tmp_path, "a_hypermedia", target) as (there, back):
        before = [{**row} for row in back.target.assets]
        linked = asyncio.run(adopt_job(back.job, small_jobs.options(), Adoption())).as_json()["counts"]
        assert linked["linked by marker of the other direction"] == len(moved(there).twins)
        again = ran(back)
        assert again["operations"] == {}
        assert not [note for note in again["notes"] if "read again" in note]
        assert [{**row} for row in back.target.assets] == before


def test_the_target_is_known_by_what_it_has_where_the_other_job_called_it_differently(tmp_path: Path) -> None:
    with there_and_back(tmp_path, "b_documents", "e_profiles") as (there, back):
        twins, before = moved(there).twins, sorted(living(back.target))
        text = back.job.read_text(encoding="utf-8")
        back.job.write_text(text.replace(back.target.url, back.target.url.replace("127.0.0.1", "localhost")))
        for command in (planned, ran):
            with pytest.raises(SafetyStop, match="another job made"):
                command(back)
        assert accepted(back)["counts"]["created"] == 0
        counts = asyncio.run(adopt_job(back.job, small_jobs.options(), Adoption())).as_json()["counts"]
        assert counts["linked by marker of the other direction"] == len(twins)
        assert sorted(living(back.target)) == before


@pytest.mark.parametrize(("source", "target"), PAIRS if EVERYTHING else PAIRS[:1])
def test_without_markers_a_job_in_the_other_direction_stops_by_the_files(
    tmp_path: Path, source: str, target: str
) -> None:
    with there_and_back(tmp_path, source, target, marked=False) as (_, back):
        before = sorted(living(back.target))
        with pytest.raises(SafetyStop, match="files already") as stopped:
            ran(back)
        assert "adopt JOB --by-file" in stopped.value.hint
        assert sorted(living(back.target)) == before
