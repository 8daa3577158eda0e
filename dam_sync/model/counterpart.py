"""Terms and containers of the source, and those of the target that stand for them."""

from __future__ import annotations

from dataclasses import dataclass

TERM, CONTAINER = "term", "container"


PLACED = "placed"  # a container that only the mapping names, as a counterpart of itself: other jobs leave it its name


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A term or container of the source, and the one of the target that stands for it.

    part: TERM, CONTAINER or PLACED; scope: the rule of the mapping by which the term was found, or the kind of
    container at the source; source: its id there. origin: its path at the source when it was last met, for a term
    without levels its label. place: the vocabulary or the kind at the target; target: its id there. wanted: the path
    that the mapping wants, of a term the one that a run gave it, or found first; name: its path at the target, both as
    of then. former: ids that it had at the target before it was renamed.
    mapping: a digest of the rule. run: the run that renamed it last, 0 for none.
    """

    part: str
    scope: str
    source: str
    origin: tuple[str, ...]
    place: str
    target: str
    wanted: tuple[str, ...]
    name: tuple[str, ...]
    former: tuple[str, ...] = ()
    mapping: str = ""
    run: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is the counterpart of."""
        return self.part, self.scope, self.source

    @property
    def is_mixed_up(self) -> bool:
        """Whether an earlier release took another term for this one: their labels, joined by a slash, are the same."""
        return self.part == TERM and self.origin != self.name and "/".join(self.origin) == "/".join(self.name)

    @property
    def may_be_misplaced(self) -> bool:
        """Whether an earlier release may have created the term at the top, because it took another one for its
        parent."""
        return self.part == TERM and len(self.origin) > 1 and self.name == self.origin[-1:]
