"""Options and auth methods of service C: their table, their types, their parsing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import cast

from dam_sync.http.auth.base import Bearer
from dam_sync.model import options
from dam_sync.model.errors import ConfigError
from dam_sync.model.limits import Limits
from dam_sync.model.service import Context
from dam_sync.services.c_brandlibrary import facts

SETTINGS = {
    "library": options.text("the library of the job, by name or id; required if the key can see several"),
    "section": options.text("the section of assets that have none (default dam-sync), created when first needed"),
    "multiple": options.words(
        "custom fields that take several values, separated by commas; others are detected from a sample of assets"
    ),
    "delta": options.choice(
        "updated (default: what changed by its date) or sweep (all assets each time: deletions, labels and "
        "collections show too)",
        "updated",
        "sweep",
    ),
    "version_counts": options.switch(
        "on (default: count the older versions of files; one more listing per section) or off"
    ),
    "extend_lists": options.switch("off (default) or on: add values to restricted lists"),
    "keep_marker": options.switch(
        "off (default) or on: leave the marker in the description of new assets; saves one call per asset"
    ),
    "readiness": options.choice(
        "later (default: the size of a new file is checked by `verify`) or wait until it was checked",
        "later",
        "wait",
    ),
    "first_look": options.seconds("seconds to wait before a new file version is checked (default 8)"),
    "resumable_above": options.count("size in bytes above which files are uploaded in ranges (default 200000000)"),
    "page": options.count("assets per page of a listing (default 500, at most 3000)", 1),
    "upload_method": options.choice(
        "auto (default), put or post: HTTP method of the upload link", "auto", "put", "post"
    ),
    "index_lag": options.seconds(
        "seconds that the search may run behind (default 60); a run waits that long before an asset counts as absent"
    ),
    "duplicate_window": options.seconds(
        "seconds in which the account's duplicate detection may remove a new asset (900; 0 where "
        "it is off): runs and `verify` look for such assets"
    ),
    "public_links": options.switch(
        "off (default) or on: read the CDN links of assets, for redirects; one more call per asset"
    ),
    "libraries_word": options.text("the word for libraries in the URLs of this deployment (default libraries)"),
}

FLOWS = {"token": ("token",)}


@dataclass(frozen=True, slots=True)
class BrandLibraryOptions:
    """What the job says about this library; see `SETTINGS`."""

    library: str = ""
    section: str = facts.SECTION
    multiple: frozenset[str] = frozenset()
    delta: str = "updated"
    counts_versions: bool = True
    extends_lists: bool = False
    keeps_marker: bool = False
    waits_ready: bool = False
    resumable_above: int = facts.SINGLE_BYTES
    page: int = facts.PAGE
    first_look: float = facts.FIRST_LOOK
    upload_method: str = "auto"
    index_lag: float = facts.LAG.total_seconds()
    duplicate_window: float = facts.SETTLES.total_seconds()
    public_links: bool = False
    libraries_word: str = "libraries"

    @classmethod
    def of(cls, given: Mapping[str, object]) -> BrandLibraryOptions:
        """The options of a job, checked. Raises ConfigError."""
        return cls(
            library=str(given.get("library") or ""),
            section=str(given.get("section") or facts.SECTION).strip(),
            multiple=_words(given.get("multiple")),
            delta=_one_of(given, "delta", ("updated", "sweep")),
            counts_versions=_switch(given, "version_counts", default=True),
            extends_lists=_switch(given, "extend_lists", default=False),
            keeps_marker=_switch(given, "keep_marker", default=False),
            waits_ready=_one_of(given, "readiness", ("later", "wait")) == "wait",
            page=min(facts.LONG_PAGE, max(1, int(_number(given, "page", facts.PAGE)))),
            resumable_above=int(_number(given, "resumable_above", facts.SINGLE_BYTES)),
            first_look=_number(given, "first_look", facts.FIRST_LOOK),
            upload_method=_one_of(given, "upload_method", ("auto", "put", "post")),
            index_lag=_number(given, "index_lag", facts.LAG.total_seconds()),
            duplicate_window=_number(given, "duplicate_window", facts.SETTLES.total_seconds()),
            public_links=_switch(given, "public_links", default=False),
            libraries_word=str(given.get("libraries_word") or "libraries").strip("/"),
        )


def limits_of(context: Context, options: BrandLibraryOptions) -> Limits:
    """The documented limits, and what the job asks for; calls a second are not documented, so the job's count."""
    at_once = max(1, context.concurrency or facts.AT_ONCE)
    pace = replace(
        facts.LIMITS.pace, per_second=context.calls_per_second, at_once=at_once, storage_at_once=max(1, at_once)
    )
    return replace(
        facts.LIMITS,
        page=options.page,
        reach=facts.REACH,
        pace=pace,
        single_bytes=options.resumable_above,
        lag=timedelta(seconds=options.index_lag),
        dedup_window=timedelta(seconds=options.duplicate_window),
        enumerates_all=options.delta == "sweep",
        undated=() if options.delta == "sweep" else facts.LIMITS.undated,
    )


def credential_of(context: Context) -> Bearer:
    """The key of the job. Raises ConfigError."""
    if context.auth.get("flow", "token") != "token":
        raise ConfigError(f"service {facts.NAME} knows no auth flow {context.auth['flow']!r}", hint="use `token`")
    token = context.auth.get("token")
    if not token:
        raise ConfigError("auth.token is missing")
    return Bearer(token)


def _one_of(given: Mapping[str, object], name: str, allowed: Sequence[str]) -> str:
    value = str(given.get(name) or allowed[0])
    if value not in allowed:
        raise ConfigError(f"option {name} takes {', '.join(allowed)}, not {value!r}")
    return value


def _switch(given: Mapping[str, object], name: str, *, default: bool) -> bool:
    value = given.get(name, default)
    if value in (True, "on"):
        return True
    if value in (False, "off"):
        return False
    raise ConfigError(f"option {name} takes on or off, not {value!r}")


def _number(given: Mapping[str, object], name: str, default: float) -> float:
    try:
        number = float(cast("str", given.get(name, default)))
    except (TypeError, ValueError):
        number = -1.0
    if number < 0:
        raise ConfigError(f"option {name} takes a number, not {given.get(name)!r}")
    return number


def _words(given: object) -> frozenset[str]:
    words = given.split(",") if isinstance(given, str) else cast("Sequence[object]", given or ())
    return frozenset(str(word).strip() for word in words if str(word).strip())
