"""The terms and containers that a plan would create, or a run created, as trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.model.journal_names import WriteKind, vocabulary_of
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.schema import Schema
from dam_sync.report.parts import MadeTree, TreeNode

SHOWN = 2_000  # nodes of one tree; the file of a plan has all


@dataclass(slots=True)
class MadeTrees:
    """Collects ledger rows. The paths of at most `SHOWN` nodes of each tree are kept."""

    terms: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    containers: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, row: LedgerRow) -> None:
        """Take a row that made a term or a container."""
        kind = row.kind
        if kind is WriteKind.TERM:
            made = row.changes["term"][1]
            path = made.get("path") or (made["label"],)
            self._keep(self.terms, kind, vocabulary_of(row.operation, path), path)
        elif kind is WriteKind.CONTAINER:
            made = row.changes["container"][1]
            self._keep(self.containers, kind, made["kind"], made["path"])

    def _keep(self, trees: dict[str, list[tuple[str, ...]]], kind: str, name: str, path: Iterable[str]) -> None:
        self.numbers[kind, name] = self.numbers.get((kind, name), 0) + 1
        paths = trees.setdefault(name, [])
        if len(paths) < SHOWN:
            paths.append(tuple(path))

    def of_terms(self, schema: Schema) -> list[MadeTree]:
        """A tree for each vocabulary of the target, by its label."""
        labels = {key: known.label or key for key, known in schema.vocabularies.items()}
        return [self._tree("term", name, labels.get(name, name), paths) for name, paths in sorted(self.terms.items())]

    def of_containers(self) -> list[MadeTree]:
        """A tree for each kind of container."""
        return [self._tree("container", name, name, paths) for name, paths in sorted(self.containers.items())]

    def _tree(self, kind: str, name: str, label: str, paths: Sequence[tuple[str, ...]]) -> MadeTree:
        number = self.numbers[kind, name]
        return MadeTree(label, number, number - len(paths), tree_of(paths))


def tree_of(paths: Sequence[tuple[str, ...]]) -> tuple[TreeNode, ...]:
    """Paths as a tree, sorted by name; nodes above them that are not among them exist already."""
    new, root = set(paths), TreeNode("")
    known: Mapping[tuple[str, ...], TreeNode] = {(): root}
    nodes = dict(known)
    for path in sorted(new):
        for depth in range(1, len(path) + 1):
            here = path[:depth]
            if here not in nodes:
                nodes[here] = TreeNode(here[-1], here in new)
                nodes[here[:-1]].children.append(nodes[here])
    return tuple(root.children)
