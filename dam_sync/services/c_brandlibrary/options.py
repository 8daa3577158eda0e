"""Options and auth methods of service C."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from dam_sync.config.options import Count, Options, Seconds, Switch, TokenAuth, WordSet
from dam_sync.model.connector import Context
from dam_sync.model.limits import Limits
from dam_sync.services.c_brandlibrary import facts


def _trimmed(path: str) -> str:
    return path.strip("/")


class BrandLibraryOptions(Options):
    """Options of a job for a library of service C."""

    library: str = Field("", description="the library of the job, by name or id; required if the key can see several")
    section: str = Field(
        facts.SECTION,
        description="the section of assets that have none (default dam-sync), created when first needed",
    )
    multiple: WordSet = Field(
        frozenset(),
        description="custom fields that take several values, separated by commas; others are detected from a sample "
        "of assets",
    )
    delta: Literal["updated", "sweep"] = Field(
        "updated",
        description="updated (default: what changed by its date) or sweep (all assets each time: deletions, labels "
        "and collections show too)",
    )
    version_counts: Switch = Field(
        True, description="on (default: count the older versions of files; one more listing per section) or off"
    )
    extend_lists: Switch = Field(False, description="off (default) or on: add values to restricted lists")
    keep_marker: Switch = Field(
        False,
        description="off (default) or on: leave the marker in the description of new assets; saves one call per asset",
    )
    tokens: Literal["call", "asset"] = Field(
        "call",
        description="call (default: one call creates up to 20 assets, and one of them carries our token until it is "
        "complete; after a lost response the others are found by their names) or asset (each is created by a call of "
        "its own and carries a token; two more calls per asset)",
    )
    readiness: Literal["later", "wait"] = Field(
        "later",
        description="later (default: the size of a new file is checked by `verify`) or wait until it was checked",
    )
    first_look: Seconds = Field(
        facts.FIRST_LOOK, description="seconds to wait before a new file version is checked (default 8)"
    )
    fetch_seconds: Seconds = Field(
        facts.FETCH_LIFE.total_seconds(),
        description="seconds that the service may take to fetch a file by its link (`policy: {bytes: pull}`) before it "
        "is sent instead (default 7200)",
    )
    resumable_above: Count = Field(
        facts.SINGLE_BYTES,
        description="size in bytes above which files are uploaded in ranges (default 200000000)",
    )
    page: Count = Field(
        facts.PAGE,
        ge=1,
        le=facts.LONG_PAGE,
        description="assets per page of a listing (default 500, at most 3000)",
    )
    upload_method: Literal["auto", "put", "post"] = Field(
        "auto", description="auto (default), put or post: HTTP method of the upload link"
    )
    index_lag: Seconds = Field(
        facts.LAG.total_seconds(),
        description="seconds that the search may run behind (default 60); a run waits that long before an asset counts "
        "as absent",
    )
    duplicate_window: Seconds = Field(
        facts.SETTLES.total_seconds(),
        description="seconds in which the account's duplicate detection may remove a new asset (900; 0 where it is "
        "off): runs and `verify` look for such assets",
    )
    public_links: Switch = Field(
        False, description="off (default) or on: read the CDN links of assets, for redirects; one more call per asset"
    )
    libraries_word: Annotated[str, AfterValidator(_trimmed)] = Field(
        "libraries", description="the word for libraries in the URLs of this deployment (default libraries)"
    )
    library_word: str = Field(
        "library", description="the word for a library in webhook subscriptions of this deployment (default library)"
    )


AUTH = {"token": TokenAuth}


def limits_of(context: Context, options: BrandLibraryOptions) -> Limits:
    """The documented limits, and those of the job; calls per second are not documented, so the job's limit applies."""
    limits = context.limited(facts.LIMITS)
    pace = replace(limits.pace.with_concurrency(context.concurrency), per_second=context.calls_per_second)
    pace = replace(pace, storage_at_once=pace.at_once)
    return replace(
        limits,
        page=options.page,
        pace=pace,
        single_bytes=options.resumable_above,
        lag=timedelta(seconds=options.index_lag),
        dedup_window=timedelta(seconds=options.duplicate_window),
        small_file=replace(limits.small_file, waited_for=options.readiness == "wait"),
        enumerates_all=options.delta == "sweep",
        undated=() if options.delta == "sweep" else limits.undated,
    )
