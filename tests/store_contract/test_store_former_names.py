"""The journal of a run that an earlier release began: which term each of its names means."""

from __future__ import annotations

from typing import Any

from dam_sync.model.values import Json, Term, value_to_json
from dam_sync.model.write_record import WriteRecord, recording
from dam_sync.store.note_keys import TERM_NAMES
from dam_sync.store.store import SqlStore

LABEL, BELOW, PLAIN = Term("Arts/Crafts", "1", ("Arts/Crafts",)), Term("Sea", "2", ("Nature", "Sea")), Term("Sea", "3")


async def created(store: SqlStore, name: str, term: Term, wanted: Term | None) -> None:
    """As the earlier release recorded it. wanted: None without a row in the ledger that says it."""

    async def call() -> Json:
        return value_to_json(term)

    changes: dict[str, Any] = {"term": [None, value_to_json(wanted)] if wanted is not None else None}
    with recording(WriteRecord(term.id, changes)):
        await store.run_journal("terms").run(name, call, idempotent=True)


async def test_terms_that_were_created_have_the_name_of_what_the_ledger_says(store: SqlStore) -> None:
    await created(store, "term:dc:subject:Arts/Crafts", LABEL, LABEL)
    await created(store, "term:topics:Nature/Sea", BELOW, BELOW)
    await created(store, "term:topics:Sea", PLAIN, PLAIN)
    await created(store, "term:topics:A\\B", Term("A\\B"), Term("A\\B"))
    await store.respell_terms("terms")
    journal = store.run_journal("terms")
    for name in ("term:dc\\:subject:Arts\\/Crafts", "term:topics:Nature/Sea", "term:topics:Sea", "term:topics:A\\\\B"):
        assert await journal.get(name) is not None, name
    assert await journal.get("term:dc:subject:Arts/Crafts") is None
    assert await store.get_meta(TERM_NAMES)


async def test_what_the_target_said_of_a_term_counts_where_the_ledger_keeps_no_values(store: SqlStore) -> None:
    await created(store, "term:topics:Arts/Crafts", LABEL, None)
    await created(store, "term:topics:Nature/Sea", Term("sea", "2"), None)
    await store.respell_terms("terms")
    assert await store.run_journal("terms").get("term:topics:Arts\\/Crafts") is not None
    assert not await store.run_journal("terms").has_entries("term:topics:Nature")


async def test_of_a_term_that_was_only_begun_nobody_knows_which_it_is(store: SqlStore) -> None:
    journal = store.run_journal("terms")
    await journal.begin(["term:topics:Arts/Crafts", "term:topics:Sea"])
    await store.respell_terms("terms")
    await store.respell_terms("terms")
    assert await journal.begun("term:topics:") == {"term:topics:Sea"}
    assert await journal.begun("former term:topics:") == {"former term:topics:Arts/Crafts"}


async def test_terms_that_were_created_without_their_parent_are_known(store: SqlStore) -> None:
    run_of = store.run_journal("terms")

    async def record(term: Term) -> None:
        with recording(WriteRecord(term.id, {"term": [None, value_to_json(term)]})):
            await run_of.run(f"term:topics:{'/'.join(term.path)}", lambda: found(term), idempotent=True)

    for term in (
        Term("Sea", "1", ("A", "B", "Sea")),
        Term("Wood", "2", ("A", "Wood"), parent="9"),
        Term("A/B", "3", ("A/B",)),
    ):
        await record(term)
    assert await store.misplaced_terms({"1", "2", "3", "4"}) == {("1", "A/B/Sea")}


async def found(term: Term) -> Json:
    return value_to_json(term)
