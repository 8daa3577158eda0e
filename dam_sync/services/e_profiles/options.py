"""Options and auth methods of service E."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from dam_sync.config.options import AuthMethod, AutoSwitch, Count, Options, Seconds, Switch, TokenAuth, Words, WordSet
from dam_sync.model.connector import Context
from dam_sync.model.limits import Limits
from dam_sync.model.values import Json
from dam_sync.services.e_profiles import facts


def _by_type(value: Json) -> Json:
    """A name for each metadata type, or one for all, under an empty key."""
    return {"": value} if isinstance(value, str | int) else value


ByType: TypeAlias = Annotated[
    Mapping[str, str], BeforeValidator(_by_type, json_schema_input_type=str | Mapping[str, str])
]


class ProfilesOptions(Options):
    """What a job says about a tenant of service E."""

    version_policy: Literal["none", "file_only", "file_and_information"] = Field(
        "none",
        description="what an upload under an existing file name becomes, by the profiles' conflict policy: none "
        "(default; no file versions are added), file_only or file_and_information",
    )
    enumerate: Literal["slices", "scroll"] = Field(
        "slices",
        description="slices (default: pages in order of upload, selected by time) or scroll (a cursor that the service "
        "keeps)",
    )
    upload_profile: ByType = Field(
        default_factory=dict,
        description="the profile where the mapping names none and for file versions: a name, or a name for each "
        "metadata type",
    )
    closed_profile: ByType = Field(
        default_factory=dict,
        description="the profile for assets that may not be seen by all of their profile's groups at once, until their "
        "rights are written: a name, or a name for each metadata type (default one of the same type that releases "
        "nothing; one without groups is to be named here; an empty text: none)",
    )
    everybody: WordSet = Field(
        frozenset(), description="asset groups that stand for everybody who can use the tenant (default none)"
    )
    chunked: AutoSwitch = Field(True, description="auto (default: files above 20 MB are uploaded in chunks) or off")
    fetch_seconds: Seconds = Field(
        facts.FETCH_LIFE.total_seconds(),
        description="seconds that the service may take to fetch a file by its link (`policy: {bytes: pull}`) before it "
        "is sent instead (default 7200)",
    )
    attachments: Switch = Field(
        False, description="off (default) or on: read the documents attached to assets; one more call per asset"
    )
    public_links: Switch = Field(
        False,
        description="off (default) or on: read the public links of assets, for redirects; responses become much larger",
    )
    calls_per_month: Count | None = Field(
        None,
        description="API calls that the account may send in a month by its plan (default: no limit): the counter of "
        "the service is read, and a run stops before it exceeds what is left. By the documents of the service, for "
        "customers since 2022-04-01: 500,000 in the workgroup tier, 1,000,000 with the add-on for product information, "
        "which adds 500,000; other tiers 1,000,000 or standard access. Calls through an OAuth client that the vendor "
        "issued are not among them. Nothing is interrupted: what exceeds the allowance is billed",
    )
    toggles: Words = Field((), description="opt-in behaviors to request, a name or a list")
    toggle_header: str = Field(
        facts.TOGGLE_HEADER, description=f"the header of the toggles (default {facts.TOGGLE_HEADER})"
    )
    webhook_header: str = Field(
        facts.SIGNATURE_HEADER,
        description=f"the header with the signature of webhook deliveries (default {facts.SIGNATURE_HEADER})",
    )
    webhook_digest: Literal["sha256", "sha512", "sha1"] = Field(
        "sha256", description="the hash function of that signature: sha256 (default), sha512 or sha1"
    )
    webhook_prefix: str = Field("", description="text before the hexadecimal digits of that signature (default none)")
    index_lag: Seconds = Field(
        facts.LAG.total_seconds(),
        description="seconds that the search index may run behind (default 120); a run waits that long before it says "
        "that an asset is absent",
    )

    @property
    def headers(self) -> dict[str, str]:
        """Headers of every call."""
        return {self.toggle_header: ",".join(self.toggles)} if self.toggles else {}

    @property
    def expand(self) -> str:
        """What an asset is read with."""
        return facts.EXPAND_LINKS if self.public_links else facts.EXPAND

    def leaves_open(self, metadata_type: str) -> bool:
        """Whether the job says that no profile keeps new assets of this type closed; an empty text sets nothing."""
        said = "closed_profile" in self.model_fields_set and not self.closed_profile
        return said or self.closed_profile.get(metadata_type) == ""

    @property
    def versioning(self) -> bool:
        """Whether an upload under an existing name makes a version."""
        return self.version_policy in facts.VERSIONING


class ProfilesToken(TokenAuth):
    """A personal token (wire E 1.1)."""

    form: Literal["bearer", "basic"] = Field("bearer", description="how it is sent: bearer (default) or basic")


class ProfilesOAuth(AuthMethod):
    """OAuth with a refresh token, which rotates (wire E 1.2)."""

    client_id: str
    client_secret: str
    refresh_token: str


AUTH = {"token": ProfilesToken, "oauth": ProfilesOAuth}


def limits_of(context: Context, options: ProfilesOptions) -> Limits:
    """The documented limits, slowed down or, as far as documented, sped up by what the job asks for."""
    limits = replace(context.limited(facts.LIMITS), lag=timedelta(seconds=options.index_lag))
    rate = min(facts.RATE, context.calls_per_second or facts.SELF_THROTTLE)
    at_once = min(facts.CHUNKS_MOST, max(1, context.concurrency or facts.AT_ONCE))
    pace = replace(limits.pace, per_second=rate, at_once=at_once, storage_at_once=max(1, at_once // 2))
    if options.chunked:
        return replace(limits, pace=pace)
    most = min(facts.FORM_BYTES, limits.largest_bytes or facts.FORM_BYTES)
    return replace(limits, pace=pace, single_bytes=most, parts=None, largest_bytes=most)
