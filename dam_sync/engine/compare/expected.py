"""What the target may hold of an asset if nobody but this job wrote to it. The only place that knows what an attempt
that was killed may have left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from dam_sync.model.asset import Draft, FileRef


class Stage(Enum):
    """How far the asset is. CREATING: its create was begun and not completed, so that anything of it may be missing."""

    COMPLETE = auto()
    CREATING = auto()


@dataclass(frozen=True, slots=True)
class ExpectedFiles:
    """The files that the target may have. current: any of them may be the current one, none of them if there is no
    file; may_lack: there may be none though; versions, attachments: how many at most, None if that is not known. known:
    whether the state says which files were sent: one of an older release does not. refuted: a verification read the
    current file of the target and found that it is another one, though size and digests do not show it."""

    current: tuple[FileRef, ...] = ()
    may_lack: bool = False
    versions: int | None = None
    attachments: int | None = None
    known: bool = True
    refuted: bool = False
    attached: tuple[FileRef, ...] = ()

    def allow(self, file: FileRef | None) -> bool:
        """Whether this may be the current file. Files of which nothing tells that they are others are the same."""
        if not self.known:
            return True
        if file is None:
            return self.may_lack or not self.current
        if not self.current:  # some targets return the first attachment of an asset without a file as its file
            return any(each.agrees(file) for each in self.attached)
        return not self.refuted and any(each.agrees(file) for each in self.current)


@dataclass(frozen=True, slots=True)
class Expected:
    """states: drafts of which the target may hold any, or anything between two of them, the one that was written last
    first. names: file names beside those of the drafts."""

    states: Sequence[Draft]
    files: ExpectedFiles
    stage: Stage = Stage.COMPLETE
    names: frozenset[str] = frozenset()

    @property
    def masked(self) -> bool:
        """Whether the asset is or was hidden: it has another status and other rights than its drafts say."""
        return any(state.closed for state in self.states)

    @property
    def regroups(self) -> bool:
        """Whether an attempt may have taken groups away and not given others yet."""
        return any(state.rights.groups != self.states[0].rights.groups for state in self.states)

    @property
    def hides(self) -> bool:
        """Whether an attempt may have taken the release date away while it changed several parts of the rights."""
        return any(state.rights != self.states[0].rights for state in self.states)


NOTHING_EXPECTED: Final = Expected((), ExpectedFiles(known=False))
"""For a comparison with what is wanted alone."""
