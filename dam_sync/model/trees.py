"""Trees that are told by naming each node's parent: a cycle or a missing parent costs a level, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum


class Cut(Enum):
    """Why a node that names a parent is taken for one at the top."""

    CYCLE = "its parents lead back to it"
    MISSING = "its parent is missing"


@dataclass(frozen=True, slots=True)
class ParentTree:
    """order: all nodes, parents before children. cut: nodes at the top that name a parent; what is below them stays
    below them."""

    parents: Mapping[str, str]
    order: tuple[str, ...]
    cut: Mapping[str, Cut]

    def parent(self, node: str) -> str:
        """Empty for one at the top."""
        return "" if node in self.cut else self.parents[node]

    def top(self, node: str) -> str:
        """The node at the top of its branch; itself, if it is there."""
        while above := self.parent(node):
            node = above
        return node


def arranged(parents: Mapping[str, str]) -> ParentTree:
    """The tree of nodes by the parent of each, empty for one at the top. In linear time, whatever the parents are."""
    cut = {node: Cut.MISSING for node, parent in parents.items() if parent and parent not in parents}
    cut |= dict.fromkeys(_in_cycles(parents), Cut.CYCLE)
    below: dict[str, list[str]] = {}
    for node, parent in parents.items():
        below.setdefault("" if node in cut else parent, []).append(node)
    return ParentTree(parents, tuple(_downwards(below)), cut)


def _downwards(below: Mapping[str, Iterable[str]]) -> Iterator[str]:
    level = [""]
    while level:
        level = [node for above in level for node in below.get(above, ())]
        yield from level


def _in_cycles(parents: Mapping[str, str]) -> Iterator[str]:
    """The nodes that are their own ancestors."""
    seen: dict[str, str] = {}  # by node, the one from which it was reached first
    for first in parents:
        node = first
        while node in parents and node not in seen:
            seen[node] = first
            node = parents[node]
        if node in parents and seen[node] == first:
            yield from _cycle(node, parents)


def _cycle(node: str, parents: Mapping[str, str]) -> Iterator[str]:
    at = node
    while True:
        yield at
        at = parents[at]
        if at == node:
            return
