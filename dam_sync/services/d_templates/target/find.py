"""Finds assets by marker: the search index lags, so matches are confirmed on the record (wire D 6.9)."""

from __future__ import annotations

from dam_sync.model.asset import AssetId, Marker
from dam_sync.model.errors import InvalidValue, NotFound
from dam_sync.model.ports import Journal
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import Json
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import Attribute
from dam_sync.services.d_templates.codec.wire import Record, hits, is_asset, record_of
from dam_sync.services.d_templates.tenant import TemplatesPart

_PAGES = facts.SEARCH_REACH // facts.SEARCH_PAGE

RECORD = "record"  # the journal entry of the record that a create made


class TemplatesFind(TemplatesPart):
    """Looks up markers."""

    async def find(self, marker: Marker) -> AssetId | None:
        """Includes the recycle bin; assets outside it come first."""
        found = await self.marked_record(marker)
        return None if found is None else AssetId(found.family)

    async def look_for(self, marker: Marker) -> AssetId | None:
        """The same without waiting."""
        found = await self._marked(await self._attribute(marker), marker.value)
        return next((AssetId(record.family) for record in found if not record.deleted), None)

    async def find_partial(self, marker: Marker, journal: Journal, *, unmarked: bool = False) -> AssetId | None:
        """The journaled record, otherwise the asset with the marker."""
        made = await journal.get(RECORD)
        return AssetId(str(made["family"])) if made is not None else await self.find(marker)

    async def marked_record(self, marker: Marker, windows: int = 1) -> Record | None:
        """The record with exactly this marker, confirmed on the record itself; None, and one in the recycle bin, only
        after so many times the index lag: a new record with the marker of a discarded one may not be in the index
        yet."""
        attribute = await self._attribute(marker)
        deleted: list[Record] = []

        async def living() -> Record | None:
            found = await self._marked(attribute, marker.value)
            deleted[:] = [record for record in found if record.deleted]
            return next((record for record in found if not record.deleted), None)

        record = await self.api.until(living, windows * self.api.options.index_lag, facts.FIND_WAITS)
        return record or next(iter(deleted), None)

    async def _attribute(self, marker: Marker) -> Attribute:
        attribute = (await self.tenant.forms.get()).by_key.get(marker.field)
        if attribute is None or attribute.kind is not FieldKind.TEXT:
            raise InvalidValue(f"there is no text attribute {marker.field!r} for the marker")
        return attribute

    async def _marked(self, attribute: Attribute, value: str) -> list[Record]:
        """The first living record with this value, after those in the recycle bin that the index takes for living; if
        there is none, all of them. The index returns similar values; only an equal one counts."""
        found: list[Record] = []
        for page in range(_PAGES):
            body = {
                "from": page * facts.SEARCH_PAGE,
                "limit": facts.SEARCH_PAGE,
                **_asked(attribute, value),
                "operation": "AND",
                "sortBy": [{"metadataDefinitionSearchField": "createdEpoch", "order": "asc"}],
                "includeDeleted": True,
                "includeVersions": True,
                "excludes": list(facts.SLIM_EXCLUDES),
            }
            rows = hits(await self.api.ask(facts.SEARCH, json=body))
            records = [record_of(row) for row in rows if is_asset(row)]
            found += [record for record in records if has_value(record, attribute.id, value)]
            if len(rows) < facts.SEARCH_PAGE:
                break
        found.sort(key=lambda record: (record.deleted, record.place))
        confirmed: list[Record] = []
        for candidate in found:
            try:
                record = await self.version_groups.record(candidate.object, asset=candidate.family)
            except NotFound:
                continue  # purged, which the index does not know yet
            if has_value(record, attribute.id, value):
                confirmed.append(record)
                if not record.deleted:
                    break
        return confirmed


def _asked(attribute: Attribute, value: str) -> dict[str, Json]:
    """The term that finds a marker: a facet expression, or the plain text where the attribute is not a facet, which
    expressions do not search, or has a name that cannot be quoted (wire D 2.2, 6.9)."""
    if attribute.facetable and '"' not in attribute.name:
        return {"searchTerm": [f'("{attribute.name}":"{value}")']}
    return {"searchTerm": [value], "keywordSearchField": "metadata"}


def has_value(record: Record, attribute: str, value: str) -> bool:
    """Whether a text attribute of a record equals this value."""
    return any(entry.id == attribute and entry.value == value for entry in record.entries)
