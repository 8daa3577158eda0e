"""What is left over after a move: in the tenant besides its assets, and beside the state file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.virtual.universe import Tenant, Universe

LONGEST: Final = 8 * 86_400.0  # seconds: nothing that expires lives longer than seven days (wire C 6.2, E 6.3)
EXPIRING: Final[Mapping[str, str]] = {
    "temporary file": "wire A 6.2: a descriptor whose address was lost is found no more; no call deletes one",
    "selection": "wire A 6.5: selections cannot be listed; they end within the hour",
    "empty batch": "wire B 6.2: batches cannot be listed; they end 4 h after they were last touched",
    "batch": "wire B 6.2: batches cannot be listed; they end 4 h after they were last touched",
    "upload request": "wire C 6.1: requests cannot be listed; their addresses end within a day",
    "uploaded object": "wire C 6.1: objects can be neither listed nor deleted; they are purged after a week",
    "upload session": "wire C 6.2 and E 6.3: sessions cannot be listed; they end after a week",
    "upload session without parts": "wire D 6.3: uploads cannot be listed; one without parts ends with its links",
    "half-written file": "folder: a later run removes one that is older than a day",
    "file of no asset": "wire E 6.3: files can be neither listed nor deleted; they end with their session",
}


@dataclass(frozen=True, slots=True)
class Orphans:
    """now: kinds and how many of each; later: the same when everything had the time to expire; here: files and secrets
    that should not be beside the state."""

    now: Counter[str]
    later: Counter[str]
    here: tuple[str, ...]

    def differences(self, want: Orphans) -> Iterator[str]:
        """What is left over and should not be."""
        for kind, number in (self.now - want.now).items():
            if kind not in EXPIRING:
                yield f"left in the target: {number} of {kind}"
        for kind, number in (self.later - want.later).items():
            yield f"left in the target permanently: {number} of {kind}"
        if self.here:
            yield f"left beside the state: {', '.join(self.here)}"


def orphans_in(universe: Universe, target: Tenant, state: Path) -> Orphans:
    """What is left over now, and when more time has passed than anything may live. The last that is done in a
    universe."""
    now = kinds(target)
    universe.do(universe.clock.sleep(LONGEST))
    return Orphans(now, kinds(target), tuple(beside(state)))


def kinds(target: Tenant) -> Counter[str]:
    """How many of each kind the tenant's emulator reports."""
    return Counter(row["kind"] for row in target.app.state.orphans())


def beside(folder: Path) -> Iterator[str]:
    """Files of transfers that ended, and upload links in the credential store."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and (path.suffix in (".tmp", ".part") or path.parent.name == "spool"):
            yield path.name
    for credentials in sorted(folder.glob("*.vault")):
        for name, secret in json.loads(credentials.read_text()).items():
            if "upload" in name and secret not in ("", "{}"):
                yield f"{name} in the credential store"
