"""Who can see an asset. The exposure guard compares the audience at the source with the audience at the target."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class RestrictionKind(StrEnum):
    """What narrows an audience in addition to status, dates and groups."""

    UNRELEASED = "unreleased"  # it has no release date, in a service that hides assets without one
    DENIED = "denied"  # users or groups are refused by name
    TIMED = "timed"  # somebody's access begins or ends at a date of its own
    DOWNLOAD = "download"  # seen, but the original may not be downloaded
    CONTAINER = "container"  # seen only by those who may see the container, library or section
    SENSITIVE = "sensitive"  # some values are shown to some users only


@dataclass(frozen=True, slots=True, order=True)
class Restriction:
    """One restriction; `detail` names the users, the level or the container, for reports."""

    kind: RestrictionKind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Audience:
    """Who sees an asset in the normal use of a tenant, administrators left out.

    hidden: why ordinary users do not see it at all (its status, or "no release date"); empty: they do.
    release_at, expires_at: it is seen from, and until; None: no such date.
    groups: the groups and users that may see it; None: everybody who can use the tenant, or the public.
    restrictions: what else narrows it.
    """

    hidden: str = ""
    release_at: datetime | None = None
    expires_at: datetime | None = None
    groups: frozenset[str] | None = None
    restrictions: frozenset[Restriction] = frozenset()
