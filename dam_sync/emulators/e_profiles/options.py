"""The switches of an emulated tenant of service E, and the second readings it can play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.options import TAGS, given_options, plays_of, refuse_unknown

VARIANTS: Mapping[str, str] = {
    "window": "offset + limit, not offset alone, may not pass 10,000 (wire E 13)",
    "binary": "chunks of 5 to 100 MiB instead of MB (wire E 8)",
    "small_forms": "a single form upload takes at most 50,000,000 bytes, 413 beyond (wire E 6.2)",
    "subtree": "a category's listing includes the assets of its children (wire E 3.5)",
    "exclusive": "the ends of date ranges do not belong to them (wire E 2.3)",
    "patch_empties": "a member named in `patch` but not sent is emptied (wire E 6.4, 6.5)",
    "empty_required": "a required field may be emptied, no 409 (wire E 6.4)",
    "strict_names": "names that the documents say to avoid are refused: reserved characters, device names, whitespace"
    " or dots at ends, over 128 characters (wire E 5.4, 5.5, 8)",
    "late_versions": "a new file version is taken up when its processing is over (wire E 6.7)",
    "late_fetch": "a file is fetched from its `url` after the response; one that cannot be read stays pending (wire E "
    "6.2)",
    "purge_event": "`asset_deleted` fires for a purge, too (wire E 2.6)",
    "ignore_unknown": "unknown display keys in a write are ignored, no 400 (wire E 6.4)",
    "refuse_names": "an upload under an existing file name is refused with 409 (wire E 13)",
    "void_json": "calls without a result answer 200 with a JSON body (wire E 12, line 19)",
    "no_chunks": "the account has no chunked upload (wire E 6.3)",
    "no_webhooks": "the webhook feature is off (wire E 9)",
    "older": "a server from before versions, tags and sizes in bytes (wire E 3.1)",
    "delete_purges": "a first DELETE removes an asset permanently (wire E 6.6)",
    "delete_twice_purges": "a second DELETE removes an asset from the trash permanently (wire E 6.6)",
    "names_loosely": "file names that differ in extension or accents alone count as equal, too (wire E 6.7)",
    "null_unheeded": "a release date of null changes nothing, and `/security` leaves the date out (wire E 6.5)",
    "null_is_public": "an asset without a release date is released (wire E 6.5)",
    "no_nulls": "rights leave out dates that are null (wire E 6.5)",
    "profile_releases": "what is uploaded is released at once, whatever its profile says (wire E 5.6)",
    "unsaid_release": "the rows of upload profiles have no `immediate_release` (wire E 5.6)",
    "groupless_unavailable": "an asset without a group exists for nobody, whatever dates it has (wire E 6.5)",
    "rename_list_only": "a value of a list is renamed there, and on no asset (wire E 5.3)",
    "tags_unshown": "assets do not show their tags, though the release knows tags (wire E 3.1)",
    "tags_unheeded": "the calls for tags change nothing, and assets do not show their tags (wire E 6.6)",
    **TAGS,
}
SECOND = frozenset(
    {"window", "binary", "small_forms", "subtree", "exclusive", "patch_empties", "empty_required", "strict_names"}
    | {"purge_event", "late_fetch"}
)
MODES = ("normal", "duplicate", "reorder", "drop")
POLICIES = ("file_only", "file_and_information", "none")


@dataclass(frozen=True, slots=True)
class Options:
    """What `emulator(options=…)` takes; an unknown name or variant is refused with ValueError.

    variant: names of VARIANTS with commas, or `second` for every second reading of wire E 13. rate: calls a second over
    v1 and v2, None for no limit. lag, processing, scroll_timeout, embed_stale in seconds. users: more users, each with
    name, token, groups (None: all), sees, orders, original. clients: OAuth clients by id with secret and refresh.
    refresh_tokens: each good once, for the first client. consents: refresh tokens good any number of times, each time
    as if somebody had consented again; what comes of them rotates as it does anywhere.
    megabyte: bytes of one where chunks are measured. v1_most: bytes of a form of v1. deliveries: how webhooks travel,
    one of MODES. usage_late: the counter of API calls ends at the last midnight.
    """

    variant: str = ""
    rate: float | None = 50
    lag: float = 3.0
    processing: float = 1.0
    scroll_timeout: float = 60.0
    embed_stale: float = 0.0
    version_policy: str = "file_only"
    tenant: str = "demo"
    token: str = "wat_demo_b1d3c61e03c6"
    clients: Mapping[str, Mapping[str, Json]] = field(
        default_factory=lambda: {
            "client-1": {"secret": "client-secret-1", "refresh": True},
            "client-2": {"secret": "client-secret-2", "refresh": False},
        }
    )
    refresh_tokens: Sequence[str] = ("wrt_demo_7cWhrsuc0l56756L",)
    consents: Sequence[str] = ()
    users: Sequence[Mapping[str, Json]] = ()
    locale: str = "en"
    chunk_slots: int = 40
    v1_most: int = 5_000_000_000
    megabyte: int = 0
    deliveries: str = "normal"
    usage_late: bool = False
    plays: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        plays = plays_of(self.variant, VARIANTS, SECOND)
        refuse_unknown("version policy", self.version_policy, POLICIES)
        refuse_unknown("mode of deliveries", self.deliveries, MODES)
        object.__setattr__(self, "plays", plays)

    @property
    def chunk_least(self) -> int:
        """Bytes a chunk that is not the last must have."""
        return 5 * self._megabyte

    @property
    def chunk_most(self) -> int:
        """Bytes a chunk may have."""
        return 100 * self._megabyte

    @property
    def form_most(self) -> int:
        """Bytes a single form upload may carry."""
        return 50_000_000 if "small_forms" in self.plays else 5_000_000_000

    @property
    def _megabyte(self) -> int:
        return self.megabyte or (1 << 20 if "binary" in self.plays else 1_000_000)


def options_of(given: Mapping[str, object]) -> Options:
    """Options from what a caller or the command line gave. Raises ValueError on an unknown name."""
    floats = ("lag", "processing", "scroll_timeout", "embed_stale")
    return Options(**given_options(fields(Options), given, floats))
