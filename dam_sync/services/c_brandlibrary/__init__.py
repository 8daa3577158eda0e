"""Service C: a brand library; section and collection of an asset are fixed at creation, fields are written by further
calls."""

from __future__ import annotations

from dam_sync.model.connector import Connector
from dam_sync.model.service import Service
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.not_moved import NOT_MOVED, NOT_USED, SIDE_EFFECTS
from dam_sync.services.c_brandlibrary.options import AUTH, BrandLibraryOptions


def _service() -> type[Service]:
    from dam_sync.services.c_brandlibrary.service import BrandLibraryService  # only a connection needs HTTP

    return BrandLibraryService


CONNECTOR = Connector(
    name=facts.NAME,
    summary="a brand library: sections, collections, labels, custom fields of text, one API key, signed storage links",
    service=_service,
    options=BrandLibraryOptions,
    auth=AUTH,
    assumptions=facts.ASSUMPTIONS,
    leaves=facts.LEAVES,
    assumed_writes=facts.ASSUMED_WRITES,
    not_moved=NOT_MOVED,
    not_used=NOT_USED,
    side_effects=SIDE_EFFECTS,
    api_paths=facts.API_PATHS,
)
