"""Service A, a hypermedia DAM: composed of its parts."""

from __future__ import annotations

from dam_sync.model.capabilities import Feature, Operation
from dam_sync.model.connector import Context
from dam_sync.services.a_hypermedia.counts import HypermediaCounts
from dam_sync.services.a_hypermedia.estimate import HypermediaEstimate
from dam_sync.services.a_hypermedia.source.crawl import MediaCrawler
from dam_sync.services.a_hypermedia.source.open import MediaOpener
from dam_sync.services.a_hypermedia.source.probe import HypermediaProbe
from dam_sync.services.a_hypermedia.target.create import MediaCreator
from dam_sync.services.a_hypermedia.target.relate import MediaRelations
from dam_sync.services.a_hypermedia.taxonomy import HypermediaTaxonomy


class HypermediaService(
    HypermediaProbe,
    MediaCrawler,
    HypermediaEstimate,
    MediaOpener,
    MediaCreator,
    MediaRelations,
    HypermediaTaxonomy,
    HypermediaCounts,
):
    """One instance of service A."""

    def __init__(self, context: Context) -> None:
        """No call is made yet. Raises ConfigError."""
        super().__init__(context)
        if not self._options.baskets:
            self.remove_capabilities(Operation.MEMBERS)
        if not self._options.attachments:
            self.remove_capabilities(Operation.ATTACH, writes=[Feature.ATTACHMENTS])
