"""A service is the sum of its parts: no part may take a name of another one, for one of both would be lost."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict

import pytest

from dam_sync.model.service import Service
from dam_sync.services import a_hypermedia, c_brandlibrary

SHARED = {"limits", "operations"}  # what `probe()` and options may take away from


def _names_of(part: type) -> set[str]:
    """Methods, fields and attributes that a class defines itself."""
    body = ast.parse(inspect.getsource(part)).body[0]
    stored = {
        node.attr
        for node in ast.walk(body)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
    }
    own = {name for name, value in vars(part).items() if inspect.isfunction(value) or isinstance(value, property)}
    return {name for name in stored | own if not name.startswith("__")} - SHARED


@pytest.mark.parametrize("service", [a_hypermedia.CONNECTOR.service(), c_brandlibrary.CONNECTOR.service()])
def test_no_two_parts_define_the_same_name(service: type[Service]) -> None:
    parts = [part for part in service.__mro__ if part.__module__.startswith("dam_sync.services.")]
    owners = defaultdict(list)
    for part in parts:
        for name in _names_of(part):
            owners[name].append(part.__name__)
    assert {name: found for name, found in owners.items() if len(found) > 1} == {}
