"""What has to be done so that an asset of the target is again as it was before a run. Pure: ledger rows and the link
in, a patch, parts and obstacles out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dam_sync.engine.compare.parts import PARTS, part_of
from dam_sync.engine.decide.part_patches import OF_RIGHTS
from dam_sync.engine.decide.patches import applied, merge_patches, without
from dam_sync.model import journal_names
from dam_sync.model.asset import FileRef, Patch, digest_of
from dam_sync.model.capabilities import Capabilities, Feature, Operation
from dam_sync.model.codec import draft_from_json, placements_from_json, placements_to_json
from dam_sync.model.conflict import PLACEMENTS
from dam_sync.model.exposure import ExposureRule
from dam_sync.model.journal_names import WriteKind
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.link import LEFT, LinkRow
from dam_sync.model.values import Json
from dam_sync.model.written import EarlierFile, Obstacle, WrittenAsset

RIGHTS = "rights"
MOVES = (WriteKind.REMOVE, WriteKind.RESTORE)
CHANGED = "changed at the target since"
BESIDE = "what others added or removed at the target since is as they left it"
NO_TRASH = Obstacle("created assets", "the target cannot move assets to a trash")
NO_RESTORE = Obstacle("removed assets", "the target cannot take assets out of its trash")
NO_VALUES = Obstacle("values", "the ledger has no values: `policy: {ledger: keys}`")
NO_VERSION = Obstacle("file versions", "the target cannot make an older version the current one")
IN_HISTORY = Obstacle("file versions", "the version that the run added stays in the history of the asset", stays=True)
NO_OLDER = Obstacle("file versions", "the target returns no older version")
NO_DETACH = Obstacle("added attachments", "the target has no trash for attachments")
NO_BYTES = Obstacle("removed attachments", "a run keeps no copy of a removed file")
NO_UNRELATE = Obstacle("added relations", "the target cannot remove relations")
NO_RELATE = Obstacle("removed relations", "the target cannot write relations")
NO_NAME = Obstacle("file names", "the target cannot rename assets")
WIDENS = Obstacle(
    "status and rights",
    "more people would see the asset again, so that they stay as the run left them: change them by hand at the target; "
    f"only if these people may see it: `policy: {{exposure: {{{ExposureRule.RETURNED.value}: accept}}}}`",
)
NOTHING_KEPT: Mapping[str, Obstacle] = {}
WITHOUT: Final[Mapping[str, Obstacle]] = {
    WriteKind.VERSION: NO_VERSION,
    WriteKind.ATTACH: NO_DETACH,
    WriteKind.DETACH: NO_BYTES,
}
MADE_REASONS: Final[Mapping[str, Obstacle]] = {
    WriteKind.TERM: Obstacle("created terms", "no service has a trash for terms, and others may use them", stays=True),
    WriteKind.CONTAINER: Obstacle("created containers", "no service has a trash for containers", stays=True),
}
BEGUN_REASON: Final = "being created when the run was interrupted: look whether the target has them"


@dataclass(frozen=True, slots=True)
class Undo:
    """What undoes the writes of one asset. link: as it was before the run, as far as its values are undone. trash: the
    run created the asset, or took it out of the trash; restore: the run removed it. versions: keys of the newest files,
    which the run added. detach: attachments that it added, as they were sent, by key; lost: keys of those that it
    removed without a row of the ledger. rows: numbers of the ledger rows of which nothing stays. now, then: what the
    target has, and what it has once this is undone, as drafts in JSON; None if the asset goes to the trash instead.
    shows: more people see it afterwards, which the job accepts."""

    written: WrittenAsset
    link: LinkRow | None = None
    trash: bool = False
    restore: bool = False
    patch: Patch = field(default_factory=Patch)
    versions: tuple[str, ...] = ()
    detach: Mapping[str, Json] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()
    obstacles: tuple[Obstacle, ...] = ()
    rows: tuple[int, ...] = ()
    now: Json = None
    then: Json = None
    shows: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to do at the target."""
        return not (self.trash or self.restore or self.versions or self.detach) and self.patch.empty


