"""Options and auth methods of service A."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from dam_sync.config.options import AuthMethod, AutoSwitch, Options, PasswordAuth, Seconds, Switch, Words
from dam_sync.services.a_hypermedia import facts

Algorithm: TypeAlias = Literal["HS256", "HS384", "HS512"]


def _lower(locales: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(locale.lower().replace("_", "-") for locale in locales)


def _numbered(types: Mapping[str, str]) -> Mapping[str, str]:
    if not all(number.isdecimal() for number in types.values()):
        raise ValueError("should be titles with the number of each type, {Views of the object: 7}")
    return types


class HypermediaOptions(Options):
    """Options of a job for an instance of service A."""

    relation_prefix: str = Field("svc", description="prefix of the instance's link relations (svc)")
    header_prefix: str = Field("X-SVC-", description="prefix of the instance's request headers (X-SVC-)")
    locales: Annotated[Words, AfterValidator(_lower)] = Field(
        (),
        description="content languages, the preferred one first: en,fr (default: as the instance reports them; no call "
        f"lists them, so each command reads one media {len(facts.LANGUAGES)} times, and finds one that was added)",
    )
    timezone: ZoneInfo = Field(
        ZoneInfo("UTC"),
        description="time zone of the instance's DATE values, for example Europe/Paris (default: the nearest midnight "
        "UTC; where that is not certain, from UTC+13 and up to UTC-10, the value is a named loss)",
    )
    staging_folder: str = Field(
        "dam-sync staging",
        description="top folder in which new media that get no folder are created (default dam-sync staging)",
    )
    client_id_header: str = Field("", description="UUID of a user interface whose access rights are checked as well")
    keyset: AutoSwitch = Field(
        True, description="auto (default): scan by id if two calls prove that it works; off: never"
    )
    bulk: AutoSwitch = Field(
        True,
        description="auto (default): several fields of a media are written by one call, read back when it is first "
        "used; off: one call for each field from the start",
    )
    public_links: Switch = Field(
        False,
        description="off (default) or on: read the permalinks of each media, for redirects; one more call per media",
    )
    baskets: Switch = Field(
        False,
        description="off (default) or on: read baskets as collections; one more call per hundred of their assets",
    )
    link_types: Annotated[Mapping[str, str], AfterValidator(_numbered)] = Field(
        default_factory=dict,
        description="ids of the types of media link by their titles, `{Views of the object: 7}`: no call lists them, "
        "so only relations of the types named here are moved",
    )
    attachments: Switch = Field(
        True,
        description="on (default) or off: whether the target is given attachments; off, where it refuses them, makes "
        "them a loss that parks no asset",
    )
    index_lag: Seconds = Field(
        facts.LAG.total_seconds(), description="seconds that the search may run behind (default 30)"
    )


class HypermediaSignedToken(AuthMethod):
    """A token signed with the key of an application (wire A 1.3)."""

    client_id: str
    login: str
    key: str
    algorithm: Algorithm = Field("HS256", description="HS256 (default), HS384 or HS512")


class HypermediaClientCredentials(AuthMethod):
    """OAuth client credentials (wire A 1.4)."""

    token_url: str
    client_id: str
    client_secret: str
    scope: str = Field("openid", description="scope that is requested (default openid)")


AUTH = {
    "basic": PasswordAuth,
    "signed_token": HypermediaSignedToken,
    "client_credentials": HypermediaClientCredentials,
}
