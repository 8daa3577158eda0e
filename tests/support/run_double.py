"""Doubles of the context of a run, made of the facts that a test has."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dam_sync.engine.context.accepted import Accepted

TASK = ("options", "policy", "rotation", "wave", "planned", "dry", "reads_target", "repairs", "agree", "due_by")
PART_OF = {
    "source": {
        "source": "service",
        "source_schema": "schema",
        "source_account": "account",
        "contents": "contents",
        "readers": "readers",
    },
    "target": {
        "target": "service",
        "target_schema": "schema",
        "target_account": "account",
        "target_contents": "contents",
        "counterparts": "counterparts",
        "time": "time",
        "shared": "shared",
        "alike": "alike",
        "looked_through": "looked_through",
    },
    "mapping": {"crosswalk": "crosswalk"},
    "state": {"store": "store", "run": "run", "on_server": "on_server"},
    "task": {name: name for name in TASK},
    "stopping": {"stop": "token", "refuse_stopped": "refuse_stopped"},
    "phases": {"progress": "progress", "enter": "enter"},
}
"""The parts of `RunContext`: by the names of the facts of a test, those that they have there."""


def run_double(**facts: Any) -> Any:
    """A context with these facts, each in its part, and what guards record. `target` and `source` are services."""
    parts = {
        part: {names[fact]: facts[fact] for fact in names.keys() & facts.keys()} for part, names in PART_OF.items()
    }
    made: dict[str, Any] = {part: SimpleNamespace(**names) for part, names in parts.items()}
    if "clock" in facts:
        made["stopping"].clock = facts["clock"]
    made["accepted"] = Accepted(made["task"], made["state"])
    own = {fact: facts[fact] for fact in facts.keys() - {fact for names in PART_OF.values() for fact in names}}
    return SimpleNamespace(**made, **own)
