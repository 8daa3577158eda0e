"""What no rule of the mapping carried: named and counted, one loss each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from dam_sync.mapping.paths import LABEL, field_name, labelled, labels_of
from dam_sync.mapping.results import empty, listed
from dam_sync.mapping.value_text import with_values
from dam_sync.model.account import DROPPED, LOST
from dam_sync.model.asset import Asset, Loss
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.values import Localized, Value


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

    def left_out(self, asset: Asset) -> Iterator[tuple[str, Value]]:
        """What the asset has of the fields that the mapping leaves out on purpose, by path."""
        for key, value in asset.fields.items():
            quiet = self.quiet and key not in self.read
            if (key in self.ignored or quiet) and key not in self.unread and any(_texts(key, value)):
                yield field_name(key), value
        if self.ignored:
            yield from ((path, text) for path, text in _singles(asset) if path in self.ignored)

    def why_unread(self, key: str) -> tuple[str, str] | None:
        """Outcome and reason of the values of a field that no rule reads, of every asset; None if some rule does."""
        if key in self.ignored:
            return DROPPED, LossRule.IGNORED
        if key in self.read:
            return None
        if self.quiet:
            return DROPPED, LossRule.QUIET
        return LOST, LossRule.CONDITION if key in self.tested else LossRule.NOT_MAPPED

    def unmapped(self, asset: Asset) -> Counter[tuple[str, str, str]]:
        """The values of the asset that no rule reads, whatever becomes of it: counts by path, outcome and reason."""
        found = Counter[tuple[str, str, str]]()
        for key, value in asset.fields.items():
            why = self.why_unread(key) if key not in self.unread and key not in self.read else None
            if why is not None:
                found.update((each.name, *why) for each in _texts(key, value))
        return found

    def close(
        self,
        asset: Asset,
        known: Collection[tuple[str, int]],
        skipped: Mapping[str, tuple[str, str]],
        reach: Callable[[], Collection[str]],
    ) -> tuple[list[Loss], Counter[tuple[str, str, str]]]:
        """Losses, and counts by path, outcome and reason, of what no rule consumed.

        known: name and position of each value that a rule consumed;
        skipped: (rule, detail) of values that only a rule for another type, or one whose condition is false, reads;
        reach: names of values that some path reaches.
        """
        account = _Account(self, known, Counter(name for name, _ in known), skipped, reach)
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


class _NamedValue(NamedTuple):
    """A value, and the name under which it is counted. position: among the values of its name."""

    name: str
    position: int
    value: Value


@dataclass(slots=True)
class _Account:
    coverage: Coverage
    known: Collection[tuple[str, int]]
    consumed: Counter[str]
    skipped: Mapping[str, tuple[str, str]]
    reach: Callable[[], Collection[str]]
    losses: list[Loss] = field(default_factory=list)
    tally: Counter[tuple[str, str, str]] = field(default_factory=Counter)

    def field(self, key: str, values: Sequence[_NamedValue]) -> None:
        """One metadata field, with its values."""
        left = self._left(values)
        if not left:
            return
        why = self.coverage.why_unread(key)
        if why is None:
            self._unused(key, left, partly=len(left) < len(values))
            return
        outcome, rule = why
        self._count(left, outcome, rule)
        if outcome == LOST:
            self.losses.append(_with_values(Loss(field_name(key), rule), left))

    def _unused(self, key: str, left: Sequence[_NamedValue], *, partly: bool) -> None:
        """Values that some rule reads and did not use: a loss for each reason."""
        lost: dict[Loss, list[_NamedValue]] = {}
        for each in left:
            why = self._why(key, each.name, partly)
            self._count([each], DROPPED if why.rule in (LossRule.NOT_USED, LossRule.WHEN) else LOST, why.rule)
            lost.setdefault(why, []).append(each)
        if key not in self.coverage.derived:
            self.losses.extend(_with_values(why, values) for why, values in lost.items())

    def _left(self, values: Sequence[_NamedValue]) -> list[_NamedValue]:
        """As many values of each name as no rule consumed: those at the other positions, as far as these are known."""
        unread = Counter(each.name for each in values)
        unread.subtract({name: self.consumed[name] for name in unread})
        left = []
        for each in sorted(values, key=lambda each: (each.name, each.position) in self.known):
            if unread[each.name] > 0:
                unread[each.name] -= 1
                left.append(each)
        return left

    def _lose(self, values: Sequence[_NamedValue], loss: Loss) -> None:
        self._count(values, DROPPED if loss.rule == LossRule.WHEN else LOST, loss.rule)
        self.losses.append(_with_values(loss, values))

    def _count(self, values: Iterable[_NamedValue], outcome: str, reason: str) -> None:
        self.tally.update((each.name, outcome, reason) for each in values)

    def _why(self, key: str, label: str, partly: bool) -> Loss:
        language = label not in (field_name(key), f"{field_name(key)}[]")
        if label in self.skipped:
            return Loss(label, *self.skipped[label])
        if not partly and label in self.reach():
            return Loss(field_name(key), LossRule.NOT_USED, "another path of its rule came first")
        return (
            Loss(label, LossRule.OTHER_LANGUAGE)
            if language
            else Loss(label, LossRule.NOT_USED, "it lacks the part that is read")
        )

    def members(self, path: str, values: Sequence[_NamedValue]) -> None:
        """Tags, labels, groups, containers: sets of names."""
        left = self._left(values)
        if left:
            held = path == "machine_tags" or path in self.coverage.holds
            missed = (LossRule.NOT_MAPPED if held else LossRule.NOT_HELD, "")
            self._lose(left, Loss(path, *self.skipped.get(f"{path}[]", missed)))

    def single(self, path: str, value: str) -> None:
        """Status and dates of the asset itself; a creation date that is also a field is reported as such."""
        if path in self.consumed:
            return
        own = [_NamedValue(path, 0, value)]
        if path in self.coverage.ignored:
            self._count(own, DROPPED, LossRule.IGNORED)
            return
        name = {"release_at": "release", "expires_at": "expiry"}.get(path, path)
        held = name == "substatus" or name.removesuffix("_at") in self.coverage.holds
        missed = (LossRule.NOT_MAPPED if held else LossRule.NOT_HELD, "")
        self._lose(own, Loss(name, *self.skipped.get(path, missed)))


def _with_values(loss: Loss, lost: Iterable[_NamedValue]) -> Loss:
    return replace(loss, detail=with_values(loss.detail, [each.value for each in lost]))


def _texts(key: str, value: Value) -> Iterator[_NamedValue]:
    """The values of a field, one for each language of a text."""
    for position, (label, scalar) in enumerate(labelled(key, value)):
        if isinstance(scalar, Localized):
            texts = scalar.texts.items()
            yield from (_NamedValue(f"{label}.{locale}", position, text) for locale, text in texts if text.strip())
        elif not empty(scalar):
            yield _NamedValue(label, position, scalar)


def _memberships(asset: Asset) -> Iterator[tuple[str, list[_NamedValue]]]:
    sets = (
        ("tags", sorted(asset.tags)),
        ("machine_tags", sorted(asset.machine_tags)),
        ("groups", sorted(asset.rights.groups)),
        ("labels", labels_of(asset)),
    )
    for path, names in sets:
        yield path, _numbered(f"{path}[]", names)
    placed: dict[str, list[str]] = {}
    for place in sorted(asset.placements, key=lambda place: (place.kind, place.path)):
        if place.kind != LABEL:
            placed.setdefault(place.kind, []).append(place.text)
    yield "placements", [each for kind, names in placed.items() for each in _numbered(f"placements.{kind}[]", names)]


def _numbered(name: str, texts: Iterable[str]) -> list[_NamedValue]:
    return [_NamedValue(name, position, text) for position, text in enumerate(texts) if text.strip()]


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
        yield Loss("versions", LossRule.NOT_HELD, f"{len(asset.versions) - 1} older")
    if asset.attachments and "attachments" not in holds:
        yield Loss("attachments", LossRule.NOT_HELD, listed([file.name for file in asset.attachments]))
    if asset.relations and "relations" not in holds:
        yield Loss("relations", LossRule.NOT_HELD, listed(sorted({relation.kind for relation in asset.relations})))


def _unrelated(asset: Asset, coverage: Coverage) -> Iterator[Loss]:
    """Relations of a kind that the target does not have."""
    if "relations" in coverage.holds and coverage.relation_kinds is not None:
        for kind in sorted({relation.kind for relation in asset.relations}):
            if coverage.related.get(kind, kind) in coverage.relation_kinds:
                continue
            yield Loss(f"relations.{kind}", LossRule.NOT_HELD, "the target has no such kind of relation")
