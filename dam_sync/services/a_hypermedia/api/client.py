"""From URLs and a resolved credential to a client."""

from __future__ import annotations

from dataclasses import replace

from dam_sync.http.client import Client, ClientConfig
from dam_sync.model.service import Context
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.options import credential


def client_of(context: Context) -> Client:
    """The client of one connection; no call is made yet. Raises ConfigError."""
    pace = context.paced(facts.LIMITS.pace)
    wiring = ClientConfig.of(context, facts.NAME, credential(context), facts.RULES, pace)
    return Client(replace(wiring, headers=_headers(context)))


def _headers(context: Context) -> dict[str, str]:
    """Version 1 is the only one, so it is pinned (wire A 0); the user interface is checked where asked for (1.4)."""
    headers = {"Accept": "application/hal+json;version=1"}
    if interface := str(context.options.get("client_id_header") or ""):
        prefix = str(context.options.get("header_prefix") or "X-SVC-")
        headers[f"{prefix}CLIENT-ID"] = interface
    return headers
