"""Who sees the assets of a tenant.

Readings (wire D 1.7, 5.4, 6.9): a security template opens an asset to the viewers that its `group` record in the
catalogue names in `opens`; without that, one called `public` or `Full Access` opens to every user, any other to the
users of the group of its own name. Older versions are records of their own, so whoever sees one of them sees the asset.
Release, expiry and status are plain attributes and hide nothing, unless the option `dates_hide` says that this tenant
works otherwise. Collections have security of their own and neither open nor close their members. Nothing is public.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from dam_sync.emulators.d_templates.metadata import epoch_of_date
from dam_sync.emulators.d_templates.records import Record, SecurityTemplate
from dam_sync.emulators.kit.audience import NOBODY, USER, group

if TYPE_CHECKING:
    from dam_sync.emulators.d_templates.state import Tenant

EVERYBODYS = frozenset({"public", "full access"})


class AudienceOracle:
    """Viewers `user`, `group:NAME` of each security template that is not everybody's, and those of `opens`."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant

    def assets(self) -> Iterable[str]:
        """The ids of all families, as the ground truth has them."""
        return list(self._tenant.families)

    def viewers(self, asset: str, at: datetime) -> frozenset[str]:
        """Those to whom a security template of one of its live records opens."""
        records = [each for each in self._records(asset) if each.deleted is None and each.kind == "Asset"]
        if not records or self._hidden(records[-1], at):
            return NOBODY
        templates = [self._tenant.schema.security[each] for record in records for each in record.security]
        found = {viewer for template in templates for viewer in _opens(template)}
        if USER in found:
            found |= {viewer for each in self._tenant.schema.security.values() for viewer in _named(each)}
        return frozenset(found)

    def turns(self, asset: str) -> Iterable[datetime]:
        """Release and expiry, where they hide."""
        records = self._records(asset)
        return [date for date in self._dates(records[-1]) if date] if records else ()

    def _records(self, asset: str) -> list[Record]:
        return [self._tenant.records[each] for each in self._tenant.families.get(asset, ())]

    def _hidden(self, record: Record, at: datetime) -> bool:
        release, expiry = self._dates(record)
        return (release is not None and release > at) or (expiry is not None and expiry <= at)

    def _dates(self, record: Record) -> tuple[datetime | None, datetime | None]:
        options = self._tenant.options
        if not options.dates_hide:
            return None, None
        return self._date(record, options.release_field), self._date(record, options.expiry_field)

    def _date(self, record: Record, slug: str) -> datetime | None:
        attribute = self._tenant.schema.slugged(slug) if slug else None
        written = record.values.get(attribute.id) if attribute else None
        return datetime.fromtimestamp(epoch_of_date(written) / 1000, UTC) if written else None


def _opens(template: SecurityTemplate) -> Iterable[str]:
    return template.opens if template.opens is not None else _named(template) or (USER,)


def _named(template: SecurityTemplate) -> tuple[str, ...]:
    """The users of its own name; none of a template that is everybody's or has viewers of its own."""
    if template.opens is not None:
        return tuple(each for each in template.opens if each.startswith("group:"))
    return () if template.name.casefold() in EVERYBODYS else (group(template.name),)
