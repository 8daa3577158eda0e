"""Service D: every version is a record of its own, and an asset gets its ids before its file."""

from __future__ import annotations

from dam_sync.model.connector import Connector
from dam_sync.model.service import Service
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.not_moved import NOT_MOVED, NOT_USED
from dam_sync.services.d_templates.options import AUTH, TemplatesOptions


def _service() -> type[Service]:
    from dam_sync.services.d_templates.service import TemplatesService  # only a connection needs HTTP

    return TemplatesService


CONNECTOR = Connector(
    name=facts.NAME,
    summary="a DAM API with metadata templates, security templates, versions as records and presigned links",
    service=_service,
    options=TemplatesOptions,
    auth=AUTH,
    assumptions=facts.ASSUMPTIONS,
    leaves=facts.LEAVES,
    assumed_writes=facts.ASSUMED_WRITES,
    not_moved=NOT_MOVED,
    not_used=NOT_USED,
    api_paths=facts.API_PATHS,
    former_paths=facts.FORMER_PATHS,
)
