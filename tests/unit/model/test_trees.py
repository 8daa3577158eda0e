"""Trees by the parent of each node: every node is in it once, whatever the parents are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.model.trees import Cut, arranged

NODES = "abcdef"


@pytest.mark.parametrize(
    ("parents", "order", "cut"),
    [
        ({"c": "b", "b": "a", "a": ""}, "abc", {}),
        ({"a": "a"}, "a", {"a": Cut.CYCLE}),
        ({"a": "b", "b": "a", "c": "a", "d": "c"}, "abcd", {"a": Cut.CYCLE, "b": Cut.CYCLE}),
        ({"d": "c", "c": "a", "b": "a", "a": "b"}, "bacd", {"a": Cut.CYCLE, "b": Cut.CYCLE}),
        ({"b": "x", "a": "b", "c": ""}, "bca", {"b": Cut.MISSING}),
    ],
)
def test_only_the_nodes_of_a_cycle_or_without_their_parent_are_cut(
    parents: dict[str, str], order: str, cut: dict[str, Cut]
) -> None:
    tree = arranged(parents)
    assert "".join(tree.order) == order
    assert dict(tree.cut) == cut


@given(st.dictionaries(st.sampled_from(NODES), st.sampled_from(["", "x", *NODES])))
def test_every_node_is_there_once_and_after_its_parent(parents: dict[str, str]) -> None:
    tree = arranged(parents)
    assert sorted(tree.order) == sorted(parents)
    for at, node in enumerate(tree.order):
        assert not tree.parent(node) or tree.parent(node) in tree.order[:at]
        assert tree.top(node) in parents
    for node, why in tree.cut.items():
        ancestors, above = set(), parents[node]
        while above in parents and above not in ancestors:
            ancestors.add(above)
            above = parents[above]
        assert (node in ancestors) == (why is Cut.CYCLE)


def test_a_long_chain_is_arranged_without_recursion() -> None:
    parents = {str(n): str(n - 1) if n else "" for n in range(100_000)}
    assert arranged(parents).order[-1] == "99999"
