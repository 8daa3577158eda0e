"""`map suggest`, then the commands that it names: `map check` and `check` take what was suggested, and say what people
have to decide, from every service to every other one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.check import check_job
from dam_sync.api.check_result import CheckResult
from dam_sync.api.emulation.sandbox import Emulated, write_job
from dam_sync.api.mapping_tools.check import check_mapping
from dam_sync.api.mapping_tools.suggest import SuggestedMapping, suggest_mapping
from dam_sync.model.values import Json
from tests.conformance.catalogue import SCHEMA, asset
from tests.support.jobs.folder_jobs import InFolder, Side
from tests.support.pairs import ids, pairs
from tests.support.services.profiles import FOLDER
from tests.support.virtual.moves import options_of
from tests.support.virtual.universe import Universe

NO_CHOICE = {"d_templates": {"security": ""}}  # of what `init` does not ask for
KINDS = ("Painting", "Drawing", "Print", "Sculpture")
OWN_WORDS: tuple[Json, ...] = (
    {"record": "type", "name": "Photo", "media": ["PICTURE"]},
    *({"record": "group", "name": name} for name in ("Full Access", "Limited Access", "public")),
    {"record": "profile", "name": "Photo", "type": "Photo", "groups": ["public"], "version_policy": "file_only"},
    *({"record": "vocabulary", "key": key, "label": key, "closed": True} for key in ("objecttype", "license")),
    *(
        {"record": "term", "vocabulary": "objecttype", "id": f"t{at}", "labels": {"en": name}}
        for at, name in enumerate(KINDS)
    ),
    {"record": "term", "vocabulary": "license", "id": "l1", "labels": {"en": "CC0"}},
    *(
        {
            "record": "field",
            "key": key,
            "label": key.replace("_", " ").capitalize(),
            "kind": kind,
            "types": ["Photo"],
            **more,
        }
        for key, kind, more in (
            ("object_title", "text", {"max_length": 255}),
            ("creator", "text", {"max_length": 255}),
            ("dating", "text", {"max_length": 255}),
            ("technique", "text", {"max_length": 40}),
            ("objecttype", "term", {"vocabulary": "objecttype"}),
            ("keywords", "text", {"multiple": True}),
            ("acquisition_date", "date", {}),
            ("license", "term", {"vocabulary": "license", "required": True}),
            ("srckey", "text", {"max_length": 255}),
        )
    ),
)


def museum() -> Iterator[Json]:
    """A source whose fields are called otherwise, and hold text alone."""
    yield from OWN_WORDS[:5]
    names = ("title", "all_artists", "date_text", "medium", "class", "acquired", "notes")
    for key in names:
        more = {"localized": True, "max_length": 255} if key == "title" else {"max_length": 255}
        yield {"record": "field", "key": key, "label": key.capitalize(), "kind": "text", "types": ["Photo"], **more}
    for at in range(1, 9):
        values = (f"Sea {at}", "Anna Kern", "c. 1890", "Oil on canvas", KINDS[at % 4], f"{at + 12}/03/1990", "seen")
        fields: dict[str, Any] = dict(zip(names, values, strict=True))
        yield asset(at, fields={**fields, "title": {"texts": {"en": fields["title"]}}})


@dataclass
class Tried:
    """What the three commands gave."""

    suggested: SuggestedMapping
    notes: tuple[str, ...]
    checked: list[CheckResult]

    @property
    def faults(self) -> list[str]:
        """Of `check`."""
        return [f"{one.subject}: {one.message}" for one in self.checked if one.mark == "FAULT"]


def tried(folder: Path, kinds: tuple[str, str], records: list[Json], into: list[Json]) -> Tried:
    with Universe() as universe:
        sides = [
            side_of(universe, folder / role, kind, rows)
            for role, kind, rows in zip(("source", "target"), kinds, (records, into), strict=True)
        ]
        job = write_job(folder / "job.yaml", "move", *sides, folder / "mapping.yaml")
        found = universe.do(suggest_mapping(job, universe.options(), "", folder / "mapping.yaml"))
        notes = universe.do(check_mapping(job, universe.options()))
        return Tried(found, notes, universe.do(check_job(job, universe.options())))


def side_of(universe: Universe, path: Path, kind: str, records: list[Json]) -> Side:
    if kind == FOLDER:
        universe.folder(path, records)
        return InFolder(path)
    tenant = universe.tenant(kind, records, **options_of(kind))
    return Emulated(kind, tenant.url, NO_CHOICE.get(kind, {}))


@pytest.mark.parametrize("pair", pairs(1, 3), ids=ids(pairs(1, 3)))
def test_what_was_suggested_has_no_fault(pair: tuple[str, str], tmp_path: Path) -> None:
    library = [*SCHEMA, *(asset(at) for at in range(1, 4))]
    found = tried(tmp_path, pair, library, list(SCHEMA))
    assert found.faults == []


@pytest.mark.parametrize("target", ["a_hypermedia", "b_documents", "d_templates", "e_profiles"])
@pytest.mark.parametrize("source", ["a_hypermedia", "folder"])
def test_what_nobody_can_guess_is_asked_for_and_nothing_is_made_up(source: str, target: str, tmp_path: Path) -> None:
    found = tried(tmp_path, (source, target), [*museum()], list(OWN_WORDS))
    prefix = "lib:" if target == "b_documents" else ""
    lines = {line.target: line for line in found.suggested.suggestion.lines}
    assert lines[f"{prefix}objecttype"].sources == ("fields.class",)
    assert lines[f"{prefix}objecttype"].score > 0.8
    assert lines[f"{prefix}acquisition_date"].sources == ("fields.acquired",)
    assert lines[f"{prefix}license"].is_open
    assert f"{prefix}license" in found.suggested.required
    (fault,) = found.faults
    assert f"every one of the first 8 assets would be parked: mapping fields.{prefix}license: required" in fault
    assert any(f"fields.{prefix}license (" in note and "0.10" in note for note in found.notes)
    (unread,) = [one for one in found.checked if "by no line and ha" in one.message]
    assert unread.mark == "WARN"
    assert "notes (8 of 8)" in unread.message
