"""What a run wrote, by the asset of the target that it concerns, in a scratch file: the rows of the ledger that a
rollback undoes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from dam_sync.model import journal_names
from dam_sync.model.journal_names import WriteKind
from dam_sync.model.ledger import LedgerRow
from dam_sync.model.written import UNRECORDED, EarlierFile, Obstacle, OpenWrites, WrittenAsset, WrittenMembers
from dam_sync.store.base import from_text, to_text
from dam_sync.store.scratch import ScratchDatabase

OF_ASSET = frozenset(
    {
        *(WriteKind.CREATE, WriteKind.UPDATE, WriteKind.REPAIR, WriteKind.HIDE, WriteKind.REMOVE, WriteKind.RESTORE),
        *(WriteKind.VERSION, WriteKind.ATTACH, WriteKind.DETACH),
    }
)
RELATIONS = frozenset({WriteKind.RELATE, WriteKind.UNRELATE})
RENAMES = frozenset({WriteKind.RENAME_TERM, WriteKind.RENAME_CONTAINER})
EXAMPLES = 3
MADE = frozenset({WriteKind.TERM, WriteKind.CONTAINER})
NOBODY: tuple[list[str], list[str]] = ([], [])
_SCHEMA = """
CREATE TABLE undone (seq INTEGER PRIMARY KEY);
CREATE TABLE written (target TEXT, seq INTEGER, kind TEXT, source TEXT, body TEXT, PRIMARY KEY (target, seq))
    WITHOUT ROWID;
