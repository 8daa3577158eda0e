"""The switches of an emulated tenant of service C, and the second readings it can play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.options import TAGS, given_options, plays_of, refuse_unknown

VARIANTS: Mapping[str, str] = {
    "window": "only the first 10,000 rows of a list of assets can be reached, 400 past them (wire C 13)",
    "dates_on_lists": "availability dates come on lists, not on the single asset alone (wire C 13)",
    "slug_taken": "a container whose slug exists is refused with 422, not given a changed slug (wire C 13)",
    "small_single": "a single upload takes at most 500 MB (wire C 13)",
    "name_required": "an asset without a name is refused with 422, not named after its file (wire C 13)",
    "value_404": "an unknown value of a custom field in a search is a 404, too (wire C 13)",
    "collection_events": "edits of a collection fire `asset.update` for its assets (wire C 13)",
    "owner_hidden": "the owner of the organization is absent from a library's permissions (wire C 13)",
    "count_only": "`meta` holds `total_count` alone (wire C 2)",
    "plain_errors": "an error body is a bare JSON string (wire C 7)",
    "own_first": "a label's path begins with the label itself (wire C 5.1)",
    "value_array": "the response to a changed custom field value is an array (wire C 6.7)",
    "bare_answers": "a created collection and a changed label come without their wrapper (wire C 5.2)",
    "section_files": "a section's list of assets includes attachments and nothing else (wire C 2.1)",
    "no_empties": "relationships with nothing in them are left out (wire C 2)",
    "messy": "relationships repeat an id and name one that is nowhere (wire C 2)",
    "strict": "unknown parameters, fields and includes are refused with 400 (wire C 2)",
    "post_only": "`upload_url` takes POST, a PUT has the wrong signature (wire C 6.1)",
    "location_body": "a resumable session's address comes in a JSON body, with 200 (wire C 6.2)",
    "single_use": "a second attachment from one `object_url` never fills (wire C 12, line 13)",
    "no_dates": "`availability_start` and `_end` are not kept (wire C 10)",
    "no_labels": "the account has no labels: 403 on their paths (wire C 5)",
    "no_cdn": "`cdn_url` is null: not in the plan (wire C 10)",
    "no_approval": "an approval workflow keeps `approved` false on create (wire C 6.3)",
    "silent_attributes": "no response shows `approved` or availability dates (wire C 3.1, 6.3)",
    "edits_dates": "availability dates are kept on create and not on changes (wire C 6.4)",
    "cdn_strict": "expired and view-only assets refuse a CDN link, too (wire C 12, line 8)",
    "edits_approval": "an approval workflow passes over `approved` on changes, too (wire C 6.4)",
    "composed": "names of new sections, collections and labels are trimmed, their letters composed (wire C 5.2)",
    "bare_user": "a permission names its user without `data` (wire C 2, as one description shows it)",
    "name_on_put": "a change of an asset must send its name, else 422 (wire C, a published schema)",
    "plain_user": "`whoami` tells a bare user without an id (wire C 1: nobody shows its body)",
    "short_pages": "`per` above 10 is clamped to 10 (wire C 2: what is above the limit is not shown)",
    "short_names": "a name is cut after 40 letters (wire C 6.4: nothing is said of its length)",
    "stale_size": "the size of a replaced attachment stays the old one until the new bytes are there (wire C 6.5)",
    "lists_from_index": "lists without a search trail like the index (wire C 12, line 27)",
    "one_value": "a second value for a key that does not allow several is refused (wire C 6.7)",
    "auto_tags": "tags made by a machine come some time after the bytes (wire C 6.6)",
    "duplicates": "an upload identical to a file of the library is removed 10 minutes later (wire C 6.9)",
    "shuffled": "rows that are equal in the order asked for come in any order (wire C 2.2)",
    "bulk_labels": "the undocumented bulk action that assigns labels works (wire C 6.4)",
    "retry_after": "429 comes with Retry-After (wire C 12, line 33)",
    "partial_chunks": "every second chunk is kept in part (wire C 12, line 11)",
    **TAGS,
}
SECOND = frozenset(
    {"window", "dates_on_lists", "slug_taken", "small_single", "name_required", "value_404", "collection_events"}
    | {"owner_hidden", "count_only", "plain_errors", "own_first", "value_array", "bare_answers", "messy", "strict"}
    | {"post_only", "location_body", "single_use", "partial_chunks", "bare_user"}
)
_SECONDS = ("lag", "jitter", "processing", "tag_lag", "file_link", "thumbnail_link", "retry_base")
TOUCHING = frozenset(
    {"name", "description", "section", "approval", "availability", "attachments", "tags", "custom_fields"}
)
"""Edits that may move an asset's `updated_at`; `labels` and `collections` can be added by `touch_asset_on`."""
ERRORS = ("list", "string", "error")
MODES = ("normal", "duplicate", "reorder")


