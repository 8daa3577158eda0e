"""From addresses and a resolved credential to a connected service."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from dam_sync.http.auth.base import Authenticator, Basic, ClientCredentials, SignedToken
from dam_sync.http.client import Client, ClientConfig
from dam_sync.model.errors import ConfigError
from dam_sync.model.service import Context
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.service import HypermediaService

_TOKEN_LIFE = timedelta(minutes=10)  # wire A 1.3: sign short, 5 to 60 min


def connected(context: Context) -> HypermediaService:
    """The service over a client of its own; no call is made yet. Raises ConfigError."""
    pace = context.paced(facts.LIMITS.pace)
    wiring = ClientConfig.of(context, facts.NAME, credential(context), facts.RULES, pace)
    return HypermediaService(Client(replace(wiring, headers=_headers(context))), context)


def credential(context: Context) -> Authenticator:
    """The flow of the job file (wire A 1.2 to 1.4). Raises ConfigError."""
    given = context.auth
    match given.get("flow", ""):
        case "basic":
            return Basic(given["login"], given["password"])
        case "signed_token":
            claims = {"client_id": given["client_id"], "login": given["login"]}
            algorithm = given.get("algorithm") or "HS256"
            return SignedToken(claims, given["key"], algorithm, _TOKEN_LIFE, context.clock)
        case "client_credentials":
            return ClientCredentials(
                given["token_url"],
                given["client_id"],
                given["client_secret"],
                given.get("scope") or "openid",
                context.clock,
            )
        case other:
            raise ConfigError(f"auth.flow {other!r} is none of basic, signed_token, client_credentials")


def _headers(context: Context) -> dict[str, str]:
    """Version 1 is the only one, so it is pinned (wire A 0); the user interface is checked where asked for (1.4)."""
    headers = {"Accept": "application/hal+json;version=1"}
    if interface := str(context.options.get("client_id_header") or ""):
        prefix = str(context.options.get("header_prefix") or "X-SVC-")
        headers[f"{prefix}CLIENT-ID"] = interface
    return headers
