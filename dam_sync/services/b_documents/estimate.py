"""What a write has of the parts whose costs are in `facts.COSTS`, at service B."""

from __future__ import annotations

from collections import Counter

from dam_sync.model.asset import Draft, Patch, Placement
from dam_sync.model.costs import Amounts, CostPart, PlanMemory
from dam_sync.model.writes import Change, Opening
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.codec.fields import ServerSchema
from dam_sync.services.b_documents.codec.forms import (
    LATE,
    state_of,
    tags_by_property,
    transitions_between,
    usual_transitions,
)
from dam_sync.services.b_documents.source.files import DocumentsFiles
from dam_sync.services.b_documents.target.update import DocumentsUpdate


class DocumentsEstimate(DocumentsFiles, DocumentsUpdate):
    """Exact once `schema()` and `containers()` were read; an upload batch is counted with its first file, also that it
    is dropped."""

    def amounts(self, change: Change, counted: Amounts, planned: PlanMemory) -> Amounts:
        match change:
            case Draft():
                counted += self._draft_amounts(change)
            case Patch():
                counted += self._patch_amounts(change)
            case Opening(file) if self.is_served(file):
                return Counter({facts.SERVED: 1})
            case _:
                pass
        return counted + batch_amounts(counted, planned) + self._folder_amounts(change, planned)

    def _draft_amounts(self, draft: Draft) -> Amounts:
        server, options = self.tenant.server.now or ServerSchema(), self.api.options
        by_operation = bool(draft.tags) and not tags_by_property(server, draft.profile or options.type)
        return Counter(
            {
                facts.LATE_VALUES: int(any(key in LATE for key in draft.fields)),
                facts.TAGGED: int(by_operation),
                facts.GIVEN: 1 if draft.closed else self._given(draft.rights.groups),
                facts.MOVED: int(needs_closed(draft)),
                facts.FOLLOWED: self._transitions(draft.status, new=True),
            }
        )

    def _patch_amounts(self, patch: Patch) -> Amounts:
        by_property = bool(self.api.options.status_field) and patch.status is not None
        dated = patch.rights is not None and bool(patch.rights.release_at or patch.rights.expires_at)
        puts = patch.fields or patch.tags_add or patch.tags_remove or patch.cleared or dated or by_property
        moved = any(place.kind == "folder" for place in patch.placements_add | patch.placements_remove)
        groups = patch.rights.groups if patch.rights is not None else frozenset[str]()
        return Counter(
            {
                facts.VALUES: int(bool(puts)),
                facts.MOVED: int(moved),
                facts.GIVEN: 1 if patch.closed else self._given(groups),
                facts.UNBLOCKED: int(patch.closed is False and not groups),
                facts.FOLLOWED: self._transitions(patch.status or "", new=False),
            }
        )

    def _given(self, groups: frozenset[str]) -> int:
        """Only an administrator keeps access to a document that inherits nothing."""
        user = self.tenant.user.now
        return 0 if not groups else 1 if user is None or user.administrator else 2

    def _transitions(self, status: str, *, new: bool) -> int:
        options = self.api.options
        if not status or options.status_field:
            return 0
        if not new:
            return usual_transitions(status, options)
        goal = state_of(status, options)
        return 0 if goal == facts.INITIAL else len(transitions_between(facts.INITIAL, goal, options))

    def _folder_amounts(self, change: Change, planned: PlanMemory) -> Amounts:
        """Folders still to be created, as far as known without a call; they are created once."""
        home, closed = needs_home(change), needs_closed(change)
        titles, found = self.api.options.folder_titles, Counter[str]()
        if (home or closed) and planned.first("home"):
            found[facts.FOLDER_MADE] = self.missing_folders(titles)
        if closed and not self.knows_closed and planned.first(facts.CLOSED):
            there = self.has_folder((*titles, facts.CLOSED))
            found.update([facts.FOLDER_SEEN] if there else [facts.FOLDER_MADE, facts.GIVEN])
        return found


def batch_amounts(counted: Amounts, planned: PlanMemory) -> Amounts:
    """The batch of a file in chunks, or the one that a small file is the first to need."""
    batches = counted[CostPart.CHUNKED]
    if counted[CostPart.WHOLE]:
        size = counted[CostPart.BYTES]
        batches += not planned.join("batch", facts.BATCH_FILES, size=size, bytes_most=facts.BATCH_BYTES)
    return Counter({facts.BATCH_USED: batches})


def needs_home(change: Change) -> bool:
    """Whether the folder for assets without a place is needed, which is created once."""
    match change:
        case Draft():
            return not any(place.kind == "folder" for place in change.placements)
        case Patch():
            added = any(place.kind == "folder" for place in change.placements_add)
            return not added and any(place.kind == "folder" for place in change.placements_remove)
        case Placement():
            return change.kind == "collection"
        case _:
            return False


def needs_closed(change: Change) -> bool:
    """Whether a document is created in the closed folder, which is made once."""
    return isinstance(change, Draft) and (change.closed or bool(change.rights.groups))
