"""How the emulated service B is tried."""

from __future__ import annotations

from dam_sync.emulators.kit.profile import Profile

TRIAL = Profile(
    fitting={"folder": "/"},
    readings=(
        "no_tags",
        "weak_tags",
        "bar_paths",
        "index",
        "older",
        "ancient",
    ),
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
    ),
    denied={"flow": "basic", "login": "Administrator", "password": "wrong-secret"},
    containers={"folder": "folder", "collection": "collection"},
    fixed=frozenset({"country"}),
    prefix="lib:",
    options={
        "folder": "/",
        "groups": "public,staff",
        "everybody": "members",
        "relations": "Views of the object",
        "kinds": {
            "lib:shot": "date",
            "lib:body": "html",
            "lib:legend": "long_text",
            "lib:mail": "email",
            "lib:web": "url",
        },
    },
    emulated={"direct": True},
    listing="POST */automation/Repository.Query",
    reads=frozenset(
        f"POST */automation/{name}" for name in ("login", "Repository.Query", "Document.GetLinkedDocuments")
    ),
    opening=1,
    lean={"relations": ""},
    limits={"page": 20, "split": 50},
    plays={
        "P* /api/v1/id/{id}": ("play:conflict", "play:rollback", "play:crash", "play:restart", "play:dropped"),
        "POST /api/v1/automation/Document.*": ("play:conflict", "play:rollback", "play:slow:31"),
    },
)
