"""Relations at both services: which the target lacks, and which it has in addition."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from dam_sync.engine.compare.comparison import relations_compared
from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.expected import ExpectedRelations, Pair
from dam_sync.engine.compare.file_keys import RELATIONS, fresh_relations
from dam_sync.engine.compare.patterns import ADDED, MISSING
from dam_sync.engine.context.libraries import Target
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.asset import Asset, AssetId, Relation
from dam_sync.model.capabilities import Operation
from dam_sync.model.link import LEFT, LinkRow
from dam_sync.store.store import SqlStore


async def compare_relations(
    target: Target, crosswalk: Crosswalk, store: SqlStore, asset: Asset, actual: Asset, link: LinkRow
) -> list[Difference]:
    """Relations of the source (with its names) compared with those of the target. Relations to an asset that was not
    moved, or that the target refused, are reported by the run and are not differences."""
    if Operation.RELATE not in target.service.capabilities:
        return []
    known, _ = await _wanted(target, store, crosswalk.related(asset), link)
    known = replace(known, written=await _seen_from_other_end(store, actual, known, link))
    found = relations_compared(known, actual).change
    lacks = Difference(RELATIONS, _describe(found.missing), _describe(_pairs(actual)), pattern=MISSING)
    more = Difference(RELATIONS, _describe(known.wanted or ()), _describe(found.added), extra=True, pattern=ADDED)
    return [*([lacks] if found.missing else []), *([more] if found.added else [])]


async def lacking_relations(
    target: Target, store: SqlStore, asset: Asset, actual: Asset, link: LinkRow
) -> frozenset[Relation]:
    """Relations of the source (with the names of the target) that were written before and are no longer at the
    target."""
    if Operation.RELATE not in target.service.capabilities:
        return frozenset()
    known, relations = await _wanted(target, store, asset, link)
    missing = relations_compared(known, actual).change.missing - known.pending
    return frozenset(relation for pair, relation in relations.items() if pair in missing)


async def _wanted(
    target: Target, store: SqlStore, asset: Asset, link: LinkRow
) -> tuple[ExpectedRelations, Mapping[Pair, Relation]]:
    """The relations that the target should have, of an asset whose kinds are the target's, but those that it refused;
    those that a run is still to write are pending."""
    ours = fresh_relations(asset, None, target.schema)
    if not ours:
        return ExpectedRelations(wanted=frozenset()), {}
    others = await store.links([relation.target for relation in ours])
    refused, waiting = await store.refused_relations_of(link.source), await store.relations_waiting(link.source)
    found = {
        (relation.kind, others[relation.target].target): relation
        for relation in ours
        if relation.target in others and (relation.kind, str(relation.target)) not in refused
    }
    pending = frozenset(pair for pair, each in found.items() if (each.kind, str(each.target)) in waiting)
    return ExpectedRelations(wanted=frozenset(found), pending=pending), found


async def written_relations(
    target: Target, store: SqlStore, actual: Asset, link: LinkRow, besides: Callable[[str], bool] = lambda target: False
) -> ExpectedRelations | None:
    """The relations of the target asset that the job wrote, in either direction; None if the target has none. Those to
    assets that a run moved to the trash count as they were then. besides: whether relations to that target asset count
    as written."""
    if Operation.RELATE not in target.service.capabilities:
        return None
    there = _pairs(actual)
    if not there:
        return ExpectedRelations()
    ours = {(kind.removeprefix(LEFT), other) for kind, other in link.relations}
    ours |= await store.relations_to_remove(link.source)
    known = await _known_links(store, [other for _, other in there if not besides(other)])
    wrote = {(kind, service) for service, other in known.items() for kind, source in ours if source == other.source}
    left = {pair for pair in there if besides(pair[1])}
    return ExpectedRelations(frozenset(wrote | _mirrored(there, known, link) | left))


async def _known_links(store: SqlStore, targets: Sequence[str]) -> dict[str, LinkRow]:
    """By target id, also those of assets in the trash."""
    assets = [AssetId(target) for target in targets]
    gone, there = await store.trashed_at(assets), await store.links_by_target(assets)
    return {**{str(key): each.link for key, each in gone.items()}, **{str(key): link for key, link in there.items()}}


def _mirrored(pairs: Iterable[tuple[str, str]], known: Mapping[str, LinkRow], link: LinkRow) -> set[tuple[str, str]]:
    """Those that are a relation of ours seen from its other end. known: links by target id."""
    leads = {target for target, other in known.items() if any(source == link.source for _, source in other.relations)}
    return {pair for pair in pairs if pair[1] in leads}


async def _seen_from_other_end(
    store: SqlStore, actual: Asset, known: ExpectedRelations, link: LinkRow
) -> frozenset[Pair]:
    """Relations of the target asset, beside those that are wanted, that are one of ours seen from its other end."""
    pairs = _pairs(actual).difference(known.wanted or ())
    others = await store.links_by_target([AssetId(other) for _, other in pairs]) if pairs else {}
    return frozenset(_mirrored(pairs, {str(target): other for target, other in others.items()}, link))


def _pairs(actual: Asset) -> frozenset[Pair]:
    return frozenset((each.kind, str(each.target)) for each in actual.relations)


def _describe(pairs: Iterable[Hashable]) -> str:
    found = [pair for pair in pairs if isinstance(pair, tuple)]
    return "; ".join(f"{kind} to {other}" for kind, other in sorted(found))
