"""Old and new public links, in a scratch file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import astuple
from pathlib import Path

from dam_sync.model.public_link import Redirect
from dam_sync.store.scratch import ScratchDatabase

TAKEN = "no counterpart: also a link of another asset"
_SCHEMA = """
CREATE TABLE redirect (old TEXT, new TEXT, asset TEXT, target TEXT, name TEXT, became TEXT, reason TEXT);
CREATE UNIQUE INDEX redirect_old ON redirect (old) WHERE old <> '' AND new <> '';
CREATE TABLE probed (old TEXT PRIMARY KEY, old_status TEXT, new_status TEXT);
"""


class RedirectList(ScratchDatabase):
    """Redirects, and what probing them returned."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _SCHEMA)

    def add(self, rows: Sequence[Redirect]) -> None:
        """Add links; of several with the same old link the first one stands."""
        for row in rows:
            try:
                self._db.execute("INSERT INTO redirect VALUES (?, ?, ?, ?, ?, ?, ?)", astuple(row))
            except sqlite3.IntegrityError:
                again = (row.old, "", row.asset, row.target, row.name, "", TAKEN)
                self._db.execute("INSERT INTO redirect VALUES (?, ?, ?, ?, ?, ?, ?)", again)

    def redirects(self) -> Iterator[Redirect]:
        """Links with a counterpart, in the order of the old ones."""
        yield from self._rows("WHERE new <> '' ORDER BY old")

    def without(self) -> Iterator[Redirect]:
        """Links without a counterpart, by reason."""
        yield from self._rows("WHERE new = '' ORDER BY reason, asset, old")

    def _rows(self, which: str) -> Iterator[Redirect]:
        for row in self._db.execute(f"SELECT * FROM redirect {which}"):
            yield Redirect(*row)

    def reasons(self) -> list[tuple[str, int, list[str]]]:
        """Why links have no counterpart: how many, and the first assets."""
        chosen = "SELECT reason, count(*) AS n FROM redirect WHERE new = '' GROUP BY 1 ORDER BY 2 DESC, 1"
        first = "SELECT DISTINCT asset FROM redirect WHERE new = '' AND reason = ? ORDER BY asset LIMIT 3"
        return [
            (reason, int(number), [asset for (asset,) in self._db.execute(first, (reason,))])
            for reason, number in self._db.execute(chosen).fetchall()
        ]

    def count(self) -> int:
        """How many links have a counterpart."""
        return int(self._db.execute("SELECT count(*) FROM redirect WHERE new <> ''").fetchone()[0])

    def note_probe(self, old: str, old_status: str, new_status: str) -> None:
        """What the two links of a redirect returned."""
        self._db.execute("INSERT OR REPLACE INTO probed VALUES (?, ?, ?)", (old, old_status, new_status))

    def probe_of(self, old: str) -> tuple[str, str]:
        """What the old and the new link returned; empty texts if they were not asked."""
        found = self._db.execute("SELECT old_status, new_status FROM probed WHERE old = ?", (old,)).fetchone()
        return (str(found[0]), str(found[1])) if found else ("", "")

    def probes(self) -> dict[str, dict[str, int]]:
        """How many old and new links gave which response."""
        found: dict[str, dict[str, int]] = {}
        for side in ("old", "new"):
            chosen = f"SELECT {side}_status, count(*) FROM probed GROUP BY 1 ORDER BY 2 DESC, 1"
            found[side] = {str(status): int(number) for status, number in self._db.execute(chosen)}
        return found
