"""The Acme gallery as a source: `GET /items`, `GET /items/{id}`, `GET /items/{id}/file`."""

from __future__ import annotations

from acme_gallery.service import LIMITS, NAME, GalleryService
from dam_sync.model import options
from dam_sync.model.service import Connector
from dam_sync.model.support import Feature, Support

READ = Support("yes")
CONNECTOR = Connector(
    name=NAME,
    summary="pictures of the Acme gallery, read-only",
    settings={"page": options.count("items a page (default 100)", 1)},
    flows={"token": ("token",)},
    connect=GalleryService,
    service=GalleryService,
    limits=LIMITS,
    holds=dict.fromkeys((Feature.TEXT, Feature.DATE, Feature.MULTIPLE, Feature.DIGESTS), READ),
)
