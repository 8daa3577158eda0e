"""Relations at both services: which the target lacks, and which it has in addition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dam_sync.engine.compare.differences import Difference
from dam_sync.engine.compare.file_keys import RELATIONS, fresh_relations
from dam_sync.engine.compare.patterns import ADDED, MISSING
from dam_sync.engine.context.run_context import RunContext
from dam_sync.model.asset import Asset, AssetId, Relation
from dam_sync.model.capabilities import Operation
from dam_sync.model.link import LEFT, LinkRow


async def compare_relations(context: RunContext, asset: Asset, actual: Asset, link: LinkRow) -> list[Difference]:
    """Relations of the source (with its names) compared with those of the target. Relations to an asset that was not
    moved, or that the target refused, are reported by the run and are not differences."""
    if Operation.RELATE not in context.target.capabilities:
        return []
    wanted = await wanted_relations(context, context.crosswalk.related(asset), link, queued=True)
    there = {(relation.kind, str(relation.target)) for relation in actual.relations}
    missing = set() if hides_relations(actual) else {pair for pair in wanted if pair not in there}
    more = await _not_ours(context, there - set(wanted), link)
    found = [Difference(RELATIONS, _describe(missing), _describe(there), pattern=MISSING)] if missing else []
    if more:
        found.append(Difference(RELATIONS, _describe(wanted), _describe(more), extra=True, pattern=ADDED))
    return found


async def lacking_relations(context: RunContext, asset: Asset, actual: Asset, link: LinkRow) -> frozenset[Relation]:
    """Relations of the source (with the names of the target) that were written before and are no longer at the
    target."""
    if Operation.RELATE not in context.target.capabilities or hides_relations(actual):
        return frozenset()
    there = {(relation.kind, str(relation.target)) for relation in actual.relations}
    wanted = await wanted_relations(context, asset, link)
    return frozenset(relation for pair, relation in wanted.items() if pair not in there)


async def wanted_relations(
    context: RunContext, asset: Asset, link: LinkRow, *, queued: bool = False
) -> dict[tuple[str, str], Relation]:
    """By kind and target id: the relations that the target should have, of an asset whose kinds are the target's, but
    those that it refused. queued: also those that a run is still to write."""
    ours = fresh_relations(asset, None, context.target_schema)
    if not ours:
        return {}
    others = await context.store.links([relation.target for relation in ours])
    store = context.store
    waiting = await (store.refused_relations_of if queued else store.relations_waiting)(link.source)
    return {
        (relation.kind, others[relation.target].target): relation
        for relation in ours
        if relation.target in others and (relation.kind, str(relation.target)) not in waiting
    }


async def added_relations(
    context: RunContext, actual: Asset, link: LinkRow, besides: Callable[[str], bool] = lambda target: False
) -> bool:
    """Whether the target asset has relations that the job did not write, in either direction. Those to assets that a
    run moved to the trash count as they were then. besides: whether relations to that target asset do not count."""
    if Operation.RELATE not in context.target.capabilities or not actual.relations:
        return False
    there = {(each.kind, str(each.target)) for each in actual.relations if not besides(str(each.target))}
    ours = {(kind.removeprefix(LEFT), other) for kind, other in link.relations}
    ours |= await context.store.relations_to_remove(link.source)
    known = await _known_links(context, [other for _, other in there])
    wrote = {(kind, target) for target, other in known.items() for kind, source in ours if source == other.source}
    return bool(there - wrote - _mirrored(there, known, link))


async def _known_links(context: RunContext, targets: Sequence[str]) -> dict[str, LinkRow]:
    """By target id, also those of assets in the trash."""
    assets = [AssetId(target) for target in targets]
    gone, there = await context.store.trashed_at(assets), await context.store.links_by_target(assets)
    return {**{str(key): each.link for key, each in gone.items()}, **{str(key): link for key, link in there.items()}}


def _mirrored(pairs: Iterable[tuple[str, str]], known: Mapping[str, LinkRow], link: LinkRow) -> set[tuple[str, str]]:
    """Those that are a relation of ours seen from its other end. known: links by target id."""
    leads = {target for target, other in known.items() if any(source == link.source for _, source in other.relations)}
    return {pair for pair in pairs if pair[1] in leads}


async def _not_ours(context: RunContext, more: Iterable[tuple[str, str]], link: LinkRow) -> set[tuple[str, str]]:
    """Without those that are a relation of ours seen from its other end."""
    pairs = set(more)
    if not pairs:
        return pairs
    others = await context.store.links_by_target([AssetId(other) for _, other in pairs])
    return pairs - _mirrored(pairs, {str(target): other for target, other in others.items()}, link)


def hides_relations(actual: Asset) -> bool:
    """Whether the target has relations of this asset that it does not return."""
    return any(loss.path == RELATIONS for loss in actual.losses)


def _describe(pairs: Iterable[tuple[str, str]]) -> str:
    return "; ".join(f"{kind} to {other}" for kind, other in sorted(pairs))
