"""Services with limits of a test's own: files that go in parts from a few bytes on, short pages, a small reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from dam_sync.model.connector import Connector, Context
from dam_sync.model.limits import Limits
from dam_sync.model.service import Service
from dam_sync.services import discover
from tests.support.services.profiles import profile_of


@dataclass(frozen=True, slots=True)
class LimitedConnector(Connector):
    """A connector whose connections have other limits than it says itself."""

    limits: Limits | None = None

    def connect(self, context: Context) -> Service:
        """The service, connected."""
        return Connector.connect(self, replace(context, limits=self.limits))


def limited(
    limits: Mapping[str, Limits | None], connectors: Mapping[str, Connector] | None = None
) -> dict[str, Connector]:
    """All connectors; those of these kinds with these limits."""
    found = dict(connectors or discover())
    for kind, given in limits.items():
        same = {each.name: getattr(found[kind], each.name) for each in fields(Connector)}
        found[kind] = LimitedConnector(**same, limits=given)
    return found


def small_parts(kind: str) -> Limits | None:
    """The limits of a service that takes parts, as small as its profile says; None for one that takes none."""
    limits, part = discover()[kind].capabilities.limits, profile_of(kind).part
    if limits.parts is None:
        return None
    return replace(limits, single_bytes=part, parts=replace(limits.parts, preferred=part, least=part, most=part))


def changed(kind: str, **limits: Any) -> Limits:
    """The limits of a service, but for these."""
    return replace(discover()[kind].capabilities.limits, **limits)
