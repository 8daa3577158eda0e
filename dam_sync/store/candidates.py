"""Assets of a target that may be the counterparts of source assets, and the matches found; in a scratch file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dam_sync.model.adoption import MatchedBy
from dam_sync.model.asset import Asset
from dam_sync.model.codec import asset_from_json, asset_to_json
from dam_sync.store.base import from_text, to_text
from dam_sync.store.scratch import ScratchDatabase

_SCHEMA = """
CREATE TABLE candidate (id TEXT PRIMARY KEY, marker TEXT, key TEXT, name TEXT, size INTEGER, asset TEXT NOT NULL);
CREATE INDEX candidate_marker ON candidate (marker) WHERE marker <> '';
CREATE INDEX candidate_key ON candidate (key) WHERE key <> '';
CREATE INDEX candidate_name ON candidate (name, size) WHERE name <> '';
CREATE TABLE matched (source TEXT, target TEXT, how TEXT, certain INTEGER, reason TEXT, filename TEXT, differs TEXT,
    PRIMARY KEY (source, target));
CREATE INDEX matched_target ON matched (target);
CREATE TABLE linked (target TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_UNCLAIMED = (
    "FROM candidate WHERE marker <> '' AND id NOT IN (SELECT target FROM matched)"
    " AND id NOT IN (SELECT target FROM linked) AND id > ?"
)
_BY = {"marker": "marker = ?", "key": "key = ?", "file": "name = ? AND size = ?", "id": "id = ?"}


@dataclass(frozen=True, slots=True)
class CandidateMatch:
    """One source asset and the target asset it may be. differs: paths at which the target asset differs from what a run
    would write."""

    source: str
    target: str
    how: MatchedBy
    certain: bool
    reason: str = ""
    filename: str = ""
    differs: tuple[str, ...] = ()


class Candidates(ScratchDatabase):
    """Assets of the target, to be found by marker, key, file or id."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _SCHEMA)

    def add(self, asset: Asset, marker: str, key: str) -> None:
        """Add an existing asset of the target, with its marker and its value of the id field, if any."""
        file = asset.file
        name = asset.filename.casefold() if file is not None else ""
        row = (asset.id, marker, key, name, file.size if file else None, to_text(asset_to_json(asset)))
        self._db.execute("INSERT OR REPLACE INTO candidate VALUES (?, ?, ?, ?, ?, ?)", row)

    def by_marker(self, marker: str) -> list[Asset]:
        """Assets with this marker."""
        return self._found("marker", marker)

    def by_key(self, key: str) -> list[Asset]:
        """Assets whose id field has this value."""
        return self._found("key", key)

    def by_file(self, name: str, size: int) -> list[Asset]:
        """Assets whose current file has this name, ignoring case, and this size."""
        return self._found("file", name.casefold(), size)

    def by_id(self, identity: str) -> Asset | None:
        """An asset by its id."""
        found = self._found("id", identity)
        return found[0] if found else None

    def _found(self, by: str, *values: str | int) -> list[Asset]:
        rows = self._db.execute(f"SELECT asset FROM candidate WHERE {_BY[by]} ORDER BY id", values)
        return [asset_from_json(from_text(text)) for (text,) in rows]

    def put(self, match: CandidateMatch) -> None:
        """Store a match; several of one source asset make all of them ambiguous."""
        row = (match.source, match.target, match.how, match.certain, match.reason, match.filename)
        differs = to_text(list(match.differs))
        self._db.execute("INSERT OR REPLACE INTO matched VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, differs))

    def of(self, source: str) -> list[CandidateMatch]:
        """The matches of a source asset."""
        return list(self._matches("source = ?", source))

    def sources_because_of(self, reason: str) -> set[str]:
        """Source assets that are not certain for a reason that begins so."""
        chosen = "SELECT source FROM matched WHERE NOT certain AND substr(reason, 1, ?) = ?"
        return {source for (source,) in self._db.execute(chosen, (len(reason), reason))}

    def drop(self, source: str) -> None:
        """Forget the matches of a source asset."""
        self._db.execute("DELETE FROM matched WHERE source = ?", (source,))

    def resolve_conflicts(self) -> None:
        """Make every certain match ambiguous whose target asset is also claimed by another certain match."""
        self._db.execute(
            "UPDATE matched SET certain = 0, reason = 'several source assets match this target asset' WHERE certain "
            "AND target IN (SELECT target FROM matched WHERE certain GROUP BY target HAVING count(*) > 1)"
        )

    def matches(self, *, certain: bool) -> Iterator[CandidateMatch]:
        """Every match of that kind, in the order of source ids."""
        return self._matches("certain = ?", certain)

    def _matches(self, which: str, value: str | bool) -> Iterator[CandidateMatch]:
        chosen = f"SELECT * FROM matched WHERE {which} ORDER BY source, target"
        for source, target, how, sure, reason, filename, differs in self._db.execute(chosen, (value,)):
            paths = tuple(from_text(differs))
            yield CandidateMatch(source, target, MatchedBy(how), bool(sure), reason, filename, paths)

    def mark_linked(self, targets: Iterable[str]) -> None:
        """These target assets have a link from before; safe to repeat."""
        self._db.executemany("INSERT OR IGNORE INTO linked VALUES (?)", ((target,) for target in targets))

    def linked(self) -> int:
        """How many target assets with a marker have a link from before."""
        (number,) = self._db.execute("SELECT count(*) FROM linked").fetchone()
        return int(number)

    def unclaimed(self, after: str = "", at_most: int = 3) -> list[str]:
        """Marked target assets that have no link and that no source asset matches: a page in the order of their ids,
        after the id `after`."""
        return [row[0] for row in self._db.execute(f"SELECT id {_UNCLAIMED} ORDER BY id LIMIT ?", (after, at_most))]

    def unclaimed_count(self) -> int:
        """How many they are."""
        (number,) = self._db.execute(f"SELECT count(*) {_UNCLAIMED}", ("",)).fetchone()
        return int(number)

    def counts(self) -> dict[MatchedBy, int]:
        """Certain matches by how they were found."""
        rows = self._db.execute("SELECT how, count(*) FROM matched WHERE certain GROUP BY how ORDER BY how")
        return {MatchedBy(how): int(number) for how, number in rows}
