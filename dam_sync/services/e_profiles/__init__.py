"""Service E: everything an asset becomes at upload is decided by an upload profile, which no call can read in full."""

from __future__ import annotations

from dam_sync.model.service import Connector
from dam_sync.services.e_profiles.facts import (
    ASSUMED_WRITES,
    ASSUMPTIONS,
    LEAVES,
    NAME,
    NOT_MOVED,
)
from dam_sync.services.e_profiles.options import SETTINGS
from dam_sync.services.e_profiles.service import ProfilesService

CONNECTOR = Connector(
    name=NAME,
    summary="a DAM API with one metadata type an asset, flat vocabularies, upload profiles and signed links",
    settings=SETTINGS,
    flows={"token": ("token",), "oauth": ("client_id", "client_secret", "refresh_token")},
    connect=ProfilesService,
    service=ProfilesService,
    assumptions=ASSUMPTIONS,
    needs_tenant_url=True,
    leaves=LEAVES,
    assumed_writes=ASSUMED_WRITES,
    not_moved=NOT_MOVED,
)
