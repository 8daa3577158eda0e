"""Assets by their mark: a search that is behind, and the record itself which is not (wire D 6.9)."""

from __future__ import annotations

from dataclasses import dataclass

from dam_sync.model.asset import AssetId, Marker
from dam_sync.model.errors import InvalidValue
from dam_sync.model.schema import FieldKind
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.api import TemplatesApi
from dam_sync.services.d_templates.codec.forms import Attribute
from dam_sync.services.d_templates.codec.wire import Record, hits, is_asset, record_of
from dam_sync.services.d_templates.source.versions import VersionGroups
from dam_sync.services.d_templates.tenant import TemplatesTenant

_PAGES = facts.SEARCH_REACH // facts.SEARCH_PAGE


@dataclass(frozen=True, slots=True)
class TemplatesFind:
    """Looks for marks."""

    line: TemplatesApi
    knowledge: TemplatesTenant
    families: VersionGroups

    async def find(self, marker: Marker) -> AssetId | None:
        """See `Service.find`; the bin is looked through too, what lives comes first."""
        found = await self.record(marker)
        return None if found is None else AssetId(found.family)

    async def record(self, marker: Marker) -> Record | None:
        """The record with exactly this mark, as the store has it; None only after the index had its time."""
        attribute = (await self.knowledge.forms.get()).by_key.get(marker.field)
        if attribute is None or attribute.kind is not FieldKind.TEXT:
            raise InvalidValue(f"there is no text attribute {marker.field!r} to find a mark in")
        return await self.line.until(
            lambda: self._marked(attribute, marker.value), self.line.options.lag, facts.FIND_WAITS
        )

    async def _marked(self, attribute: Attribute, value: str) -> Record | None:
        """The index answers with what is alike; only an equal value counts."""
        found: list[Record] = []
        for page in range(_PAGES):
            body = {
                "from": page * facts.SEARCH_PAGE,
                "limit": facts.SEARCH_PAGE,
                "searchTerm": [f'("{attribute.name}":"{value}")'],
                "operation": "AND",
                "sortBy": [{"metadataDefinitionSearchField": "createdEpoch", "order": "asc"}],
                "includeDeleted": True,
                "includeVersions": True,
                "excludes": list(facts.SLIM_EXCLUDES),
            }
            rows = hits(await self.line.ask(facts.SEARCH, json=body))
            records = [record_of(row) for row in rows if is_asset(row)]
            found += [record for record in records if has_value(record, attribute.id, value)]
            if len(rows) < facts.SEARCH_PAGE:
                break
        found.sort(key=lambda record: (record.deleted, record.place))
        for candidate in found:
            record = await self.families.record(candidate.object, asset=candidate.family)
            if has_value(record, attribute.id, value):
                return record
        return None


def has_value(record: Record, attribute: str, value: str) -> bool:
    """Whether a text attribute of a record is just this."""
    return any(entry.id == attribute and entry.value == value for entry in record.entries)
