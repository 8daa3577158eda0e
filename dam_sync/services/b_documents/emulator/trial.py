"""How the emulated service B is tried."""

from __future__ import annotations

from dam_sync.emulation.trial import Trial

TRIAL = Trial(
    auth=(
        {"flow": "basic", "login": "Administrator", "password": "secret-b"},
        {"flow": "token", "token": "7f3c1a52-7d0e-4b7b-9a3e-login-token-b"},
        {"flow": "signed_token", "login": "Administrator", "key": "shared-secret-b", "algorithm": "HS512"},
        {
            "flow": "oauth",
            "grant": "client_credentials",
            "client_id": "dam-sync",
            "client_secret": "client-secret-b",
        },
        {
            "flow": "oauth",
            "grant": "jwt_bearer",
            "client_id": "dam-sync",
            "client_secret": "client-secret-b",
            "login": "Administrator",
            "key": "shared-secret-b",
            "algorithm": "HS512",
        },
        {
            "flow": "oauth",
            "grant": "refresh_token",
            "client_id": "dam-sync",
            "client_secret": "client-secret-b",
            "refresh_token": f"refresh-b-{'0' * 54}",
        },
    ),
    denied={"flow": "basic", "login": "Administrator", "password": "wrong-secret"},
    lacks=frozenset(
        {"fields:localized", "kind:html", "kind:date", "kind:place", "kind:email", "kind:url", "kind:person"}
        | {"relate", "holds:relations", "limits:per_second"}
    ),
    containers={"folder": "folder", "collection": "collection"},
    fixed=frozenset({"country"}),
    prefix="lib:",
    facts={},
)
