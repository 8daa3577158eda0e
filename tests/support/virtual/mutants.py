"""The product without one safeguard: what a suite that proves the safeguards must notice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dam_sync.services.a_hypermedia.target import find as find_a
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.target.create import DocumentsCreate
from dam_sync.services.b_documents.uploads import batches, uploader
from dam_sync.services.c_brandlibrary.target import shared, values
from dam_sync.store import journal, runs
from dam_sync.store.runs import Runs
from dam_sync.transfer import digests

Mutant = Callable[[pytest.MonkeyPatch], None]


def no_intent(patch: pytest.MonkeyPatch) -> None:
    """A call is made without an intent."""

    async def forgotten(self: Any, name: str) -> None:
        return None

    patch.setattr(journal.StoredJournal, "_intend", forgotten)


def no_look(patch: pytest.MonkeyPatch) -> None:
    """A call whose outcome is unknown is made again, and nobody looks for what it did."""
    take = journal.StoredJournal._take

    async def blind(self: Any, name: str, call: Any, found: Any, kept: Any, harmless: bool) -> Any:
        return await take(self, name, call, None, kept, True)

    patch.setattr(journal.StoredJournal, "_take", blind)


def no_lease(patch: pytest.MonkeyPatch) -> None:
    """Nobody asks whether another process is at it."""
    patch.setattr(runs, "live_runs", lambda c, since, process_exists: [])


def no_leash(patch: pytest.MonkeyPatch) -> None:
    """A process that stood still sends what it was about to send."""
    patch.setattr(Runs, "prove_held", lambda self: None)


def no_fence(patch: pytest.MonkeyPatch) -> None:
    """A process that was taken over continues to write."""
    patch.setattr(Runs, "_refuse_when_taken_over", lambda self, c: None)


def no_digest(patch: pytest.MonkeyPatch) -> None:
    """Bytes are taken for what they should be."""
    patch.setattr(digests.DigestTracker, "check", digests.DigestTracker.settle)


# -- shared creates and values of C ------------------------------------------------------------------------------------


def no_note(patch: pytest.MonkeyPatch) -> None:
    """An asset of a shared call leaves no record of what it is recognized by."""

    async def forgotten(self: Any, creation: Any, lead: str) -> None:
        return None

    patch.setattr(shared.SharedCreates, "_note", forgotten)


def no_name(patch: pytest.MonkeyPatch) -> None:
    """Assets of a shared call are told apart by their files alone."""
    patch.setattr(shared.SharedCall, "is_named", lambda self, row: True)


def no_file(patch: pytest.MonkeyPatch) -> None:
    """They are told apart by their names alone."""
    patch.setattr(shared.SharedCall, "_has_file", lambda self, attributes: True)


def no_time(patch: pytest.MonkeyPatch) -> None:
    """An asset may be of a shared call whenever it was created."""
    patch.setattr(shared.SharedCall, "_is_of_then", lambda self, created, lead: True)


def no_token(patch: pytest.MonkeyPatch) -> None:
    """No asset of a shared call has its token."""
    with_tokens = shared.SharedCreates._with_tokens

    def without(self: Any, call: Sequence[Any]) -> list[Any]:
        first, *rest = with_tokens(self, call)
        return [_without_token(first) if rest else first, *rest]

    patch.setattr(shared.SharedCreates, "_with_tokens", without)


def no_token_of_the_alike(patch: pytest.MonkeyPatch) -> None:
    """Of two assets that nothing distinguishes, the second has no token either."""
    with_tokens = shared.SharedCreates._with_tokens

    def without(self: Any, call: Sequence[Any]) -> list[Any]:
        first, *rest = with_tokens(self, call)
        return [first, *map(_without_token, rest)]

    patch.setattr(shared.SharedCreates, "_with_tokens", without)


def _without_token(creation: Any) -> Any:
    return replace(creation, new=replace(creation.new, token=False))


def no_names_apart(patch: pytest.MonkeyPatch) -> None:
    """Assets of one name share a call."""
    patch.setattr(shared, "known_as", lambda name: object())


def no_read_back(patch: pytest.MonkeyPatch) -> None:
    """The first shared call is taken for what it should have done."""

    async def unseen(self: Any, call: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        return results

    patch.setattr(shared.SharedCreates, "_verified", unseen)


def no_division_of_creates(patch: pytest.MonkeyPatch) -> None:
    """All assets of a refused create are refused."""
    created = shared.SharedCreates._created

    async def all_refused(self: Any, call: Sequence[Any]) -> Sequence[Any]:
        results = await created(self, call)
        return [each.error if isinstance(each, shared.SharedCallFailed) else each for each in results]

    patch.setattr(shared.SharedCreates, "_created", all_refused)


def no_division_of_values(patch: pytest.MonkeyPatch) -> None:
    """All assets of a call are refused their values if the service refuses one."""
    together = values.FieldValueWriter._posted_together

    async def all_refused(self: Any, key: Any, rows: Sequence[Any]) -> dict[str, Any]:
        failed = await together(self, key, rows)
        refused = [each for each in failed.values() if not isinstance(each, values.InDoubt)]
        return dict.fromkeys((asset for _, asset in rows), refused[0]) if refused else failed

    patch.setattr(values.FieldValueWriter, "_posted_together", all_refused)


def no_look_for_values(patch: pytest.MonkeyPatch) -> None:
    """Values whose response was lost are sent again, and stay twice."""
    share = values.FieldValueWriter._shared
    _no_drop_of_equal(patch)

    async def blind(self: Any, owed: Any, found: Any, participant: Any) -> None:
        await share(self, owed, _nothing, participant)

    patch.setattr(values.FieldValueWriter, "_shared", blind)


async def _nothing() -> None:
    return None


def _no_drop_of_equal(patch: pytest.MonkeyPatch) -> None:
    """What is there twice once an asset is complete stays so."""

    async def kept(self: Any, row: Any) -> None:
        return None

    patch.setattr(values.FieldValueWriter, "drop_equal", kept)


def no_note_of_values(patch: pytest.MonkeyPatch) -> None:
    """Nobody remembers that some values of an asset were written before others were refused; they stay twice."""
    _no_drop_of_equal(patch)

    async def forgotten(journal: Any, name: str) -> None:
        return None

    patch.setattr(values, "note_fact", forgotten)


# -- shared upload batches of B ----------------------------------------------------------------------------------------


def no_index(patch: pytest.MonkeyPatch) -> None:
    """All files of a batch have one index."""
    placed = batches.SharedBatches._placed

    def first(self: Any, batch: Any, size: int) -> Any:
        return {**placed(self, batch, size), "index": "0"}

    patch.setattr(batches.SharedBatches, "_placed", first)


def no_record_of_files(patch: pytest.MonkeyPatch) -> None:
    """Nobody records which file of which batch is whose."""

    async def unrecorded(content: Any, send: Callable[[Any], Awaitable[Any]], *rest: Any, **more: Any) -> Any:
        return await send(content)

    patch.setattr(uploader, "send_single", unrecorded)


def no_look_at_files(patch: pytest.MonkeyPatch) -> None:
    """A document is taken for one with its file."""

    async def unseen(self: Any, row: Any, content: Any, handle: Any, journal: Any) -> Any:
        return row

    patch.setattr(DocumentsCreate, "_with_file", unseen)


def no_batch_alone(patch: pytest.MonkeyPatch) -> None:
    """A file that is missing is sent again with those of others."""
    patch.setattr(uploader.DocumentsUploads, "_alone", uploader.DocumentsUploads._whole)


def no_count_of_losses(patch: pytest.MonkeyPatch) -> None:
    """Files continue to share batches, however many the server loses."""
    patch.setattr(facts, "BATCH_LOSSES", 10**6)


def no_end_of_batches(patch: pytest.MonkeyPatch) -> None:
    """The last batch of a run stays at the server."""

    async def left(self: Any) -> None:
        return None

    patch.setattr(batches.SharedBatches, "end", left)


# -- media of A, created in their folder and marked by a bulk ----------------------------------------------------------


def no_unmarked(patch: pytest.MonkeyPatch) -> None:
    """A media without a marker is nobody's."""
    find = find_a.MediaFinder.find_partial

    async def marked(self: Any, marker: Any, journal: Any, *, unmarked: bool = False) -> Any:
        return await find(self, marker, journal)

    patch.setattr(find_a.MediaFinder, "find_partial", marked)


