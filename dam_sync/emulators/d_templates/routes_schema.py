"""Handlers of the schema: templates, attributes, groups, vocabularies, tables, cascades (wire D 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dam_sync.emulators.d_templates.calls import Call, Reply
from dam_sync.emulators.d_templates.records import Attribute, Group, failed, refused
from dam_sync.emulators.d_templates.routes_people import listed
from dam_sync.emulators.d_templates.schema import (
    AREA_LETTERS,
    CASCADE,
    TABLE,
    TEXT_LETTERS,
    VOCABULARY,
    Schema,
)
from dam_sync.emulators.d_templates.schema_views import SchemaViews
from dam_sync.emulators.d_templates.state import Tenant
from dam_sync.emulators.kit.environment import Json

_KINDS: Mapping[str, str] = {
    "textbox": "text",
    "textarea": "text",
    "date": "date",
    "dropdown": VOCABULARY,
    "controlledvocabulary": VOCABULARY,
    "externalcontent": "externalContent",
}


class SchemaCalls:
    """Everything under `/metadata`."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self._schema: Schema = tenant.schema
        self._views = SchemaViews(tenant.schema)

    def templates(self, call: Call) -> Reply:
        """`GET /metadata/template`: the whole list, flat or nested (wire D 5.1)."""
        rows = [self._views.head(each) for each in self._schema.templates.values()]
        return Reply(200, [{"template": row} for row in rows] if "shapes" in self._tenant.options.plays else rows)

    def template(self, call: Call) -> Reply:
        """`GET /metadata/template/{id}`."""
        if not call.user.admin:
            raise failed(403, "User does not have the required privileges")
        return Reply(200, {"template": self._views.template(self._schema.template(call.id))})

    def template_rows(self, call: Call) -> Reply:
        """`GET /metadata/templates`: the newer, paged list."""
        used = {record.template for record in self._tenant.records.values()}
        rows = [self._views.template_row(each, each.id in used) for each in self._schema.templates.values()]
        return Reply(200, listed(call, rows, "name"))

    def add_template(self, call: Call) -> Reply:
        """`POST /metadata/template`."""
        sent = self._admin(call)
        types = tuple(sent.get("templateType") or ("default",))
        made = self._schema.new_template(_name(sent.get("name")), sent.get("groupIds") or (), types)
        made.defaults = sent.get("attributesDefaultValue") or []
        return Reply(200, {"template": self._views.template(made)})

    def change_template(self, call: Call) -> Reply:
        """`PATCH /metadata/template/{id}`."""
        sent, found = self._admin(call), self._schema.template(call.id)
        if "groupIds" in sent:
            self._schema.regroup(found, sent["groupIds"])
        if "name" in sent:
            found.name = _name(sent["name"])
        found.updated = self._schema.now()
        self._schema.changed()
        return Reply(200, {"template": self._views.template(found)})

    def drop_template(self, call: Call) -> Reply:
        """`DELETE /metadata/template/{id}`; one in use stays."""
        self._admin(call)
        found = self._schema.template(call.id)
        if any(record.template == found.id for record in self._tenant.records.values()):
            raise refused(400, "Metadata Template is in use")
        del self._schema.templates[found.id]
        self._schema.changed()
        return Reply(200, _done("Metadata Template"))

    def attributes(self, call: Call) -> Reply:
        """`GET /metadata/attributes`."""
        rows = [self._views.attribute_row(each) for each in self._schema.attributes.values()]
        return Reply(200, listed(call, rows, "name"))

    def attribute(self, call: Call) -> Reply:
        """`GET /metadata/attribute/{id}`."""
        return Reply(200, self._views.attribute_row(self._attribute(call.id)))

    def add_attribute(self, call: Call) -> Reply:
        """`POST /metadata/attribute`: the search field is made from the name (wire D 5.2)."""
        sent = self._admin(call)
        kind = _KINDS.get(str(sent.get("type", "")).lower())
        if kind is None:
            raise refused(400, "Invalid attribute type")
        name, area = _name(sent.get("name")), str(sent.get("type", "")).lower() == "textarea"
        if self._schema.named(name) is not None:
            raise refused(400, "An attribute with the same name already exists")
        most = AREA_LETTERS if area else TEXT_LETTERS
        length = sent.get("length") or most
        facetable = bool(sent.get("isFacetable"))
        if not isinstance(length, int) or not 1 <= length <= most or (area and facetable):
            raise refused(400, "Invalid attribute")
        if kind == VOCABULARY:
            self._schema.vocabulary(str(sent.get("vocabularyId")))
        made = self._schema.new_attribute(
            name, kind, area=area, length=length, facetable=facetable,
            required=bool(sent.get("isRequired")), searchable=bool(sent.get("isSearchable", True)),
            typeahead=bool(sent.get("isTypeahead")), sensitive=bool(sent.get("isSensitive")),
            multiple=bool(sent.get("isMultiSelect")), vocabulary=str(sent.get("vocabularyId") or ""),
        )  # fmt: skip
        return Reply(200, self._views.attribute_row(made))

    def change_attribute(self, call: Call) -> Reply:
        """`PATCH /metadata/attribute/{id}`: the search field stays."""
        sent, found = self._admin(call), self._attribute(call.id)
        if "name" in sent:
            found.name = _name(sent["name"])
        for key, member in (("isRequired", "required"), ("isSearchable", "searchable"), ("isFacetable", "facetable")):
            if key in sent:
                setattr(found, member, bool(sent[key]))
        found.updated = self._schema.now()
        self._schema.changed()
        return Reply(200, self._views.attribute_row(found))

    def drop_attribute(self, call: Call) -> Reply:
        """`DELETE /metadata/attribute/{id}`; one in a group stays."""
        self._admin(call)
        found = self._attribute(call.id)
        if any(found.id in group.attributes for group in self._schema.groups.values()):
            raise refused(400, "Metadata attribute is in use")
        del self._schema.attributes[found.id]
        self._schema.changed()
        return Reply(200, _done("Metadata Definition"))

    def groups(self, call: Call) -> Reply:
        """`GET /metadata/groups`."""
        rows = [self._views.group_row(each) for each in self._schema.groups.values()]
        return Reply(200, listed(call, rows, "name"))

    def group(self, call: Call) -> Reply:
        """`GET /metadata/group/{id}`."""
        return Reply(200, self._views.group_row(self._group(call.id)))

    def add_group(self, call: Call) -> Reply:
        """`POST /metadata/group`."""
        sent = self._admin(call)
        made = self._schema.new_group(_name(sent.get("name")), sent.get("attributeIds") or ())
        made.visible = bool(sent.get("isGroupNameVisible", True))
        return Reply(200, self._views.group_row(made))

    def change_group(self, call: Call) -> Reply:
        """`PATCH /metadata/group/{id}`: the list of attributes replaces the old one."""
        sent, found = self._admin(call), self._group(call.id)
        if "name" in sent:
            found.name = _name(sent["name"])
        if "attributeIds" in sent:
            ids = list(dict.fromkeys(sent["attributeIds"]))
            if any(each not in self._schema.attributes for each in ids):
                raise refused(400, "Metadata attribute not found")
            found.attributes = ids
        found.updated = self._schema.now()
        self._schema.changed()
        return Reply(200, self._views.group_row(found))

    def drop_group(self, call: Call) -> Reply:
        """`DELETE /metadata/group/{id}`; one in a template stays."""
        self._admin(call)
        found = self._group(call.id)
        if any(found.id in template.groups for template in self._schema.templates.values()):
            raise refused(400, "Metadata group is in use")
        del self._schema.groups[found.id]
        return Reply(200, _done("Metadata group"))

    def vocabularies(self, call: Call) -> Reply:
        """`GET /metadata/vocabulary`: the whole list."""
        rows = self._schema.vocabularies.values()
        return Reply(200, [self._views.vocabulary(each, values="metadata") for each in rows])

    def vocabulary_rows(self, call: Call) -> Reply:
        """`GET /metadata/vocabularies`: the newer, paged list."""
        rows = [self._views.vocabulary(each, values="metadata") for each in self._schema.vocabularies.values()]
        return Reply(200, listed(call, rows, "metadataDefinitionName"))

    def vocabulary(self, call: Call) -> Reply:
        """`GET /metadata/vocabulary/{id}`."""
        return Reply(200, self._views.vocabulary(self._schema.vocabulary(call.id), values="metadataDocument"))

    def add_vocabulary(self, call: Call) -> Reply:
        """`POST /metadata/vocabulary`."""
        sent = self._admin(call)
        name = _name(sent.get("name"))
        values = sent.get("values")
        if not isinstance(values, list) or not values:
            raise refused(400, "value cannot be empty")
        if name in {each.name for each in self._schema.vocabularies.values()}:
            raise refused(400, "A vocabulary with the same name already exists")
        checked = list(dict.fromkeys(_name(value, "value") for value in values))
        made = self._schema.new_vocabulary(name, checked, applied=not self._schema.apply_after_post)
        return Reply(200, self._views.vocabulary(made, values="metadataDocument"))

    def change_vocabulary(self, call: Call) -> Reply:
        """`PATCH /metadata/vocabulary/{id}`: without effect on writes before `apply`."""
        sent, found = self._admin(call), self._schema.vocabulary(call.id)
        self._schema.patch_vocabulary(found, sent)
        return Reply(200, self._views.vocabulary(found, values="metadataDocument"))

    def drop_vocabulary(self, call: Call) -> Reply:
        """`DELETE /metadata/vocabulary/{id}`; one in use, or the service's own, stays."""
        self._admin(call)
        found = self._schema.vocabularies.get(call.id)
        if found is None or found.system:
            raise refused(400, "Controlled vocabulary not found")
        if any(each.vocabulary == found.id for each in self._schema.attributes.values()):
            raise refused(400, "Controlled vocabulary is in use")
        del self._schema.vocabularies[found.id]
        return Reply(200, _done("Metadata Definition"))

    def apply(self, call: Call) -> Reply:
        """`POST /metadata/apply`: changes of vocabularies take effect."""
        self._admin(call)
        self._tenant.after(self._tenant.options.apply_lag, self._schema.apply)
        return Reply(200, {"message": "Changes applied successfully"})

    def tables(self, call: Call) -> Reply:
        """`GET /metadata/tables`."""
        return self._compounds(call, TABLE)

    def cascades(self, call: Call) -> Reply:
        """`GET /metadata/cascades`."""
        return self._compounds(call, CASCADE)

    def add_table(self, call: Call) -> Reply:
        """`POST /metadata/tables`."""
        return self._add_compound(call, TABLE)

    def add_cascade(self, call: Call) -> Reply:
        """`POST /metadata/cascades`: levels in order."""
        return self._add_compound(call, CASCADE)

    def _compounds(self, call: Call, kind: str) -> Reply:
        rows = [self._views.attribute_row(each) for each in self._schema.attributes.values() if each.type == kind]
        return Reply(200, listed(call, rows, "name"))

    def _add_compound(self, call: Call, kind: str) -> Reply:
        sent = self._admin(call)
        ids: Sequence[str] = sent.get("attributeIds") or ()
        if not ids or any(each not in self._schema.attributes for each in ids):
            raise refused(400, "Metadata attribute not found")
        made = self._schema.new_attribute(
            _name(sent.get("name")), kind, children=tuple(ids), single_row=bool(sent.get("isSingleRow"))
        )
        return Reply(200, self._views.attribute_row(made))

    def _attribute(self, key: str) -> Attribute:
        found = self._schema.attributes.get(key)
        if found is None:
            raise refused(400, "Metadata attribute not found")
        return found

    def _group(self, key: str) -> Group:
        found = self._schema.groups.get(key)
        if found is None:
            raise refused(400, "Metadata group not found")
        return found

    def _admin(self, call: Call) -> Mapping[str, Json]:
        if not call.user.admin:
            raise failed(403, "User does not have the required privileges")
        return call.json()


def _name(value: Json, what: str = "name") -> str:
    if not isinstance(value, str) or not value.strip():
        raise refused(400, f"{what} cannot be empty")
    return value.strip()


def _done(what: str) -> Json:
    return {"status": "success", "message": f"{what} delete operation succeeded"}
