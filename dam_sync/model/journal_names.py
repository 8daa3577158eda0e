"""Names of journal entries that several modules use. They are stored, so their spelling must not change.

What is named by others is escaped (see `joined_names`), so that no two writes have one name. Releases before that
joined the labels of terms as they were: where their spelling is another one, it is read, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from dam_sync.model.asset import path_text
from dam_sync.model.joined_names import escaped, joined, parted


class WriteKind(StrEnum):
    """What a row of the ledger wrote: the first part of the name of its operation."""

    CREATE = "create"
    UPDATE = "update"
    REPAIR = "repair"
    HIDE = "hide"
    REMOVE = "remove"
    RESTORE = "restore"
    VERSION = "version"
    ATTACH = "attach"
    DETACH = "detach"
    RELATE = "relate"
    UNRELATE = "unrelate"
    TERM = "term"
    CONTAINER = "container"
    RENAME_TERM = "rename_term"
    RENAME_CONTAINER = "rename_container"
    PLACE = "place"
    CONFLICT = "conflict"
    CORRECTION = "correction"
    UNDONE = "undone"


CREATE = "create"
HIDE = "hide"
REMOVE, RESTORE = "remove", "restore"
FILENAME = "note: file name of the target"  # which new versions keep
EQUAL_BEFORE = "note: equal files before"  # inside a version or attachment: how many of the same bytes it comes after
PARTIAL_CREATE = "note: half made"  # an asset begun by a killed run that will not be completed
_SILENT = "note: "
_INNER = "in "
PARTIAL_REMOVAL = f"{_INNER}{REMOVE}: partial create"  # of that asset: no write of its own in reports, nor to undo
_REPAIR = "repair:"
_CONFLICT = "conflict:"
_UNDO = "undo "
UNDONE = "undone"  # in the ledger: which of its rows a rollback undid
_CORRECTION = "correction:"
_BETWEEN, _RUN = ":", "@"
_KINDS = {kind.value: kind for kind in WriteKind}
_FORMER_TERM = "former term"


def silent(name: str) -> str:
    """An entry that writes nothing to a target: the ledger does not list it."""
    return _SILENT + name


def is_silent(name: str) -> bool:
    """Whether the ledger leaves this entry out; also one made within another write."""
    return name.startswith(_SILENT) or (is_inner(name) and name.partition(": ")[2].startswith(_SILENT))


def inside(name: str) -> str:
    """The prefix of entries made within the write `name`; reports count the write and not these."""
    return f"{_INNER}{name}: "


def is_inner(name: str) -> bool:
    """Whether the entry was made within another write."""
    return name.startswith(_INNER)


def version(key: str, run: int | None = None) -> str:
    """A file version. run: the repairing run, because it may write a file again."""
    return f"version:{_of_run(key, run)}"


def attachment(key: str, run: int | None = None) -> str:
    """An attached file. run: as for `version`."""
    return f"attach:{_of_run(key, run)}"


def sending(kind: str) -> str:
    """The beginning of entries made while a version or an attachment is sent, before its key."""
    return f"{_INNER}{kind}{_BETWEEN}"


def removed_attachment(key: str) -> str:
    """An attached file that is removed."""
    return f"detach:{key}"


def detaching(key: str) -> str:
    """An attached file whose removal was begun."""
    return silent(f"detaching {key}")


def relation(owner: str, kind: str, other: str, *, adds: bool = True) -> str:
    """A relation that is written or removed."""
    return joined(("relate" if adds else "unrelate", owner, kind, other), _BETWEEN)


def of_owner(owner: str) -> tuple[str, ...]:
    """The prefixes of relations of this asset, also as earlier releases wrote them."""
    spelled = dict.fromkeys((escaped(owner, _BETWEEN), owner))
    return tuple(f"{kind}:{name}:" for kind in ("relate", "unrelate") for name in spelled)


def other_of(name: str, owner: str, kind: str) -> str:
    """The other asset of a relation of this owner and kind."""
    found = parted(name, _BETWEEN)
    if found[1:3] == [owner, kind] and len(found) == 4:
        return found[3]
    return name.removeprefix(f"{kind_of(name)}:{owner}:{kind}:")  # as earlier releases wrote it


def relation_of(name: str) -> tuple[str, str, str]:
    """The inverse of `relation`: owner, kind and other asset."""
    owner, kind, other = parted(name, _BETWEEN)[1:4]
    return owner, kind, other


def term(vocabulary: str, path: Sequence[str]) -> str:
    """A term that is created. path: the labels from the root down to it; one without levels has its label only."""
    return f"{of_terms(vocabulary)}{joined(path, '/')}"


def of_terms(vocabulary: str) -> str:
    """The prefix of terms of a vocabulary that are created."""
    return f"term:{escaped(vocabulary, _BETWEEN)}:"


def path_of_term(name: str) -> tuple[str, ...]:
    """The inverse of `term`: the path."""
    return tuple(parted(parted(name, _BETWEEN, 3)[2], "/"))


def vocabulary_of(name: str, path: Sequence[str], new: str = "") -> str:
    """The vocabulary of a term that was created, or got the name `new`. path: as for `term` and `renamed_term`."""
    found, plain = parted(name, _BETWEEN, 3)[1], _plain("", "/".join(path), *([new] if new else []))
    if name in (term(found, path), renamed_term(found, path, new)) or not name.endswith(plain):
        return found
    return name.removesuffix(plain).partition(_BETWEEN)[2]  # as earlier releases wrote it


def renamed_term(vocabulary: str, path: Sequence[str], new: str) -> str:
    """A term that gets another name. path: its labels from the root down, before."""
    return _renamed("rename_term", vocabulary, joined(path, "/"), new)


def renamed_container(kind: str, old: Sequence[str], new: Sequence[str]) -> str:
    """A container that gets another path."""
    return _renamed("rename_container", kind, path_text(old), path_text(new))


def renamed_term_names(vocabulary: str, path: Sequence[str], new: str) -> tuple[str, ...]:
    """The name of this renaming, and the one that earlier releases gave it."""
    former = _plain("rename_term", vocabulary, "/".join(path), new)
    return tuple(dict.fromkeys((renamed_term(vocabulary, path, new), former)))


def renamed_container_names(kind: str, old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """The name of this renaming, and the one that earlier releases gave it."""
    former = _plain("rename_container", kind, path_text(old), path_text(new))
    return tuple(dict.fromkeys((renamed_container(kind, old, new), former)))


def is_former_term(name: str) -> bool:
    """Whether an earlier release may have meant another term by this name of one that is created than this one
    does."""
    return kind_of(name) is WriteKind.TERM and (name.count(_BETWEEN) > 2 or "/" in name or "\\" in name)


def former_term(name: str) -> str:
    """What such a name is kept as while nobody knows which term it means."""
    return _FORMER_TERM + name.removeprefix("term")


def of_former_terms(vocabulary: str) -> str:
    """The prefix of those of a vocabulary; behind it are the labels with a slash between them."""
    return f"{_FORMER_TERM}:{vocabulary}:"


def container(kind: str, path: Sequence[str]) -> str:
    """A container that is created."""
    return f"{of_containers(kind)}{path_text(path)}"


def of_containers(kind: str) -> str:
    """The prefix of containers of a kind that are created."""
    return f"container:{escaped(kind, _BETWEEN)}:"


def place(kind: str, path: Sequence[str], digest: str) -> str:
    """Memberships in a container that are changed. digest: of the container and the assets."""
    return f"place:{escaped(kind, _BETWEEN)}:{path_text(path)}:{digest}"


def placing(name: str) -> str:
    """What is about to be changed by `place`: the container and the assets, which its name does not say."""
    return silent(f"placing {name}")


def renaming(name: str) -> str:
    """What a rename of this name changes: which term or container, and from what to what."""
    return silent(f"renaming {name}")


def renamed_by(name: str) -> str:
    """The inverse of `renaming`: the name of the rename."""
    return name.removeprefix(renaming(""))


def update(number: int) -> str:
    """An update to the draft of this number among those of the asset."""
    return f"update:{number}"


def repair(run: int) -> str:
    """The update that repairs an asset in a run."""
    return f"{_REPAIR}{run}"


def restoring(run: int, number: int) -> str:
    """What the repair of an asset in a run is about to restore, recorded before; `number`: of the attempt, from 1."""
    return f"{inside(repair(run))}{number}"


def is_repair(name: str) -> bool:
    """Whether the entry is an update that repaired an asset, or says what one was about to restore."""
    return name.removeprefix(_INNER).startswith(_REPAIR)


def conflict(number: int) -> str:
    """The conflicts of an asset and how they were settled; `number`: how many times that was recorded, from 1."""
    return f"{_CONFLICT}{number}"


def correction(line: str) -> str:
    """A value that a person gave, or withdrew, for a line of the mapping."""
    return f"{_CORRECTION}{line}"


def writes(name: str) -> bool:
    """Whether the entry counts as a write in reports."""
    return not is_inner(name) and not name.startswith((_CONFLICT, _CORRECTION)) and name != UNDONE


def undo(what: str) -> str:
    """A write of a rollback that undoes one of this kind."""
    return f"{_UNDO}{what}"


def is_undo(name: str) -> bool:
    """Whether a rollback made the write."""
    return name.startswith(_UNDO)


def kind_of(name: str) -> str:
    """The kind of write: a `WriteKind`; of what a rollback or an inner write did, its first words."""
    text = name.partition(_BETWEEN)[0]
    return _KINDS.get(text, text)


def object_of(name: str) -> str:
    """What was written, without the kind: the key of a version, the vocabulary and path of a term, …"""
    return name.partition(_BETWEEN)[2]


def file_key_of(name: str) -> str:
    """The key of the file of a version or an attachment; one that a repair wrote again has its run behind it."""
    return object_of(name).partition(_RUN)[0]


def of_kind(kind: WriteKind) -> str:
    """The prefix of all writes of a kind that names what it writes."""
    return f"{kind}{_BETWEEN}"


def _of_run(key: str, run: int | None) -> str:
    return key if run is None else f"{key}{_RUN}{run}"


def _renamed(what: str, scope: str, old: str, new: str) -> str:
    return f"{what}:{escaped(scope, _BETWEEN)}:{escaped(old, _BETWEEN)}:{new}"


def _plain(*texts: str) -> str:
    """As earlier releases joined texts."""
    return _BETWEEN.join(texts)