def undo_of(
    written: WrittenAsset,
    link: LinkRow | None,
    able: Capabilities,
    meant: Sequence[Json] = (),
    keep: Mapping[str, Obstacle] = NOTHING_KEPT,
) -> Undo:
    """The reverse of what was written. link: as the run left it, or as it was when the asset went to the trash; None if
    the run did not complete the asset. meant: drafts that an interrupted attempt may have written in part. keep: paths
    whose values stay as they are, and why."""
    trash, restore, obstacles = _moves(written, able)
    seqs = tuple(row.seq for row in written.rows)
    if written.created or link is None:
        moved = trash or not written.created
        return Undo(written, link, trash=trash, obstacles=obstacles, rows=seqs if moved else ())
    values, files = _Values.of(written.rows, link, meant, keep, able), _Files.of(written.rows, able)
    moving = {row.seq for row in written.rows if row.kind in MOVES}
    stays = values.open | files.open | (moving if obstacles else set())
    return Undo(
        written,
        replace(link, draft=values.before, draft_fingerprint=digest_of(values.before)),
        trash=trash,
        restore=restore,
        patch=values.patch,
        versions=files.versions,
        detach=files.detach,
        obstacles=tuple(dict.fromkeys((*obstacles, *values.obstacles, *_beside(keep), *files.obstacles))),
        rows=tuple(seq for seq in seqs if seq not in stays),
        now=values.now,
        then=values.then,
    )


def _beside(keep: Mapping[str, Obstacle]) -> Iterator[Obstacle]:
    """What others did that nothing has to stay for."""
    return (keep[path] for path in sorted(keep) if keep[path].stays)


def unshown(undo: Undo) -> Undo:
    """The same without anything that decides who sees the asset, with the reason."""
    patch = without(undo.patch, [part.name for part in PARTS if part.shows])
    return replace(undo, patch=patch, obstacles=tuple(dict.fromkeys((*undo.obstacles, WIDENS))))


def _moves(written: WrittenAsset, able: Capabilities) -> tuple[bool, bool, tuple[Obstacle, ...]]:
    """Whether the asset has to go to the trash, or out of it, and what prevents that."""
    moves = [row.kind for row in written.rows if row.kind in MOVES]
    trash = written.created or (moves[:1] == moves[-1:] == [WriteKind.RESTORE])
    restore = not written.created and moves[:1] == moves[-1:] == [WriteKind.REMOVE]
    if trash and Operation.REMOVE not in able:
        return False, False, (NO_TRASH,)
    if restore and Operation.RESTORE not in able:
        return False, False, (NO_RESTORE,)
    return trash, restore, ()


@dataclass(frozen=True, slots=True)
class _Values:
    """now, then: what the target has, and what it had; patch: from the one to the other. before: the draft last written
    before the run. open: rows of which something stays."""

    now: Json
    then: Json
    patch: Patch
    before: Json
    open: set[int]
    obstacles: tuple[Obstacle, ...]

    @classmethod
    def of(
        cls,
        rows: Sequence[LedgerRow],
        link: LinkRow,
        meant: Sequence[Json],
        keep: Mapping[str, Obstacle],
        able: Capabilities,
    ) -> _Values:
        now = link.draft
        for row in rows:
            if meant or row.kind is WriteKind.HIDE:  # of an interrupted attempt the link says nothing yet
                now = applied(now, values_of(row))
        held = before = now
        opened: set[int] = set()
        obstacles: list[Obstacle] = []
        for row in reversed(rows):
            changes, found = _undoable(row, keep, able)
            obstacles += found
            if found:
                opened.add(row.seq)
            held = applied(held, changes, back=True)
            if not journal_names.is_repair(row.operation):  # a repair restored what was written before
                before = applied(before, changes, back=True)
        stuck = [path for path, why in keep.items() if not why.stays]
        patch = without(merge_patches([now, *meant], draft_from_json(held)), stuck)
        return cls(now, held, patch, before, opened, tuple(obstacles))


def values_of(row: LedgerRow) -> dict[str, Json]:
    """The changes of a row that are values of a draft; None for a value that the ledger does not have."""
    return {key: change for key, change in row.changes.items() if part_of(key) is not None}


