"""What a service says it can do, as words; a test that needs a missing one is skipped, if the table says so too."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service

LIMITS = ("parts", "reach", "largest_bytes", "single_bytes")


MORE = ("types", "nested", "sweeps", "network", "checks", "fetches", "costs")


def abilities(service: Service, schema: Schema, folder: str) -> frozenset[str]:
    """Operations by name, `limits:…` that are numbers, `read:…` and `write:…` of features.

    types: assets have named types. nested: containers of the kind `folder` have levels. sweeps: deltas list all.
    network, checks: it is called, and refuses what its schema does not have (both are added by the caller). fetches: it
    fetches files from URLs. costs: it states its API calls.
    """
    able = service.capabilities
    found = {operation.value for operation in able.operations}
    found |= {f"limits:{name}" for name in LIMITS if getattr(service.limits, name) is not None}
    found |= {"limits:per_second"} if service.limits.pace.per_second is not None else set()
    found |= {"limits:link"} if service.limits.lifetimes.link is not None else set()
    found |= {word("read", feature) for feature in Feature if able.reads(feature)}
    found |= {word("write", feature) for feature in Feature if able.writes(feature)}
    found |= {"fetches"} if able.fetches is not None else set()
    found |= {"costs"} if able.costs is not None else set()
    found |= {"types"} if schema.types else set()
    found |= {"nested"} if schema.container_depth.get(folder, 2) > 1 else set()
    found |= {"sweeps"} if service.limits.enumerates_all else set()
    return frozenset(found)


def word(way: str, feature: Feature) -> str:
    """`read:long_text`."""
    return f"{way}:{feature.name.lower()}"


def every_ability() -> frozenset[str]:
    """All words there are."""
    limits: Sequence[str] = (*LIMITS, "per_second", "link")
    return frozenset(
        {operation.value for operation in Operation}
        | set(MORE)
        | {f"limits:{name}" for name in limits}
        | {word(way, feature) for feature in Feature for way in ("read", "write")}
    )