@dataclass(frozen=True, slots=True)
class Options:
    """What `emulator(options=…)` takes; an unknown name or variant is refused with ValueError.

    variant: names of VARIANTS with commas, or `second` for all of SECOND. rate: calls a second for each key with
    `burst` at once, None for no limit. lag, jitter, processing, file_link, thumbnail_link, tag_lag in seconds. token:
    the API key of the organization's owner. users: more users, each with token, level, scope (`organization`,
    `library:NAME` or `collection:NAME`), email. more_libraries: names of further, empty libraries; public_libraries:
    names of those anybody may read; stealth_libraries: names of those for holders of their link. result_window,
    single_limit: other numbers for those variants. section: where assets without a folder are loaded to. locale: the
    language of which texts are kept. asset_type: of the sections that are loaded. deliveries: one of MODES; retry_base:
    the first wait of a webhook's retries, in real seconds. insecure_hooks: webhooks may go to http on the loopback.
    tokens: words of the deployment's own for `libraries` and `library`.
    """

    variant: str = ""
    rate: float | None = 10
    burst: int = 20
    lag: float = 5.0
    jitter: float = 25.0
    processing: float = 5.0
    tag_lag: float = 3.0
    file_link: float = 86_400.0
    thumbnail_link: float = 604_800.0
    result_window: int | None = None
    single_limit: int | None = None
    token: str = "b7kq.c5wxt2rn.z8hmvd3f"
    users: Sequence[Mapping[str, Json]] = ()
    organization: str = "Acme Inc"
    library: str = "Acme"
    more_libraries: Sequence[str] = ()
    public_libraries: Sequence[str] = ()
    stealth_libraries: Sequence[str] = ()
    section: str = "Assets"
    locale: str = "en"
    asset_type: str = "GenericFile"
    errors: str = "list"
    touch_asset_on: frozenset[str] = TOUCHING
    deliveries: str = "normal"
    retry_base: float = 0.05
    insecure_hooks: bool = True
    tokens: Mapping[str, str] = field(default_factory=dict)
    plays: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        plays = plays_of(self.variant, VARIANTS, SECOND)
        refuse_unknown("form of errors", self.errors, ERRORS)
        refuse_unknown("mode of deliveries", self.deliveries, MODES)
        object.__setattr__(self, "plays", plays)

    @property
    def reach(self) -> int | None:
        """Rows of a list of assets that can be reached, None for all."""
        return self.result_window or (10_000 if "window" in self.plays else None)

    @property
    def single_most(self) -> int | None:
        """Bytes that one single upload may carry, None for any number."""
        return self.single_limit or (500_000_000 if "small_single" in self.plays else None)


def options_of(given: Mapping[str, object]) -> Options:
    """Options from what a caller or the command line gave; a lag without a jitter has none. Raises ValueError."""
    values = given_options(fields(Options), given, _SECONDS)
    if "lag" in values:
        values.setdefault("jitter", 0.0)
    if "touch_asset_on" in values:
        values["touch_asset_on"] = frozenset(values["touch_asset_on"])
    return Options(**values)
