"""What a field name in a query means (wire E 2.4): the values, or the timestamps, of an asset that it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from dam_sync.emulators.e_profiles.formats import format_of
from dam_sync.emulators.e_profiles.records import Asset, Field
from dam_sync.emulators.e_profiles.taxonomy import Taxonomy

Values = Callable[[Asset], Iterable[str]]
Instants = Callable[[Asset], Iterable[int]]


@dataclass(frozen=True, slots=True)
class Target:
    """One searchable field: `name` is canonical; `label` is what `query_explained` says."""

    name: str
    label: str
    values: Values
    instants: Instants | None = None


class Targets:
    """The tenant's searchable fields by the names a query may use; metadata fields by display key."""

    def __init__(self, fields: Mapping[str, Field], taxonomy: Taxonomy) -> None:
        self._fields = fields
        self._taxonomy = taxonomy
        self._own = self._service_fields()

    def find(self, name: str) -> Target | None:
        """The target of a name, None for an unknown one."""
        field = self._fields.get(name)
        if field is not None:
            return _metadata(field)
        return self._own.get(name.casefold())

    def _service_fields(self) -> Mapping[str, Target]:
        taxonomy = self._taxonomy
        rows: tuple[tuple[tuple[str, ...], Target], ...] = (
            (("filename", "fn"), Target("filename", "Filename", lambda a: (a.filename,))),
            (("dateadded", "du"), _dates("created", "Date uploaded", lambda a: (a.created,))),
            (("lasteditdate",), _dates("updated", "Last edit date", lambda a: (a.updated,))),
            (("lhd",), _dates("lhd", "New or modified", lambda a: (a.created, a.updated))),
            (("rd",), _dates("release", "Release date", lambda a: _some(a.release))),
            (("ed",), _dates("expiration", "Expiration date", lambda a: _some(a.expiration))),
            (("category", "cat"), Target("category", "Category", taxonomy.names_of)),
            (("categoryid",), Target("categoryid", "Category", taxonomy.reach_of)),
            (("collectionid",), Target("collectionid", "Collection", lambda a: a.collections)),
            (("assetgroup", "ag"), Target("assetgroup", "Asset group", lambda a: a.groups)),
            (("filetype", "ft"), Target("filetype", "File type", lambda a: (format_of(a.filename).type,))),
            (("ff",), Target("fileformat", "File format", lambda a: (format_of(a.filename).name,))),
            (("embedid",), Target("embedid", "Embed id", lambda a: (a.external_id,))),
            (("keywords",), Target("keywords", "Keywords", lambda a: (*a.tags, *a.ai_tags))),
        )
        return {name: target for names, target in rows for name in names}


def _dates(name: str, label: str, instants: Instants) -> Target:
    return Target(name, label, lambda asset: (str(at) for at in instants(asset)), instants)


def _some(value: int | None) -> tuple[int, ...]:
    return () if value is None else (value,)


def _metadata(field: Field) -> Target:
    key = field.key

    def values(asset: Asset) -> Iterable[str]:
        return asset.fields.get(key, ())

    def instants(asset: Asset) -> Iterable[int]:
        for value in asset.fields.get(key, ()):
            moment = datetime.fromisoformat(value)
            yield int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())

    return Target(f"m:{key}", field.label, values, instants if field.field_type == "date" else None)
