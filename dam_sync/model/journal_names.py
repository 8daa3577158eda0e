"""Names of journal entries that several modules use. They are stored, so their spelling must not change."""

from __future__ import annotations

CREATE = "create"
HIDE = "hide"
REMOVE, RESTORE = "remove", "restore"
FILENAME = "note: file name of the target"  # which new versions keep
PARTIAL_CREATE = "note: half made"  # an asset begun by a killed run that will not be completed
_SILENT = "note: "
_INNER = "in "
_REPAIR = "repair:"
_CONFLICT = "conflict:"
_UNDO = "undo "
UNDONE = "undone"  # in the ledger: which of its rows a rollback undid
_CORRECTION = "correction:"


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


def removed_attachment(key: str) -> str:
    """An attached file that is removed."""
    return f"detach:{key}"


def detaching(key: str) -> str:
    """An attached file whose removal was begun."""
    return silent(f"detaching {key}")


def relation(owner: str, kind: str, other: str, *, adds: bool = True) -> str:
    """A relation that is written or removed."""
    return f"{'relate' if adds else 'unrelate'}:{owner}:{kind}:{other}"


def renamed_term(vocabulary: str, old: str, new: str) -> str:
    """A term that gets another name."""
    return f"rename_term:{vocabulary}:{old}:{new}"


def renamed_container(kind: str, old: str, new: str) -> str:
    """A container that gets another name, or another parent."""
    return f"rename_container:{kind}:{old}:{new}"


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
    """The kind of write: `create`, `version`, `term`, `container`, `place`, …"""
    return name.partition(":")[0]


def _of_run(key: str, run: int | None) -> str:
    return key if run is None else f"{key}@{run}"
