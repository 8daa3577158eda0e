"""What people who are not administrators see of two tenants: at the source now, at the target now and ever since."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.support.jobs.tenants import Tenant

EVERYBODY = frozenset({"public", "link", "user"})
"""Viewers who count as one: all who can use the tenant, and the public."""
ADMINISTRATORS = "group:administrators"
"""They see every asset of every tenant, wherever an asset names them."""
PREVIEW, DOWNLOAD = 1, 2

Sight = frozenset[tuple[str, int]]
"""Who sees an asset, and how much of it."""


@dataclass(frozen=True, slots=True)
class Seen:
    """By asset: who sees it now, and who has seen it at any moment since the tenant was served."""

    now: Mapping[str, Sight]
    ever: Mapping[str, Sight]

    @classmethod
    def of(cls, tenant: Tenant) -> Seen:
        """As the emulated service reports it."""
        told = tenant.ask("/_emulator/audience")
        now = {asset: sight_of(viewers) for asset, viewers in told["now"].items()}
        opened = defaultdict(list)
        for row in told["opened"]:
            opened[row["asset"]].append(row["viewer"])
        return cls(now, {asset: sight_of(viewers) for asset, viewers in opened.items()} | _more(now, opened))


def _more(now: Mapping[str, Sight], opened: Mapping[str, list[str]]) -> dict[str, Sight]:
    return {asset: sight | sight_of(opened.get(asset, ())) for asset, sight in now.items()}


def sight_of(viewers: Iterable[str]) -> Sight:
    """`user`, `group:NAME`, … with a level where the service has one: `user:preview`."""
    found = set()
    for viewer in viewers:
        who, _, level = viewer.rpartition(":")
        if level not in ("preview", "download"):
            who, level = viewer, "download"
        if who == ADMINISTRATORS:
            continue
        found.add(("user" if who in EVERYBODY else who, PREVIEW if level == "preview" else DOWNLOAD))
    return frozenset(found)


def wider(target: Sight, source: Sight) -> set[tuple[str, int]]:
    """Those at the target who do not see as much at the source."""
    return {(who, level) for who, level in target if not any(_sees(other, who, level) for other in source)}


def _sees(one: tuple[str, int], who: str, level: int) -> bool:
    return one[0] in ("user", who) and one[1] >= level
