"""Adapts containers to the target: limited levels, and a limited number of a kind per asset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dam_sync.mapping.coercion import RENAMED, TRIMMED, Fit
from dam_sync.mapping.paths import LABEL
from dam_sync.mapping.results import Note, Result, ValueOutcome, shown
from dam_sync.mapping.rules import RuleResult
from dam_sync.mapping.transforms.base import TransformContext
from dam_sync.mapping.vocabulary import DEEPEST, parts_of, path_of
from dam_sync.model.asset import Loss, Placement
from dam_sync.model.naming import Naming
from dam_sync.model.values import Scalar

CONTAINER_ROOTS = frozenset({"placements", "labels"})  # of paths
FLATTENED = "flattened"
BETWEEN = " / "


@dataclass(frozen=True, slots=True)
class ContainerFit(Fit):
    """A path within the limits of one kind of container; `depth`: maximum levels, None for up to DEEPEST. naming:
    restrictions of their names."""

    kind: str = ""
    depth: int | None = None
    naming: Naming | None = None

    def each(self, value: Scalar, context: TransformContext) -> Result:
        """The path, with deeper levels joined into the last possible one, and names as the target accepts them;
        nothing for a path without a name."""
        made = Fit.each(self, value, context)
        if made.note is not None or self.kind == LABEL:
            return made
        text = str(made.values[0])
        path = path_of(text)
        if not path:
            return Result(())
        note = Note(TRIMMED, shown(text), ValueOutcome.KEPT) if _has_ends(text) else None
        depth = DEEPEST if self.depth is None else min(self.depth, DEEPEST)
        if len(path) > depth:
            path, note = flattened(path, depth), Note(FLATTENED, text, ValueOutcome.KEPT)
        if self.naming is not None and (named := self.naming.path(path)) != path:
            path, note = named, Note(RENAMED, f"{shown(text)} is {shown(Placement('', named).text)}", ValueOutcome.KEPT)
        return made if note is None else Result((Placement("", path).text,), note)


def _has_ends(text: str) -> bool:
    """Whether a name in the path has whitespace at its ends."""
    return any(part != part.strip() for part in parts_of(text))


def flattened(path: Sequence[str], depth: int) -> tuple[str, ...]:
    """The path with at most `depth` levels (one at least): deeper ones are joined into the last by ` / `."""
    last = max(depth, 1) - 1
    return (*path[:last], BETWEEN.join(path[last:])) if len(path) > last + 1 else tuple(path)


def container_of(value: Scalar, kind: str) -> tuple[str, ...]:
    """The path of a rule's value."""
    return (str(value),) if kind == LABEL else path_of(str(value))


def limit_containers(made: Iterable[tuple[RuleResult, str]], most: Mapping[str, int]) -> None:
    """Keep only as many containers of each kind as the target accepts for one asset: the first in path order.

    made: the results of each placement rule, with their kind.
    """
    by_kind: dict[str, list[RuleResult]] = defaultdict(list)
    for ran, kind in made:
        by_kind[kind].append(ran)
    for kind in by_kind.keys() & most.keys():
        paths = sorted({container_of(value, kind) for ran in by_kind[kind] for value in ran.values})
        kept = frozenset(paths[: most[kind]])
        if len(kept) < len(paths):
            for ran in by_kind[kind]:
                own = [value for value in ran.values if container_of(value, kind) in kept]
                ran.keep_only(own, rule_of(kind, most))


def rule_of(kind: str, most: Mapping[str, int]) -> str:
    """The name of the loss of excess containers."""
    number = "one" if most[kind] == 1 else f"at most {most[kind]} of kind"
    return f"the target takes {number} {kind} for each asset"


def deduplicated(losses: Iterable[Loss]) -> list[Loss]:
    """Without repeated notes that the same path became flatter, because several rules may read it."""
    found = list(losses)
    flat = dict.fromkeys(loss for loss in found if loss.rule == FLATTENED)
    return [*flat, *(loss for loss in found if loss.rule != FLATTENED)]
