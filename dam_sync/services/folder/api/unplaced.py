"""Terms whose place in the tree cannot be told: what is lost of each, and what `check` says of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.model.asset import Asset, Loss
from dam_sync.model.trees import Cut, ParentTree, arranged
from dam_sync.model.values import Term
from dam_sync.services.folder.api.catalogue import Catalogue, Edition, Record
from dam_sync.services.folder.api.disk import shortened

RULE = "the levels above are not known"
SHOWN = 10  # terms that a note names
NOTES: Mapping[Cut, str] = {
    Cut.CYCLE: "terms whose parents lead back to them, which are taken for terms at the top",
    Cut.MISSING: "terms whose parent is not in the catalogue, which are taken for terms at the top",
}


def tree_of(records: Iterable[Record]) -> ParentTree:
    """The ids of the terms of one vocabulary, each with its parent; of several records of a term the last counts."""
    return arranged({str(record["id"]): str(record.get("parent") or "") for record in records})


def label_of(record: Record) -> str:
    """The name of a term."""
    labels = record.get("labels") or {}
    return str(record.get("label") or labels.get("en") or next(iter(labels.values()), ""))


@dataclass(frozen=True, slots=True)
class OddTree:
    """A vocabulary in which a term names a parent below which it cannot be."""

    tree: ParentTree
    records: Mapping[str, Record]

    def name(self, key: str) -> str:
        """A term as people find it in the catalogue."""
        return f"{shortened(label_of(self.records[key]))} ({shortened(key)})"

    def why(self, key: str) -> str:
        """What is wrong above a term; empty if nothing is."""
        top = self.tree.top(key)
        if top not in self.tree.cut:
            return ""
        if self.tree.cut[top] is Cut.CYCLE:
            return f"the parents of {self.name(top)} lead back to it"
        return f"the parent {shortened(self.tree.parents[top])} of {self.name(top)} is not in the catalogue"

    def notes(self) -> Iterator[str]:
        """What `check` says."""
        for kind, said in NOTES.items():
            cut = [key for key in self.tree.order if self.tree.cut.get(key) is kind]
            if cut:
                below = self._below(frozenset(cut))
                yield f"{said}: {self._named(cut)}" + (f"; below them: {self._named(below)}" if below else "")

    def _below(self, cut: frozenset[str]) -> list[str]:
        below: dict[str, None] = {}
        for key in self.tree.order:  # parents first
            above = self.tree.parent(key)
            if above in cut or above in below:
                below[key] = None
        return list(below)

    def _named(self, keys: Sequence[str]) -> str:
        more = f" and {len(keys) - SHOWN:,} more" if len(keys) > SHOWN else ""
        return ", ".join(map(self.name, keys[:SHOWN])) + more


@dataclass(slots=True)
class UnplacedTerms:
    """Those of a catalogue, read again when it has other terms or fields. Methods block."""

    catalogue: Catalogue
    _editions: tuple[Edition, ...] = ()
    _odd: dict[str, OddTree] = field(default_factory=dict)
    _fields: dict[str, str] = field(default_factory=dict)  # vocabularies, by field

    def notes(self) -> Iterator[str]:
        """What `check` says, by vocabulary."""
        self._refresh()
        for vocabulary, odd in sorted(self._odd.items()):
            yield from (f"vocabulary {shortened(vocabulary)}: {note}" for note in odd.notes())

    def losses(self, asset: Asset) -> Iterator[Loss]:
        """Of the terms of an asset whose record does not name their levels itself."""
        self._refresh()
        for key in self._fields.keys() & asset.fields.keys():
            value, odd = asset.fields[key], self._odd[self._fields[key]]
            for each in value if isinstance(value, tuple) else (value,):
                if isinstance(each, Term) and not each.path and each.id in odd.records and (why := odd.why(each.id)):
                    yield Loss(f"fields.{key}", RULE, f"{shortened(each.label)}: {why}")

    def _refresh(self) -> None:
        editions = tuple(map(self.catalogue.edition, ("term", "field")))
        if editions == self._editions:
            return
        own: dict[str, dict[str, Record]] = {}
        for record in self.catalogue.records("term"):
            own.setdefault(str(record["vocabulary"]), {})[str(record["id"])] = record
        trees = {key: OddTree(tree_of(records.values()), records) for key, records in own.items()}
        self._odd = {key: odd for key, odd in trees.items() if odd.tree.cut}
        fields = {str(each["key"]): str(each.get("vocabulary") or "") for each in self.catalogue.records("field")}
        self._fields = {key: vocabulary for key, vocabulary in fields.items() if vocabulary in self._odd}
        self._editions = editions
