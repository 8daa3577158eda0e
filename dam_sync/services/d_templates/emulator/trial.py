"""How the emulated service D is tried."""

from __future__ import annotations

from dam_sync.emulation.trial import Trial

TRIAL = Trial(
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
    lacks=frozenset({"attach", "holds:attachments", "holds:tags", "holds:status", "holds:release", "holds:expiry"}),
    refuses=frozenset({"filename"}),
    containers={"folder": "collection", "collection": "collection"},
    emulated={"rate": None},
    demo_emulated={"lag": 1},
)
