"""Changes assets: attributes, security templates, recycle bin."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta

from dam_sync.http.interpreting import interprets_response
from dam_sync.model.asset import AssetId, Draft, Patch, Rights
from dam_sync.model.connector import Context
from dam_sync.model.errors import InvalidValue, NotFound, Rejected
from dam_sync.model.values import Json, Term, Value
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import PUBLISHED, MetadataForms, NamedAttributes, composed
from dam_sync.services.d_templates.codec.values import encode
from dam_sync.services.d_templates.codec.wire import MetadataEntry, Record, failed, message_of, value_ids
from dam_sync.services.d_templates.source.versions import VersionGroupIds
from dam_sync.services.d_templates.target.proof import UpdateProof, carried, lost_of, unexplained, unnamed
from dam_sync.services.d_templates.taxonomy.terms import TemplatesTerms


class TemplatesUpdate(TemplatesTerms):
    """Changes existing assets; all methods are safe to repeat."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.proof = UpdateProof()

    async def update(self, asset: AssetId, patch: Patch) -> None:
        """One call for the whole patch; cleared attributes are read back. Files cannot be renamed."""
        if self.version_groups.just_read is not None:  # a new version repeats the metadata that is written here
            self.version_groups.just_read.take(asset)
        if not _writes(patch):
            return
        known = await self.version_groups.known(asset)
        body: dict[str, Json] = {}
        entries = await self._entries(asset, patch, known)
        if entries:
            body["metadata"] = entries
        if patch.closed is not None or (patch.rights and patch.rights.groups):
            body["securityTemplateIds"] = await self._security(asset, patch)
        if not body:
            return
        await self._proven(asset, known.object, body)
        emptied = [entry["metadataDefinitionId"] for entry in entries if len(entry) == 1]
        if emptied:
            await self._see_cleared(asset, known.object, emptied)

    async def _entries(self, asset: AssetId, patch: Patch, known: VersionGroupIds) -> list[dict[str, Json]]:
        """The attributes that change; tags missing from the vocabulary are kept."""
        named = self.api.options.named
        said = await self.option_values(patch.rights or Rights(), patch.status or "", frozenset())
        fields: dict[str, Value | None] = {**patch.fields, **said, **dict.fromkeys(cleared_by(patch, named))}
        strange: list[Json] = []
        if named.tags and (patch.tags_add or patch.tags_remove):
            labels, strange = await self._tagged(asset, known.object)
            fields[named.tags] = await self.tag_terms(retagged(labels, patch))
        if not fields:
            return []
        forms = await self.tenant.forms.get()
        entries = entries_for(fields, known.template, forms)
        if strange:
            _carry(entries, forms.by_key[named.tags].id, strange)
        return entries

    async def _security(self, asset: AssetId, patch: Patch) -> list[str]:
        """The new security templates. Raises InvalidValue if an asset is opened and nothing says to whom."""
        if patch.closed is False and patch.rights is None:
            raise InvalidValue("the asset should become visible, but the mapping does not say to whom", asset=asset)
        groups = patch.rights.groups if patch.rights else frozenset[str]()
        return (await self.tenant.security.get()).ids(groups, closed=bool(patch.closed))

    async def _proven(self, asset: AssetId, record: str, body: dict[str, Json]) -> None:
        """Send the update; read it back if it is the first of its kind."""
        if self.proof.wants(body):
            async with self.proof.turn:
                if self.proof.wants(body):
                    await self._first(asset, record, body)
                    return
        await self._whole(asset, record, body)

    async def _first(self, asset: AssetId, record: str, body: dict[str, Json]) -> None:
        """If an update drops attributes that it does not name, all are sent again, now and from then on; so they are if
        it is refused unless it names all that are required."""
        if "metadata" not in body or self.proof.partial is not None:
            await self._whole(asset, record, body)
            self.proof.judge(body, None, await self.version_groups.record(record, asset=asset))
            return
        forms = await self.tenant.forms.get()
        before = await self.version_groups.record(record, asset=asset)
        try:
            await self._patch(asset, record, body)
        except Rejected:
            whole = {**body, "metadata": await self._merged(before, body["metadata"])}
            if len(whole["metadata"]) == len(body["metadata"]):
                raise  # it named all there is
            await self._patch(asset, record, whole)
            self.proof.partial = False
        after = await self.version_groups.record(record, asset=asset)
        self.proof.judge(body, before, after)
        if lost_of(before, after, body["metadata"], forms):
            self.proof.partial = False
            await self._patch(asset, record, {"metadata": await self._merged(before, body["metadata"])})
        elif self.proof.partial is None and unnamed(before, body["metadata"], forms):
            self.proof.partial = True

    async def _whole(self, asset: AssetId, record: str, body: dict[str, Json]) -> None:
        if self.proof.partial is False and "metadata" in body:
            before = await self.version_groups.record(record, asset=asset)
            body = {**body, "metadata": await self._merged(before, body["metadata"])}
        await self._patch(asset, record, body)

    async def _merged(self, before: Record, sent: list[dict[str, Json]]) -> list[Json]:
        """The sent entries plus everything else that the record has. Raises Rejected if that is not known."""
        named = {entry["metadataDefinitionId"] for entry in sent}
        return [*(entry for entry in await self.repeated(before) if entry["metadataDefinitionId"] not in named), *sent]

    async def repeated(self, record: Record) -> list[dict[str, Json]]:
        """The entries of a record, to be written again. The templates are read again if one is not in them. Raises
        Rejected if one cannot be read."""
        if unexplained(record, await self.tenant.forms.get()):
            self.tenant.forms.forget()
        return [entry_json(entry) for entry in carried(record, await self.tenant.forms.get())]

    async def _see_cleared(self, asset: AssetId, record: str, ids: list[str]) -> None:
        """Read back cleared attributes; if they are not empty, clear them the other way (assumption 13), and read
        again. Raises Rejected if neither has an effect."""
        full = await self._filled_of(asset, record, ids)
        if not full:
            return
        await self._whole(asset, record, {"metadata": [_empty(entry) for entry in full]})
        if left := await self._filled_of(asset, record, ids):
            known = (await self.tenant.forms.get()).by_id
            names = sorted(known[entry.id].key if entry.id in known else entry.id for entry in left)
            raise Rejected(
                f"the service accepted to clear {', '.join(names)[:200]}, and the values are still there",
                asset=asset,
                operation=facts.UPDATE,
                code="not cleared",
                hint="clear them there, then `errors JOB --retry`",
            )

    async def _filled_of(self, asset: AssetId, record: str, ids: list[str]) -> list[MetadataEntry]:
        """Which of these attributes have a value now."""
        now = await self.version_groups.record(record, asset=asset)
        return [entry for entry in now.entries if entry.id in ids and (entry.value or entry.rows)]

    async def _tagged(self, asset: AssetId, record: str) -> tuple[frozenset[str], list[Json]]:
        """The tags of a record, and the raw items that the reloaded vocabulary has no label for."""
        attribute = (await self.tenant.forms.get()).by_key[self.api.options.named.tags]
        now = await self.version_groups.record(record, asset=asset)
        entries = [entry for entry in now.entries if entry.id == attribute.id and entry.value]
        forms = await self.tenant.forms_for(value_ids(entries))
        known = forms.lexicon[attribute.vocabulary].labels
        items = [item for one in entries for item in (one.value if isinstance(one.value, list) else [one.value])]
        ids = [(str(item.get("valueId")) if isinstance(item, dict) else "", item) for item in items]
        labels = frozenset(known.get(identity, "") for identity, _ in ids) - {""}
        return labels, [item for identity, item in ids if not known.get(identity)]

    async def option_values(self, rights: Rights, status: str, tags: frozenset[str]) -> dict[str, Value | None]:
        """Values of the attributes that options name."""
        named = self.api.options.named
        found: dict[str, Value | None] = {}
        if named.release and rights.release_at:
            found[named.release] = next_day(rights.release_at).date()
        if named.expiry and rights.expires_at:
            found[named.expiry] = rights.expires_at.astimezone(UTC).date()
        if named.tags and tags:
            found[named.tags] = await self.tag_terms(tags)
        if named.status and status:
            found[named.status] = status_term(status, await self.tenant.forms.get(), named)
        return found

    async def _patch(self, asset: str, record: str, body: Json) -> None:
        """Change one record. Raises InvalidValue."""
        reply = await self.usable(lambda: self.api.write(facts.UPDATE, record, body, asset=asset))
        _refuse(reply.json() if reply.body else None, facts.UPDATE, asset)

    async def remove(self, asset: AssetId) -> None:
        """Move every version to the recycle bin, the newest last, then read back (wire D 15). Missing assets are
        ignored."""
        try:
            family = await self.version_groups.load(asset)
        except NotFound:
            return
        living = [record for record in family.records if not record.deleted]
        for record in living:
            await self._bin(asset, record.object, "delete")
        if living and not (await self.version_groups.load(asset)).deleted:
            raise Rejected("the service did not delete all versions", asset=asset, operation=facts.DELETE)

    async def restore(self, asset: AssetId, draft: Draft) -> None:
        """Take every version out of the recycle bin, the newest first, then read back (wire D 6.9)."""
        family = await self.version_groups.load(asset)
        binned = [record for record in reversed(family.records) if record.deleted]
        for record in binned:
            await self._bin(asset, record.object, "undelete")
        if binned and any(record.deleted for record in (await self.version_groups.load(asset)).records):
            raise Rejected("the service did not restore all versions", asset=asset, operation=facts.DELETE)

    async def _bin(self, asset: str, record: str, action: str) -> None:
        """Move one record into the recycle bin or out of it; a refusal is checked by reading back."""
        body = {"action": action, "deleteType": "full"}
        accept = frozenset({403, 404, 500})
        request = self.api.request(facts.DELETE, record, asset=asset, json=body, repeatable=True, accept=accept)
        reply = await self.api.send(request)
        if reply.status in accept:
            now = await self.version_groups.record(record, asset=asset)
            if now.deleted is not (action == "delete"):
                text = message_of(reply.json() if reply.body else None)[:200]
                raise Rejected(
                    f"the service refused to {action} the asset: {text}", asset=asset, operation=facts.DELETE
                )


