"""Which of two paths lead to one folder, or into each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dam_sync.model.library import Overlap, overlap_of
from dam_sync.services.folder.api.place import library_at

Arrangement = Callable[[Path], tuple[Path, Path]]


def linked(link: Path, target: Path) -> Path:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    return link


ARRANGEMENTS: dict[str, tuple[Arrangement, Overlap | None]] = {
    "same": (lambda at: (at / "archive", at / "archive"), Overlap.SAME),
    "trailing slash and dots": (lambda at: (at / "archive", Path(f"{at}/x/../archive/.")), Overlap.SAME),
    "link to the source": (lambda at: (at / "archive", linked(at / "link", at / "archive")), Overlap.SAME),
    "link to a link": (
        lambda at: (at / "archive", linked(at / "two", linked(at / "one", at / "archive"))),
        Overlap.SAME,
    ),
    "both by links": (
        lambda at: (linked(at / "one", at / "archive"), linked(at / "two", at / "archive")),
        Overlap.SAME,
    ),
    "link above": (lambda at: (at / "archive", linked(at / "link", at) / "archive"), Overlap.SAME),
    "relative link": (lambda at: (at / "archive", linked(at / "link", Path("archive"))), Overlap.SAME),
    "target inside": (lambda at: (at / "archive", at / "archive" / "files"), Overlap.TARGET_INSIDE),
    "target inside, new": (lambda at: (at / "archive", at / "archive" / "new" / "one"), Overlap.TARGET_INSIDE),
    "target inside by a link": (
        lambda at: (at / "archive", linked(at / "link", at / "archive" / "new")),
        Overlap.TARGET_INSIDE,
    ),
    "source inside": (lambda at: (at / "archive", at), Overlap.SOURCE_INSIDE),
    "source inside by a link": (
        lambda at: (linked(at / "link", at / "archive" / "files"), at / "archive"),
        Overlap.SOURCE_INSIDE,
    ),
    "next to each other": (lambda at: (at / "archive", at / "copy"), None),
    "begins alike": (lambda at: (at / "archive", at / "archive-2"), None),
    "link inside that leads out": (
        lambda at: (at / "archive", linked(at / "archive" / "out", at / "copy")),
        None,
    ),
    "same name elsewhere": (lambda at: (at / "archive", at / "copy" / "archive"), None),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("archive/files", "copy", "x"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_folders_are_compared_by_where_they_are(place: Path, name: str) -> None:
    arranged, expected = ARRANGEMENTS[name]
    source, target = arranged(place)
    assert overlap_of(library_at(source), library_at(target)) is expected


@pytest.mark.parametrize(
    ("device", "top", "target", "expected"),
    [
        ("8:1", "/srv/archive", "", Overlap.SAME),
        ("8:1", "/srv/archive", "new", Overlap.TARGET_INSIDE),
        ("8:1", "/srv/archive/files", "", Overlap.TARGET_INSIDE),
        ("8:1", "/srv", "", Overlap.SOURCE_INSIDE),
        ("8:1", "/srv/copy", "", None),
        ("8:2", "/srv/archive", "", None),
    ],
)
def test_a_folder_that_is_mounted_twice_is_one_folder(
    place: Path, device: str, top: str, target: str, expected: Overlap | None
) -> None:
    """As the system says it: `archive` is /srv/archive of a device that is mounted at the place, and some folder of a
    device is mounted at `copy`, which no path shows."""
    mounts = place / "mountinfo"
    escaped = str(place).replace(" ", "\\040")
    mounts.write_text(
        f"22 1 8:9 / / rw - ext4 /dev/root rw\n30 22 8:1 /srv {escaped} rw - ext4 /dev/sda1 rw\n"
        f"31 30 {device} {top} {escaped}/copy rw - ext4 /dev/sda1 rw\n"
    )
    found = library_at(place / "archive", mounts), library_at(place / "copy" / target, mounts)
    assert overlap_of(*found) is expected
