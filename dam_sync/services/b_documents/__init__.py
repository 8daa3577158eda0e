"""Service B: a content platform whose assets are documents in a tree, typed by schemas and facets."""

from __future__ import annotations

from typing import Any

from dam_sync.model import options
from dam_sync.model.service import Connector
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.connection import KINDS
from dam_sync.services.b_documents.service import DocumentsService

_GRANT = ("grant", "client_secret", "token_url", "refresh_token", "code", "redirect_uri", "code_verifier")


def _are_kinds(named: Any) -> bool:
    return all(kind in KINDS for kind in named.values())


def _are_ways(states: Any) -> bool:
    return isinstance(states, dict) and all(isinstance(ways, dict) for ways in states.values())


KIND = Connector(
    name=facts.NAME,
    summary="a content platform: typed documents in folders, vocabularies, collections, versions; no webhooks",
    settings={
        "root": options.text(
            "the folder in which the library begins (default the domain's workspaces; / is everything)"
        ),
        "folder": options.text(
            "where assets go that the mapping places nowhere, below the root (default dam-sync; / is the root)"
        ),
        "type": options.text("the document type of new assets where the mapping names no profile (default File)"),
        "types": options.words(
            "the document types that are assets (default all that hold no others and are not hidden)"
        ),
        "release_field": options.text("the property that holds the release date (default dc:issued)"),
        "expiry_field": options.text("the property that holds the expiry date (default dc:expired)"),
        "status_field": options.text("the property that holds the status, where the life cycle does not"),
        "states": options.pairs(
            "the life cycle state of each status (default published: approved, archived: obsolete, draft: project)"
        ),
        "transitions": options.Option(
            "for each state the states behind it and the transition there, beside those of the default life cycle",
            "for each state the states behind it and the transition there",
            _are_ways,
        ),
        "groups": options.words(
            "the users and groups that may be given the right to read; without it any name is tried"
        ),
        "everybody": options.words(
            "groups that stand for everybody who can use the tenant, beside Everyone (default none)"
        ),
        "relations": options.either(
            options.words(
                "kinds of relation, or kinds and their predicates; reading costs one call for each asset and kind"
            ),
            options.pairs(""),
        ),
        "kinds": options.pairs(
            "what a text or date property holds: date, html, long_text, email, url or text",
            f"keys with one of {', '.join(KINDS)}",
            _are_kinds,
        ),
        "timezone": options.zone("zone in which `date` properties are days, for example Europe/Paris (default UTC)"),
        "increment": options.choice(
            "Minor (default) or Major: the version made of the old file before a new one", "Minor", "Major"
        ),
        "repository": options.text("the repository's name, where the server does not tell it"),
        "public_links": options.switch(
            "off (default) or on: read the lasting download addresses of files, for redirects, at no call; "
            "the server decides who may open them"
        ),
        "sections": options.switch(
            "off (default) or on: read in which sections assets are published; one more call for each hundred"
        ),
        "timeout_header": options.text("the header for longer transactions (default Vendor-Transaction-Timeout)"),
    },
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
    limits=facts.LIMITS,
    assumptions=facts.ASSUMPTIONS,
    holds=facts.HOLDS,
    leaves=facts.LEAVES,
    assumed_writes=facts.ASSUMED_WRITES,
    not_moved=facts.NOT_MOVED,
)