def no_question_whose(patch: pytest.MonkeyPatch) -> None:
    """Nobody asks whether the journal of another asset knows a media without a marker."""

    async def unknown(self: Any, text: str) -> bool:
        return False

    patch.setattr(journal.StoredJournal, "is_recorded", unknown)


SAFEGUARDS: Mapping[str, Mutant] = {
    "intent": no_intent,
    "found": no_look,
    "lease": no_lease,
    "leash": no_leash,
    "fence": no_fence,
    "digest": no_digest,
    "C: record of a shared create": no_note,
    "C: name": no_name,
    "C: file": no_file,
    "C: time": no_time,
    "C: token": no_token,
    "C: token of the alike": no_token_of_the_alike,
    "C: names apart": no_names_apart,
    "C: reading back": no_read_back,
    "C: division of creates": no_division_of_creates,
    "C: division of values": no_division_of_values,
    "C: look for values": no_look_for_values,
    "C: record of values in part": no_note_of_values,
    "B: index": no_index,
    "B: record of files": no_record_of_files,
    "B: look at files": no_look_at_files,
    "B: batch alone": no_batch_alone,
    "B: count of losses": no_count_of_losses,
    "B: end of batches": no_end_of_batches,
    "A: unmarked": no_unmarked,
    "A: is recorded": no_question_whose,
}
