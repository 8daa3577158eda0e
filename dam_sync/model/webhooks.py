"""Webhooks: where deliveries of a service arrive, what arrives, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the deliveries for one job arrive. name: of the job. known: ids of the subscriptions that were found or
    made last; current: whether that was for the same URL."""

    url: str = field(repr=False)  # may end in a key
    name: str
    secret: str = field(default="", repr=False)
    known: frozenset[str] = frozenset()
    current: bool = False


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The ids of all subscriptions of an endpoint, and how many were created or changed to get there."""

    ids: frozenset[str]
    changed: int = 0


@dataclass(frozen=True, slots=True)
class Delivery:
    """One request of a service. headers: names in lower case; at: when it arrived."""

    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    at: datetime


@dataclass(frozen=True, slots=True)
class Hint:
    """What a genuine delivery says: its id, the same whenever it is sent again, and the id by which it names an asset
    that changed in some way; empty for a test."""

    delivery: str
    asset: str = ""
