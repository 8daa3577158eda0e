"""How the emulated service C is tried."""

from __future__ import annotations

from dam_sync.emulators.kit.profile import Profile

TRIAL = Profile(
    readings=(
        "no_tags",
        "weak_tags",
        "name_on_put",
        "plain_user",
        "short_pages",
        "stale_size",
        "lists_from_index",
        "auto_tags",
        "shuffled",
        "retry_after",
        "no_cdn",
        "cdn_strict",
        "section_files",
        "no_empties",
        "composed",
    ),
    auth=({"flow": "token", "token": "b7kq.c5wxt2rn.z8hmvd3f"},),
    denied={"flow": "token", "token": "b7kq.c5wxt2rn.wrongkey"},
    quiet=frozenset({"digests", "values", "order"}),
    appends=frozenset({"PUT /api/v4/assets/{id}"}),  # attachments (wire C 6.4)
    optional=frozenset({"GET /api/v4/libraries/{id}/labels"}),  # wire C 10
    containers={"folder": "section", "collection": "collection", "label": "label"},
    options={"extend_lists": "on", "multiple": "keywords,subject", "resumable_above": 4_000_000, "readiness": "wait"}
    | {"duplicate_window": 0},
    listing="GET */assets",
    lean={"page": 20},
    emulated={"rate": None},
    limits={"reach": 40},
    narrow={"page": 10},
    narrow_emulated={"result_window": 40},
    part=262_144,
    parted={"resumable_above": 262_144},
    uses_up="used",
    demo={"extend_lists": "on", "first_look": 0.5},
    demo_emulated={"rate": None, "lag": 1, "processing": 0.3},
    plays={"P* /api/v4/*": ("play:fail_after",), "PUT storage /up": ("play:partial",)},
)