def _undoable(
    row: LedgerRow, keep: Mapping[str, Obstacle], able: Capabilities
) -> tuple[dict[str, Json], tuple[Obstacle, ...]]:
    """The values of a row that can return to what they were, and why others cannot."""
    changes: dict[str, Json] = {}
    found: list[Obstacle] = []
    for key, change in values_of(row).items():
        reason = next((keep[path] for path in (OF_RIGHTS if key == RIGHTS else (key,)) if path in keep), None)
        if change is None:
            found.append(NO_VALUES)
        elif key == "placements":
            changes[key], stuck = _placements(change, keep)
            found += stuck
        elif reason is not None and not reason.stays:
            found.append(reason)
        elif key == "filename" and not able.writes(Feature.FILENAME):
            found.append(NO_NAME)
        else:
            changes[key] = change
    return changes, tuple(found)


def _placements(change: Json, keep: Mapping[str, Obstacle]) -> tuple[Json, list[Obstacle]]:
    """The containers of the kinds that can return, and why others cannot."""
    sides = [placements_from_json(side or ()) for side in change]
    kinds = {place.kind for side in sides for place in side}
    stuck = {kind: keep[path] for kind in kinds if (path := f"{PLACEMENTS}{kind}") in keep and not keep[path].stays}
    left = [placements_to_json(place for place in side if place.kind not in stuck) for side in sides]
    return left, [stuck[kind] for kind in sorted(stuck)]


@dataclass(slots=True)
class _Files:
    versions: tuple[str, ...] = ()
    detach: dict[str, Json] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    obstacles: list[Obstacle] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Sequence[LedgerRow], able: Capabilities) -> _Files:
        """Versions and attachments that the rows added or removed."""
        made = cls()
        for row in rows:
            kind, key = row.kind, journal_names.file_key_of(row.operation)
            if kind is WriteKind.VERSION and Operation.RESTORE_VERSION in able:
                made.versions = (*made.versions, key)
                made.obstacles.append(IN_HISTORY)
            elif kind is WriteKind.ATTACH and Operation.DETACH in able and isinstance(row.detail, dict):
                made.detach[key] = row.detail
            elif kind in WITHOUT:
                made.open.add(row.seq)
                made.obstacles.append(WITHOUT[kind])
        return made


def link_before(
    undo: Undo, link: LinkRow, earlier: EarlierFile | None, current: FileRef | None = None, name: str = ""
) -> LinkRow:
    """The link as it was before the run, so that the next run finds what is new. A version that the target keeps in its
    history is marked, and comes before those that were there. earlier: the file that is current again, as it was sent;
    current: the same as the target returns it, which may publish another digest; name: the file name that it brought
    along."""
    back = undo.link or link
    if name:
        draft = {**back.draft, "filename": name}
        back = replace(back, draft=draft, draft_fingerprint=digest_of(draft))
    added, detached = frozenset(undo.versions), frozenset(undo.detach) | undo.lost
    files: dict[str, Any] = {}
    if added:
        left = tuple(f"{LEFT}{key}" for key in link.versions if key in added)
        files["versions"] = (*left, *(key for key in link.versions if key not in added))
        files |= _facts_before(undo, link, earlier, current)
    return replace(
        back,
        source_revision="",
        source_fingerprint="",
        filename=back.draft["filename"],
        attachments=tuple(key for key in link.attachments if key not in detached),
        attached={key: sent for key, sent in link.attached.items() if key not in detached},
        proofs={key: proof for key, proof in link.proofs.items() if key not in added | detached},
        **files,
    )


def _facts_before(undo: Undo, link: LinkRow, earlier: EarlierFile | None, current: FileRef | None) -> dict[str, Any]:
    """Size and digests of the file that is current again: as the link has them, if the run did not complete it."""
    sent, size = _digests(earlier), earlier.size if earlier is not None else None
    if undo.written.begun:
        sent, size = dict(link.digests), link.size
    if current is None:
        return {"digests": sent, "size": size}
    return {"digests": {**sent, **current.digests}, "size": current.size if size is None else size}


def _digests(earlier: EarlierFile | None) -> dict[str, str]:
    algorithm, _, value = earlier.digest.partition(":") if earlier is not None else ("", "", "")
    return {algorithm: value} if value else {}
