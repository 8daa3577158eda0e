"""Filling an emulated tenant from a catalogue: schema first, then assets, visible to searches at once.

What service D cannot hold is brought into a form it can: several languages become the tenant's own, folders become flat
collections named by their path, several texts in one field and flags become vocabularies, timestamps lose their time of
day, other values become text; labels and attachments are lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dam_sync.emulators.d_templates.collections import Collections
from dam_sync.emulators.d_templates.people import People
from dam_sync.emulators.d_templates.records import NIL, Record, User
from dam_sync.emulators.d_templates.schema_loading import SchemaLoader
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.kit.catalogue import Catalogue, blob_of
from dam_sync.emulators.kit.catalogue import Record as Row
from dam_sync.emulators.kit.object_store import Blob
from dam_sync.emulators.kit.timestamps import milliseconds

VERSION_MS = 60_000
SEPARATOR = " / "
HELD = ("folder", "category", "collection", "section")


class Loader:
    """Loads one catalogue into one tenant."""

    def __init__(self, tenant: Tenant, people: People, collections: Collections) -> None:
        self._tenant, self._people, self._collections = tenant, people, collections
        self._owner: User = next(iter(people.users.values()))
        self._members: dict[str, list[str]] = {}
        self._relations: list[tuple[str, str, str]] = []
        self._current: dict[str, str] = {}

    def load(self, catalogue: Catalogue, files: Path | None) -> None:
        """Everything. Raises ValueError for an asset whose bytes are nowhere."""
        schema = SchemaLoader(self._tenant.schema, self._tenant.options, catalogue)
        schema.load()
        self._securities([row["name"] for row in catalogue.groups] or ["Full Access"])
        opens = {row["name"]: tuple(row["opens"]) for row in catalogue.groups if "opens" in row}
        for template in self._tenant.schema.security.values():
            template.opens = opens.get(template.name)
        for row in catalogue.containers:
            if row["kind"] in HELD:
                self._members.setdefault(SEPARATOR.join(row["path"]), [])
        for row in catalogue.assets:
            self._asset(row, schema, files)
        self._actions()
        self._tenant.index.load(self._tenant.records.values())
        self._place()
        self._relate()

    def _securities(self, names: Sequence[str]) -> None:
        schema = self._tenant.schema
        for name in names:
            if name not in {each.name for each in schema.security.values()}:
                self._people.permit(schema.new_security(name), first=len(schema.security) == 1)

    def _asset(self, row: Row, schema: SchemaLoader, files: Path | None) -> None:
        tenant = self._tenant
        template = schema.template(str(row.get("type") or ""))
        values = schema.values(template, row)
        security = self._security(row)
        at = milliseconds(row.get("imported_at")) or milliseconds(row.get("created_at")) or tenant.now()
        items: Sequence[Row] = row.get("versions") or [{}]
        original = ""
        for number, item in enumerate(items):
            made_at = milliseconds(item.get("created_at")) or at + VERSION_MS * number
            last = number == len(items) - 1
            updated = max(milliseconds(row.get("changed_at")) or made_at, made_at) if last else made_at
            blob = blob_of(item, files, tenant.objects) if item else None
            file_id = tenant.uuid()
            original = original or file_id
            record = Record(
                object_id=tenant.uuid(), file_id=file_id, original=original,
                filename=str(item.get("name") or row.get("filename") or ""), template=template, values=values,
                security=security, created=made_at, created_by=self._owner.id, updated=updated,
                updated_by=self._owner.id, number=made_at, order=tenant.order(), current=last, blob=blob,
                deleted=updated if row.get("status") == "trash" else None, deleted_by=self._owner.id,
                etag=_etag(blob), processed=blob is not None, catalogue_id=str(row["id"]),
            )  # fmt: skip
            tenant.adopt(record)
        self._remember(row, record)

    def _actions(self) -> None:
        """Objects that searches find and that are no assets (wire D 11, 25)."""
        tenant = self._tenant
        for number in range(1, tenant.options.actions + 1):
            file_id, at = tenant.uuid(), tenant.now()
            tenant.adopt(
                Record(
                    object_id=tenant.uuid(), file_id=file_id, original=file_id, filename=f"action {number}",
                    template=next(iter(tenant.schema.templates)), values={},
                    security=(next(iter(tenant.schema.security)),), created=at, created_by=self._owner.id, updated=at,
                    updated_by=self._owner.id, number=at, order=tenant.order(), kind="Action",
                )
            )  # fmt: skip

    def _remember(self, row: Row, record: Record) -> None:
        self._current[str(row["id"])] = record.object_id
        for place in row.get("placements") or ():
            if place["kind"] in HELD:
                self._members.setdefault(SEPARATOR.join(place["path"]), []).append(record.file_id)
        for relation in row.get("relations") or ():
            self._relations.append((record.object_id, str(relation["target"]), str(relation["kind"])))

    def _security(self, row: Row) -> tuple[str, ...]:
        schema = self._tenant.schema
        names = (row.get("rights") or {}).get("groups") or ()
        self._securities(names)
        ids = {each.name: each.id for each in schema.security.values()}
        return tuple(ids[name] for name in names) or (next(iter(schema.security)),)

    def _place(self) -> None:
        schema = self._tenant.schema
        security, template = next(iter(schema.security)), next(iter(schema.templates))
        for name, members in self._pieces():
            extra = [NIL] if self._tenant.options.nil_members else []
            made = self._collections.new(name, "secured", [*extra, *members], self._owner, (security,), template)
            self._collections.indexed[made.id] = self._collections.shown(made)

    def _pieces(self) -> Iterator[tuple[str, list[str]]]:
        """A collection that would be too large goes on in another one."""
        most = self._tenant.options.members - self._tenant.options.nil_members
        for name, members in self._members.items():
            for number, start in enumerate(range(0, max(len(members), 1), most), 1):
                yield name if number == 1 else f"{name} ({number})", members[start : start + most]
        self._members.clear()

    def _relate(self) -> None:
        relations = self._tenant.relations
        for primary, target, kind in self._relations:
            secondary = self._current.get(target)
            known = kind if kind in relations.kinds else "derivative"
            if secondary is not None and isinstance(refusal := relations.add(primary, secondary, known), str):
                self._tenant.world.event("load.link_refused", primary=primary, reason=refusal)
        self._relations.clear()
        self._current.clear()


def _etag(blob: Blob | None) -> str:
    """Loaded originals came in some other way: their entity tag tells nothing."""
    return f"{blob.id[:24]}-1" if blob is not None else ""
