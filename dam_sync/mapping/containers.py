"""Adapts containers to the target: limited levels, and a limited number of a kind per asset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dam_sync.mapping.coercion import Fit
from dam_sync.mapping.results import Note, Result, ValueOutcome, shown
from dam_sync.mapping.rules import RuleResult
from dam_sync.mapping.vocabulary import DEEPEST, parts_of, path_of
from dam_sync.model.asset import Loss, path_text
from dam_sync.model.joined_names import spaced
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.naming import Naming
from dam_sync.model.values import Scalar

CONTAINER_ROOTS = frozenset({"placements", "labels"})  # of paths


@dataclass(frozen=True, slots=True)
class ContainerFit(Fit):
    """A path within the limits of one kind of container; `depth`: maximum levels, None for up to DEEPEST. naming:
    restrictions of their names. deeper: the source may have more levels than that; named: values are names, in which a
    slash is a character, and no paths. choices: names of the target's, which have no levels."""

    kind: str = ""
    depth: int | None = None
    naming: Naming | None = None
    deeper: bool = False
    named: bool = False

    def _checked(self, value: Scalar) -> Result:
        """The path, with deeper levels joined into the last possible one, and names as the target accepts them;
        nothing for a path without a name."""
        text = str(value)
        path = named_path(text) if self.named else path_of(text)
        if not path:
            return Result(())
        if self.choices is not None:
            return self._chosen(text, path)
        note = Note(LossRule.TRIMMED, shown(text), ValueOutcome.KEPT) if not self.named and _has_ends(text) else None
        depth = DEEPEST if self.depth is None else min(self.depth, DEEPEST)
        flat = flattened(path, depth, deeper=self.deeper)
        if len(path) > depth:
            note = Note(LossRule.FLATTENED, text, ValueOutcome.KEPT)
        elif flat != path:
            note = _renamed(text, flat)
        if self.naming is not None and (named := self.naming.path(flat)) != flat:
            flat, note = named, _renamed(text, named)
        return Result((text if path_of(text) == flat else path_text(flat),), note)

    def _chosen(self, text: str, path: tuple[str, ...]) -> Result:
        """One of the containers that the target has and does not add to."""
        if path[1:]:
            hint = "those of the target have no levels: a table of `lookups` can give each its name there"
            return Result((), Note(LossRule.CLOSED, f"{shown(text)} has {len(path)} levels, and {hint}"))
        if path[0] not in (self.choices or ()):
            return Result((), Note(LossRule.CLOSED, f"{shown(path[0])} is not one of the target's"))
        return Result((text if path_of(text) == path else path_text(path),))


def _renamed(text: str, path: tuple[str, ...]) -> Note:
    return Note(LossRule.AVOIDED, f"{shown(text)} is {shown(path_text(path))}", ValueOutcome.KEPT)


def _has_ends(text: str) -> bool:
    """Whether a name in the path has whitespace at its ends."""
    return any(part != part.strip() for part in parts_of(text))


def flattened(path: Sequence[str], depth: int, *, deeper: bool = True) -> tuple[str, ...]:
    """The path with at most `depth` levels (one at least): deeper ones are joined into the last. Different paths stay
    different. deeper: the source may have more levels; otherwise every name stays as it is."""
    last = max(depth, 1) - 1
    if len(path) <= last or not (deeper or len(path) > last + 1):
        return tuple(path)
    return (*path[:last], spaced(path[last:]))


def named_path(text: str) -> tuple[str, ...]:
    """The path of a container without levels; empty for no name."""
    return (text.strip(),) if text.strip() else ()


def container_of(value: Scalar) -> tuple[str, ...]:
    """The path of a rule's value."""
    return path_of(str(value))


def limit_containers(made: Iterable[tuple[RuleResult, str]], most: Mapping[str, int]) -> None:
    """Keep only as many containers of each kind as the target accepts for one asset: the first in path order.

    made: the results of each placement rule, with their kind.
    """
    by_kind: dict[str, list[RuleResult]] = defaultdict(list)
    for ran, kind in made:
        by_kind[kind].append(ran)
    for kind in by_kind.keys() & most.keys():
        paths = sorted({container_of(value) for ran in by_kind[kind] for value in ran.values})
        kept = frozenset(paths[: most[kind]])
        if len(kept) < len(paths):
            for ran in by_kind[kind]:
                own = [value for value in ran.values if container_of(value) in kept]
                ran.keep_only(own, rule_of(kind, most))


def rule_of(kind: str, most: Mapping[str, int]) -> str:
    """The name of the loss of excess containers."""
    number = "one" if most[kind] == 1 else f"at most {most[kind]} of kind"
    return f"the target takes {number} {kind} for each asset"


def deduplicated(losses: Iterable[Loss]) -> list[Loss]:
    """Without repeated notes that the same path became flatter, because several rules may read it."""
    found = list(losses)
    flat = dict.fromkeys(loss for loss in found if loss.rule == LossRule.FLATTENED)
    return [*flat, *(loss for loss in found if loss.rule != LossRule.FLATTENED)]
