"""A folder on disk: asset files next to a catalogue of JSON lines in the neutral form, sealed as a BagIt bag."""

from __future__ import annotations

from dam_sync.model.connector import Connector
from dam_sync.model.service import Service
from dam_sync.services.folder import facts
from dam_sync.services.folder.not_moved import NOT_MOVED
from dam_sync.services.folder.options import FolderOptions


def _service() -> type[Service]:
    from dam_sync.services.folder.service import FolderService  # only a connection needs it

    return FolderService


CONNECTOR = Connector(
    name=facts.NAME,
    summary="a folder on disk: files, a catalogue of JSON lines, and BagIt manifests; an export, a backup, an import",
    service=_service,
    options=FolderOptions,
    schemes=("file",),
    base_url_optional=True,
    leaves=facts.LEAVES,
    not_moved=NOT_MOVED,
)
