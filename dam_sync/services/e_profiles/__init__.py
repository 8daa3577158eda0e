"""Service E: everything an asset becomes at upload is decided by an upload profile, which no call can read in full."""

from __future__ import annotations

from dam_sync.model import options
from dam_sync.model.service import Connector
from dam_sync.services.e_profiles.facts import (
    ASSUMED_WRITES,
    ASSUMPTIONS,
    HOLDS,
    LEAVES,
    LIMITS,
    NAME,
    NOT_MOVED,
    POLICIES,
)
from dam_sync.services.e_profiles.service import ProfilesService

KIND = Connector(
    name=NAME,
    summary="a DAM API with one metadata type an asset, flat vocabularies, upload profiles and signed links",
    settings={
        "version_policy": options.choice(
            "what an upload under an existing file name becomes, by the profiles' conflict policy: none "
            "(default; no file versions are added), file_only or file_and_information",
            *POLICIES,
        ),
        "enumerate": options.choice(
            "slices (default: pages in order of upload, each asked for by time) or scroll (a cursor that the "
            "service keeps)",
            "slices",
            "scroll",
        ),
        "upload_profile": options.either(
            options.text(
                "the profile where the mapping names none and for file versions: a name, or a name for each "
                "metadata type"
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
        "chunked": options.switch("auto (default: files above 20 MB travel in chunks) or off", "auto"),
        "attachments": options.switch(
            "off (default) or on: read the documents attached to assets, one more call for each asset"
        ),
        "public_links": options.switch(
            "off (default) or on: read the public links of assets, for redirects; answers grow much larger"
        ),
        "toggles": options.words("opt-in behaviours to ask for, a name or a list"),
        "toggle_header": options.text("the header that carries them (default X-Vendor-Api-Toggle)"),
        "form": options.choice("how the token is sent: bearer (default) or basic", "bearer", "basic"),
        "index_lag": options.seconds(
            "seconds the search index may run behind (default 120), waited before an asset counts as absent"
        ),
    },
    flows={"token": ("token",), "oauth": ("client_id", "client_secret", "refresh_token")},
    connect=ProfilesService,
    service=ProfilesService,
    limits=LIMITS,
    assumptions=ASSUMPTIONS,
    needs_tenant_url=True,
    holds=HOLDS,
    leaves=LEAVES,
    assumed_writes=ASSUMED_WRITES,
    not_moved=NOT_MOVED,
)
