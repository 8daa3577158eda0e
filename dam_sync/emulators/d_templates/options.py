"""The switches of an emulated tenant of service D, and the second readings it can play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.options import TAGS, given_options, plays_of

VARIANTS: Mapping[str, str] = {
    "access_token": "`AccessToken` is needed beside `Authorization`, 401 without (wire D 15, 1.2)",
    "must_complete": "an upload with an `uploadId` is no file before its completion, small ones too (wire D 15, 6.1)",
    "refuse_complete": "the completion of a small file is refused as unnecessary, 400 (wire D 15, 6.1)",
    "always_urls": "`urls` and `uploadId` come back without `filesize`, too (wire D 6.1, upload_response)",
    "missing_404": "the content of an asset without a file is 404, not 502 (wire D 15, 4)",
    "missing_empty": "the content of an asset without a file is an empty link (wire D 15, 4)",
    "expose_whole": "expose refuses the whole batch for one id it will not show (wire D 15, 4)",
    "apply_after_post": "a new vocabulary, too, must be applied before its values can be used (wire D 15, 5.2)",
    "default_sort": "without a sort key scans begin with what changed last; of several keys the first counts"
    " (wire D 15, 2.1)",
    "no_total": "scans give no `totalCount` (wire D 15, 2.6)",
    "delete_family": "deleting and restoring act on the whole family (wire D 15, 6.5 and 6.8)",
    "processing_touches": "processing of a new file moves `lastUpdatedEpoch` (wire D 15, 6.5)",
    "late_events": "webhooks of the later, longer form (wire D 15, 9.3)",
    "refresh_blank": 'a refresh answers `refreshToken: ""` (wire D 1.4)',
    "field_names": "field names of other releases, one set after another (wire D 3.2)",
    "shapes": "the other of the two documented envelopes, wherever there are two (wire D 2.6, 5.1, 5.4)",
    "slim_50": "`POST /search` takes a limit of 50, not 100 (wire D 2.3)",
    "links_move": "a new version takes its predecessor's links over (wire D 14, 10)",
    "hyphen": "`placed-graphic` is the spelling, `placed_graphic` is refused (wire D 3.4)",
    "both_spellings": "`placed_graphic` and `placed-graphic` are taken (wire D 3.4)",
    "collection_lag": "searches for collections read the lagging index, too (wire D 2)",
    "no_scan_filters": "`filters` of a scan are not heeded (wire D 14, 6)",
    "least_multipart": "files under 5 MB may not be sent with `filesize` (wire D 6.1)",
    "refuse_empty": "the store takes no file of no bytes (wire D 6.1)",
    "bare_id_keeps": "an attribute that is sent by its id alone keeps its value (wire D 6.4)",
    "nothing_clears": "nor does an empty value clear it (wire D 6.4)",
    "updates_replace": "`add` of `collectionUpdates` replaces the members (wire D 6.8)",
    "no_security": "records do not show their security templates (wire D 3.1)",
    "older": "a server without the calls of v1.5 (wire D 10)",
    **TAGS,
}
SECOND = frozenset(
    {"access_token", "must_complete", "always_urls", "missing_empty", "expose_whole", "apply_after_post"}
    | {"default_sort", "no_total", "delete_family", "processing_touches", "late_events", "refresh_blank"}
    | {"field_names", "shapes", "slim_50"}
)
EVERY_PERMISSION = (
    *("View", "Edit Metadata", "Delete", "Purge", "PDF Preview", "Version Asset", "Download"),
    *("Assign Security Template", "Replace Preview", "Relationships", "Transform", "Request Download"),
    *("Proof Initiation", "Sensitive Data", "Apply"),
)
GIB = 1 << 30
_SECONDS = ("lag", "processing", "apply_lag", "bulk_lag", "content_seconds", "upload_seconds", "rendition_seconds")
_COUNTS = (
    "part",
    "multipart_least",
    "put_most",
    "page_most",
    "text_content",
    "window",
    "members",
    "actions",
    "requests",
    "announced",
)


@dataclass(frozen=True, slots=True)
class Options:
    """What `emulator(options=…)` takes; an unknown name or variant is refused with ValueError.

    variant: names of VARIANTS with commas, or `second` for every second reading of wire D 15. rate: calls a second,
    None for no limit; retry_after: whether 429 says when; announced: so many calls in 60 seconds, says every response,
    whatever is refused (wire D 7). In seconds: lag (the index behind the store), processing (of
    a file), apply_lag, bulk_lag, lives of links. In bytes: part, multipart_least, put_most, page_most (of a response),
    text_content (extracted from each file). window: `from + limit` at most. members: of a collection at most.
    users: more users, each with username, password, permissions by name (all), templates (names of security templates
    it is permitted on, None: all), privileges to write the schema (`admin`). tags_field, release_field, expiry_field,
    status_field: attributes (search fields) that take these parts of a catalogue's assets. dates_hide: outsiders do
    not see an asset before its release or after its expiry. nil_members: collections of a catalogue hold the nil UUID,
    too; actions: so many records of `objectType` Action come with it. requests: for assets, so many were made.
    latency: 1 for the mean times of wire D 8, 0 for none. strict_signed_headers: signed headers must come with a PUT,
    and no `Content-Type` that is not signed.
    """

    variant: str = ""
    rate: float | None = None
    retry_after: bool = True
    announced: int = 60_000
    lag: float = 2.0
    processing: float = 1.0
    apply_lag: float = 0.0
    bulk_lag: float = 3.0
    content_seconds: float = 20
    upload_seconds: float = 86_400
    rendition_seconds: float = 3_600
    part: int = 104_857_600
    multipart_least: int = 5_000_000
    put_most: int = 5 * GIB
    page_most: int = 6 << 20
    text_content: int = 0
    window: int = 10_000
    members: int = 4_999
    api_key: str = "k-123"
    username: str = "svc-migration"
    password: str = "s3cret-Pass1"
    users: Sequence[Mapping[str, Json]] = ()
    clients: Mapping[str, str] = field(default_factory=lambda: {"client-1": "client-secret-1"})
    refresh_tokens: Sequence[str] = ("rt-demo-7cWhrsuc0l56",)
    webhook_secret: str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    deliveries: str = "normal"
    locale: str = "en"
    tags_field: str = ""
    release_field: str = ""
    expiry_field: str = ""
    status_field: str = ""
    dates_hide: bool = False
    nil_members: bool = False
    actions: int = 0
    requests: int = 0
    latency: float = 0.0
    strict_signed_headers: bool = True
    plays: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        plays = plays_of(self.variant, VARIANTS, SECOND)
        object.__setattr__(self, "plays", plays)


def options_of(given: Mapping[str, object]) -> Options:
    """Options from what a caller or the command line gave. Raises ValueError on an unknown name."""
    return Options(**given_options(fields(Options), given, (*_SECONDS, "latency"), _COUNTS))
