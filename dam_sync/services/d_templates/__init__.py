"""Service D: every version is a record of its own, and an asset has its ids before its bytes."""

from __future__ import annotations

from dam_sync.model import options
from dam_sync.model.service import Connector
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.service import TemplatesService

KIND = Connector(
    name=facts.NAME,
    summary="a DAM API with metadata templates, security templates, versions as records and presigned links",
    settings={
        "security": options.text(
            "name of the security template of new assets and collections where the mapping names none; without it, "
            "where there are several, each asset needs a group from the mapping and new collections are private"
        ),
        "everybody": options.words("security templates that stand for everybody who can use the tenant (default none)"),
        "restricted_security": options.text(
            "name of a security template that ordinary users do not see: assets that must not be visible get it"
        ),
        "relations": options.switch("on (default) or off: one more call for each asset that is read"),
        "release_field": options.text("search field of the date attribute that holds the release date"),
        "expiry_field": options.text("search field of the date attribute that holds the expiry date"),
        "status_field": options.text("search field of the dropdown that holds the status"),
        "tags_field": options.text("search field of the dropdown with several values that holds the tags"),
        "collection_template": options.text(
            "name of the metadata template of new collections (default: the first one)"
        ),
        "small_uploads": options.choice(
            "auto (default: without their size; the first upload shows how they are sent) or session (with their "
            "size, as large ones are; they are completed by a call of their own, which plans then count)",
            "auto",
            "session",
        ),
        "api_path": options.text("what stands between the address and the paths (default /v1)"),
        "index_lag": options.seconds(
            "seconds the search index may run behind (default 150), waited before an asset counts as absent"
        ),
    },
    flows={
        "session": ("api_key", "username", "password"),
        "oauth": ("api_key", "client_id", "client_secret", "refresh_token"),
    },
    extras={"oauth": ("token_url",)},
    connect=TemplatesService,
    service=TemplatesService,
    limits=facts.LIMITS,
    assumptions=facts.ASSUMPTIONS,
    holds=facts.HOLDS,
    leaves=facts.LEAVES,
    assumed_writes=facts.ASSUMED_WRITES,
    not_moved=facts.NOT_MOVED,
)
