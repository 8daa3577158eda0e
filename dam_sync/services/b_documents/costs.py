"""What writing costs at service B, in API calls by endpoint. Pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from dam_sync.model.asset import Draft, FileRef, Patch, Placement, Relation
from dam_sync.model.service import Change, Membership
from dam_sync.model.values import Term
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.connection import Options
from dam_sync.services.b_documents.fields import Server
from dam_sync.services.b_documents.forms import LATE, state_of, tags_by_property, usual_transitions, way

Calls = Mapping[str, int]
TAG = f"{facts.OPERATION}Services.TagDocument"
GIVE = f"{facts.OPERATION}Document.AddPermission"
FOLLOW = f"{facts.OPERATION}Document.FollowLifecycleTransition"
CHECK_IN = f"{facts.OPERATION}Document.CreateVersion"
MOVE = f"{facts.OPERATION}Document.Move"
FILL = f"{facts.OPERATION}Collection.AddToCollection"
LINKED = f"{facts.OPERATION}Document.GetLinkedDocuments"
LINK = f"{facts.OPERATION}Document.AddRelation"


@dataclass(frozen=True, slots=True)
class Known:
    """What costs depend on; `folders` are to be made before the first asset without a place."""

    server: Server
    options: Options
    folders: int = 0


def calls_of(change: Change, size: int, known: Known) -> Calls:
    """See `Service.forecast`."""
    match change:
        case Draft():
            return draft_calls(change, size, known.server, known.options, known.folders)
        case FileRef():
            return version_calls(size or change.size or 0)
        case Patch():
            return patch_calls(change, known.options, known.folders)
        case Membership():
            attached = change.placement.kind == "attachment"
            return attach_calls(size) if attached else place_calls(change)
        case Relation():
            return {LINKED: 1, LINK: 1}
        case Term():
            return {facts.ADD_ENTRY: 1}
        case Placement():
            return {facts.POST_ID: 1 + (known.folders if change.kind == "collection" else 0)}


def upload_calls(size: int) -> Counter[str]:
    """A batch, the file or its chunks, and dropping the batch."""
    calls = Counter({facts.NEW_BATCH: 1, facts.UPLOAD: 1, facts.DROP_BATCH: 1})
    if size > facts.SINGLE_BYTES:
        calls[facts.UPLOAD] = len(facts.BOUNDS.split(size))
        calls[facts.UPLOADED] = 1
    return calls


def draft_calls(draft: Draft, size: int, server: Server, options: Options, folders: int) -> Calls:
    """`create`; `folders` of them are made before, for assets without a place."""
    calls = upload_calls(size) if size else Counter[str]()
    calls[facts.POST_ID] = 1 + (0 if any(place.kind == "folder" for place in draft.placements) else folders)
    calls[facts.PUT_ID] = int(any(key in LATE for key in draft.fields))
    by_operation = bool(draft.tags) and not tags_by_property(server, draft.profile or options.type)
    calls[TAG] = int(by_operation)
    calls[GIVE] = int(bool(draft.rights.groups))
    calls[FOLLOW] = _transitions(draft.status, options, True)
    return +calls


def version_calls(size: int) -> Calls:
    """`replace` of a document that was changed since its last version."""
    return upload_calls(size) + Counter({facts.GET_ID: 1, CHECK_IN: 1, facts.PUT_ID: 1})


def attach_calls(size: int) -> Calls:
    """`attach`."""
    return upload_calls(size) + Counter({facts.EXECUTE: 1, facts.GET_ID: 1})


def patch_calls(patch: Patch, options: Options, folders: int) -> Calls:
    """`update`; a move costs one call, out of the last folder also the `folders` that are missing for it."""
    if patch.empty:
        return {}
    by_property = bool(options.status_field) and patch.status is not None
    dated = patch.rights is not None and bool(patch.rights.release_at or patch.rights.expires_at)
    puts = patch.fields or patch.tags_add or patch.tags_remove or patch.cleared or dated or by_property
    added = any(place.kind == "folder" for place in patch.placements_add)
    removed = any(place.kind == "folder" for place in patch.placements_remove)
    grouped = patch.rights is not None and bool(patch.rights.groups)
    return +Counter(
        {
            facts.GET_ID: 1,
            facts.PUT_ID: int(bool(puts)),
            MOVE: int(added or removed),
            facts.POST_ID: folders if removed and not added else 0,
            GIVE: int(grouped),
            FOLLOW: _transitions(patch.status or "", options, False),
        }
    )


def place_calls(membership: Membership) -> Calls:
    """`place`, in batches."""
    operation = FILL if membership.placement.kind == "collection" else MOVE
    return +Counter({operation: -(-len(membership.assets) // facts.MEMBER_BATCH)})


def _transitions(status: str, options: Options, new: bool) -> int:
    if not status or options.status_field:
        return 0
    return initial_transitions(status, options) if new else usual_transitions(status, options)


def initial_transitions(status: str, options: Options) -> int:
    """From the state in which documents are made."""
    goal = state_of(status, options)
    return 0 if goal == facts.INITIAL else len(way(facts.INITIAL, goal, options))
