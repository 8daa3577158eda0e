"""After a crash the target may hold any draft that was meant; the next one is right whatever it holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dam_sync.engine.compare.expected import Expected, FileMatch
from dam_sync.engine.context.counterparts import Counterparts
from dam_sync.engine.decide.patches import merge_patches
from dam_sync.engine.read.expected import expected_of
from dam_sync.engine.read.intents import ATTACHED, FILES, record_intent, recorded_intents
from dam_sync.model.asset import Draft, FileRef, Patch, Placement
from dam_sync.model.codec import draft_to_json
from dam_sync.model.link import LinkRow
from dam_sync.model.schema import Schema
from dam_sync.model.values import Json
from tests.support.run_double import run_double
from tests.support.state.memory_journal import MemoryJournal

KEYS = ("title", "note", "place")
FIELDS = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(("a", "b", "c")))
TAGS = st.frozensets(st.sampled_from(("x", "y", "z")))
PLACES = st.frozensets(st.sampled_from([Placement("folder", (name,), name) for name in "PQ"]))
DRAFTS = st.builds(
    Draft, st.none(), st.just("a.jpg"), fields=FIELDS, tags=TAGS, placements=PLACES, closed=st.booleans()
)


def applied(draft: Draft, patch: Patch) -> Draft:
    fields = {key: value for key, value in {**draft.fields, **patch.fields}.items() if value is not None}
    tags = draft.tags - patch.tags_remove | patch.tags_add
    places = draft.placements - patch.placements_remove | patch.placements_add
    closed = draft.closed if patch.closed is None else patch.closed
    return replace(draft, fields=fields, tags=tags, placements=places, closed=closed)


@given(st.lists(DRAFTS, min_size=1, max_size=4), DRAFTS, st.data())
def test_whatever_was_written_the_next_draft_is_made_of_it(
    meant: list[Draft], wanted: Draft, data: st.DataObject
) -> None:
    there = data.draw(st.sampled_from(meant))
    patch = merge_patches([draft_to_json(draft) for draft in meant], wanted)
    assert applied(there, patch) == wanted


@given(DRAFTS)
def test_nothing_changes_where_every_intent_was_the_wanted_draft(draft: Draft) -> None:
    assert merge_patches([draft_to_json(draft)] * 2, draft).empty
    assert merge_patches([], draft).empty


def intent_of(draft: Draft) -> Json:
    """As it is recorded, with which no file is sent."""
    return {**draft_to_json(draft), FILES: [], ATTACHED: []}


async def test_drafts_are_remembered_in_order_and_the_same_one_once() -> None:
    journal, first, second = MemoryJournal(), Draft(None, "a.jpg"), Draft(None, "b.jpg")
    numbers = [
        await record_intent(journal, draft_to_json(draft), await recorded_intents(journal))
        for draft in (first, first, second, first)
    ]
    assert numbers == [1, 1, 2, 3]
    assert await recorded_intents(journal) == [intent_of(draft) for draft in (first, second, first)]


async def test_every_recorded_intent_is_remembered_however_many_there_are() -> None:
    journal, drafts = MemoryJournal(), [Draft(None, f"{number}.jpg") for number in range(120)]
    numbers = [await record_intent(journal, draft_to_json(draft), await recorded_intents(journal)) for draft in drafts]
    assert numbers == list(range(1, 121))
    meant = await recorded_intents(journal)
    assert meant == [intent_of(draft) for draft in drafts]
    assert merge_patches(meant, drafts[-1]).filename == "119.jpg"


def expected_by(link: LinkRow, *intents: Json) -> Expected:
    context: Any = run_double(counterparts=Counterparts(), target_schema=Schema({}))
    return expected_of(context.target, link, intents)


def test_what_may_be_there_is_the_link_first_and_then_each_intent_in_order() -> None:
    """The first is what a conflict calls written."""
    first, second, third = (Draft(None, f"{number}.jpg") for number in range(3))
    found = expected_by(LinkRow("S", "X", draft=draft_to_json(first)), intent_of(second), intent_of(third))
    assert found.states == [first, second, third]


def test_files_are_not_compared_if_an_older_release_did_not_record_which_were_sent() -> None:
    link = LinkRow("S", "X", size=3, versions=("1",), draft=draft_to_json(Draft(None, "a.jpg")))
    sent = {**draft_to_json(Draft(None, "b.jpg")), FILES: [{"name": "b.jpg", "size": 4, "digests": {}}], ATTACHED: []}
    files = expected_by(link, sent).files
    assert (files.known, files.versions, files.file_match(FileRef("", "c.jpg", 99))) == (True, 2, FileMatch.OTHER)
    files = expected_by(link, draft_to_json(Draft(None, "b.jpg"))).files
    assert (files.known, files.versions, files.file_match(FileRef("", "c.jpg", 99))) == (False, None, FileMatch.UNSURE)
