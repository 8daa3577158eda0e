"""What is wrong ten times as often costs ten times as much to report, however many fields the services have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from dam_sync.mapping.compile import compile_reading
from dam_sync.mapping.document import mapping_of_text, reading_of
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import MappingError
from dam_sync.model.schema import Field, FieldKind, Schema
from tests.support.mapping.tenant_schemas import SOURCE, TARGET
from tests.support.measuring.function_calls import steps_of
from tests.support.pairs import EVERYTHING

MOST = (100, 1_000)
NUMBERS = {"unknown_lookups": MOST}  # for hints, up to 100,000 pairs of names are compared
OTHERS = MOST if EVERYTHING else (40, 400)
FIELD = "custom_field_{:0>60}"  # longer than what the files name, except for the last one: quickly compared


def with_fields(schema: Schema, number: int) -> Schema:
    keys = [*(FIELD.format(index) for index in range(number)), "custom_field_0"]
    return replace(schema, fields={**schema.fields, **{key: Field(key, FieldKind.TEXT) for key in keys}})


def faults(text: str, number: int = 0) -> tuple[Diagnostic, ...]:
    source, target = with_fields(SOURCE, number), with_fields(TARGET, number)
    with pytest.raises(MappingError) as caught:
        compile_reading(reading_of(mapping_of_text(text), Path()), source, target)
    return caught.value.diagnostics


def unknown_targets(number: int) -> str:
    return "fields:\n" + "".join(f"  custom_feild_{index}: {{from: filename}}\n" for index in range(number))


def unknown_sources(number: int) -> str:
    return "tags:\n  from:\n" + "".join(f"  - fields.custom_feild_{index}\n" for index in range(number))


def unknown_paths(number: int) -> str:
    return "tags:\n  from:\n" + "".join(f"  - custom_feild_{index}\n" for index in range(number))


def unknown_in_ignore(number: int) -> str:
    return "ignore:\n" + "".join(f"- custom_feild_{index}\n" for index in range(number))


def unknown_languages(number: int) -> str:
    return "unmapped: fail\nlocales:\n" + "".join(f"- e{index}\n" for index in range(number))


def unknown_vocabularies(number: int) -> str:
    return "vocabularies:\n" + "".join(f"  v{index}: {{target: subjct{index}}}\n" for index in range(number))


def unknown_lookups(number: int) -> str:
    tables = "".join(f"  {FIELD.format(index)}: {{values: {{a: b}}}}\n" for index in range(number))
    steps = "".join(f"  - {{lookup: tabel_{index}}}\n" for index in range(number))
    return f"lookups:\n{tables}tags:\n  from: filename\n  pipe:\n{steps}"


def wrong_expressions(number: int) -> str:
    keys = (FIELD.format(index) for index in range(number))
    return "fields:\n" + "".join(f"  {key}: {{cel: asset.fields.custom_feild_{key[-6:]}}}\n" for key in keys)


@pytest.mark.parametrize(
    "written",
    [
        unknown_targets,
        unknown_sources,
        unknown_paths,
        unknown_in_ignore,
        unknown_languages,
        unknown_vocabularies,
        unknown_lookups,
        wrong_expressions,
    ],
)
def test_ten_times_the_diagnostics_cost_ten_times_the_steps(written: Callable[[int], str]) -> None:
    numbers = NUMBERS.get(written.__name__, OTHERS)
    known = numbers[1] if written is wrong_expressions else 0
    few, many = (steps_of(partial(faults, "version: 1\n" + written(number), known)) for number in numbers)
    assert many < 10 * few, f"{few:,} and {many:,} steps for {numbers}: {many / few:.1f} times as many"


def test_similar_words_are_looked_for_only_for_the_first_of_very_many_unknown_ones() -> None:
    found = faults("version: 1\n" + unknown_targets(200), 1_000)
    hinted = [fault for fault in found if fault.hint == "did you mean custom_field_0?"]
    assert len(found) >= 200
    assert 50 < len(hinted) < 150
    assert {fault.line for fault in hinted} == set(range(3, 3 + len(hinted)))


def test_all_of_a_few_unknown_words_get_a_hint_from_a_service_with_many_fields() -> None:
    found = faults("version: 1\n" + unknown_targets(40), 2_000)
    assert sum(fault.hint == "did you mean custom_field_0?" for fault in found) == 40
