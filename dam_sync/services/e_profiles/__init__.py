"""Service E: everything an asset becomes at upload is decided by an upload profile, which no call can read in full."""

from __future__ import annotations

from dam_sync.model.connector import Connector
from dam_sync.model.service import Service
from dam_sync.services.e_profiles import facts
from dam_sync.services.e_profiles.not_moved import NOT_MOVED, NOT_USED, SIDE_EFFECTS
from dam_sync.services.e_profiles.options import AUTH, ProfilesOptions


def _service() -> type[Service]:
    from dam_sync.services.e_profiles.service import ProfilesService  # only a connection needs HTTP

    return ProfilesService


CONNECTOR = Connector(
    name=facts.NAME,
    summary="a DAM API with one metadata type an asset, flat vocabularies, upload profiles and signed links",
    service=_service,
    options=ProfilesOptions,
    auth=AUTH,
    assumptions=facts.ASSUMPTIONS,
    needs_tenant_url=True,
    leaves=facts.LEAVES,
    assumed_writes=facts.ASSUMED_WRITES,
    not_moved=NOT_MOVED,
    not_used=NOT_USED,
    side_effects=SIDE_EFFECTS,
    api_paths=facts.API_PATHS,
    tenant_paths=facts.TENANT_PATHS,
)
