"""Estimates the API calls of writes at service B."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from dam_sync.model.asset import Draft, FileRef, Patch, Placement, Relation
from dam_sync.model.limits import Limits
from dam_sync.model.service import Calls
from dam_sync.model.values import Term
from dam_sync.model.writes import Attachment, CarriedMemberships, Change, Membership, Renaming, TrashMove, VersionReturn
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.codec.fields import ServerSchema
from dam_sync.services.b_documents.codec.forms import (
    LATE,
    state_of,
    tags_by_property,
    transitions_between,
    usual_transitions,
)
from dam_sync.services.b_documents.options import DocumentsOptions
from dam_sync.services.b_documents.target.update import FOLLOW, DocumentsUpdate
from dam_sync.services.b_documents.uploads.batches import BatchRoom

TAG = f"{facts.OPERATION}Services.TagDocument"
GIVE = f"{facts.OPERATION}Document.AddPermission"
UNBLOCK = f"{facts.OPERATION}Document.UnblockPermissionInheritance"
TRANSITION = f"{facts.OPERATION}{FOLLOW}"
CHECK_IN = f"{facts.OPERATION}Document.CreateVersion"
RETURN = f"{facts.OPERATION}Document.RestoreVersion"
MOVE = f"{facts.OPERATION}Document.Move"
FILL = f"{facts.OPERATION}Document.AddToCollection"
LINKED = f"{facts.OPERATION}Document.GetLinkedDocuments"
TRASH, UNTRASH = (f"{facts.OPERATION}Document.{name}" for name in ("Trash", "Untrash"))
LINK = facts.ADD_RELATION


@dataclass(frozen=True, slots=True)
class Known:
    """What estimates depend on. administrator: whether the user of the job keeps access to a document that inherits
    nothing."""

    server: ServerSchema
    options: DocumentsOptions
    administrator: bool = True
    limits: Limits = facts.LIMITS


class DocumentsEstimate(DocumentsUpdate):
    """Estimates writes; exact once `schema()` and `containers()` were read; a shared upload batch is counted with its
    first file, also that it is dropped."""

    def estimate_saved(self, change: Change) -> Calls:
        return {facts.GET_ID: 1} if isinstance(change, Patch | FileRef) else {}

    def estimate(self, change: Change, size: int | None = None) -> Calls:
        """Calls of one write, with those for folders that it is the first to need."""
        if isinstance(change, TrashMove):
            return {facts.GET_ID: 1, TRASH if change.restored is None else UNTRASH: 1}
        user = self.tenant.user.now
        server, keeps = self.tenant.server.now or ServerSchema(), user is None or user.administrator
        known = Known(server, self.api.options, keeps, self.api.limits)
        folders = self.estimate_folders(home=needs_home(change), closed=needs_closed(change))
        return +(calls_of(change, size, known) + self._batch_calls(change, size, known) + folders)

    def _batch_calls(self, change: Change, size: int | None, known: Known) -> Counter[str]:
        """Calls for the upload batch that a small file is the first to need."""
        if isinstance(change, FileRef):
            size = size or change.size or 0
        elif size is None or not isinstance(change, Attachment | Draft):
            return Counter()
        if known.limits.parts_for(size):
            return Counter()
        batches = self.uploads.batches
        room = batches.foreseen if batches.foreseen.takes(size) else BatchRoom()
        batches.foreseen = room.with_file(size)
        return Counter({facts.NEW_BATCH: 1, facts.DROP_BATCH: 1}) if not room.files else Counter()


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


def calls_of(change: Change, size: int | None, known: Known) -> Counter[str]:
    """Calls of one write, without folders."""
    match change:
        case Draft():
            return draft_calls(change, size, known)
        case FileRef():
            return version_calls(size or change.size or 0, known.limits)
        case Patch():
            return patch_calls(change, known)
        case Membership():
            return place_calls(change, known.limits)
        case Attachment():
            return attach_calls(size or 0, known.limits)
        case Relation():
            return Counter({LINKED: 1, LINK: 1})
        case CarriedMemberships():
            return Counter()  # a document keeps its places
        case VersionReturn():
            return Counter({facts.GET_ID: 1, CHECK_IN: 1, RETURN: 1})
        case _:
            return taxonomy_calls(change)


def taxonomy_calls(change: Change) -> Counter[str]:
    """A new term or container, or one with another name."""
    match change:
        case Renaming(Term()):
            return Counter({facts.DIRECTORY: 1, facts.PUT_ENTRY: 1})
        case Renaming():
            return Counter({facts.PUT_ID: 1})
        case Term():
            return Counter({facts.ADD_ENTRY: 1})
        case _:  # a container
            return Counter({facts.POST_ID: 1})


def upload_calls(size: int, limits: Limits) -> Counter[str]:
    """The file, or its batch and its chunks; small files share batches."""
    bounds = limits.parts_for(size)
    if not bounds:
        return Counter({facts.UPLOAD: 1})
    chunks = len(bounds.split(size))
    return Counter({facts.NEW_BATCH: 1, facts.UPLOAD: chunks, facts.UPLOADED: 1, facts.DROP_BATCH: 1})


def draft_calls(draft: Draft, size: int | None, known: Known) -> Counter[str]:
    """`create`, without folders created before."""
    calls = Counter[str]() if size is None else upload_calls(size, known.limits)
    calls[facts.POST_ID] = 1
    calls[facts.PUT_ID] = int(any(key in LATE for key in draft.fields))
    by_operation = bool(draft.tags) and not tags_by_property(known.server, draft.profile or known.options.type)
    calls[TAG] = int(by_operation)
    calls[GIVE] = 1 if draft.closed else _given(draft.rights.groups, known)
    calls[MOVE] = int(needs_closed(draft))
    calls[TRANSITION] = _transitions(draft.status, known.options, True)
    return calls


def _given(groups: frozenset[str], known: Known) -> int:
    return 0 if not groups else 1 if known.administrator else 2


def version_calls(size: int, limits: Limits) -> Counter[str]:
    """`replace` of a document that was changed since its last version."""
    return upload_calls(size, limits) + Counter({facts.GET_ID: 1, CHECK_IN: 1, facts.PUT_ID: 1})


def attach_calls(size: int, limits: Limits) -> Counter[str]:
    """`attach`."""
    return upload_calls(size, limits) + Counter({facts.EXECUTE: 1, facts.GET_ID: 1})


def patch_calls(patch: Patch, known: Known) -> Counter[str]:
    """`update`, without missing folders; a move costs one call."""
    if patch.empty:
        return Counter()
    by_property = bool(known.options.status_field) and patch.status is not None
    dated = patch.rights is not None and bool(patch.rights.release_at or patch.rights.expires_at)
    puts = patch.fields or patch.tags_add or patch.tags_remove or patch.cleared or dated or by_property
    moved = any(place.kind == "folder" for place in patch.placements_add | patch.placements_remove)
    groups = patch.rights.groups if patch.rights is not None else frozenset[str]()
    return Counter(
        {
            facts.GET_ID: 1,
            facts.PUT_ID: int(bool(puts)),
            MOVE: int(moved),
            GIVE: 1 if patch.closed else _given(groups, known),
            UNBLOCK: int(patch.closed is False and not groups),
            TRANSITION: _transitions(patch.status or "", known.options, False),
        }
    )


def place_calls(membership: Membership, limits: Limits) -> Counter[str]:
    """`place`, in batches."""
    operation = FILL if membership.placement.kind == "collection" else MOVE
    return +Counter({operation: -(-len(membership.assets) // limits.member_batch)})


def _transitions(status: str, options: DocumentsOptions, new: bool) -> int:
    if not status or options.status_field:
        return 0
    return initial_transitions(status, options) if new else usual_transitions(status, options)


def initial_transitions(status: str, options: DocumentsOptions) -> int:
    """Transitions from the state of new documents."""
    goal = state_of(status, options)
    return 0 if goal == facts.INITIAL else len(transitions_between(facts.INITIAL, goal, options))
