"""What no rule of the mapping carried: named and counted, one loss each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dam_sync.mapping.paths import LABEL, field_name, labelled, labels_of
from dam_sync.mapping.results import empty, listed
from dam_sync.mapping.rules import WHEN
from dam_sync.model.account import DROPPED, LOST
from dam_sync.model.asset import Asset, Loss
from dam_sync.model.values import Localized, Scalar

NOT_MAPPED, NOT_USED, NOT_HELD = "not mapped", "not used", "target cannot hold"
LANGUAGE, OTHER_TYPE = "language not carried", "not in this type"
CONDITION = "only in conditions"
IGNORED, QUIET = "ignored by the mapping", "unmapped: ignore"


@dataclass(frozen=True, slots=True)
class Coverage:
    """Facts about the mapping as a whole: source fields that need no rule, and what the target can store.

    read: keys of fields that some rule reads; tested: of those that only conditions read. quiet: unread fields are
    ignored by the mapping. related: names of relation kinds at the target, if they differ.
    """

    read: frozenset[str] = frozenset()
    tested: frozenset[str] = frozenset()
    ignored: frozenset[str] = frozenset()
    derived: frozenset[str] = frozenset()
    quiet: bool = False
    holds: frozenset[str] = frozenset()
    relation_kinds: frozenset[str] | None = None
    related: Mapping[str, str] = field(default_factory=dict)

    @property
    def needed(self) -> frozenset[str]:
        """Keys of the fields that rules and conditions read."""
        return self.read | self.tested

    @property
    def unread(self) -> frozenset[str]:
        """Fields that follow from the file and that no rule reads: their values are not counted."""
        return self.derived - self.read

    def close(
        self,
        asset: Asset,
        consumed: Counter[str],
        skipped: Mapping[str, tuple[str, str]],
        reach: Callable[[], Collection[str]],
    ) -> tuple[list[Loss], Counter[tuple[str, str, str]]]:
        """Losses, and counts by path, outcome and reason, of what no rule consumed.

        skipped: (rule, detail) of values that only a rule for another type, or one whose condition is false, reads;
        reach: names of values that some path reaches.
        """
        account = _Account(self, consumed, skipped, reach)
        for key, value in sorted(asset.fields.items()):
            if key not in self.unread:
                account.field(key, list(_texts(key, value)))
        for path, names in _memberships(asset):
            account.members(path, names)
        for path, value in _singles(asset):
            account.single(path, value)
        account.losses.extend(_unheld(asset, self.holds))
        account.losses.extend(_unrelated(asset, self))
        return account.losses, +account.tally


@dataclass(slots=True)
class _Account:
    coverage: Coverage
    consumed: Counter[str]
    skipped: Mapping[str, tuple[str, str]]
    reach: Callable[[], Collection[str]]
    losses: list[Loss] = field(default_factory=list)
    tally: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def field(self, key: str, labels: list[str]) -> None:
        """One metadata field, with the names of its values."""
        left = self._left(labels)
        if not left:
            return
        if key in self.coverage.ignored:
            self._count(left, DROPPED, IGNORED)
        elif key not in self.coverage.read and self.coverage.quiet:
            self._count(left, DROPPED, QUIET)
        elif key not in self.coverage.read:
            rule = CONDITION if key in self.coverage.tested else NOT_MAPPED
            self._count(left, LOST, rule)
            self.losses.append(Loss(field_name(key), rule))
        else:
            why = [self._why(key, label, len(left) < len(labels)) for label in left]
            for label, loss in zip(left, why, strict=True):
                self._count([label], DROPPED if loss.rule in (NOT_USED, WHEN) else LOST, loss.rule)
            self.losses.extend(dict.fromkeys(() if key in self.coverage.derived else why))

    def _left(self, labels: list[str]) -> list[str]:
        """Values that no rule consumed."""
        if not labels:
            return labels
        consumed = self.consumed
        counts = Counter(labels).items()
        return [label for label, number in counts for _ in range(number - consumed.get(label, 0))]

    def _lose(self, labels: Iterable[str], loss: Loss) -> None:
        self._count(labels, DROPPED if loss.rule == WHEN else LOST, loss.rule)
        self.losses.append(loss)

    def _count(self, labels: Iterable[str], outcome: str, reason: str) -> None:
        self.tally.update((label, outcome, reason) for label in labels)

    def _why(self, key: str, label: str, partly: bool) -> Loss:
        language = label not in (field_name(key), f"{field_name(key)}[]")
        if label in self.skipped:
            return Loss(label, *self.skipped[label])
        if not partly and label in self.reach():
            return Loss(field_name(key), NOT_USED, "another path of its rule came first")
        return Loss(label, LANGUAGE) if language else Loss(label, NOT_USED, "it lacks the part that is read")

    def members(self, path: str, labels: list[str]) -> None:
        """Tags, labels, groups, containers: sets of names."""
        left = self._left(labels)
        if left:
            held = path == "machine_tags" or path in self.coverage.holds
            missed = (NOT_MAPPED if held else NOT_HELD, str(len(left)))
            self._lose(left, Loss(path, *self.skipped.get(f"{path}[]", missed)))

    def single(self, path: str, value: str) -> None:
        """Status and dates of the asset itself; a creation date that is also a field is reported as such."""
        if path in self.consumed:
            return
        if path in self.coverage.ignored:
            self._count([path], DROPPED, IGNORED)
            return
        name = {"release_at": "release", "expires_at": "expiry"}.get(path, path)
        held = name == "substatus" or name.removesuffix("_at") in self.coverage.holds
        missed = (NOT_MAPPED if held else NOT_HELD, value)
        self._lose([path], Loss(name, *self.skipped.get(path, missed)))


def _texts(key: str, value: Scalar | tuple[Scalar, ...]) -> Iterator[str]:
    """The names of a field's values, one for each language of a text."""
    for label, scalar in labelled(key, value):
        if isinstance(scalar, Localized):
            yield from (f"{label}.{locale}" for locale, text in scalar.texts.items() if text.strip())
        elif not empty(scalar):
            yield label