# -- pure parts --------------------------------------------------------------------------------------------------------


def _writes(patch: Patch) -> bool:
    """Whether the patch has anything that this service can write."""
    changes = (patch.fields, patch.tags_add, patch.tags_remove, patch.cleared, patch.status)
    return any(changes) or patch.closed is not None or (patch.rights or Rights()) != Rights()


def status_term(status: str, forms: MetadataForms, named: NamedAttributes) -> Term | None:
    """The value of the status dropdown; None if it stays empty, which is read as published. Raises InvalidValue."""
    labels = forms.lexicon[forms.by_key[named.status].vocabulary].labels
    for identity, label in labels.items():
        if label.casefold() == status.casefold():
            return Term(label, identity)
    if status == PUBLISHED:
        return None
    known = ", ".join(sorted(labels.values())) or "none"
    raise InvalidValue(f"the status dropdown has no value {status!r}", hint=f"its values are {known}")


def entries_for(fields: Mapping[str, Value | None], template: str, forms: MetadataForms) -> list[dict[str, Json]]:
    """The entries for fields of a template. Raises InvalidValue."""
    return [encode(forms.attribute(key, template), value, forms) for key, value in fields.items()]


def retagged(labels: frozenset[str], patch: Patch) -> frozenset[str]:
    """Tags after a patch, unique after Unicode normalization."""
    gone = {composed(label) for label in patch.tags_remove}
    kept = {composed(label): label for label in sorted(patch.tags_add) + sorted(labels)}
    return frozenset(label for key, label in kept.items() if key not in gone)


