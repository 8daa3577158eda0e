"""The first line of a plan file: what is read is what was written, also by an older version."""

from __future__ import annotations

import io

import pytest
from pydantic import ValidationError

from dam_sync.api.plans.plan_file import LONGEST_LINE, PlanHeader, _HashedLines
from dam_sync.model.errors import ConfigError
from dam_sync.model.values import Json

SIDE: Json = {"kind": "folder", "tenant": "one", "user": "me"}
SCHEMA: Json = {"fields": {"title": {"kind": "text"}}, "vocabularies": {}}
OLDER: Json = {
    "job": "move",
    "made": "2026-01-05T08:00:01Z",
    "tool": "0.1.0",
    "options": {"full": False, "repair": False, "only": ["1"], "limit": None, "sample": ""},
    "sides": {"source": SIDE, "target": {**SIDE, "tenant": "two"}},
    "mapping": "m",
    "policy": "p",
    "schemas": {"source": SCHEMA, "target": SCHEMA},
    "state": {"run": 0, "unfinished": [], "ledger": 0, "links": 0},
    "listing": "",
    "operations": "o",
}


def test_a_plan_without_the_options_of_the_services_is_read_as_it_is() -> None:
    header = PlanHeader.model_validate(OLDER)
    assert header.sides.target.tenant == "two"
    assert header.schemas.source.fields_ == SCHEMA["fields"]
    assert header.as_json() == OLDER
    assert list(header.as_json()) == list(OLDER)


@pytest.mark.parametrize("more", [{"digest": "d"}, {"job": 5}, {"state": {"run": "1"}}])
def test_a_first_line_with_other_parts_is_refused(more: Json) -> None:
    with pytest.raises(ValidationError):
        PlanHeader.model_validate({**OLDER, **more})


def test_a_line_that_no_command_would_read_is_not_written() -> None:
    out = io.StringIO()
    lines = _HashedLines(out)
    lines.write("x" * (LONGEST_LINE - 1))
    with pytest.raises(ConfigError, match="more than `run --plan` reads"):
        lines.write("x" * LONGEST_LINE)
    assert len(out.getvalue()) == LONGEST_LINE
