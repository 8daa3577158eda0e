"""Service A: a hypermedia DAM, where links lead to resources and forms define the fields of a media."""

from __future__ import annotations

from dam_sync.model.connector import Connector
from dam_sync.model.service import Service
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.not_moved import NOT_MOVED, NOT_USED, SIDE_EFFECTS
from dam_sync.services.a_hypermedia.options import AUTH, HypermediaOptions


def _service() -> type[Service]:
    from dam_sync.services.a_hypermedia.service import HypermediaService  # only a connection needs HTTP

    return HypermediaService


CONNECTOR = Connector(
    name=facts.NAME,
    summary="hypermedia DAM: forms, thesauri, folders, labels, file versions; no webhooks",
    service=_service,
    options=HypermediaOptions,
    auth=AUTH,
    assumptions=facts.ASSUMPTIONS,
    leaves=facts.LEAVES,
    assumed_writes=facts.ASSUMED_WRITES,
    not_moved=NOT_MOVED,
    not_used=NOT_USED,
    side_effects=SIDE_EFFECTS,
    api_paths=facts.API_PATHS,
)
