"""One writer: the calls that change an asset of the target are made in one place of the engine."""

from __future__ import annotations

import ast

from dam_sync.engine.decide.change import ORDER, Step
from tests.house.sources import FILES, nodes_of, package_of, shown

WRITES = frozenset(
    {"create", "update", "replace", "give_first_file", "attach", "detach", "remove", "restore", "restore_version"}
)
"""Of `Service`: calls that change one asset. Memberships and relations are written once all assets exist."""
WRITERS = {
    "engine/write/change_writer.py": {"create", "update", "detach", "remove", "restore", "restore_version"},
    "engine/write/files.py": {"replace", "give_first_file", "attach"},
    "engine/write/partial_creates.py": {"update", "remove"},  # what a killed create left, and its source asset is gone
    "engine/run/dry_run.py": WRITES,  # a target that only pretends to write
}


def _is_target(node: ast.expr) -> bool:
    """The service of a target, or a name for it."""
    if isinstance(node, ast.Attribute) and node.attr == "service":
        node = node.value
    return (isinstance(node, ast.Attribute) and node.attr in ("target", "_target")) or (
        isinstance(node, ast.Name) and node.id == "target"
    )


def test_only_the_writer_changes_assets_of_the_target() -> None:
    wrong = []
    for path in FILES:
        if package_of(path) == "engine":
            calls = {
                node.attr
                for node in nodes_of(path)
                if isinstance(node, ast.Attribute) and node.attr in WRITES and _is_target(node.value)
            }
            wrong += [f"{shown(path)}: {name}" for name in sorted(calls - WRITERS.get(shown(path), set()))]
    assert wrong == []


def test_every_writer_that_is_named_writes() -> None:
    found = {shown(path) for path in FILES}
    assert WRITERS.keys() <= found


def test_every_step_of_a_change_has_its_place_in_the_order() -> None:
    assert set(ORDER) == set(Step)
