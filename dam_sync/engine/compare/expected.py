"""What the target may hold of an asset if nobody but this job wrote to it. The only place that knows what an attempt
that was killed may have left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, TypeAlias

from dam_sync.model.asset import Asset, Draft, FileRef, Placement
from dam_sync.model.schema import Schema


class Stage(Enum):
    """How far the asset is. CREATING: its create was begun and not completed, so that anything of it may be missing."""

    COMPLETE = auto()
    CREATING = auto()


class FileMatch(Enum):
    """Whether a file is one of others: a digest says so; nothing that both know says that it is not; or it is none."""

    SAME = auto()
    UNSURE = auto()
    OTHER = auto()


def file_match(file: FileRef, files: Sequence[FileRef]) -> FileMatch:
    """Whether a file is one of these."""
    alike = [file.has_bytes_of(each) for each in files if file.agrees(each)]
    if any(alike):
        return FileMatch.SAME
    return FileMatch.UNSURE if alike else FileMatch.OTHER


@dataclass(frozen=True, slots=True)
class ExpectedFiles:
    """The files that the target may have. current: what was written last, sent: what attempts may have sent since; any
    of them may be the current one, none of them if there is no file; may_lack: there may be none though; versions,
    attachments: how many at most, None if that is not known; before: how many versions before these attempts. known:
    whether the state says which files were sent: one of an older release does not. refuted: a verification read the
    current file of the target and found that it is another one; a digest that is the same now says that it was put
    back since. source: the files that the source has now, any of which may stand as the current one."""

    current: tuple[FileRef, ...] = ()
    sent: tuple[FileRef, ...] = ()
    may_lack: bool = False
    versions: int | None = None
    before: int | None = None
    attachments: int | None = None
    known: bool = True
    refuted: bool = False
    attached: tuple[FileRef, ...] = ()
    source: tuple[FileRef, ...] = ()

    def is_attached(self, file: FileRef | None) -> bool:
        """Whether this is an attachment of an asset without a file: some targets return the first one as its file."""
        if file is None or self.current or file_match(file, self.sent) is not FileMatch.OTHER:
            return False
        return file_match(file, self.attached) is not FileMatch.OTHER

    def file_match(self, file: FileRef | None, number: int | None = None) -> FileMatch:
        """Whether this is a file that may be the current one. number: of versions at the target, None if that is not
        known: where there are more than were written, the last is not the one that was, unless a digest says so."""
        if not self.known:
            return FileMatch.UNSURE
        every = (*self.current, *self.sent)
        if file is None:
            return FileMatch.SAME if self.may_lack or not every else FileMatch.OTHER
        if self.is_attached(file):
            return file_match(file, self.attached)
        found = file_match(file, every)
        if found is not FileMatch.UNSURE:
            return found
        more = number is not None and self.before is not None and number > self.before
        return file_match(file, (*(() if more or self.refuted else self.current), *self.sent))


UNKNOWN_FILES: Final = ExpectedFiles(known=False)
"""Where files are not compared, or the state says nothing of them."""


Pair: TypeAlias = tuple[str, str]
"""A relation: its kind, and the id of the other asset at the target."""


@dataclass(frozen=True, slots=True)
class ExpectedRelations:
    """The relations that the target may have. written: by this job, also as they are seen from their other end; wanted:
    those that it should have, None if that is not asked; pending: still to be written."""

    written: frozenset[Pair] = frozenset()
    wanted: frozenset[Pair] | None = None
    pending: frozenset[Pair] = frozenset()


@dataclass(frozen=True, slots=True)
class Expected:
    """states: drafts of which the target may hold any, or anything between two of them, the one that was written last
    first. names: file names beside those of the drafts; pending: containers into or out of which the asset is still to
    be moved, or whose change was refused: it may be in them or not; relations: None if they are not compared."""

    states: Sequence[Draft]
    files: ExpectedFiles
    stage: Stage = Stage.COMPLETE
    names: frozenset[str] = frozenset()
    pending: frozenset[Placement] = frozenset()
    relations: ExpectedRelations | None = None

    @property
    def masked(self) -> bool:
        """Whether the asset is or was hidden: it has another status and other rights than its drafts say."""
        return any(state.closed for state in self.states)

    def may_be_hidden(self, schema: Schema) -> bool:
        """Whether an attempt of ours may have left the asset seen by fewer people: some services take its release date
        away while several parts of its rights are changed, others its groups before they give it others."""
        return self._may_be_withheld(schema) or (bool(schema.group_staging) and self._is_regrouped)

    def is_hidden_by_us(self, seen: Asset, schema: Schema) -> bool:
        """Whether an asset that was read may be seen by fewer people for that."""
        return self.is_withheld(seen, schema) or self.is_between_groups(seen, schema)

    def is_withheld(self, seen: Asset, schema: Schema) -> bool:
        """Whether the release date may be away for that."""
        return self._may_be_withheld(schema) and seen.rights.release_at is None

    def is_between_groups(self, seen: Asset, schema: Schema) -> bool:
        """Whether the groups may be away for that."""
        there = seen.rights.groups
        return bool(there) and there <= schema.group_staging and self._is_regrouped

    def _may_be_withheld(self, schema: Schema) -> bool:
        return schema.always_released and any(state.rights != self.states[0].rights for state in self.states)

    @property
    def _is_regrouped(self) -> bool:
        return any(state.rights.groups != self.states[0].rights.groups for state in self.states)


NOTHING_EXPECTED: Final = Expected((), UNKNOWN_FILES)
"""For a comparison with what is wanted alone."""
