"""Service D: every version is a record of its own, and an asset gets its ids before its file."""

from __future__ import annotations

from dam_sync.model.service import Connector
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.options import OPTIONS
from dam_sync.services.d_templates.service import TemplatesService

CONNECTOR = Connector(
    name=facts.NAME,
    summary="a DAM API with metadata templates, security templates, versions as records and presigned links",
    settings=OPTIONS,
    flows={
        "session": ("api_key", "username", "password"),
        "oauth": ("api_key", "client_id", "client_secret", "refresh_token"),
    },
    extras={"oauth": ("token_url",)},
    connect=TemplatesService,
    service=TemplatesService,
    assumptions=facts.ASSUMPTIONS,
    leaves=facts.LEAVES,
    assumed_writes=facts.ASSUMED_WRITES,
    not_moved=facts.NOT_MOVED,
)
