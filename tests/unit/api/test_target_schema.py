"""What a mapping writes and the target lacks is listed for the person who makes it there first."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from dam_sync.api.service_notes import ServiceNote
from dam_sync.api.target_schema import (
    MOST_TERMS,
    about_missing_fields,
    about_missing_groups,
    about_missing_terms,
    with_given_groups,
)
from dam_sync.mapping.document import read_mapping
from dam_sync.model.errors import DamSyncError, Denied, StopRequested
from dam_sync.model.exposure_options import ExposureOptions
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service
from dam_sync.model.values import Term
from tests.support.mapping.tenant_schemas import LEAST, SOURCE, TARGET, compiled, with_lines
from tests.support.services.empty_service import EmptyService

GROUPS = 'security: {groups: {from: "groups[]"}}\n'


class Listing(EmptyService):
    """A service with lists of terms."""

    def __init__(self, **lists: list[str]) -> None:
        self.lists: Mapping[str, list[str]] = lists
        self.read: Counter[str] = Counter()
        self.refuses: DamSyncError | None = None

    async def terms(self, vocabulary: str) -> AsyncIterator[Term]:
        self.read[vocabulary] += 1
        if self.refuses is not None:
            raise self.refuses
        for number, label in enumerate(self.lists.get(vocabulary, ())):
            yield Term(label, f"{vocabulary}-{number}")


async def missing(
    folder: Path, text: str, source: Listing, target: Listing, target_schema: Schema = TARGET
) -> list[ServiceNote]:
    crosswalk = compiled(folder, text, SOURCE, target_schema)
    return [note async for note in about_missing_terms(crosswalk, (source, SOURCE), (target, target_schema))]


def test_missing_fields_are_listed_with_what_to_make(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    lines = ('motif: {from: "fields.keywords[]"}', "legende: {from: fields.description}", "fixed: {const: x}")
    path.write_text(with_lines(*lines, "note: {from: fields.inventory}"), encoding="utf-8")
    (note,) = about_missing_fields(read_mapping(path), SOURCE, TARGET)
    assert note.warns
    assert "3 fields that the mapping writes do not exist at the target" in note.text
    assert "motif (term, several values, as keywords of the source)" in note.text
    assert "legende (long text, in several languages, as description of the source)" in note.text
    assert note.text.endswith("fixed")
    assert "make them at the target first" in note.hint
    path.write_text(LEAST.replace("srckey:", "legacy_id:"), encoding="utf-8")
    (note,) = about_missing_fields(read_mapping(path), SOURCE, TARGET)
    assert "legacy_id (text that can be searched, for the marker)" in note.text
    path.write_text(LEAST, encoding="utf-8")
    assert about_missing_fields(read_mapping(path), SOURCE, TARGET) == []


def test_a_group_that_stands_for_everybody_is_not_missed_at_the_target(tmp_path: Path) -> None:
    source = replace(SOURCE, groups=frozenset({"Members", "Board"}), capabilities=TARGET.capabilities)
    options = ExposureOptions("everybody", frozenset({"Members"}))
    service = cast(Service, SimpleNamespace(exposure_options=lambda: options))
    given = with_given_groups(service, source)
    (note,) = about_missing_groups(compiled(tmp_path, LEAST + GROUPS, source), given, TARGET)
    assert note.text == "1 group that the mapping writes does not exist at the target: Board"
    assert with_given_groups(service, replace(source, groups=None)).groups is None


def test_groups_that_the_target_lists_and_lacks(tmp_path: Path) -> None:
    source = replace(SOURCE, groups=frozenset({"public", "Press", "Board"}), capabilities=TARGET.capabilities)
    (note,) = about_missing_groups(compiled(tmp_path, LEAST + GROUPS, source), source, TARGET)
    assert "2 groups that the mapping writes do not exist at the target: Board, Press" in note.text
    renamed = LEAST + GROUPS.replace('"groups[]"', '"groups[]", pipe: [lower]')
    (note,) = about_missing_groups(compiled(tmp_path, renamed, source), source, TARGET)
    assert note.text.endswith("board, press")
    unlisted = replace(TARGET, groups=None)
    assert about_missing_groups(compiled(tmp_path, LEAST + GROUPS, source, unlisted), source, unlisted) == []
    assert about_missing_groups(compiled(tmp_path, LEAST, source), source, TARGET) == []


async def test_terms_of_a_closed_list_that_the_target_lacks(tmp_path: Path) -> None:
    source, target = Listing(countries=["France", "Chad", "Peru"]), Listing(country=["France"])
    (note,) = await missing(tmp_path, with_lines("country: {from: fields.country}"), source, target)
    assert note.warns
    assert "2 terms have no counterpart in country of the target: Chad, Peru" in note.text
    assert "map sheet JOB" in note.hint
    assert (source.read, target.read) == (Counter(countries=1), Counter(country=1))


async def test_a_constant_and_a_default_are_looked_up_too(tmp_path: Path) -> None:
    for line in ("country: {const: Mars}", "country: {from: fields.country, default: Mars}"):
        (note,) = await missing(tmp_path, with_lines(line), Listing(), Listing(country=["France"]))
        assert note.text == "1 term has no counterpart in country of the target: Mars"


async def test_what_the_line_makes_of_a_term_counts(tmp_path: Path) -> None:
    source, target = Listing(countries=["France", "Chad"]), Listing(country=["FRANCE"])
    (note,) = await missing(tmp_path, with_lines("country: {from: fields.country, pipe: [upper]}"), source, target)
    assert note.text.endswith(": CHAD")


@pytest.mark.parametrize(("unmatched", "warns"), [("park", True), ("suggest", True), ("drop", False), ("keep", False)])
async def test_what_becomes_of_the_others_decides_whether_it_is_a_warning(
    tmp_path: Path, unmatched: str, warns: bool
) -> None:
    text = with_lines('subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}]}')
    text += f"vocabularies: {{subject: {{source: keywords, target: subject, unmatched: {unmatched}}}}}\n"
    (note,) = await missing(tmp_path, text, Listing(keywords=["Sea", "Land"]), Listing(subject=["Sea"]))
    assert note.warns == warns
    assert note.text.endswith(": Land")


async def test_nothing_is_read_where_new_terms_are_made(tmp_path: Path) -> None:
    text = with_lines('subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}]}')
    text += "vocabularies: {subject: {source: keywords, target: subject, unmatched: create}}\n"
    source, target = Listing(keywords=["Sea", "Land"]), Listing(subject=["Sea"])
    assert await missing(tmp_path, text, source, target) == []
    assert await missing(tmp_path, LEAST, source, target) == []
    assert not source.read
    assert not target.read


async def test_a_long_list_is_left_to_the_sheet(tmp_path: Path) -> None:
    long = [f"term {number}" for number in range(MOST_TERMS + 1)]
    line = with_lines("country: {from: fields.country}")
    (note,) = await missing(tmp_path, line, Listing(countries=["France"]), Listing(country=long))
    assert "country of the target has more than 1,000 terms" in note.text
    (note,) = await missing(tmp_path, line, Listing(countries=long), Listing(country=["France"]))
    assert "countries of the source has more than 1,000 terms" in note.text
    many = Listing(countries=long[:40])
    (note,) = await missing(tmp_path, line, many, Listing(country=["France"]))
    assert note.text.endswith("and 30 more")


@pytest.mark.parametrize("role", ["source", "target"])
async def test_a_list_that_cannot_be_read_is_a_note_and_no_error(tmp_path: Path, role: str) -> None:
    sides = {"source": Listing(countries=["France"]), "target": Listing(country=["France"])}
    sides[role].refuses = Denied("no access to lists")
    (note,) = await missing(tmp_path, with_lines("country: {from: fields.country}"), **sides)
    assert f"of the {role} cannot be read: " in note.text
    assert "no access to lists" in note.text
    assert not note.warns
    sides[role].refuses = StopRequested("enough")
    with pytest.raises(StopRequested):
        await missing(tmp_path, with_lines("country: {from: fields.country}"), **sides)
