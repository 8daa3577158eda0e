"""Verifies undocumented behaviour on first use: which attributes an update leaves unchanged."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dam_sync.model.errors import Rejected
from dam_sync.model.values import Json
from dam_sync.services.d_templates import facts
from dam_sync.services.d_templates.codec.forms import MetadataForms
from dam_sync.services.d_templates.codec.wire import MetadataEntry, Record

_ASK = "ask the service's support what `PATCH /asset/{id}` changes, then `errors JOB --retry`"
_SHAPELESS = "has an attribute whose shape is not documented"


@dataclass(slots=True)
class UpdateProof:
    """What the first updates of a session showed (assumption 14). partial: an update keeps attributes that it does not
    name; False: it drops them, so that all have to be sent; None: no update left out one that had a value. replaces: it
    replaces the list of security templates."""

    partial: bool | None = None
    replaces: bool = False
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def wants(self, body: Mapping[str, Json]) -> bool:
        """Whether such an update was not verified yet."""
        return ("metadata" in body and self.partial is None) or ("securityTemplateIds" in body and not self.replaces)

    def judge(self, body: Mapping[str, Json], before: Record | None, after: Record) -> None:
        """Judge the record after the update. Raises Rejected if the update had no effect, or left a security template
        that it does not name."""
        context = {"asset": after.family, "operation": facts.UPDATE, "hint": _ASK}
        if "securityTemplateIds" in body:
            if after.security is None or set(body["securityTemplateIds"]) != set(after.security):
                raise Rejected("the list of security templates was not replaced", code="security", **context)
            self.replaces = True
        if before is not None and not _took_effect(body["metadata"], before, after):
            raise Rejected("the update was accepted but had no effect", code="no effect", **context)


def lost_of(
    before: Record, after: Record, sent: Sequence[Mapping[str, Json]], forms: MetadataForms
) -> list[MetadataEntry]:
    """Values that the record had, that were not sent, and that are gone."""
    left = {entry.id for entry in after.entries if _filled(entry)}
    return [one for one in unnamed(before, sent, forms) if one.id not in left]


def unnamed(record: Record, sent: Sequence[Mapping[str, Json]], forms: MetadataForms) -> list[MetadataEntry]:
    """Values of a record that an update does not name."""
    named = {str(entry["metadataDefinitionId"]) for entry in sent}
    return [one for one in kept_of(record, forms) if one.id not in named]


def kept_of(record: Record, forms: MetadataForms) -> list[MetadataEntry]:
    """The values of a record that the service does not maintain itself."""
    known = (entry for entry in record.entries if entry.id in forms.by_id and not forms.by_id[entry.id].system)
    return [entry for entry in known if _filled(entry)]


def unexplained(record: Record, forms: MetadataForms) -> str:
    """Id of a value that no template explains; empty if there is none. Where the templates do not show the attributes
    that the service maintains, it may be one of those."""
    strange = (entry.id for entry in record.entries if entry.id not in forms.by_id and _filled(entry))
    return next(strange, "") if forms.lists_system else ""


def carried(record: Record, forms: MetadataForms) -> list[MetadataEntry]:
    """The same for a write that sends all of them. Raises Rejected if one cannot be read: it would be dropped."""
    strange = unexplained(record, forms)
    if strange or any(not entry.id for entry in record.entries):
        which = f"has the attribute {strange!r:.80}, which no metadata template has" if strange else _SHAPELESS
        raise Rejected(
            f"the asset {which}, and a write that sends all would drop it",
            code="metadata",
            asset=record.family,
            hint="check the metadata of the asset there, then `errors JOB --retry`",
        )
    return kept_of(record, forms)


def _took_effect(sent: Sequence[Mapping[str, Json]], before: Record, after: Record) -> bool:
    """Whether any of the sent values is present or changed; true if none was sent."""
    wanted = {str(entry["metadataDefinitionId"]): entry for entry in sent if len(entry) > 1}
    was, now = ({one.id: (one.value, one.rows) for one in record.entries} for record in (before, after))
    said = {key: entry.get("metadataDefinitionValue") for key, entry in wanted.items()}
    return not wanted or any(now.get(key) != was.get(key) or now[key][0] == said[key] for key in wanted if key in now)


def _filled(entry: MetadataEntry) -> bool:
    return bool(entry.value or entry.rows)
