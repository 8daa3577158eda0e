"""Options of service E: what a job may say about its tenant, and how that is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from dam_sync.model import options
from dam_sync.model.limits import Limits
from dam_sync.model.options import OptionValues
from dam_sync.model.service import Context
from dam_sync.services.e_profiles import facts

SETTINGS: Mapping[str, options.Option] = {
    "version_policy": options.choice(
        "what an upload under an existing file name becomes, by the profiles' conflict policy: none "
        "(default; no file versions are added), file_only or file_and_information",
        *facts.POLICIES,
    ),
    "enumerate": options.choice(
        "slices (default: pages in order of upload, selected by time) or scroll (a cursor that the service keeps)",
        "slices",
        "scroll",
    ),
    "upload_profile": options.either(
        options.text(
            "the profile where the mapping names none and for file versions: a name, or a name for each metadata type"
        ),
        options.pairs(""),
    ),
    "closed_profile": options.either(
        options.text(
            "the profile for assets that may not be seen by all of their profile's groups at once, until their "
            "rights are written: a name, or a name for each metadata type (default one of the same type that "
            "releases nothing)"
        ),
        options.pairs(""),
    ),
    "everybody": options.words("asset groups that stand for everybody who can use the tenant (default none)"),
    "chunked": options.switch("auto (default: files above 20 MB are uploaded in chunks) or off", "auto"),
    "attachments": options.switch(
        "off (default) or on: read the documents attached to assets; one more call per asset"
    ),
    "public_links": options.switch(
        "off (default) or on: read the public links of assets, for redirects; responses become much larger"
    ),
    "toggles": options.words("opt-in behaviors to request, a name or a list"),
    "toggle_header": options.text("the header of the toggles (default X-Vendor-Api-Toggle)"),
    "form": options.choice("how the token is sent: bearer (default) or basic", "bearer", "basic"),
    "index_lag": options.seconds(
        "seconds that the search index may run behind (default 120); a run waits that long before it says that an "
        "asset is absent"
    ),
}


@dataclass(frozen=True, slots=True)
class ProfilesOptions:
    """What the job says about this tenant; `SETTINGS` describes each."""

    version_policy: str = "none"
    enumerate: str = "slices"
    chunked: bool = True
    profiles: Mapping[str, str] = field(default_factory=dict)  # by metadata type; "" is for any
    closed_profiles: Mapping[str, str] = field(default_factory=dict)  # the same
    everybody: frozenset[str] = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict)
    index_lag: float = facts.LAG.total_seconds()
    form: str = "bearer"
    documents: bool = False
    public_links: bool = False

    @classmethod
    def of(cls, context: Context) -> ProfilesOptions:
        """The options of a job, checked. Raises ConfigError."""
        given = context.options
        values = OptionValues(facts.NAME, given)
        return cls(
            version_policy=values.choice("version_policy", facts.POLICIES),
            enumerate=values.choice("enumerate", ("slices", "scroll")),
            chunked=values.switch("chunked", default=True, auto=True),
            profiles=_by_type(given.get("upload_profile")),
            closed_profiles=_by_type(given.get("closed_profile")),
            everybody=frozenset(values.words("everybody")),
            headers=_toggles(given),
            index_lag=values.seconds("index_lag", facts.LAG.total_seconds()),
            form=OptionValues(facts.NAME, {**given, **context.auth}).choice("form", ("bearer", "basic")),
            documents=values.switch("attachments", default=False),
            public_links=values.switch("public_links", default=False),
        )

    @property
    def expand(self) -> str:
        """What an asset is read with."""
        return facts.EXPAND_LINKS if self.public_links else facts.EXPAND

    @property
    def versioning(self) -> bool:
        """Whether an upload under an existing name makes a version."""
        return self.version_policy in facts.VERSIONING


def limits_of(context: Context, options: ProfilesOptions) -> Limits:
    """The documented limits, slowed down or, as far as documented, sped up by what the job asks for."""
    rate = min(facts.RATE, context.calls_per_second or facts.SELF_THROTTLE)
    at_once = min(facts.CHUNKS_MOST, max(1, context.concurrency or facts.AT_ONCE))
    pace = replace(facts.LIMITS.pace, per_second=rate, at_once=at_once, storage_at_once=max(1, at_once // 2))
    if options.chunked:
        return replace(facts.LIMITS, pace=pace)
    return replace(facts.LIMITS, pace=pace, single_bytes=facts.FORM_BYTES, parts=None, largest_bytes=facts.FORM_BYTES)


def _by_type(value: object) -> dict[str, str]:
    """A name for each metadata type, or one for all, under an empty key."""
    if isinstance(value, Mapping):
        return {str(kind): str(name) for kind, name in value.items()}
    return {"": str(value)} if value else {}


def _toggles(given: Mapping[str, object]) -> dict[str, str]:
    toggles = given.get("toggles")
    if not toggles:
        return {}
    words = toggles if isinstance(toggles, str) else ",".join(str(word) for word in cast("Sequence[str]", toggles))
    return {str(given.get("toggle_header") or facts.TOGGLE_HEADER): words}
