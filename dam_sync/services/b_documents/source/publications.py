"""Sections of service B: where published copies (proxies) of assets are; read-only (wire B 2.5, 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from dam_sync.aio.single_flight import SingleFlight
from dam_sync.http.interpreting import interprets_response, member_text
from dam_sync.model.asset import AssetId, Placement
from dam_sync.model.values import Json
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.api.search import LIVE, DocumentsSearch, one_of, select
from dam_sync.services.b_documents.codec import wire

PUBLISHED = "ecm:isProxy = 1 AND ecm:isTrashed = 0"


@dataclass(slots=True)
class DocumentsPublications:
    """The tree of sections is read once, copies of assets by one query per hundred."""

    search: DocumentsSearch
    _sections: SingleFlight[dict[str, Json]] = field(init=False)

    def __post_init__(self) -> None:
        self._sections = SingleFlight(self._read)

    async def of(self, assets: Sequence[AssetId]) -> dict[AssetId, frozenset[Placement]]:
        """The sections of each asset that has a copy in one."""
        sections = await self._sections.get()
        found: dict[AssetId, set[Placement]] = {}
        for start in range(0, len(assets) if sections else 0, facts.VERSIONS_ASKED):
            some = one_of("ecm:proxyVersionableId", assets[start : start + facts.VERSIONS_ASKED])
            for copy in await self.search.everything(partial(select, PUBLISHED, some)):
                section = member_text(copy, "parentRef")
                if section in sections:
                    place = Placement("section", _path(sections, section), section)
                    found.setdefault(AssetId(member_text(copy, "versionableId")), set()).add(place)
        return {asset: frozenset(places) for asset, places in found.items()}

    async def _read(self) -> dict[str, Json]:
        rows = await self.search.everything(_living_sections)
        return {str(wire.uid_of(row)): row for row in rows}


def _living_sections(after: str) -> str:
    return select(LIVE, "ecm:isTrashed = 0", after, source="Section")


@interprets_response
def _path(sections: dict[str, Json], uid: str) -> tuple[str, ...]:
    """Titles from the highest section down; a parent that is not a section is not part of it."""
    titles: list[str] = []
    for _ in range(facts.LEVELS):
        row = sections.get(uid)
        if row is None:
            break
        titles.append(str(row.get("title") or member_text(row, "path").rpartition("/")[2]))
        uid = member_text(row, "parentRef")
    return tuple(reversed(titles))
