"""Whose name something has at the target, and what follows from it: one decision for terms and containers. Pure.

Of each level of a path there are three names: the one that runs gave, the one that is wanted, and the one that the
target has now. What follows from the verdict depends on who asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto

from dam_sync.model.conflict import ConflictPolicy


class NameVerdict(StrEnum):
    """SAME: it has the wanted name. OURS: it has the name that runs gave, and another one is wanted. THEIRS: others
    gave it another name than the one that runs gave and that still is wanted. BOTH: others gave it another name, and
    another one is wanted, too. TAKEN: something else has the wanted name. SHARED: something else stands for it as well.
    UNABLE: the target cannot rename it, or refuses to."""

    SAME = "same"
    OURS = "ours"
    THEIRS = "theirs"
    BOTH = "both"
    TAKEN = "taken"
    SHARED = "shared"
    UNABLE = "unable"


class NamePurpose(Enum):
    """Who asks. RUN: the source has another name; REPAIR: the target is to have the names of the source; ROLLBACK: what
    a run gave is to be given back; VERIFY: nothing is written."""

    RUN = auto()
    REPAIR = auto()
    ROLLBACK = auto()
    VERIFY = auto()


class NameAction(Enum):
    """LEAVE: nothing is to be done. RENAME: it gets the wanted name. STAND: the name that it has stands permanently and
    is recorded. OPEN: that name stands until somebody decides, and is reported. TELL: it keeps its name, and that is
    reported."""

    LEAVE = auto()
    RENAME = auto()
    STAND = auto()
    OPEN = auto()
    TELL = auto()


class NotRenamed(StrEnum):
    """Why something keeps its name at the target, though another one is wanted."""

    TAKEN = "the target has something of the new name, which is used instead"
    SHARED = "several of the source, or another job, lead to it"
    OTHER_NAME = "the mapping gave it a name of its own"
    MOVED = "the target cannot move it to another parent"
    FIXED = "the target cannot rename it"
    BOTH = "it was renamed at the target, too"
    REFUSED = "the target refused"

    def explained(self, detail: str) -> str:
        """With a detail, if there is one."""
        return f"{self}: {detail}" if detail else str(self)

    @property
    def verdict(self) -> NameVerdict:
        """What it is a reason of."""
        return _VERDICTS.get(self, NameVerdict.UNABLE)


@dataclass(frozen=True, slots=True)
class NameFacts:
    """What is known before the first call that would rename something. taken: something else has the wanted name;
    named: the mapping gave it a name of its own; shared: something else stands for it as well; fixed: the target
    renames nothing of its kind."""

    taken: bool = False
    named: bool = False
    shared: bool = False
    fixed: bool = False

    def obstacle(self) -> NotRenamed | None:
        """Why it keeps its name; None if nothing is known that speaks against another one."""
        if self.taken:
            return NotRenamed.TAKEN
        if self.named:
            return NotRenamed.OTHER_NAME
        if self.shared:
            return NotRenamed.SHARED
        return NotRenamed.FIXED if self.fixed else None


def verdict_of(given: str, wanted: str, now: str) -> NameVerdict:
    """Of one level. A name is of others if no run gave it, in any case of letters: a target may keep one case."""
    if now == wanted:
        return NameVerdict.SAME
    if given == wanted:
        return NameVerdict.THEIRS
    return NameVerdict.OURS if now.casefold() == given.casefold() else NameVerdict.BOTH


def action_of(verdict: NameVerdict, purpose: NamePurpose, rule: ConflictPolicy = ConflictPolicy.PARK) -> NameAction:
    """What to do. rule: of names that both changed; those that only assets can be settled by leave it open."""
    action = _ACTIONS[purpose].get(verdict, NameAction.TELL)
    return _RULES.get(rule, action) if action is NameAction.OPEN else action


_VERDICTS: Mapping[NotRenamed, NameVerdict] = {
    NotRenamed.TAKEN: NameVerdict.TAKEN,
    NotRenamed.SHARED: NameVerdict.SHARED,
    NotRenamed.BOTH: NameVerdict.BOTH,
}
_ACTIONS: Mapping[NamePurpose, Mapping[NameVerdict, NameAction]] = {  # TELL for all others
    NamePurpose.RUN: {
        NameVerdict.SAME: NameAction.LEAVE,
        NameVerdict.OURS: NameAction.RENAME,
        NameVerdict.THEIRS: NameAction.LEAVE,
        NameVerdict.BOTH: NameAction.OPEN,
    },
    NamePurpose.REPAIR: {
        NameVerdict.SAME: NameAction.LEAVE,
        NameVerdict.OURS: NameAction.RENAME,
        NameVerdict.THEIRS: NameAction.RENAME,
        NameVerdict.BOTH: NameAction.RENAME,
    },
    NamePurpose.ROLLBACK: {
        NameVerdict.SAME: NameAction.LEAVE,
        NameVerdict.OURS: NameAction.RENAME,
        NameVerdict.THEIRS: NameAction.LEAVE,  # of a level above, which the rename that is undone did not touch
    },
    NamePurpose.VERIFY: {NameVerdict.SAME: NameAction.LEAVE},
}
_RULES: Mapping[ConflictPolicy, NameAction] = {
    ConflictPolicy.SOURCE: NameAction.RENAME,
    ConflictPolicy.TARGET: NameAction.STAND,
}