CREATE INDEX written_source ON written (source);
CREATE TABLE begun (target TEXT PRIMARY KEY, source TEXT, earlier INTEGER);
CREATE TABLE later (target TEXT, seq INTEGER, run INTEGER, PRIMARY KEY (target, seq)) WITHOUT ROWID;
CREATE TABLE related (seq INTEGER PRIMARY KEY, owner TEXT, other TEXT, body TEXT, done INTEGER DEFAULT 0);
CREATE INDEX related_assets ON related (owner, other);
CREATE TABLE renamed (seq INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE member (container TEXT, target TEXT, seq INTEGER, adds INTEGER, done INTEGER DEFAULT 0,
    PRIMARY KEY (container, target, seq)) WITHOUT ROWID;
CREATE TABLE uploaded (target TEXT, seq INTEGER, digest TEXT, size INTEGER, PRIMARY KEY (target, seq)) WITHOUT ROWID;
CREATE TABLE other (kind TEXT, seq INTEGER PRIMARY KEY, run INTEGER, name TEXT);
CREATE TABLE kept (target TEXT PRIMARY KEY);
CREATE TABLE obstacle (what TEXT, reason TEXT, stays INTEGER, asset TEXT, target TEXT,
    PRIMARY KEY (what, reason, stays, asset, target)) WITHOUT ROWID;
CREATE TABLE earlier (what TEXT, reason TEXT, stays INTEGER, asset TEXT, target TEXT);
"""
_RELATED = "INSERT INTO related (seq, owner, other, body) VALUES (?, ?, ?, ?)"


class UndoList(ScratchDatabase):
    """What one run wrote, by asset. run: the run that is to be rolled back."""

    def __init__(self, path: Path, run: int) -> None:
        self.run = run
        super().__init__(path, _SCHEMA, any_thread=True)

    def add(self, rows: Sequence[LedgerRow]) -> None:
        """A page of the ledger, in the order of writing."""
        self._db.execute("BEGIN")
        for row in rows:
            self._add(row)
        self._db.execute("COMMIT")

    def _add(self, row: LedgerRow) -> None:
        kind = row.kind
        if kind is WriteKind.UNDONE:
            self._db.executemany("INSERT OR IGNORE INTO undone VALUES (?)", [(seq,) for seq in row.detail["rows"]])
            left = row.detail.get("left", ()) if row.detail["run"] == self.run else ()
            rows = [(what, reason, True, row.asset, row.target) for what, reason in left]
            self._db.executemany("INSERT INTO earlier VALUES (?, ?, ?, ?, ?)", rows)
        elif journal_names.is_undo(row.operation) or not journal_names.writes(row.operation):
            return
        elif row.run == self.run:
            self._written(row, kind)
        elif row.run > self.run:
            self._db.executemany(
                "INSERT OR IGNORE INTO later VALUES (?, ?, ?)",
                [(target, row.seq, row.run) for target in concerned(row, kind)],
            )
        if kind in (WriteKind.CREATE, WriteKind.VERSION) and (row.digest or row.size is not None):
            self._db.execute("INSERT INTO uploaded VALUES (?, ?, ?, ?)", (row.target, row.seq, row.digest, row.size))

    def _written(self, row: LedgerRow, kind: str) -> None:
        if kind in OF_ASSET and row.target:
            values = (row.target, row.seq, str(kind), row.asset, to_text(asdict(row)))
            self._db.execute("INSERT INTO written VALUES (?, ?, ?, ?, ?)", values)
        elif kind in RELATIONS and (relation := _relation_of(row)):
            ends = (row.target, relation["target"])
            self._db.execute(_RELATED, (row.seq, *ends, to_text(asdict(row))))
        elif kind in RENAMES:
            self._db.execute("INSERT INTO renamed VALUES (?, ?)", (row.seq, to_text(asdict(row))))
        elif kind is WriteKind.PLACE and _members_of(row) != NOBODY:
            removed, added = _members_of(row)
            rows = [(row.target, each, row.seq, adds) for ids, adds in ((removed, 0), (added, 1)) for each in ids]
            self._db.executemany("INSERT INTO member (container, target, seq, adds) VALUES (?, ?, ?, ?)", rows)
        else:
            self._db.execute("INSERT INTO other VALUES (?, ?, ?, ?)", (str(kind), row.seq, row.run, row.operation))

    def add_begun(self, assets: Iterable[tuple[str, str, bool]]) -> None:
        """Assets, by their ids at source and target, that the run began to change and did not complete; and whether an
        earlier run had begun that."""
        self._db.executemany("INSERT OR IGNORE INTO begun (source, target, earlier) VALUES (?, ?, ?)", assets)

    def add_open_members(self, container: str, added: Iterable[str], removed: Iterable[str]) -> None:
        """Assets that the run was about to add to a container, or to remove from it."""
        rows = [(container, each, UNRECORDED, adds) for ids, adds in ((removed, 0), (added, 1)) for each in ids]
        self._db.executemany("INSERT OR IGNORE INTO member (container, target, seq, adds) VALUES (?, ?, ?, ?)", rows)

    def add_open_relation(self, row: LedgerRow) -> None:
        """A relation that the run was about to write or to remove. row: as the ledger would have it; its number is
        above those of the ledger."""
        ends = (row.target, _relation_of(row)["target"])
        self._db.execute(_RELATED, (row.seq, *ends, to_text(asdict(row))))

    def add_open_rename(self, row: LedgerRow) -> None:
        """A term or container that the run was about to rename; row: see `add_open_relation`."""
        self._db.execute("INSERT OR IGNORE INTO renamed VALUES (?, ?)", (row.seq, to_text(asdict(row))))

    def add_open_creation(self, row: LedgerRow) -> None:
        """A term or container that the run was about to create; row: see `add_open_relation`."""
        self._db.execute("INSERT INTO other VALUES (?, ?, ?, ?)", (str(row.kind), row.seq, row.run, row.operation))

    def complete(self) -> None:
        """The whole ledger was added: leave out what was undone before, and list what stayed then."""
        for table in ("written", "later", "related", "renamed", "other"):
            self._db.execute(f"DELETE FROM {table} WHERE seq IN (SELECT seq FROM undone)")
        self._db.execute("DELETE FROM member WHERE seq IN (SELECT seq FROM undone)")
        self.forget_obstacles()

    def assets(self, after: str, at_most: int) -> list[WrittenAsset]:
        """A page of the assets that the run wrote to, or may have written to, in the order of their ids."""
        chosen = (
            "SELECT target, max(source) FROM (SELECT target, source FROM written"
            " UNION SELECT target, source FROM begun) WHERE target > ? GROUP BY target ORDER BY target LIMIT ?"
        )
        return [self._asset(*row) for row in self._db.execute(chosen, (after, at_most)).fetchall()]

    def _asset(self, target: str, source: str) -> WrittenAsset:
        rows = self._db.execute("SELECT body FROM written WHERE target = ? ORDER BY seq", (target,)).fetchall()
        begun = self._db.execute("SELECT earlier FROM begun WHERE target = ?", (target,)).fetchone()
        return WrittenAsset(
            target,
            source,
            tuple(_row(body) for (body,) in rows),
            self.later(target),
            begun=begun is not None,
            earlier=begun is not None and bool(begun[0]),
        )

    def later(self, target: str) -> int:
        """The last run that wrote to the asset after the one to be rolled back; 0 if none did."""
        found = self._db.execute("SELECT max(run) FROM later WHERE target = ?", (target,)).fetchone()
        return int(found[0] or 0)

    def created(self, target: str) -> bool:
        """Whether the run created this asset, and that was not undone."""
        chosen = "SELECT 1 FROM written WHERE target = ? AND kind = 'create'"
        return self._db.execute(chosen, (target,)).fetchone() is not None

    @property
    def creates(self) -> bool:
        """Whether the run created assets, of which not all are undone."""
        return self._db.execute("SELECT 1 FROM written WHERE kind = 'create' LIMIT 1").fetchone() is not None

    @property
    def is_interrupted(self) -> bool:
        """Whether there are assets that the run began to change and did not complete."""
        return self._db.execute("SELECT 1 FROM begun LIMIT 1").fetchone() is not None

    def sources(self, assets: Sequence[str]) -> set[str]:
        """Those of these source assets of which the run wrote something."""
        marks = ", ".join("?" * len(assets))
        chosen = f"SELECT DISTINCT source FROM written WHERE source IN ({marks})"
        return {source for (source,) in self._db.execute(chosen, tuple(assets))}

    def relations(self) -> Iterator[LedgerRow]:
        """Relations that the run wrote or removed, the last one first."""
        for (body,) in self._db.execute("SELECT body FROM related ORDER BY seq DESC"):
            yield _row(body)

    def relates(self, one: str, other: str) -> bool:
        """Whether the run wrote or removed a relation between these target assets, in either direction."""
        chosen = "SELECT 1 FROM related WHERE (owner, other) IN (VALUES (?, ?), (?, ?)) LIMIT 1"
        return self._db.execute(chosen, (one, other, other, one)).fetchone() is not None

    def renames(self) -> list[LedgerRow]:
        """Terms and containers that the run renamed, or was about to, the last one first."""
        return [_row(body) for (body,) in self._db.execute("SELECT body FROM renamed ORDER BY seq DESC")]

    def members(self, at_most: int) -> Iterator[WrittenMembers]:
        """What the run changed in each container, so many members at a time: what was done first says what was there
        before."""
        chosen = (  # in SQLite `adds` is that of the row with the lowest number
            "SELECT container, target, min(seq), adds FROM member WHERE (container, target) > (?, ?)"
            " GROUP BY container, target ORDER BY container, target LIMIT ?"
        )
        after = ("", "")
        while rows := self._db.execute(chosen, (*after, at_most)).fetchall():
            after = rows[-1][:2]
            for container, some in groupby(rows, key=lambda row: str(row[0])):
                pairs = [(str(target), bool(adds)) for _, target, _, adds in some]
                added = tuple(target for target, adds in pairs if adds)
                yield WrittenMembers(container, added, tuple(target for target, adds in pairs if not adds))

    def members_done(self, container: str, targets: Iterable[str]) -> list[int]:
        """These memberships are undone; the numbers of the ledger rows of which nothing is left now."""
        rows = [(container, target) for target in targets]
        self._db.executemany("UPDATE member SET done = 1 WHERE (container, target) = (?, ?)", rows)
        chosen = "SELECT seq FROM member WHERE container = ? GROUP BY seq HAVING min(done) = 1 AND max(done) = 1"
        finished = [int(seq) for (seq,) in self._db.execute(chosen, (container,))]
        noted = [(container, seq) for seq in finished]
        self._db.executemany("UPDATE member SET done = 2 WHERE (container, seq) = (?, ?)", noted)
        return finished

    def relation_done(self, seq: int) -> None:
        """This relation is undone."""
        self._db.execute("UPDATE related SET done = 1 WHERE seq = ?", (seq,))

    def open_writes(self) -> OpenWrites:
        """What the run was about to change of memberships and relations and is not undone."""
        chosen = "SELECT container, target FROM member WHERE seq >= ? AND NOT done"
        members = frozenset((str(one), str(other)) for one, other in self._db.execute(chosen, (UNRECORDED,)))
        rows = self._db.execute("SELECT body FROM related WHERE seq >= ? AND NOT done", (UNRECORDED,))
        return OpenWrites(members, frozenset(_row(body).operation for (body,) in rows))

    def others(self) -> dict[str, list[str]]:
        """Other writes of the run by kind, with their names: terms, containers, and kinds that nothing undoes."""
        found: dict[str, list[str]] = {}
        for kind, name in self._db.execute("SELECT kind, name FROM other WHERE seq < ? ORDER BY seq", (UNRECORDED,)):
            found.setdefault(kind, []).append(name)
        return found

    def open_creations(self) -> list[str]:
        """Names of terms and containers that the run was about to create."""
        chosen = "SELECT name FROM other WHERE seq >= ? ORDER BY seq"
        return [name for (name,) in self._db.execute(chosen, (UNRECORDED,))]

    def uploaded_before(self, target: str, seq: int) -> EarlierFile | None:
        """The file that was current before this row was written, if the ledger has it."""
        chosen = "SELECT digest, size FROM uploaded WHERE target = ? AND seq < ? ORDER BY seq DESC LIMIT 1"
        found = self._db.execute(chosen, (target, seq)).fetchone()
        return EarlierFile(str(found[0]), found[1]) if found else None

    def keep(self, target: str) -> None:
        """This asset stays as it is; so do its memberships and relations."""
        self._db.execute("INSERT OR IGNORE INTO kept VALUES (?)", (target,))

    def is_kept(self, target: str) -> bool:
        """Whether the asset stays as it is."""
        return self._db.execute("SELECT 1 FROM kept WHERE target = ?", (target,)).fetchone() is not None

    # -- what stays -----------------------------------------------------------------------------------------------

    def add_obstacles(self, found: Iterable[Obstacle], asset: str, target: str = "") -> None:
        """Why parts of an asset stay; asset: its id at the source, or the name of something else."""
        rows = [(one.what, one.reason, one.stays, asset, target) for one in found]
        self._db.executemany("INSERT OR IGNORE INTO obstacle VALUES (?, ?, ?, ?, ?)", rows)

    def obstacles(self) -> Iterator[tuple[Obstacle, str, str]]:
        """Everything that stays, with the asset at the source and at the target."""
        chosen = "SELECT * FROM obstacle ORDER BY stays, what, reason, asset, target"
        for what, reason, stays, asset, target in self._db.execute(chosen):
            yield Obstacle(what, reason, bool(stays)), asset, target

    def obstacle_groups(self, examples: int = EXAMPLES) -> list[tuple[Obstacle, int, list[str]]]:
        """Reasons with the number of assets and the first of them, by their id at the target where that at the source
        is not known: first what somebody has to look at, the most frequent first."""
        chosen = "SELECT what, reason, stays, count(*) AS n FROM obstacle GROUP BY 1, 2, 3 ORDER BY 3, 4 DESC, 1, 2"
        first = (
            "SELECT coalesce(nullif(asset, ''), target) FROM obstacle WHERE (what, reason, stays) = (?, ?, ?) "
            "ORDER BY asset, target LIMIT ?"
        )
        return [
            (
                Obstacle(what, reason, bool(stays)),
                int(number),
                [asset for (asset,) in self._db.execute(first, (what, reason, stays, examples))],
            )
            for what, reason, stays, number in self._db.execute(chosen).fetchall()
        ]

    def forget_obstacles(self) -> None:
        """Count again, from what stayed in earlier rollbacks of the run."""
        self._db.execute("DELETE FROM obstacle")
        self._db.execute("INSERT OR IGNORE INTO obstacle SELECT * FROM earlier")
        self._db.execute("DELETE FROM kept")


def concerned(row: LedgerRow, kind: str) -> set[str]:
    """The assets of the target that a write changed."""
    if kind in MADE | RENAMES:
        return set()
    if kind is WriteKind.PLACE:
        removed, added = _members_of(row)
        return {*removed, *added}
    other = _relation_of(row).get("target") if kind in RELATIONS else ""
    return {each for each in (row.target, other) if each}


def _relation_of(row: LedgerRow) -> Mapping[str, str]:
    """Kind and target of a relation; empty for a row of an older release, which recorded no changes."""
    removed, added = row.changes.get("relation") or (None, None)
    return added or removed or {}


def _members_of(row: LedgerRow) -> tuple[list[str], list[str]]:
    """Assets removed and added; nobody for a row of an older release."""
    removed, added = row.changes.get("members") or NOBODY
    return removed, added


def _row(body: str) -> LedgerRow:
    return LedgerRow(**from_text(body))
