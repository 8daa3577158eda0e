"""Bulk edits: accepted at once, done later, whole for each asset and not for the job (wire D 6.5, 12.21)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dam_sync.emulators.d_templates.collections import Collections
from dam_sync.emulators.d_templates.records import Record, Refusal, User, failed, refused
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.kit.environment import Json

HELPER = "Bulk edit "


class BulkEdits:
    """Jobs without a status call; each makes a helper collection."""

    def __init__(self, tenant: Tenant, collections: Collections) -> None:
        self._tenant, self._collections = tenant, collections

    def start(self, sent: Mapping[str, Json], user: User) -> Json:
        """Accept a job. Raises Refusal 400 for what shows at once."""
        ids, entries = sent.get("objectIds"), sent.get("metadataDocument")
        if not ids or not isinstance(ids, list) or (not entries and not sent.get("securityTemplateIds")):
            raise refused(400, "Invalid Request: Missing Bulk Edit Asset Details")
        if sent.get("metadataTemplateId") not in self._tenant.schema.templates:
            raise refused(400, "Invalid metadataTemplateId")
        if sent.get("securityTemplateIds"):
            self._tenant.security(sent["securityTemplateIds"])
        job = self._tenant.uuid()
        files = [self._tenant.records[each].file_id for each in ids if each in self._tenant.records]
        helper = self._collections.new(f"{HELPER}{job}", "privateSecured", files, user, ())
        self._tenant.after(self._tenant.options.bulk_lag, lambda: self._run(sent, user))
        return {"jobId": job, "collectionId": helper.id}

    def _run(self, sent: Mapping[str, Json], user: User) -> None:
        for key in sent["objectIds"]:
            try:
                record = self._tenant.record(str(key), user)
                self._tenant.demand(record, user, "Edit Metadata")
                self._edit(record, sent, user)
            except Refusal as refusal:
                self._tenant.world.event("bulk.refused", asset=str(key), reason=str(refusal))

    def _edit(self, record: Record, sent: Mapping[str, Json], user: User) -> None:
        template = str(sent["metadataTemplateId"])
        values: dict[str, Json] = {}
        for entry in sent.get("metadataDocument") or ():
            (read,) = self._tenant.metadata.read(template, [entry], creating=False).items()
            values[read[0]] = self._merged(record, read[0], read[1], str(entry.get("operation", "replace")))
        security = tuple(sent.get("securityTemplateIds") or ()) or None
        if security and sent.get("securityTemplateOp") == "append":
            security = tuple(dict.fromkeys((*record.security, *security)))
        kept = self._tenant.metadata.checked(template, record.values)
        self._tenant.update(replace(record, template=template, values=kept), values, security, user)

    def _merged(self, record: Record, key: str, value: Json, operation: str) -> Json:
        if operation == "replace":
            return value
        attribute, old = self._tenant.schema.attributes[key], record.values.get(key)
        if operation != "append" or attribute.type == "date" or (attribute.vocabulary and not attribute.multiple):
            raise failed(400, "Invalid operation")
        if old is None or value is None:
            return old or value
        if isinstance(old, str):
            return f"{old} {value}"
        return [*old, *(each for each in value if each not in old)]
