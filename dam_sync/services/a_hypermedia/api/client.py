"""From URLs and a resolved credential to a client."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from dam_sync.config.options import PasswordAuth
from dam_sync.http.auth.base import Authenticator, Basic, ClientCredentials, SignedToken
from dam_sync.http.client import Client, ClientConfig
from dam_sync.model.connector import Context
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.options import HypermediaOptions, HypermediaSignedToken

_TOKEN_LIFE = timedelta(minutes=10)  # wire A 1.3: sign short, 5 to 60 min


def client_of(context: Context) -> Client:
    """The client of one connection; no call is made yet. Raises ConfigError."""
    pace = context.paced(context.limited(facts.LIMITS).pace)
    wiring = ClientConfig.of(context, facts.NAME, authenticator_of(context), facts.RULES, pace)
    return Client(replace(wiring, headers=_headers(context.options)))


def authenticator_of(context: Context) -> Authenticator:
    """The authenticator of the job's flow (wire A 1.2 to 1.4)."""
    auth = context.auth
    if isinstance(auth, PasswordAuth):
        return Basic(auth.login, auth.password)
    if isinstance(auth, HypermediaSignedToken):
        claims = {"client_id": auth.client_id, "login": auth.login}
        return SignedToken(claims, auth.key, auth.algorithm, _TOKEN_LIFE, context.clock)
    return ClientCredentials(auth.token_url, auth.client_id, auth.client_secret, auth.scope, context.clock)


def _headers(options: HypermediaOptions) -> dict[str, str]:
    """Version 1 is the only one, so it is pinned (wire A 0); the user interface is checked if requested (1.4)."""
    headers = {"Accept": "application/hal+json;version=1"}
    if options.client_id_header:
        headers[f"{options.header_prefix}CLIENT-ID"] = options.client_id_header
    return headers
