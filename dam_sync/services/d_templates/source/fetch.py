"""Assets from records: fields, versions, rights, and relations, which take one call per asset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time

from dam_sync.aio.single_flight import gather_or_raise
from dam_sync.http.interpreting import member_text
from dam_sync.model.asset import Asset, AssetId, Loss, Relation, Rights
from dam_sync.model.audience import Restriction, RestrictionKind
from dam_sync.model.errors import NotFound, Rejected, Transient
from dam_sync.model.service import TRASH
from dam_sync.model.values import Term, Value
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import PUBLISHED, MetadataForms, NamedAttributes
from dam_sync.services.d_templates.codec.security import Security
from dam_sync.services.d_templates.codec.values import decode, losses_of, unread
from dam_sync.services.d_templates.codec.wire import Record, VersionGroup, file_of, listed, moment, value_ids
from dam_sync.services.d_templates.tenant import TemplatesPart

STATUSES = frozenset({"published", "archived", "draft", "import"})


class TemplatesFetch(TemplatesPart):
    """Reads assets: two calls for a single one, one for each in a listing."""

    async def fetch(self, asset: AssetId) -> Asset:
        """The versions, then the relations."""
        family = await self.version_groups.load(asset)
        if self.version_groups.just_read is not None:
            self.version_groups.just_read.put(asset, family)
        (bare,) = await self._bare([family])
        return await self._related(bare, family) if self.api.options.relations else bare

    async def is_trashed(self, asset: AssetId) -> bool:
        """By one call, without relations."""
        return (await self.version_groups.load(asset)).deleted

    async def assets_of(self, families: list[VersionGroup]) -> list[Asset]:
        """Assets in the same order; relations are read concurrently. An asset whose relations are refused, or that the
        service cannot return, is left out, so that it does not fail the listing (wire D 7)."""
        bare = await self._bare(families)
        if not self.api.options.relations:
            return bare
        found = await gather_or_raise([self._seen(*each) for each in zip(bare, families, strict=True)])
        return [asset for asset in found if asset is not None]

    async def _bare(self, families: list[VersionGroup]) -> list[Asset]:
        """The assets without relations."""
        wanted = {value for family in families for value in value_ids(family.current.entries)}
        forms = await self.tenant.forms_for(wanted)
        security = await self.tenant.security.get()
        if any(family.current.security is None for family in families):  # else no task for each record of a page
            families = await gather_or_raise([self._secured(family) for family in families])
        return [asset_of(family, forms, security, self.api.options.named) for family in families]

    async def _secured(self, family: VersionGroup) -> VersionGroup:
        """The same; if its current record does not show its security templates, as that shows them by its id."""
        if family.current.security is not None:
            return family
        record = await self.version_groups.record(family.current.object, asset=family.id)
        return family.with_security(record.security)

    async def _seen(self, bare: Asset, family: VersionGroup) -> Asset | None:
        try:
            return await self._related(bare, family)
        except (Rejected, Transient):
            return None

    async def _related(self, bare: Asset, family: VersionGroup) -> Asset:
        relations, losses = await self._relations(family)
        return replace(bare, relations=relations, losses=(*bare.losses, *losses))

    async def _relations(self, family: VersionGroup) -> tuple[frozenset[Relation], tuple[Loss, ...]]:
        """Relations of all versions, because older records keep theirs (assumption 10). Targets in the recycle bin are
        reported as losses."""
        own = {record.object for record in family.records}
        pairs = [pair for record in family.living for pair in await self._links(record)]
        found, losses = set(), set()
        for primary, secondary, kind in pairs:
            if primary not in own or secondary in own:
                continue
            try:
                target, binned = await self.version_groups.owner(secondary)
            except (NotFound, Rejected):
                losses.add(Loss("relations", "its target is not visible", f"{kind} {secondary}"))
                continue
            if binned and not family.deleted:
                losses.add(Loss("relations", "its target is in the recycle bin", f"{kind} {target}"))
            else:
                found.add(Relation(kind, target))
        return frozenset(found), tuple(sorted(losses, key=str))

    async def _links(self, record: Record) -> list[tuple[str, str, str]]:
        rows = listed(await self.api.ask(facts.LINKS, record.object, asset=record.family), "links")
        return [
            (
                member_text(row, "primaryId", "primaryID"),
                member_text(row, "secondaryId"),
                kind_of_link(member_text(row, "linkType")),
            )
            for row in rows
        ]


def kind_of_link(spelled: str) -> str:
    """The canonical spelling of a link type (wire D 3.4)."""
    return next((kind for kind, hyphened in facts.HYPHENED.items() if spelled == hyphened), spelled)


def asset_of(family: VersionGroup, forms: MetadataForms, security: Security, named: NamedAttributes) -> Asset:
    """The neutral asset without relations."""
    current = family.current
    names = {identity: name for name, identity in security.known.items()}
    values, losses = fields_of(current, forms)
    template = forms.templates.get(current.template)
    status = status_of(values.get(named.status), deleted=family.deleted)
    first = min(family.living, key=lambda record: record.place)
    return Asset(
        id=family.id,
        revision=family.revision,
        filename=current.filename,
        status=status[0],
        substatus=status[1],
        type=template.name if template else "",
        fields={key: value for key, value in values.items() if key not in named.keys},
        versions=() if family.deleted else tuple(file_of(record) for record in family.versions),
        tags=_labels(values.get(named.tags)),
        rights=Rights(
            release_at=_midnight(values.get(named.release)),
            expires_at=_midnight(values.get(named.expiry)),
            groups=security.readers(names.get(identity, identity) for identity in current.security or ()),
            restrictions=frozenset((*_sensitive(values, forms), *_unshown(current))),
        ),
        created_at=moment(first.created),
        changed_at=moment(current.changed),
        imported_at=moment(first.created),
        losses=(*losses, *_kept_back(family), *_awaited(family), *_undated(values, named)),
    )


def _sensitive(values: Mapping[str, Value], forms: MetadataForms) -> Iterator[Restriction]:
    """Fields that only some users see."""
    for key in values:
        if forms.by_key[key].sensitive:
            yield Restriction(RestrictionKind.SENSITIVE, key)


def _unshown(record: Record) -> Iterator[Restriction]:
    """A record that does not show its security templates may have any."""
    if record.security is None:
        yield Restriction(RestrictionKind.DENIED, "the service does not show its security templates")


def _undated(values: Mapping[str, Value], named: NamedAttributes) -> Iterator[Loss]:
    """Values of a rights date that are not dates."""
    for path, key in (("release_at", named.release), ("expires_at", named.expiry)):
        value = values.get(key)
        if value is not None and not isinstance(value, date):
            yield Loss(path, "is not a date", str(value)[:40])


def _kept_back(family: VersionGroup) -> tuple[Loss, ...]:
    """Files in the bin cannot be downloaded (wire D 4)."""
    files = len(family.versions) if family.deleted else 0
    return (Loss("versions", "in the recycle bin, cannot be downloaded", f"{files} files"),) if files else ()


def _awaited(family: VersionGroup) -> tuple[Loss, ...]:
    """The file of a version before it is carried, if there is any."""
    return (Loss("versions", "the file of a newer version is not there yet"),) if family.awaits_file else ()


def fields_of(record: Record, forms: MetadataForms) -> tuple[dict[str, Value], tuple[Loss, ...]]:
    """Values by key, except those maintained by the service; values that no template explains are losses."""
    values: dict[str, Value] = {}
    losses = [Loss("versions", "the file is stored outside the service")] if record.federated else []
    for entry in record.entries:
        attribute = forms.by_id.get(entry.id)
        if not entry.id:
            losses.append(Loss("fields", "is not an attribute and was not read", str(entry.value)[:40]))
        elif attribute is None:
            if entry.value or entry.rows:
                losses.append(Loss(f"fields.{entry.id}", "no metadata template has this attribute", unread(entry)))
        elif not attribute.system:
            losses += losses_of(attribute, entry, forms)
            value = decode(attribute, entry, forms, record.shown.get(attribute.key))
            if value is not None:
                values[attribute.key] = value
    return values, tuple(losses)


def status_of(value: Value | None, *, deleted: bool) -> tuple[str, str]:
    """Status and substatus: the label of the dropdown if it is one of our statuses, otherwise `published` and the
    label."""
    label = value.label if isinstance(value, Term) else ""
    if deleted:
        return TRASH, label
    if label.casefold() in STATUSES:
        return label.casefold(), ""
    return PUBLISHED, label


def _labels(value: Value | None) -> frozenset[str]:
    items = value if isinstance(value, tuple) else (value,)
    return frozenset(item.label for item in items if isinstance(item, Term))


def _midnight(value: Value | None) -> datetime | None:
    return datetime.combine(value, time.min, UTC) if isinstance(value, date) else None
