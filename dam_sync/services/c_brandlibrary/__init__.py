"""Service C: a brand library; an asset's section and collection are fixed at birth, its fields come in second calls."""

from __future__ import annotations

from dam_sync.model import options
from dam_sync.model.service import Connector
from dam_sync.services.c_brandlibrary import facts
from dam_sync.services.c_brandlibrary.service import BrandLibraryService

KIND = Connector(
    name=facts.NAME,
    summary="a brand library: sections, collections, labels, custom fields of text, one API key, signed storage links",
    settings={
        "library": options.text("the library of the job, by name or id; needed when the key sees several"),
        "section": options.text("where assets without a section go (dam-sync), made when first needed"),
        "multiple": options.words(
            "custom fields that take several values, comma separated; a sample of assets tells others"
        ),
        "delta": options.choice(
            "updated (default: what changed by its date) or sweep (all assets each time: deletions, labels and "
            "collections show too)",
            "updated",
            "sweep",
        ),
        "version_counts": options.switch(
            "on (default: learn how many older versions files have, one more listing for each section) or off"
        ),
        "extend_lists": options.switch("off (default) or on: add values to restricted lists"),
        "keep_marker": options.switch(
            "off (default) or on: leave the mark in the description of new assets, one call less each"
        ),
        "readiness": options.choice(
            "later (default: the size of a new file is checked by `verify`) or wait until it was looked at",
            "later",
            "wait",
        ),
        "first_look": options.seconds("seconds before a new file version is looked at, which is waited for (8)"),
        "resumable_above": options.count("bytes above which files travel in ranges (200000000)"),
        "page": options.count("assets in a page of a listing (500, at most 3000)", 1),
        "upload_method": options.choice(
            "auto (default), put or post: how the upload link takes bytes", "auto", "put", "post"
        ),
        "index_lag": options.seconds("seconds the search may run behind (60), waited before an asset counts as absent"),
        "duplicate_window": options.seconds(
            "seconds in which the account's duplicate detection may remove a new asset (900; 0 where "
            "it is off): runs and `verify` look for such assets"
        ),
        "public_links": options.switch(
            "off (default) or on: read the CDN links of assets, for redirects; one more call each"
        ),
        "libraries_word": options.text("the word for libraries in this deployment's addresses (libraries)"),
    },
    flows={"token": ("token",)},
    connect=BrandLibraryService,
    service=BrandLibraryService,
    limits=facts.LIMITS,
    assumptions=facts.ASSUMPTIONS,
    holds=facts.HOLDS,
    leaves=facts.LEAVES,
    assumed_writes=facts.ASSUMED_WRITES,
    not_moved=facts.NOT_MOVED,
)
