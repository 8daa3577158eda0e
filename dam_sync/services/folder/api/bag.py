"""The folder as a BagIt bag (RFC 8493), so that an archive can be validated years later, without dam-sync.

The manifests are made in a process of their own, see `manifests`: the library changes the working directory of its
process.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from datetime import date

from dam_sync.model.errors import NO_ROOM, DiskFull, IntegrityError
from dam_sync.services.folder.api import manifests
from dam_sync.services.folder.api.catalogue import SCRATCH
from dam_sync.services.folder.api.disk import Disk, explained, folder_mode, shortened

DECLARATION = b"BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-8\n"
SEALED = "tagmanifest-sha256.txt"  # written last
CODE = re.compile("%(0A|0D|25)", re.IGNORECASE)  # in a manifest, what stands for other characters (RFC 8493, 2.1.3)
OFF = "write `options: {bag: off}`"


class CodedName(IntegrityError):
    """A file has a name that no manifest can say so that every program reads it: some decode the code in it."""


def seal(disk: Disk, today: date) -> None:
    """Write the manifests of what lies in the folder now; reads every file. Safe to repeat: while SEALED is not there,
    the others count for nothing. Raises IntegrityError, CodedName for one, DiskFull, Denied."""
    prepare(disk)
    _refuse_odd_files(disk)
    command = [sys.executable, "-P", manifests.__file__, str(disk.root), today.isoformat()]
    mask = 0o777 & ~folder_mode(disk.root.stat())
    ran = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, umask=mask)
    if ran.returncode in NO_ROOM:
        raise DiskFull(f"no room left to make {disk.root} a bag", hint="free some space and run again")
    if ran.returncode:
        hint = f"the assets are complete; run again, or {OFF}"
        raise IntegrityError(f"{disk.root} cannot be made a bag: {ran.stderr.strip()[-500:]}", hint=hint)


def _refuse_odd_files(disk: Disk) -> None:
    """The library opens whatever lies in the folder: a link would put a digest of a file elsewhere into the manifests,
    and a pipe has no end. Raises IntegrityError."""
    with explained(str(disk.root)), disk.directory(()) as top:
        for above, folders, files, at in os.fwalk(".", dir_fd=top, follow_symlinks=False):
            for name in (*folders, *files):
                place = f"{above}/{name}".removeprefix("./")
                if CODE.search(name):
                    raise CodedName(
                        f"{disk.root} cannot be made a bag: {shortened(place)} is no name for a manifest, because some "
                        f"programs decode the %{CODE.findall(name)[0]} in it",
                        hint=f"the assets are complete; rename it and run again, or {OFF}",
                    )
                mode = os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
                if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    what = "a symbolic link" if stat.S_ISLNK(mode) else "a pipe or a device"
                    raise IntegrityError(
                        f"{disk.root} cannot be made a bag: {shortened(place)} is {what}",
                        hint=f"the assets are complete; remove it and run again, or {OFF}",
                    )


def prepare(disk: Disk) -> None:
    """From now on the folder is no bag until its manifests are complete."""
    disk.unlink(SEALED)
    if disk.size("bagit.txt") is None:
        disk.write("bagit.txt", [DECLARATION], f"{SCRATCH}/bagit.new")
