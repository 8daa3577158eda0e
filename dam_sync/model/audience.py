"""Who can see an asset. The exposure guard compares the audience at the source with the audience at the target."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class RestrictionKind(StrEnum):
    """What narrows an audience in addition to status, dates and groups."""

    UNRELEASED = "unreleased"  # without a release date, in a service that hides such assets
    DENIED = "denied"  # denied to users or groups by name
    TIMED = "timed"  # access of some users begins or ends at a date
    DOWNLOAD = "download"  # visible, but the original cannot be downloaded
    CONTAINER = "container"  # visible only to users who can see the container, library or section
    SENSITIVE = "sensitive"  # some values are shown to some users only


@dataclass(frozen=True, slots=True, order=True)
class Restriction:
    """One restriction; `detail` names the users, the level or the container, for reports."""

    kind: RestrictionKind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Audience:
    """Who sees an asset in the normal use of a tenant, except administrators.

    hidden: why ordinary users do not see it at all (its status, or "no release date"); empty: they do.
    release_at, expires_at: visible from, and until; None: no such date.
    groups: the groups and users that may see it; None: everybody who can use the tenant, or the public.
    restrictions: further restrictions.
    """

    hidden: str = ""
    release_at: datetime | None = None
    expires_at: datetime | None = None
    groups: frozenset[str] | None = None
    restrictions: frozenset[Restriction] = frozenset()
