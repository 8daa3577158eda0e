"""Guards against a mapping, or a schema that it uses, that changed since assets were written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence

from dam_sync.engine.context.accepted import Accepted
from dam_sync.engine.context.libraries import Source, Target
from dam_sync.engine.guards.finding import EXAMPLES, GuardFinding, refuse
from dam_sync.engine.guards.schema_usage import changes_between, used_of
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.mapping.vocabulary import TermIndex
from dam_sync.model.joined_names import joined
from dam_sync.model.values import Json
from dam_sync.model.wording import such_as
from dam_sync.store.note_keys import CLOSED_LISTS, FORMER_LISTS, MAPPING, SCHEMA
from dam_sync.store.store import SqlStore

MAPPING_HINT = (
    "--full reads and maps every asset again; --accept-changes uses it for new changes and parked assets only"
)
SCHEMA_HINT = (
    "check that the mapping is still right; --full reads and maps every asset again; --accept-changes continues "
    "with new changes only"
)
MOST_NAMED = 8


async def changed_mapping(crosswalk: Crosswalk, store: SqlStore) -> AsyncIterator[GuardFinding]:
    """The mapping file, or one of its tables, is not the one with which linked assets were written."""
    known = await store.get_meta(MAPPING)
    if known not in (None, crosswalk.digest) and await store.link_count():
        yield GuardFinding("the mapping changed since assets were written with it", MAPPING_HINT, full=True)


async def changed_schema(
    source: Source, target: Target, crosswalk: Crosswalk, store: SqlStore
) -> AsyncIterator[GuardFinding]:
    """A part of either schema that the mapping uses is gone, has another type, or accepts less than before."""
    known = await store.get_meta(SCHEMA)
    if not isinstance(known, dict) or not await store.link_count():
        return
    same = await store.get_meta(MAPPING) == crosswalk.digest  # otherwise lists differ by what the rules refer to
    changes = tuple(changes_between(known, schema_facts(source, target, crosswalk), lists=same))
    if changes:
        more = f"; and {len(changes) - MOST_NAMED} more" if len(changes) > MOST_NAMED else ""
        named = "; ".join(changes[:MOST_NAMED]) + more
        yield GuardFinding(f"the schemas changed since assets were written: {named}", SCHEMA_HINT, full=True)


def schema_facts(source: Source, target: Target, crosswalk: Crosswalk) -> Json:
    """The parts of both schemas that the mapping uses, to be stored."""
    return used_of(crosswalk, source.schema, target.schema)


async def refuse_lost_terms(
    target: Target, store: SqlStore, accepted: Accepted, terms: Mapping[str, TermIndex]
) -> None:
    """Raises SafetyStop if a closed list of the target lost terms since assets were written; otherwise stores
    the current lists. terms: of the target, just read."""
    closed = {key: terms[key].paths() for key in terms if _is_closed(target, key)}
    now = {key: sorted(joined(path, "/") for path in paths) for key, paths in closed.items()}
    known = await store.get_meta(CLOSED_LISTS)
    if now == (known or {}):
        return
    findings = list(await _findings(store, closed, known)) if await store.link_count() else []
    await accepted.accept(refuse(findings, accepted.options))
    await store.set_meta(CLOSED_LISTS, now)


async def _findings(
    store: SqlStore, closed: Mapping[str, Iterable[Sequence[str]]], known: Json
) -> Iterator[GuardFinding]:
    """What is lost of what the state knows, as this release spells paths, or as the last one did."""
    if known is not None:
        return _lost(known, {key: [joined(path, "/") for path in paths] for key, paths in closed.items()})
    former = await store.get_meta(FORMER_LISTS) or {}
    return _lost(former, {key: ["/".join(path) for path in paths] for key, paths in closed.items()})


def _lost(known: Mapping[str, Json], now: Mapping[str, list[str]]) -> Iterator[GuardFinding]:
    for key in sorted(set(known) & set(now)):
        lost = sorted(set(known[key]) - set(now[key]))
        if lost:
            named = such_as(lost[:EXAMPLES], len(lost))
            yield GuardFinding(f"the target's list {key} lost {len(lost)} of its values{named}", SCHEMA_HINT, full=True)


def _is_closed(target: Target, vocabulary: str) -> bool:
    known = target.schema.vocabularies.get(vocabulary)
    return known is not None and known.closed
