"""The files of an asset at both services: which correspond, and which are missing or extra. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from dam_sync.engine.compare.comparison import hides
from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.file_keys import ATTACHMENTS, VERSIONS, sent_file, version_key
from dam_sync.engine.compare.patterns import ADDED, MISSING
from dam_sync.model.asset import Asset, FileRef
from dam_sync.model.conflict import FILE
from dam_sync.model.link import LEFT, LinkRow
from dam_sync.model.values import Json
from dam_sync.model.wording import counted


@dataclass(frozen=True, slots=True)
class FilePair:
    """A file of the source and the one of the target that should be equal. path: its name in differences; sent: the
    file of the source with the size and digests that it had when it was sent, if they are recorded."""

    part: str
    path: str
    ours: FileRef
    theirs: FileRef
    sent: FileRef | None = None

    @property
    def key(self) -> str:
        """Of the file at the source."""
        return version_key(self.ours)

    @property
    def agrees(self) -> bool:
        """Whether the target may have this file, by what is known of both without reading them."""
        return (self.sent or self.ours).agrees(self.theirs)

    @property
    def compared(self) -> bool:
        """Whether a digest says so, and not the size alone."""
        return bool((self.sent or self.ours).digests.keys() & self.theirs.digests.keys())


@dataclass(slots=True)
class PairedFiles:
    """Files that belong together; files of the source (with their part) that the target lacks, and the other way
    round; parts that the target does not return. left: versions that were reported as not carried."""

    pairs: list[FilePair] = field(default_factory=list)
    missing: list[tuple[str, FileRef]] = field(default_factory=list)
    extra: list[tuple[str, FileRef]] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    left: list[FileRef] = field(default_factory=list)

    def differences(self, actual: Asset) -> list[Difference]:
        """Missing files, then additional ones."""
        there = {
            FILE: "no file",
            VERSIONS: counted(len(actual.versions), "version"),
            ATTACHMENTS: ", ".join(file.name for file in actual.attachments),
        }
        found = [Difference(part, describe_file(file), there[part], pattern=MISSING) for part, file in self.missing]
        more = (Difference(part, "", describe_file(file), extra=True, pattern=ADDED) for part, file in self.extra)
        return [*found, *more]


def describe_file(file: FileRef) -> str:
    """A file in a few words."""
    size = "" if file.size is None else f" ({file.size:,} bytes)"
    return f"{file.name or file.id}{size}"


def file_facts(file: FileRef) -> Json:
    """What identifies a file to a person, and tells it from another."""
    return {"name": file.name, "size": file.size, "digests": dict(file.digests)}


def is_kept(link: LinkRow, ours: FileRef, theirs: FileRef) -> bool:
    """Whether the target keeps its own current file after a conflict with this one of the source, and still has it."""
    kept = link.kept.get(FILE)
    if kept is None or link.versions[-1:] != (version_key(ours),):
        return False
    return FileRef("", "", kept["size"], digests=kept["digests"]).agrees(theirs)


def pair_files(asset: Asset, actual: Asset, kept: Sequence[FileRef], link: LinkRow) -> PairedFiles:
    """Everything that was moved (the `kept` versions, and the attachments of the link) compared with what the target
    returns."""
    actual = with_written_versions(actual, link, kept)
    found = PairedFiles(unread={part for part in (VERSIONS, ATTACHMENTS) if hides(actual, part)})
    found.left = [file for file in kept[:-1] if _is_left(file, link)] if VERSIONS not in found.unread else []
    _pair_versions(found, asset, actual, [file for file in kept if file not in found.left], link)
    if ATTACHMENTS not in found.unread:
        _pair_attachments(found, asset, actual, link)
    return found


def with_written_versions(actual: Asset, link: LinkRow, kept: Sequence[FileRef] = ()) -> Asset:
    """The target's asset with the versions that its service shows as one with the next, because the file is the same
    and values changed between them: as many as the link says were written. kept: those of the source, which tell where
    several files have such versions."""
    lacking = len(link.versions) - len(actual.versions)
    if lacking <= 0 or not any(file.repeats for file in actual.versions):
        return actual
    found: list[FileRef] = []
    for number, file in reversed(list(enumerate(actual.versions))):
        shown = sum(file.agrees(one) for one in (*actual.versions[: number + 1], *found))
        wanted = sum(file.agrees(one) for one in kept) - shown if kept else lacking
        ids = file.repeats[max(0, len(file.repeats) - max(0, min(wanted, lacking))) :]
        lacking -= len(ids)
        found = [*(replace(file, id=identity, repeats=()) for identity in ids), file, *found]
    return replace(actual, versions=tuple(found))


def _is_left(file: FileRef, link: LinkRow) -> bool:
    return version_key(file) in (link.kept.get(VERSIONS) or ())


def _pair_attachments(found: PairedFiles, asset: Asset, actual: Asset, link: LinkRow) -> None:
    moved = [file for file in asset.attachments if version_key(file) in link.attachments]
    facts = [link.attached.get(version_key(file)) for file in moved]
    known = [as_sent(file, sent_file(one)) if one else file for file, one in zip(moved, facts, strict=True)]
    of_source = {id(sent): file for sent, file in zip(known, moved, strict=True)}
    pairs, missing, extra = paired_by_name(known, _attached(found, actual, len(known)))
    for sent, theirs in pairs:
        found.pairs.append(FilePair(ATTACHMENTS, f"attachment {sent.name}", of_source[id(sent)], theirs, sent))
    found.missing += [(ATTACHMENTS, of_source[id(sent)]) for sent in missing]
    found.extra += [(ATTACHMENTS, file) for file in extra]


def _attached(found: PairedFiles, actual: Asset, wanted: int) -> Sequence[FileRef]:
    """The attachments at the target. Of an asset without a file, a target that does not tell files from attachments
    returns the first attachment as the file."""
    file = (FILE, actual.file)
    if actual.file is None or len(actual.attachments) >= wanted or file not in found.extra:
        return actual.attachments
    found.extra.remove((FILE, actual.file))
    return (actual.file, *actual.attachments)


def as_sent(file: FileRef, sent: FileRef) -> FileRef:
    """A file of the source with the size and digests that it had when it was sent, where the source reports none."""
    return replace(file, size=sent.size if file.size is None else file.size, digests=file.digests or sent.digests)


def _current_as_sent(file: FileRef, link: LinkRow) -> FileRef | None:
    if link.versions[-1:] != (version_key(file),):
        return None
    return as_sent(file, FileRef("", "", link.size, digests=link.digests))


def _pair_versions(found: PairedFiles, asset: Asset, actual: Asset, kept: Sequence[FileRef], link: LinkRow) -> None:
    if not kept or not actual.versions:
        found.missing += [(FILE, file) for file in kept[-1:]]
        found.extra += [(FILE, file) for file in actual.versions[-1:]]
        return
    if not is_kept(link, kept[-1], actual.versions[-1]):
        found.pairs.append(FilePair(FILE, FILE, kept[-1], actual.versions[-1], _current_as_sent(kept[-1], link)))
    if VERSIONS in found.unread:
        return
    left, aligned = list(actual.versions[:-1]), len(kept) == len(actual.versions)
    written = _as_written(actual, link)
    for number, ours in reversed(list(enumerate(kept[:-1], 1))):
        spot = number - 1 if aligned else _spot_of(ours, left, written)
        if spot is None:
            found.missing.append((VERSIONS, ours))
        else:
            found.pairs.append(FilePair(VERSIONS, f"version {number}", ours, left[spot]))
            left = left[:spot] if not aligned else left
    if len(kept) != len(actual.versions):
        found.extra += [(VERSIONS, file) for file in _added_versions(found, asset, actual, len(link.versions))]


def _as_written(actual: Asset, link: LinkRow) -> Sequence[str]:
    """The keys of the versions of the target in their order, if it has as many as were written: also of those that
    left the source. Empty if it has more or less."""
    return [key.removeprefix(LEFT) for key in link.versions] if len(link.versions) == len(actual.versions) else ()


def _spot_of(ours: FileRef, theirs: Sequence[FileRef], written: Sequence[str]) -> int | None:
    """Where this version is among these of the target. Files of one size are distinguished by the order in which they
    were written where both services have no digest in common."""
    key = version_key(ours)
    spot = written.index(key) if key in written else len(theirs)
    if spot < len(theirs) and ours.agrees(theirs[spot]):
        return spot
    return next((spot for spot in reversed(range(len(theirs))) if ours.agrees(theirs[spot])), None)


def _added_versions(found: PairedFiles, asset: Asset, actual: Asset, written: int) -> list[FileRef]:
    """Versions of the target that are not ours: neither a file of the source, nor one that we wrote before and that the
    source no longer has."""
    paired_ids = {id(pair.theirs) for pair in found.pairs}
    rest = [file for file in actual.versions if id(file) not in paired_ids]
    strange = [file for file in rest if not any(ours.agrees(file) for ours in asset.versions)]
    former = max(0, written - (len(actual.versions) - len(strange)))
    return strange[former:]


def paired_by_name(
    ours: Iterable[FileRef], theirs: Iterable[FileRef]
) -> tuple[list[tuple[FileRef, FileRef]], list[FileRef], list[FileRef]]:
    """Pairs by name, size and digest first, then by name and size, then by size and digest alone (a target may rename
    files). Also those of either side that remain."""
    pairs, mine, left = [], list(ours), list(theirs)
    for belong in (_same_file, _same_name, FileRef.agrees):
        for one in tuple(mine):
            other = next((file for file in left if belong(one, file)), None)
            if other is not None:
                pairs.append((one, other))
                mine.remove(one)
                left.remove(other)
    return pairs, mine, left


def _same_file(ours: FileRef, theirs: FileRef) -> bool:
    return ours.name == theirs.name and ours.agrees(theirs)


def _same_name(ours: FileRef, theirs: FileRef) -> bool:
    return ours.name == theirs.name and ours.has_size_of(theirs)


def in_other_order(pairs: Sequence[FilePair]) -> bool:
    """Whether these pairs, none of which is equal, are the same files in another order."""
    sides = [pair.ours for pair in pairs], [pair.theirs for pair in pairs]
    return len(pairs) > 1 and all(
        any(one.has_bytes_of(other) for other in there) for here, there in (sides, sides[::-1]) for one in here
    )