def _carry(entries: list[dict[str, Json]], attribute: str, strange: list[Json]) -> None:
    """Keep items without a label in the attribute."""
    for entry in entries:
        if entry["metadataDefinitionId"] == attribute:
            entry["metadataDefinitionValue"] = [*entry.get("metadataDefinitionValue", []), *strange]


def cleared_by(patch: Patch, named: NamedAttributes) -> frozenset[str]:
    """The attributes that a patch clears because our own date was removed."""
    keys = {"release": named.release, "expiry": named.expiry}
    return frozenset(keys.get(what, "") for what in patch.cleared) - {""}


def next_day(when: datetime) -> datetime:
    """The next midnight UTC: a date without a time must not release an asset too early."""
    utc = when.astimezone(UTC)
    midnight = datetime.combine(utc.date(), time.min, UTC)
    return midnight if midnight == utc else midnight + timedelta(days=1)


def entry_json(entry: MetadataEntry) -> dict[str, Json]:
    """An entry in the form in which it was read (wire D 6.4)."""
    if entry.rows is not None:
        rows = [[entry_json(cell) for cell in row] for row in entry.rows]
        return {"metadataDefinitionId": entry.id, "metadataDefinitionTableValue": rows}
    return {"metadataDefinitionId": entry.id, "metadataDefinitionValue": entry.value}


def _empty(entry: MetadataEntry) -> Json:
    if entry.rows is not None:
        return {"metadataDefinitionId": entry.id, "metadataDefinitionTableValue": []}
    return {"metadataDefinitionId": entry.id, "metadataDefinitionValue": [] if isinstance(entry.value, list) else ""}


@interprets_response
def _refuse(reply: Json, operation: str, asset: str) -> None:
    if failed(reply):
        raise InvalidValue(message_of(reply)[:200] or "refused", operation=operation, asset=asset)
