"""How the emulated service A is tried."""

from __future__ import annotations

from dam_sync.emulators.kit.profile import Profile

TRIAL = Profile(
    undigested=frozenset({"GET storage /objects"}),  # attachments
    fitting={"locales": "en,fr", "timezone": "Europe/Paris"},
    readings=(
        "no-tags",
        "weak-tags",
        "rich-search",
        "links-404",
        "moved-parts",
        "bulk-uncounted",
        "bulk-ignored",
        "bulk-400",
        "bulk-415",
        "bulk-422",
    ),
    auth=(
        {"flow": "basic", "login": "dam-sync", "password": "secret-a"},
        {
            "flow": "signed_token",
            "client_id": "demo-instance-id",
            "login": "dam-sync",
            "key": "sharedkey123",
            "algorithm": "HS256",
        },
        {
            "flow": "client_credentials",
            "token_url": "{url}/auth/realms/demo/protocol/openid-connect/token",
            "client_id": "client-1",
            "client_secret": "client-secret-1",
        },
    ),
    denied={"flow": "basic", "login": "dam-sync", "password": "wrong-secret"},
    containers={"folder": "folder", "label": "label"},
    emulated={"oidc": True},
    options={"locales": "en,fr", "timezone": "Europe/Paris", "link_types": {"Views of the object": 7}},
    fixed=frozenset({"label", "country"}),
    limits={"page": 10, "reach": 40},
    narrow={"keyset": "off"},
    narrow_emulated={"window": 40},
    plays={"* /api/dam/files/{id}": ("play:expire",)},
)
