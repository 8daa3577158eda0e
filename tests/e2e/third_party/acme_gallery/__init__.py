"""The Acme gallery as a source: `GET /items`, `GET /items/{id}`, `GET /items/{id}/file`."""

from __future__ import annotations

from acme_gallery.service import NAME, GalleryService
from dam_sync.model import options
from dam_sync.model.service import Connector

CONNECTOR = Connector(
    name=NAME,
    summary="pictures of the Acme gallery, read-only",
    settings={"page": options.count("items a page (default 100)", 1)},
    flows={"token": ("token",)},
    connect=GalleryService,
    service=GalleryService,
)
