"""The folder of a demo: empty, or created by an earlier demo, of which only its own files are removed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from dam_sync.api.atomic_io import atomic_write, make_folder, translate_os_error
from dam_sync.api.emulation.tenant_options import TENANT_OPTIONS
from dam_sync.model.errors import ConfigError

STAMP = ".dam-sync-demo"
OWN = (
    *("plan.json", "report.html", "job.yaml", "mapping.yaml", TENANT_OPTIONS),
    *("demo.db", "demo.db-wal", "demo.db-shm", "demo.exported", "demo.vault"),
)
"""Files that a demo writes besides the library."""


def prepare(folder: Path) -> frozenset[Path]:
    """Create the folder, or remove the files of an earlier demo. Returns the files in it that are not ours. Raises
    ConfigError for a folder that has files but was not created by a demo, and leaves it unchanged."""
    try:
        make_folder(folder)
        stamp = folder / STAMP
        if stamp.is_file() and not stamp.is_symlink():
            _remove(folder, stamp.read_text(encoding="utf-8").splitlines())
        elif any(folder.iterdir()):
            raise ConfigError(
                f"{folder} contains files that no demo created; nothing was changed",
                hint="name an empty or a new folder with --dir",
            )
        foreign = _files(folder)
        keep(folder, foreign)
        return foreign
    except (OSError, UnicodeDecodeError) as error:
        cause = error if isinstance(error, OSError) else OSError(str(error))
        raise translate_os_error(cause, folder, "the folder") from error


def keep(folder: Path, foreign: frozenset[Path]) -> None:
    """Record which files the next demo may remove: those in the folder now that were not there before, and those still
    to be written."""
    names = sorted(str(path.relative_to(folder)) for path in _files(folder) - foreign - {folder / STAMP})
    with atomic_write(folder / STAMP, "the stamp") as out:
        out.write("\n".join([*OWN, *names]) + "\n")


def _files(folder: Path) -> frozenset[Path]:
    return frozenset(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def _remove(folder: Path, names: list[str]) -> None:
    """Remove these files and the folders that become empty; nothing outside the folder, and nothing through a link."""
    root = folder.resolve()
    for name in names:
        path = root / name
        if path.parent.resolve().is_relative_to(root) and (path.is_file() or path.is_symlink()):
            path.unlink()
    inside = {parent for name in names for parent in (root / name).parents if parent != root}
    for path in sorted(inside, key=lambda one: -len(one.parts)):
        if path.is_relative_to(root) and not path.is_symlink():
            with suppress(OSError):  # not empty, or already gone
                path.rmdir()
