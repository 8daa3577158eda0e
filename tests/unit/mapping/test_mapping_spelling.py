"""What stands in a mapping file as text stays that text, also where YAML takes it for a number, a flag or a date."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.mapping.compile import compile_mapping
from dam_sync.mapping.document import mapping_of_text, reading_of, refuse_faulty
from dam_sync.model.errors import MappingError
from tests.support.mapping.drafts import asset, draft
from tests.support.mapping.tenant_schemas import LEAST, SOURCE, TARGET, read, with_lines

NUMBERS = (
    "010",
    "1.10",
    "1.0",
    "+33123",
    "0x1F",
    "0o17",
    "1e3",
    ".5",
    "1_000",
    "-0",
    "00",
    "0123.5",
    "1E5",
    ".inf",
    ".nan",
)
OTHERS = ("True", "FALSE", "2020-01-01 10:00", "2020-01-01T10:00Z", "2020-13-45", "12:30:00", "190:20:30", "=")
USUAL = ("5", "-5", "1.5", "true", "no", "on", "yes", "2020-01-01", "0.1", "NO")
SPELLINGS = (*NUMBERS, *OTHERS, *USUAL)


def note_of(folder: Path, text: str, inventory: str = "SE") -> object:
    return draft(folder, text, asset(inventory=inventory)).draft.fields.get("note")


@pytest.mark.parametrize("spelling", [each for each in SPELLINGS if each != "true"])
def test_a_text_is_written_as_it_stands_in_the_file(tmp_path: Path, spelling: str) -> None:
    for line in (
        f"note: {{const: {spelling}}}",
        f"note: {{const: [{spelling}]}}",
        f"note: {{from: fields.credit, default: {spelling}}}",
        f"note: {{from: fields.inventory, pipe: [{{const: {spelling}}}]}}",
        f"note: {{from: fields.inventory, pipe: [{{const: {{value: {spelling}}}}}]}}",
        f"note: {{from: fields.credit, pipe: [strip_html, {{default: {spelling}}}]}}",
        f"note: {{from: fields.inventory, pipe: [{{lookup: c}}]}}\nlookups: {{c: {{values: {{SE: {spelling}}}}}}}",
    ):
        assert note_of(tmp_path, with_lines(line)) == spelling, line


@pytest.mark.parametrize("spelling", [*SPELLINGS, "null", "~", "Null"])
def test_a_key_is_the_text_that_stands_in_the_file(tmp_path: Path, spelling: str) -> None:
    line = "note: {from: fields.inventory, pipe: [{lookup: c}]}\nlookups: {c: {values: {%s: found}}}"
    assert note_of(tmp_path, with_lines(line % spelling), spelling) == "found"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_selected_value_and_an_expected_one_stay_as_they_stand(tmp_path: Path, spelling: str) -> None:
    document = read(tmp_path, f"{LEAST}select: {{fields: {{inventory: [{spelling}]}}}}\n")
    assert document.body.select.fields == {"inventory": (spelling,)}
    tests = f"tests: [{{given: {{fields: {{inventory: '{spelling}'}}}}, expect: {{note: {spelling}}}}}]\n"
    compile_mapping(read(tmp_path, with_lines("note: {from: fields.inventory}") + tests), SOURCE, TARGET)


def test_two_spellings_of_one_number_are_two_keys(tmp_path: Path) -> None:
    text = with_lines(
        "note: {from: fields.inventory, pipe: [{lookup: c}]}\nlookups: {c: {values: {1: a, 01: b, 1.0: c, +1: d}}}"
    )
    for key, value in (("1", "a"), ("01", "b"), ("1.0", "c"), ("+1", "d")):
        assert note_of(tmp_path, text, key) == value


@pytest.mark.parametrize(
    ("field", "spelling", "value"),
    [
        ("heightCm", "1.10", 1.1),
        ("heightCm", "1_000", 1000),
        ("heightCm", "1e3", 1000.0),
        ("heightCm", "0x1F", 31),
        ("approved", "True", True),
        ("shotDate", "2020-01-01", date(2020, 1, 1)),
    ],
)
def test_where_a_number_a_flag_or_a_date_belongs_it_is_one(
    tmp_path: Path, field: str, spelling: str, value: object
) -> None:
    drafted = draft(tmp_path, with_lines(f"{field}: {{const: {spelling}}}"), asset())
    assert drafted.draft.fields[field] == value
    read(tmp_path, with_lines("note: {from: id, pipe: [{truncate: {max: 0_5}}], required: True}"))
    fuzzy = read(tmp_path, f"{LEAST}vocabularies: {{s: {{target: subject, match: [{{fuzzy: 0.90}}]}}}}\n")
    assert fuzzy.body.vocabularies["s"].fuzzy == 0.9
    period = read(tmp_path, f"{LEAST}select: {{dates: {{created_at: {{from: 2020-01-01 10:00:00Z}}}}}}\n").body.select
    assert period.dates["created_at"].from_ == datetime(2020, 1, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("note: {const: null}", "const is null, which is no value; remove it, or put the word in quotes"),
        ("note: {from: id, default: ~}", "default is null"),
        ("note: {const: [a, null]}", "null is no value"),
        ("note: {from: id, pipe: [{const: {value: null}}]}", "null is no value"),
        ("note: {from: id, pipe: [{split: 1}]}", "should be text; put it in quotes"),
        ("note: {const: true}", "put it in quotes"),
        ("note: {from: id, default: false}", "put it in quotes"),
        ("note: {from: id}\nlocales: [on, 5]", "should be text; put it in quotes"),
        ("note: {from: 10}", "should be text; put it in quotes"),
        (
            "note: {from: id, pipe: [{lookup: c}]}\nlookups: {c: {values: {a: null}}}",
            "is empty; write a value",
        ),
    ],
)
def test_what_is_no_text_is_refused_with_what_to_write(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(MappingError, match=r"mapping\.yaml:") as caught:
        compile_mapping(read(tmp_path, with_lines(line)), SOURCE, TARGET)
    assert message in caught.value.message


def test_words_for_yes_and_no_may_be_true_and_false(tmp_path: Path) -> None:
    line = "approved: {from: fields.inventory, pipe: [{flag: {true: [true, 01], false: [false, 0_0]}}]}"
    for text, value in (("true", True), ("01", True), ("0_0", False)):
        assert draft(tmp_path, with_lines(line), asset(inventory=text)).draft.fields["approved"] is value


SCALARS = st.from_regex(r"[-+]?[0-9._xobeE:]{1,8}|[0-9]{4}-[0-9]{2}-[0-9]{2}", fullmatch=True)


@given(SCALARS.filter(lambda text: not text.endswith(":") and text[0] != ":" and text.strip("-.")))
def test_any_plain_scalar_of_digits_and_signs_stays_the_text_that_it_is(text: str) -> None:
    document = refuse_faulty(
        reading_of(mapping_of_text(f"{LEAST}lookups: {{c: {{values: {{{text}: {text}}}}}}}\n"), Path())
    )
    assert dict(document.lookups["c"].rows) == {text: text}
