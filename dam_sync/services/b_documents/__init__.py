"""Service B: a content platform whose assets are documents in a tree, typed by schemas and facets."""

from __future__ import annotations

from typing import Any

from dam_sync.model.service import Kind
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.service import DocumentsService


def emulator(*args: Any, **options: Any) -> Any:
    """An emulated server, loaded only when somebody wants one."""
    from dam_sync.services.b_documents.emulator import emulator as make

    return make(*args, **options)


KIND = Kind(
    name=facts.NAME,
    summary="a content platform: typed documents in folders, vocabularies, collections, versions; no webhooks",
    settings={
        "root": "the folder in which the library begins (default the domain's workspaces; / is everything)",
        "folder": "where assets go that the mapping places nowhere, below the root (default dam-sync; / is the root)",
        "type": "the document type of new assets where the mapping names no profile (default File)",
        "types": "the document types that are assets (default all that hold no others and are not hidden)",
        "release_field": "the property that holds the release date (default dc:issued)",
        "expiry_field": "the property that holds the expiry date (default dc:expired)",
        "status_field": "the property that holds the status, where the life cycle does not",
        "states": "the life cycle state of each status (default published: approved, archived: obsolete, draft: "
        "project)",
        "transitions": "for each state the states behind it and the transition there, beside those of the default "
        "life cycle",
        "groups": "the users and groups that may be given the right to read; without it any name is tried",
        "relations": "kinds of relation, or kinds and their predicates; reading costs one call for each asset and kind",
        "kinds": "what a text or date property holds: date, html, long_text, email, url or text",
        "timezone": "zone in which `date` properties are days, for example Europe/Paris (default UTC)",
        "increment": "Minor (default) or Major: the version made of the old file before a new one",
        "repository": "the repository's name, where the server does not tell it",
        "public_links": "off (default) or on: read the lasting download addresses of files, for redirects, at no call; "
        "the server decides who may open them",
        "sections": "off (default) or on: read in which sections assets are published; one more call for each hundred",
        "timeout_header": "the header for longer transactions (default Vendor-Transaction-Timeout)",
    },
    flows={
        "basic": ("login", "password"),
        "token": (),
        "signed_token": ("login", "key"),
        "oauth": ("client_id",),
    },
    connect=DocumentsService,
    emulator=emulator,
    service=DocumentsService,
    limits=facts.LIMITS,
    assumptions=facts.ASSUMPTIONS,
    holds=facts.HOLDS,
    leaves=facts.LEAVES,
)
