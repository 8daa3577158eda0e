"""Names in the journal of an unfinished run that an earlier release began."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from dam_sync.model import journal_names
from dam_sync.model.journal_names import WriteKind, of_kind
from dam_sync.model.values import Json
from dam_sync.store.base import Repository, from_text, pieces
from dam_sync.store.note_keys import TERM_NAMES
from dam_sync.store.notes import put_note
from dam_sync.store.runs import RUN_SCOPE
from dam_sync.store.tables import JOURNAL, LEDGER


class FormerNames(Repository):
    """Spells the names of terms as this release does: the last one joined labels as they were, so that a term and the
    path of another one had one name."""

    async def respell_terms(self, scope: str) -> None:
        """In the journal of this scope, once in the life of a state. A term that was created has the name that its row
        in the ledger says; of one that was only begun, nobody knows yet which it is. Safe to repeat."""

        def job(c: Connection) -> None:
            term = JOURNAL.c.name.startswith(of_kind(WriteKind.TERM), autoescape=True)
            rows = c.execute(select(JOURNAL).where(JOURNAL.c.scope == RUN_SCOPE + scope, term)).all()
            former = [dict(row._mapping) for row in rows if journal_names.is_former_term(row.name)]
            for row in former:
                c.execute(delete(JOURNAL).where(JOURNAL.c.scope == row["scope"], JOURNAL.c.name == row["name"]))
            for row in former:
                c.execute(insert(JOURNAL).values({**row, "name": _respelled(c, row)}))
            put_note(c, TERM_NAMES, True)

        await self._write(job)

    async def misplaced_terms(self, targets: Collection[str]) -> frozenset[tuple[str, str]]:
        """Those of these terms of the target that were created for a path, without a parent; with that path as the last
        release joined it."""
        term = LEDGER.c.operation.startswith(of_kind(WriteKind.TERM), autoescape=True)

        def job(c: Connection) -> frozenset[tuple[str, str]]:
            found = set[tuple[str, str]]()
            for some in pieces(targets):
                rows = c.execute(select(LEDGER.c.target, LEDGER.c.changes).where(term, LEDGER.c.target.in_(some)))
                made = ((target, (from_text(changes).get("term") or [None, None])[1] or {}) for target, changes in rows)
                found |= {(target, "/".join(term["path"])) for target, term in made if _is_without_parent(term)}
            return frozenset(found)

        return await self._read(job)


def _is_without_parent(term: Mapping[str, Json]) -> bool:
    return len(term.get("path") or ()) > 1 and not term.get("parent")


def _respelled(c: Connection, row: Mapping[str, Any]) -> str:
    name = row["name"]
    path = _path_of(c, name, from_text(row["result"])) if row["state"] == "done" else ()
    return (
        journal_names.term(journal_names.vocabulary_of(name, path), path) if path else journal_names.former_term(name)
    )


def _path_of(c: Connection, name: str, made: Json) -> tuple[str, ...]:
    """The path of the term that was created, by the ledger, or by what the target said of it; empty if neither says
    it."""
    written = select(LEDGER.c.changes).where(LEDGER.c.operation == name).order_by(LEDGER.c.seq.desc()).limit(1)
    changes = from_text(c.execute(written).scalar() or "{}").get("term") or [None, None]
    for term in (changes[1], made):
        path = tuple(term.get("path") or (term["label"],)) if term else ()
        if path and name.endswith(f":{'/'.join(path)}"):
            return path
    return ()
