"""Options and auth methods of service A: their table, their types, their parsing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dam_sync.http.auth.base import Authenticator, Basic, ClientCredentials, SignedToken
from dam_sync.model import options
from dam_sync.model.errors import ConfigError
from dam_sync.model.service import Context
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.api.hal import Rels

_TOKEN_LIFE = timedelta(minutes=10)  # wire A 1.3: sign short, 5 to 60 min


def _are_numbers(titles: Any) -> bool:
    return all(str(number).isdecimal() for number in titles.values())


SETTINGS = {
    "relation_prefix": options.text("prefix of the instance's link relations (svc)"),
    "header_prefix": options.text("prefix of the instance's request headers (X-SVC-)"),
    "locales": options.words(
        "content languages, the preferred one first: en,fr (default: as the instance reports them)"
    ),
    "timezone": options.zone(
        "time zone of the instance's DATE values, for example Europe/Paris (default: the nearest midnight UTC)"
    ),
    "staging_folder": options.text(
        "top folder in which new media are created before they get their folders (default dam-sync staging)"
    ),
    "client_id_header": options.text("UUID of a user interface whose access rights are checked as well"),
    "keyset": options.choice("auto (default): scan by id if two calls prove that it works; off: never", "auto", "off"),
    "bulk": options.choice(
        "auto (default): several fields of a media are written by one call, read back when it is first used; "
        "off: one call for each field from the start",
        "auto",
        "off",
    ),
    "public_links": options.switch(
        "off (default) or on: read the permalinks of each media, for redirects; one more call per media"
    ),
    "baskets": options.switch(
        "off (default) or on: read baskets as collections; one more call per hundred of their assets"
    ),
    "link_types": options.pairs(
        "ids of the types of media link by their titles, `{Views of the object: 7}`: no call lists them, "
        "so only relations of the types named here are moved",
        "titles with the number of each type, {Views of the object: 7}",
        _are_numbers,
    ),
    "index_lag": options.seconds("seconds that the search may run behind (default 30)"),
}

FLOWS = {
    "basic": ("login", "password"),
    "signed_token": ("client_id", "login", "key", "algorithm"),
    "client_credentials": ("token_url", "client_id", "client_secret"),
}


@dataclass(frozen=True, slots=True)
class LocaleOptions:
    """Options: content languages in order of preference (empty: ask the instance), zone of DATE values."""

    locales: tuple[str, ...] = ()
    zone: tzinfo = UTC


@dataclass(frozen=True, slots=True)
class HypermediaOptions:
    """The kind's own settings, read and checked."""

    rels: Rels
    locale_options: LocaleOptions
    staging: str
    keyset: bool
    public_links: bool
    bulk: bool
    baskets: bool
    lag: timedelta
    link_types: Mapping[str, str] = field(default_factory=dict)  # ids by title


def options_of(given: Mapping[str, object]) -> HypermediaOptions:
    """The settings of a job file. Raises ConfigError."""
    return HypermediaOptions(
        rels=Rels(str(given.get("relation_prefix", "svc")), str(given.get("header_prefix", "X-SVC-"))),
        locale_options=LocaleOptions(
            _locales(given.get("locales", ())), _zone(str(given.get("timezone", "") or "UTC"))
        ),
        staging=str(given.get("staging_folder", "") or "dam-sync staging"),
        keyset=_unless_off(given, "keyset"),
        public_links=_switch(given, "public_links"),
        bulk=_unless_off(given, "bulk"),
        baskets=_switch(given, "baskets"),
        lag=_seconds(given.get("index_lag", facts.LAG.total_seconds())),
        link_types=_link_types(given.get("link_types") or {}),
    )


def _link_types(given: object) -> dict[str, str]:
    if not isinstance(given, dict) or not all(str(value).isdigit() for value in given.values()):
        hint = "write the title and the number of each type: `link_types: {Views of the object: 7}`"
        raise ConfigError(
            f"option link_types takes titles with their ids, not {given!r}", service=facts.NAME, hint=hint
        )
    return {str(title): str(identity) for title, identity in given.items()}


def _unless_off(given: Mapping[str, object], name: str) -> bool:
    value = str(given.get(name, "auto")).lower()
    if value not in ("auto", "off", "false"):
        raise ConfigError(f"option {name} is auto or off, not {value!r}", service=facts.NAME)
    return value == "auto"


def _switch(given: Mapping[str, object], name: str) -> bool:
    value = given.get(name, False)
    if value not in (True, False, "on", "off"):
        raise ConfigError(f"option {name} is on or off, not {value!r}", service=facts.NAME)
    return value in (True, "on")


def _locales(given: object) -> tuple[str, ...]:
    parts = given.split(",") if isinstance(given, str) else given if isinstance(given, (list, tuple)) else []
    return tuple(str(part).strip().lower().replace("_", "-") for part in parts if str(part).strip())


def _zone(name: str) -> tzinfo:
    try:
        return UTC if name == "UTC" else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        hint = "use a name of the time zone database, for example Europe/Paris"
        raise ConfigError(f"option timezone: there is no zone {name!r}", service=facts.NAME, hint=hint) from None


def _seconds(given: object) -> timedelta:
    try:
        return timedelta(seconds=float(str(given)))
    except ValueError:
        raise ConfigError(f"option index_lag takes seconds, not {given!r}", service=facts.NAME) from None


def credential(context: Context) -> Authenticator:
    """The flow of the job file (wire A 1.2 to 1.4). Raises ConfigError."""
    given = context.auth
    match given.get("flow", ""):
        case "basic":
            return Basic(given["login"], given["password"])
        case "signed_token":
            claims = {"client_id": given["client_id"], "login": given["login"]}
            algorithm = given.get("algorithm") or "HS256"
            return SignedToken(claims, given["key"], algorithm, _TOKEN_LIFE, context.clock)
        case "client_credentials":
            return ClientCredentials(
                given["token_url"],
                given["client_id"],
                given["client_secret"],
                given.get("scope") or "openid",
                context.clock,
            )
        case other:
            raise ConfigError(f"auth.flow {other!r} is not supported: use basic, signed_token or client_credentials")
