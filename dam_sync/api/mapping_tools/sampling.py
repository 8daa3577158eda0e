"""Samples a few assets of a source, for what its schema does not tell."""

from __future__ import annotations

from dam_sync.engine.first_assets import first_assets
from dam_sync.mapping.sample import Sample
from dam_sync.model.service import Service


async def sample_of(service: Service) -> Sample:
    """The first assets that the source lists; nothing is downloaded."""
    found, whole = await first_assets(service)
    return Sample.of(found, whole=whole)
