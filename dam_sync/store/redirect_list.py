"""Old and new public links, in a scratch file."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dam_sync.model.exposure import ExposureRule
from dam_sync.model.public_link import LinkWidening, Redirect
from dam_sync.store.scratch import ScratchDatabase

TAKEN = "no counterpart: also a link of another asset"
_SCHEMA = """
CREATE TABLE redirect (
    old TEXT, new TEXT, asset TEXT, target TEXT, name TEXT, became TEXT, reason TEXT, widened TEXT, accepted TEXT,
    left_out INTEGER DEFAULT 0
);
CREATE UNIQUE INDEX redirect_old ON redirect (old) WHERE old <> '' AND new <> '';
CREATE TABLE probed (old TEXT PRIMARY KEY, old_status TEXT, new_status TEXT, old_opens INTEGER, new_opens INTEGER);
"""
_INSERT = "INSERT INTO redirect VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0)"
_FIRST = 3  # assets named as examples


@dataclass(frozen=True, slots=True)
class Probed:
    """What the two links of a redirect returned, and whether each opens without a login; None if that is not known."""

    old_status: str = ""
    new_status: str = ""
    old: bool | None = None
    new: bool | None = None


class RedirectList(ScratchDatabase):
    """Redirects, and what probing them returned."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _SCHEMA)

    def add(self, rows: Sequence[Redirect]) -> None:
        """Add links; of several with the same old link the first one stands."""
        for row in rows:
            try:
                self._db.execute(_INSERT, _columns(row))
            except sqlite3.IntegrityError:
                self._db.execute(_INSERT, _columns(Redirect(row.old, "", row.asset, row.target, row.name, "", TAKEN)))

    def leave_out(self, old: str, reason: str) -> None:
        """Publish no new link in the place of this one."""
        change = "UPDATE redirect SET new = '', became = '', reason = ?, left_out = 1 WHERE old = ? AND new <> ''"
        self._db.execute(change, (reason, old))

    def accept(self, old: str, rules: Iterable[ExposureRule]) -> None:
        """Note the rules by which the job lets this redirect through."""
        given = json.dumps(sorted({rule.value for rule in rules}))
        self._db.execute("UPDATE redirect SET accepted = ? WHERE old = ? AND new <> ''", (given, old))

    def redirects(self) -> Iterator[Redirect]:
        """Links with a counterpart, in the order of the old ones."""
        yield from self._rows("WHERE new <> '' ORDER BY old")

    def page(self, after: str, at_most: int) -> list[Redirect]:
        """The first of them after this old link."""
        return list(self._rows(f"WHERE new <> '' AND old > ? ORDER BY old LIMIT {at_most:d}", after))

    def without(self) -> Iterator[Redirect]:
        """Links without a counterpart, and those that are left out, by reason."""
        yield from self._rows("WHERE new = '' ORDER BY reason, asset, old")

    def _rows(self, which: str, *given: str) -> Iterator[Redirect]:
        for old, new, asset, target, name, became, reason, widened, accepted, _ in self._db.execute(
            f"SELECT * FROM redirect {which}", given
        ):
            found = tuple(LinkWidening(ExposureRule(rule), side) for rule, side in json.loads(widened))
            yield Redirect(
                old, new, asset, target, name, became, reason, found, tuple(map(ExposureRule, json.loads(accepted)))
            )

    def reasons(self, *, left_out: bool) -> list[tuple[str, int, list[str]]]:
        """Why links have no counterpart, or why they are left out: how many, and the first assets."""
        which = "new = '' AND left_out = ?"
        chosen = f"SELECT reason, count(*) AS n FROM redirect WHERE {which} GROUP BY 1 ORDER BY 2 DESC, 1"
        first = f"SELECT DISTINCT asset FROM redirect WHERE {which} AND reason = ? ORDER BY asset LIMIT {_FIRST}"
        return [
            (reason, int(number), [asset for (asset,) in self._db.execute(first, (left_out, reason))])
            for reason, number in self._db.execute(chosen, (left_out,)).fetchall()
        ]

    def accepted(self) -> list[tuple[ExposureRule, int]]:
        """How many redirects each rule let through."""
        found = Counter[ExposureRule]()
        chosen = "SELECT accepted, count(*) FROM redirect WHERE new <> '' GROUP BY 1"
        for rules, number in self._db.execute(chosen):
            found.update(dict.fromkeys(map(ExposureRule, json.loads(rules)), int(number)))
        return sorted(found.items())

    def count(self) -> int:
        """How many links have a counterpart."""
        return int(self._db.execute("SELECT count(*) FROM redirect WHERE new <> ''").fetchone()[0])

    def note_probe(self, old: str, probed: Probed) -> None:
        """What the two links of a redirect returned."""
        row = (old, probed.old_status, probed.new_status, probed.old, probed.new)
        self._db.execute("INSERT OR REPLACE INTO probed VALUES (?, ?, ?, ?, ?)", row)

    def probe_of(self, old: str) -> Probed:
        """What the old and the new link returned; nothing if they were not asked."""
        chosen = "SELECT old_status, new_status, old_opens, new_opens FROM probed WHERE old = ?"
        found = self._db.execute(chosen, (old,)).fetchone()
        return (
            Probed()
            if found is None
            else Probed(*found[:2], *(None if each is None else bool(each) for each in found[2:]))
        )

    def probes(self) -> dict[str, dict[str, int]]:
        """How many old links gave which response, and how many new ones of those that are published."""
        counted = {
            "old": "SELECT old_status, count(*) FROM probed GROUP BY 1 ORDER BY 2 DESC, 1",
            "new": "SELECT new_status, count(*) FROM probed JOIN redirect USING (old) WHERE redirect.new <> '' "
            "GROUP BY 1 ORDER BY 2 DESC, 1",
        }
        return {
            side: {str(status): int(number) for status, number in self._db.execute(chosen)}
            for side, chosen in counted.items()
        }


def _columns(row: Redirect) -> tuple[str, ...]:
    widened = json.dumps([[one.rule.value, one.side] for one in row.widened])
    accepted = json.dumps([rule.value for rule in row.accepted])
    return row.old, row.new, row.asset, row.target, row.name, row.became, row.reason, widened, accepted
