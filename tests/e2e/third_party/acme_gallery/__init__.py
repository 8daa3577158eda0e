"""The Acme gallery as a source: `GET /items`, `GET /items/{id}`, `GET /items/{id}/file`."""

from __future__ import annotations

from acme_gallery.service import NAME, GalleryOptions, GalleryService
from dam_sync.config.options import TokenAuth
from dam_sync.model.connector import Connector

CONNECTOR = Connector(
    name=NAME,
    summary="pictures of the Acme gallery, read-only",
    service=lambda: GalleryService,
    options=GalleryOptions,
    auth={"token": TokenAuth},
)
