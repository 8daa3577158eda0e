"""What a service says it can do, as words; a test that needs a missing one is skipped, if the table says so too."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.model.schema import Schema
from dam_sync.model.service import Operation, Service

HOLDS = ("tags", "status", "release", "expiry", "groups", "versions", "attachments", "relations")
LIMITS = ("parts", "reach", "largest_bytes", "single_bytes")


def abilities(service: Service, schema: Schema) -> frozenset[str]:
    """Operations by name, `holds:…` of the schema, `limits:…` that are numbers."""
    found = {operation.value for operation in service.operations}
    found |= {f"holds:{name}" for name in schema.holds}
    found |= {f"limits:{name}" for name in LIMITS if getattr(service.limits, name) is not None}
    found |= {"limits:per_second"} if service.limits.pace.per_second is not None else set()
    found |= {"limits:link"} if service.limits.lifetimes.link is not None else set()
    return frozenset(found)


def every_ability() -> frozenset[str]:
    """All words there are."""
    limits: Sequence[str] = (*LIMITS, "per_second", "link")
    return frozenset(
        {operation.value for operation in Operation}
        | {f"holds:{name}" for name in HOLDS}
        | {f"limits:{name}" for name in limits}
    )
