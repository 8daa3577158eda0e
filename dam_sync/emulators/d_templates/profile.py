"""How the emulated service D is tried."""

from __future__ import annotations

from dam_sync.emulators.kit.profile import Profile

_NAMED = {"release_field": "released", "expiry_field": "expires"}

TRIAL = Profile(
    readings=(
        "no_tags",
        "weak_tags",
        "missing_404",
        "refuse_complete,always_urls",
        "links_move",
        "hyphen",
        "both_spellings",
        "collection_lag",
        "no_scan_filters",
        "least_multipart",
        "refuse_empty",
        "older",
    ),
    auth=(
        {"flow": "session", "api_key": "k-123", "username": "svc-migration", "password": "s3cret-Pass1"},
        {
            "flow": "oauth",
            "api_key": "k-123",
            "client_id": "client-1",
            "client_secret": "client-secret-1",
            "refresh_token": "rt-demo-7cWhrsuc0l56",
            "token_url": "{url}/v2/oauth/token",
        },
    ),
    denied={"flow": "session", "api_key": "k-123", "username": "svc-migration", "password": "wrong-secret"},
    refuses=frozenset({"empty"}),
    containers={"folder": "collection", "collection": "collection"},
    options={"security": "public", **_NAMED},
    listing="POST *scan*",
    reads=frozenset({"POST *scan*", "POST *search*", "POST *expose*", "POST *auth/token*"}),
    relation="derivative",
    opening=1,
    second={"small_uploads": "session"},
    lean={"relations": "off"},
    emulated={"rate": None, **_NAMED},
    demo_emulated={"lag": 1},
    naming=dict.fromkeys(("tags_field", "release_field", "expiry_field", "status_field"), ""),
    parted_emulated={"part": 50_000, "multipart_least": 1},
)
