"""Samples a few assets of a source, for what its schema does not tell."""

from __future__ import annotations

from itertools import chain

from dam_sync.aio.closing import closing
from dam_sync.engine.guards.first_assets import first_assets
from dam_sync.mapping.sample import Sample
from dam_sync.model.capabilities import Operation
from dam_sync.model.errors import Denied, Rejected
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service

MOST_LABELS = 2_000  # of one vocabulary
MOST_LISTS = 50  # vocabularies


async def sample_of(service: Service) -> Sample:
    """The first assets that the source lists; nothing is downloaded."""
    found, whole = await first_assets(service)
    return Sample.of(found, whole=whole)


async def labels_of(service: Service, schema: Schema) -> dict[str, frozenset[str]]:
    """Labels of the first terms of each vocabulary that fields have. One that cannot be read has none: its terms would
    only confirm what names say."""
    if Operation.TERMS not in service.capabilities:
        return {}
    used = dict.fromkeys(known.vocabulary for known in schema.fields.values() if not known.system)
    found: dict[str, frozenset[str]] = {}
    for key in [key for key in used if key in schema.vocabularies][:MOST_LISTS]:
        try:
            found[key] = await _labels(service, key)
        except (Rejected, Denied):
            found[key] = frozenset()
    return found


async def _labels(service: Service, vocabulary: str) -> frozenset[str]:
    labels: set[str] = set()
    async with closing(service.terms(vocabulary)) as terms:
        async for term in terms:
            labels.update(filter(None, chain((term.label,), term.labels.values(), *term.synonyms.values())))
            if len(labels) >= MOST_LABELS:
                break
    return frozenset(labels)
