"""The switches of an emulated server of service B, and the second readings it can play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from dam_sync.emulators.kit.environment import Json
from dam_sync.emulators.kit.options import TAGS, given_options, plays_of, refuse_unknown

VARIANTS: Mapping[str, str] = {
    "array_constraints": "list values of constraints are JSON arrays, not bracketed strings (wire B 13, 5.1)",
    "whole_path": "hierarchical vocabularies validate every id of the path, not the last alone (wire B 13, 5.1)",
    "bar_paths": "the catalogue's multi-level fields name `|` as what stands between ids, not `/` (wire B 5.1)",
    "outgoing": "a relation without `outgoing` goes out from the input (wire B 13, 6.5)",
    "label_beside": "a translated label stands beside the kept one, not in its place (wire B 13, 5.2)",
    "empty_version": "`increment: None` creates a version, under the label that it has (wire B 13, 6.7)",
    "lenient_body": "a body without `entity-type` is accepted (wire B 13, 6.3)",
    "any_accept": "`Accept: */*` keeps the details of validation errors (wire B 13, 1.1)",
    "login_redirect": "`nxfile` without credentials redirects to the login page, no 401 (wire B 1.4)",
    "index": "search is backed by an index: lag, 10,000 window, stale hits (wire B 2.2)",
    "number_length": "`length` of a blob is a number (wire B 3)",
    "float_expiry": "`expires_in` is written as a float (wire B 1.4)",
    "bare_query": "`Repository.Query` heeds no headers: its rows have no properties (wire B 2.1)",
    "block_ignored": "`Document.AddPermission` grants and does not heed `blockInheritance` (wire B 5.3)",
    "minor_ignored": "`Document.CreateVersion` makes no version, whatever the increment (wire B 6.7)",
    "older": "the 2023 release: no client credentials, old status codes, larger collections (wire B 10)",
    "ancient": "a release before the 2021 line: 308 for an incomplete chunked upload (wire B 10)",
    **TAGS,
}
SECOND = frozenset(
    {"array_constraints", "whole_path", "outgoing", "label_beside", "empty_version", "lenient_body"}
    | {"any_accept", "number_length", "float_expiry", "login_redirect"}
)


@dataclass(frozen=True, slots=True)
class Options:
    """What `emulator(options=…)` takes; an unknown name or variant is refused with ValueError.

    variant: names of VARIANTS with commas, or `second` for every second reading of wire B 13. app_path: the servlet
    context, empty for none. Times in seconds: lag (of the index), enrich (renditions and extraction after a commit),
    audit_lag, bulk_lag, cleanup_lag, digest_lag (until the digest of a new blob is known), token_life, code_life,
    batch_life, link_life, transaction (time-out). users: more users, each with name, password, groups. tokens: login
    tokens by their text. clients: OAuth clients by id. direct: downloads redirect to the object store. audit: `durable`
    or `memory` (lost on `play:restart`), empty for the release's default. status: how a catalogue's status is kept:
    `lifecycle`, `section` (published is a proxy in a section) or the name of a property. release_field, expiry_field:
    where a catalogue's rights are kept, and read for the ground truth. strict_types: children outside the allowed
    subtypes are refused (2025.8). auto_version: another user's save of a document with a file checks it in first.
    rate: calls a second, None as in the product.

    Faults it plays (`play:WORD`): conflict, rollback, slow:SECONDS (of a transaction), crash (leaves an idempotency key
    running), restart (jobs and an audit log in memory are lost), dropped (no batch is there any more when the call
    comes, so that what refers to one is left out silently).
    """

    variant: str = ""
    app_path: str = ""
    user: str = "Administrator"
    password: str = "secret-b"
    users: Sequence[Mapping[str, Json]] = ()
    tokens: Mapping[str, str] = field(
        default_factory=lambda: {"7f3c1a52-7d0e-4b7b-9a3e-login-token-b": "Administrator"}
    )
    jwt_secret: str = "shared-secret-b"
    clients: Mapping[str, Mapping[str, Json]] = field(
        default_factory=lambda: {
            "dam-sync": {"secret": "client-secret-b", "redirects": ["http://localhost:8765/cb"], "auto_grant": True},
            "public-client": {"secret": "", "redirects": ["http://localhost:8765/cb"], "auto_grant": False},
        }
    )
    refresh_tokens: Mapping[str, tuple[str, str]] = field(
        default_factory=lambda: {f"refresh-b-{'0' * 54}": ("dam-sync", "Administrator")}
    )
    release: str = ""
    rate: float | None = None
    lag: float = 2.0
    enrich: float = 1.0
    audit_lag: float = 1.0
    bulk_lag: float = 1.0
    cleanup_lag: float = 5.0
    digest_lag: float = 0.0
    token_life: float = 3600.0
    code_life: float = 600.0
    batch_life: float = 14_400.0
    link_life: float = 3600.0
    transaction: float = 30.0
    max_page_size: int = 1000
    window: int = 10_000
    collection_most: int = 0
    name_letters: int = 24
    replay_bytes: int = 5 << 20
    export_most: int = 100_000
    digest: str = "MD5"
    direct: bool = False
    audit: str = ""
    status: str = "lifecycle"
    strict_types: bool = False
    auto_version: bool = True
    release_field: str = "dc:issued"
    expiry_field: str = "dc:expired"
    plays: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        plays = plays_of(self.variant, VARIANTS, SECOND)
        refuse_unknown("digest", self.digest, ("MD5", "SHA-256"))
        object.__setattr__(self, "plays", plays)
        if not self.release:
            release = "10.10-HF68" if "ancient" in plays else "2023.12" if "older" in plays else "2025.10"
            object.__setattr__(self, "release", release)
        if not self.audit:
            object.__setattr__(self, "audit", "memory" if self.at_least("2025.0") else "durable")
        if not self.collection_most:
            object.__setattr__(self, "collection_most", 10_000 if self.at_least("2025.6") else 100_000)

    def at_least(self, release: str) -> bool:
        """Whether the server runs that release or a later one."""
        return _numbers(self.release) >= _numbers(release)

    @property
    def prefix(self) -> str:
        """The context path as it stands in addresses."""
        return f"/{self.app_path.strip('/')}" if self.app_path.strip("/") else ""


def options_of(given: Mapping[str, object]) -> Options:
    """Options from what a caller or the command line gave. Raises ValueError on an unknown name."""
    floats = [item.name for item in fields(Options) if item.type == "float" and given.get(item.name) is not None]
    values = given_options(fields(Options), given, floats)
    return Options(**{name: value for name, value in values.items() if value is not None or name == "rate"})


def _numbers(release: str) -> tuple[int, ...]:
    plain = release.partition("-")[0]
    return tuple(int(part) for part in plain.split("."))
