"""Service A: a hypermedia DAM; its links say where to go, forms say what a media can hold."""

from __future__ import annotations

from typing import Any

from dam_sync.model import options
from dam_sync.model.service import Connector
from dam_sync.services.a_hypermedia import facts
from dam_sync.services.a_hypermedia.connecting import connected
from dam_sync.services.a_hypermedia.service import HypermediaService


def _are_numbers(titles: Any) -> bool:
    return all(str(number).isdecimal() for number in titles.values())


KIND = Connector(
    name=facts.NAME,
    summary="hypermedia DAM: forms, thesauri, folders, labels, file versions; no webhooks",
    settings={
        "relation_prefix": options.text("prefix of the instance's link relations (svc)"),
        "header_prefix": options.text("prefix of the instance's request headers (X-SVC-)"),
        "locales": options.words(
            "content languages, the preferred one first: en,fr; asked of the instance where absent"
        ),
        "timezone": options.zone(
            "zone of the instance's DATE values, for example Europe/Paris; nearest midnight UTC where absent"
        ),
        "staging_folder": options.text(
            "top folder in which new media are made before they are placed (dam-sync staging)"
        ),
        "client_id_header": options.text("UUID of a user interface whose access right is checked as well"),
        "keyset": options.choice("auto: scan by id where two calls prove it works; off: never", "auto", "off"),
        "bulk": options.choice(
            "auto (default): several fields of a media are written by one call, read back when it is first used; "
            "off: one call for each field from the start",
            "auto",
            "off",
        ),
        "public_links": options.switch(
            "off (default) or on: read each media's permalinks, for redirects; one more call a media"
        ),
        "baskets": options.switch(
            "off (default) or on: read baskets as collections, one more call for each hundred of their assets"
        ),
        "link_types": options.pairs(
            "ids of the types of media link by their titles, `{Views of the object: 7}`: no call lists them, "
            "so relations travel only by types named here",
            "titles with the number of each type, {Views of the object: 7}",
            _are_numbers,
        ),
        "index_lag": options.seconds("seconds the search may run behind (30)"),
    },
    flows={
        "basic": ("login", "password"),
        "signed_token": ("client_id", "login", "key", "algorithm"),
        "client_credentials": ("token_url", "client_id", "client_secret"),
    },
    connect=connected,
    service=HypermediaService,
    limits=facts.LIMITS,
    assumptions=facts.ASSUMPTIONS,
    holds=facts.HOLDS,
    leaves=facts.LEAVES,
    assumed_writes=facts.ASSUMED_WRITES,
    not_moved=facts.NOT_MOVED,
)
