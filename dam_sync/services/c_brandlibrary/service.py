"""Service C, a brand library: composed of its parts."""

from __future__ import annotations

from dam_sync.services.c_brandlibrary.counts import BrandLibraryCounts
from dam_sync.services.c_brandlibrary.estimate import BrandLibraryEstimate
from dam_sync.services.c_brandlibrary.source.missing import ExistenceCheck
from dam_sync.services.c_brandlibrary.source.probe import BrandLibraryProbe
from dam_sync.services.c_brandlibrary.target.create import BrandLibraryCreator
from dam_sync.services.c_brandlibrary.target.update import BrandLibraryUpdater
from dam_sync.services.c_brandlibrary.webhooks import BrandLibraryWebhooks


class BrandLibraryService(
    BrandLibraryProbe,
    ExistenceCheck,
    BrandLibraryCreator,
    BrandLibraryUpdater,
    BrandLibraryEstimate,
    BrandLibraryWebhooks,
    BrandLibraryCounts,
):
    """One library of service C. An asset stays in the section and collection in which it was created."""
