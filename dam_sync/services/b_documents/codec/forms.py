"""What a draft or patch sends: properties to write at once, properties to write afterwards, the state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import permutations

from dam_sync.model.asset import Draft, Patch, Placement, Rights
from dam_sync.model.diagnostic import nearest
from dam_sync.model.errors import InvalidValue
from dam_sync.model.values import Json, Term, Value
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.codec.fields import DERIVED_PREFIXES, SYSTEM, DocumentsField, ServerSchema
from dam_sync.services.b_documents.codec.values import Terms, encode, tidy, wire_instant
from dam_sync.services.b_documents.codec.wire import TAGS, status_of
from dam_sync.services.b_documents.options import DocumentsOptions

TITLE = "dc:title"
LATE = frozenset({"dc:created"})  # wire B 6.3: reset at a create, kept by a later write


@dataclass(frozen=True, slots=True)
class DocumentForm:
    """Properties by name. late: those that a create would reset. tags: if the type has no property for them."""

    type: str
    properties: Mapping[str, Json] = field(default_factory=dict)
    late: Mapping[str, Json] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()


def form_of(draft: Draft, server: ServerSchema, options: DocumentsOptions, terms: Terms, user: str) -> DocumentForm:
    """A draft as properties. Raises InvalidValue for what the type cannot store, before any call."""
    type_name = draft.profile or options.type
    if type_name not in server.asset_types:
        raise InvalidValue(
            f"the target has no document type {type_name!r}", hint=nearest(type_name, server.asset_types)
        )
    fields = dict(draft.fields)
    if draft.marker is not None:
        fields.setdefault(draft.marker.field, draft.marker.value)
    properties = properties_of(fields, server, options, terms, type_name)
    properties |= rights_properties(draft.rights, options)
    if options.status_field and draft.status:
        properties[options.status_field] = tidy(draft.status)
    if server.has(type_name, "dublincore"):
        properties.setdefault(TITLE, tidy(draft.filename))
    tagged = tags_by_property(server, type_name)
    if draft.tags and tagged:
        properties[TAGS] = [{"label": tidy(tag), "username": user} for tag in sorted(draft.tags)]
    late = {key: value for key, value in properties.items() if key in LATE}
    sent = {key: value for key, value in properties.items() if key not in LATE and value not in (None, [])}
    return DocumentForm(type_name, sent, late, frozenset() if tagged else draft.tags)


def properties_of(
    fields: Mapping[str, Value | None],
    server: ServerSchema,
    options: DocumentsOptions,
    terms: Terms,
    type_name: str = "",
) -> dict[str, Json]:
    """Fields as properties. Raises InvalidValue for one that is unknown or not of the type, which the service would
    drop silently (wire B 6.4)."""
    found: dict[str, Json] = {}
    for key, value in fields.items():
        info = server.fields.get(key)
        if info is None or key in SYSTEM or key.partition(":")[0] in DERIVED_PREFIXES:
            reason = "is unknown to" if info is None else "is maintained by"
            raise InvalidValue(
                f"property {key} {reason} the target",
                hint="correct the mapping; `check JOB` compares it with the target",
            )
        if type_name and info.types and type_name not in info.types:
            raise InvalidValue(f"{type_name} has no property {key}", hint="map another profile, or not this field")
        found[key] = encode(info, value, terms, options.timezone)
    return found


def unresolved(fields: Mapping[str, Value | None], server: ServerSchema) -> frozenset[str]:
    """Vocabularies that must be read before these values can be sent: those named by labels, or without parents."""
    return frozenset(
        info.vocabulary
        for key, value in fields.items()
        if (info := server.fields.get(key))
        and info.vocabulary
        and not all(_is_resolved(info, server, v) for v in _each(value))
    )


def _is_resolved(info: DocumentsField, server: ServerSchema, value: Value | None) -> bool:
    directory = server.directories.get(info.vocabulary)
    plain = info.parented or directory is None or not directory.parent
    return isinstance(value, Term) and bool(value.id) and plain


def _each(value: Value | None) -> Iterable[Value | None]:
    return value if isinstance(value, tuple) else () if value is None else (value,)


def rights_properties(rights: Rights, options: DocumentsOptions) -> dict[str, Json]:
    """The dates of a draft as properties."""
    dates = {options.release_field: rights.release_at, options.expiry_field: rights.expires_at}
    return {key: wire_instant(moment) for key, moment in dates.items() if moment is not None}


def patch_properties(patch: Patch, server: ServerSchema, options: DocumentsOptions, terms: Terms) -> dict[str, Json]:
    """Everything of a patch that is written as properties, except tags. Raises InvalidValue."""
    found = properties_of(patch.fields, server, options, terms)
    for name, key in (("release", options.release_field), ("expiry", options.expiry_field)):
        if name in patch.cleared:
            found[key] = None
    if patch.rights is not None:
        found |= rights_properties(patch.rights, options)
    if options.status_field and patch.status is not None:
        found[options.status_field] = tidy(patch.status)
    return found


def tags_by_property(server: ServerSchema, type_name: str) -> bool:
    """Whether tags are a property of the type (assumption 12)."""
    kind = server.types.get(type_name)
    return kind is not None and ("NXTag" in kind.facets or "facetedTag" in kind.schemas)


def state_of(status: str, options: DocumentsOptions) -> str:
    """The life cycle state of a status. Raises InvalidValue."""
    state = options.states.get(status) or options.states.get(status.lower()) or status
    if state not in options.transitions and state not in options.states.values():
        raise InvalidValue(
            f"no life cycle state is configured for the status {status!r}",
            hint="name it in the option `states` of the job",
        )
    return state


def transitions_between(start: str, goal: str, options: DocumentsOptions) -> list[str]:
    """The transitions from one state to another, the fewest. Raises InvalidValue if there are none."""
    ways: dict[str, list[str]] = {start: []}
    queue = [start]
    for state in queue:
        for target, name in options.transitions.get(state, {}).items():
            if target not in ways:
                ways[target] = [*ways[state], name]
                queue.append(target)
    if goal not in ways:
        raise InvalidValue(
            f"no transitions lead from {start} to {goal}", hint="name them in the option `transitions` of the job"
        )
    return ways[goal]


def status_staging(options: DocumentsOptions) -> dict[str, frozenset[str]]:
    """By status, those that a new document has before; without a status that no transitions lead to."""
    found: dict[str, frozenset[str]] = {}
    for status in () if options.status_field else options.states:
        with suppress(InvalidValue):
            passed = _states_before(facts.INITIAL, status, options)
            found[status] = frozenset(status_of({"state": state}, options) for state in passed)
    return found


def status_ways(options: DocumentsOptions) -> dict[tuple[str, str], frozenset[str]]:
    """By status before and after, those that a document has in between: each transition is a call of its own."""
    found: dict[tuple[str, str], frozenset[str]] = {}
    for before, after in () if options.status_field else permutations(options.states, 2):
        with suppress(InvalidValue):
            passed = _states_before(state_of(before, options), after, options)[1:]
            if passed:
                between = frozenset(status_of({"state": state}, options) for state in passed)
                found[before.casefold(), after.casefold()] = between
    return found


def _states_before(state: str, status: str, options: DocumentsOptions) -> list[str]:
    """The states on the way from one to that of a status, without the last. Raises InvalidValue."""
    passed = list[str]()
    for name in transitions_between(state, state_of(status, options), options):
        passed.append(state)
        state = next(after for after, step in options.transitions[state].items() if step == name)
    return passed


def folder_among(placements: Iterable[Placement]) -> Placement | None:
    """The folder of an asset; collections are filled in bulk. Raises InvalidValue."""
    folders = sorted((place for place in placements if place.kind == "folder"), key=lambda place: place.path)
    if strange := [place for place in placements if place.kind not in ("folder", "collection")]:
        raise InvalidValue(f"the target has no containers of kind {strange[0].kind!r}")
    if len(folders) > 1:
        raise InvalidValue(f"a document lies in one folder, not in {len(folders)}")
    if folders and not folders[0].id:
        raise InvalidValue(f"the folder {folders[0].text} does not exist in the target", code="no-container")
    return folders[0] if folders else None


def check_groups(rights: Rights | None, options: DocumentsOptions, unknown: frozenset[str] = frozenset()) -> None:
    """Raises InvalidValue for a group unknown to the job, or looked up and not found."""
    groups = rights.groups if rights else frozenset[str]()
    if options.groups is not None and (strange := groups - options.groups):
        raise InvalidValue(
            f"the target has no group {', '.join(sorted(strange))}", hint="add it to the option `groups` of the job"
        )
    if unknown:
        raise InvalidValue(
            f"the target has no group or user {', '.join(sorted(unknown))}",
            code="no-group",
            hint="create the group there, or map `security: groups` to an existing one, then `errors JOB --retry`",
        )


def usual_transitions(status: str, options: DocumentsOptions) -> int:
    """How many transitions a status usually costs: from the state that usually precedes it."""
    goal = state_of(status, options)
    start = facts.BEFORE.get(goal, facts.INITIAL if goal != facts.INITIAL else "approved")
    try:
        return len(transitions_between(start, goal, options))
    except InvalidValue:
        return 1
