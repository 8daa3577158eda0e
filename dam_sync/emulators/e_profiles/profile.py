"""How the emulated service E is tried."""

from __future__ import annotations

from dam_sync.emulators.kit.profile import Profile

_CONSENT = "wrt_demo_Q7mz0Lr2Xk9sTn4b"

TRIAL = Profile(
    readings=(
        "no_tags",
        "weak_tags",
        "late_versions",
        "ignore_unknown",
        "void_json",
        "no_chunks",
        "no_webhooks",
        "older",
    ),
    auth=(
        {"flow": "token", "token": "wat_demo_b1d3c61e03c6"},
        {"flow": "token", "token": "wat_demo_b1d3c61e03c6", "form": "basic"},
        {"flow": "oauth", "client_id": "client-1", "client_secret": "client-secret-1", "refresh_token": _CONSENT},
    ),
    denied={"flow": "token", "token": "wat_demo_000000000000"},
    refuses=frozenset({"fileless", "names"}),
    quiet=frozenset({"digests"}),
    overlaps=True,
    lean={"attachments": "off"},
    containers={"folder": "category", "collection": "collection"},
    options={"version_policy": "file_only", "attachments": "on"},
    emulated={"rate": None, "consents": (_CONSENT,)},
    limits={"reach": 40},
    narrow={"enumerate": "scroll"},
    demo={"version_policy": "file_only"},
    demo_emulated={"lag": 1},
    parted_emulated={"megabyte": 10_000},
)
