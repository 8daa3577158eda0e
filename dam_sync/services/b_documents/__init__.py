"""Service B: a content platform whose assets are documents in a tree, typed by schemas and facets."""

from __future__ import annotations

from dam_sync.model.connector import Connector
from dam_sync.model.service import Service
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.not_moved import NOT_MOVED, NOT_USED
from dam_sync.services.b_documents.options import AUTH, DocumentsOptions


def _service() -> type[Service]:
    from dam_sync.services.b_documents.service import DocumentsService  # only a connection needs HTTP

    return DocumentsService


CONNECTOR = Connector(
    name=facts.NAME,
    summary="a content platform: typed documents in folders, vocabularies, collections, versions; no webhooks",
    service=_service,
    options=DocumentsOptions,
    auth=AUTH,
    assumptions=facts.ASSUMPTIONS,
    leaves=facts.LEAVES,
    assumed_writes=facts.ASSUMED_WRITES,
    not_moved=NOT_MOVED,
    not_used=NOT_USED,
    api_paths=facts.API_PATHS,
)