def _memberships(asset: Asset) -> Iterator[tuple[str, list[str]]]:
    sets = (
        ("tags", asset.tags),
        ("machine_tags", asset.machine_tags),
        ("groups", asset.rights.groups),
        ("labels", labels_of(asset)),
    )
    for path, names in sets:
        yield path, [f"{path}[]" for name in names if name.strip()]
    placed = (p for p in asset.placements if p.kind != LABEL and p.text.strip())
    yield "placements", sorted(f"placements.{p.kind}[]" for p in placed)


def _singles(asset: Asset) -> Iterator[tuple[str, str]]:
    rights = asset.rights
    pairs = (
        ("status", asset.status),
        ("substatus", asset.substatus),
        ("release_at", rights.release_at),
        ("expires_at", rights.expires_at),
        ("created_at", asset.created_at if asset.created_at not in asset.fields.values() else None),
    )
    yield from ((path, str(value)) for path, value in pairs if value and str(value).strip())


def _unheld(asset: Asset, holds: frozenset[str]) -> Iterator[Loss]:
    if len(asset.versions) > 1 and "versions" not in holds:
        yield Loss("versions", NOT_HELD, f"{len(asset.versions) - 1} older")
    if asset.attachments and "attachments" not in holds:
        yield Loss("attachments", NOT_HELD, listed([file.name for file in asset.attachments]))
    if asset.relations and "relations" not in holds:
        yield Loss("relations", NOT_HELD, listed(sorted({relation.kind for relation in asset.relations})))


def _unrelated(asset: Asset, coverage: Coverage) -> Iterator[Loss]:
    """Relations of a kind that the target does not have."""
    if "relations" in coverage.holds and coverage.relation_kinds is not None:
        for kind in sorted({relation.kind for relation in asset.relations}):
            if coverage.related.get(kind, kind) in coverage.relation_kinds:
                continue
            yield Loss(f"relations.{kind}", NOT_HELD, "the target has no such kind of relation")
