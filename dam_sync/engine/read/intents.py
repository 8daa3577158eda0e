"""What a run intended to write for an asset, kept until it is complete: after a crash the target may hold any of it."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.engine.compare.files import file_facts
from dam_sync.model import journal_names
from dam_sync.model.asset import FileRef
from dam_sync.model.journal import note_fact
from dam_sync.model.ports import Journal
from dam_sync.model.values import Json

FILES, ATTACHED = "files sent", "attachments sent"  # beside the draft


async def recorded_intents(journal: Journal) -> list[Json]:
    """Drafts that earlier attempts may have written in part, oldest first: all of them, because one left out would stay
    at the target unnoticed. There is one for each change at the source between two attempts."""
    found: list[Json] = []
    while (draft := await journal.get(_name(len(found)))) is not None:
        found.append(draft)
    return found


async def record_intent(
    journal: Journal,
    draft: Json,
    before: Sequence[Json],
    files: Sequence[FileRef] = (),
    attachments: Sequence[FileRef] = (),
) -> int:
    """Record a draft, as JSON, durably before anything of it is written; returns its number for this asset. files: the
    versions that are sent with it, attachments: the files that are attached. Safe to repeat."""
    meant = {**draft, FILES: [*map(file_facts, files)], ATTACHED: [*map(file_facts, attachments)]}
    if before and before[-1] == meant:
        return len(before)
    await note_fact(journal, _name(len(before)), meant)
    return len(before) + 1


def values_alone(drafts: Sequence[Json]) -> dict[str, Json]:
    """The entries of the journal by which the values of these recorded drafts may have been written, and no files."""
    return {_name(number): {**draft, FILES: [], ATTACHED: []} for number, draft in enumerate(drafts)}


def files_sent(states: Sequence[Json]) -> list[FileRef]:
    """The files that attempts with these recorded drafts may have sent; none of a state of an older release."""
    return [_file(row) for state in states for row in state.get(FILES, ())]


def attachments_sent(states: Sequence[Json]) -> list[FileRef]:
    """The files that attempts with these recorded drafts may have attached, as far as the state says which."""
    rows = (row for state in states if isinstance(state.get(ATTACHED), list) for row in state[ATTACHED])
    return [_file(row) for row in rows]


def attached_at_most(states: Sequence[Json]) -> int:
    """How many files attempts with these recorded drafts may have attached."""
    numbers = [len(each) if isinstance(each := state.get(ATTACHED, 0), list) else each for state in states]
    distinct = {(file.name, file.size, *sorted(file.digests.items())) for file in attachments_sent(states)}
    return max(len(distinct), *numbers, 0)


def _file(row: Json) -> FileRef:
    return FileRef("", row["name"], row["size"], digests=row["digests"])


def _name(number: int) -> str:
    return journal_names.silent(f"draft {number + 1}")
