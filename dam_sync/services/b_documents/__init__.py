"""Service B: a content platform whose assets are documents in a tree, typed by schemas and facets."""

from __future__ import annotations

from dam_sync.model.service import Connector
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.options import SETTINGS
from dam_sync.services.b_documents.service import DocumentsService

_GRANT = ("grant", "client_secret", "token_url", "refresh_token", "code", "redirect_uri", "code_verifier")


CONNECTOR = Connector(
    name=facts.NAME,
    summary="a content platform: typed documents in folders, vocabularies, collections, versions; no webhooks",
    settings=SETTINGS,
    flows={
        "basic": ("login", "password"),
        "token": (),
        "signed_token": ("login", "key"),
        "oauth": ("client_id",),
    },
    extras={
        "token": ("token", "login", "password", "header", "application", "device"),
        "signed_token": ("algorithm", "issuer", "audience"),
        "oauth": (*_GRANT, "login", "key", "algorithm", "issuer", "audience"),
    },
    connect=DocumentsService,
    service=DocumentsService,
    assumptions=facts.ASSUMPTIONS,
    leaves=facts.LEAVES,
    assumed_writes=facts.ASSUMED_WRITES,
    not_moved=facts.NOT_MOVED,
)
