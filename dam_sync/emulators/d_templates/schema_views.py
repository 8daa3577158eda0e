"""The schema as the service shows it (wire D 5)."""

from __future__ import annotations

from dam_sync.emulators.d_templates.records import (
    CUSTOMER,
    Attribute,
    Group,
    Template,
    Vocabulary,
    long_instant,
)
from dam_sync.emulators.d_templates.schema import CASCADE, TABLE, VOCABULARY, Schema
from dam_sync.emulators.kit.environment import Json


class SchemaViews:
    """Templates with everything inside, vocabularies, and the rows of the newer lists."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def template(self, template: Template) -> dict[str, Json]:
        """A template with its groups and attributes; the system group comes last."""
        groups = [self._group(self._schema.groups[each], number) for number, each in enumerate(template.groups, 1)]
        return {
            "templateId": template.id,
            "templateName": template.name,
            "templateType": list(template.types),
            "createdEpoch": template.created,
            "lastUpdatedEpoch": template.updated,
            "metadataGroups": [*groups, self._system_group(len(groups) + 1)],
        }

    def head(self, template: Template) -> dict[str, Json]:
        """An entry of the whole list."""
        head = self.template(template)
        del head["metadataGroups"]
        return head

    def template_row(self, template: Template, in_use: bool) -> Json:
        """A row of the newer list."""
        return {
            "templateId": template.id,
            "name": template.name,
            **_dates(template),
            "groupIds": list(template.groups),
            "templateType": list(template.types),
            "attributesDefaultValue": template.defaults or [],
            "accessTemplates": [],
            "templateDenormalized": {},
            "inUse": in_use,
        }

    def group_row(self, group: Group) -> Json:
        """A row of the list of groups."""
        return {
            "id": group.id,
            "name": group.name,
            "searchField": group.slug,
            "isGroupNameVisible": group.visible,
            "attributeIds": list(group.attributes),
            **_dates(group),
        }

    def attribute_row(self, attribute: Attribute) -> Json:
        """An attribute by the newer names of its flags (wire D 5.1)."""
        kind = "textarea" if attribute.area else {"text": "textbox", VOCABULARY: "dropdown"}.get(attribute.type)
        return {
            "id": attribute.id,
            "name": attribute.name,
            "searchField": attribute.slug,
            "type": kind or attribute.type,
            "length": attribute.length,
            "vocabularyId": attribute.vocabulary or None,
            "isRequired": attribute.required,
            "isSearchable": attribute.searchable,
            "isFacetable": attribute.facetable,
            "isTypeahead": attribute.typeahead,
            "isSensitive": attribute.sensitive,
            "isMultiSelect": attribute.multiple,
            **({"attributeIds": list(attribute.children)} if attribute.children else {}),
            **_dates(attribute),
        }

    def vocabulary(self, vocabulary: Vocabulary, *, values: str) -> Json:
        """A vocabulary; its values stand under `metadata` in lists, under `metadataDocument` alone (wire D 5.3)."""
        rows = [{"valueId": value, "valueName": name} for value, name in vocabulary.values.items()]
        return {
            "metadataDefinitionId": vocabulary.id,
            "metadataDefinitionName": vocabulary.name,
            "metadataDefinitionSearchField": vocabulary.slug,
            "metadataDefinitionType": VOCABULARY,
            "createdEpoch": vocabulary.created,
            "lastUpdatedEpoch": vocabulary.updated,
            "customerId": CUSTOMER,
            values: {"searchable": True, "values": rows},
        }

    def _group(self, group: Group, order: int) -> Json:
        attributes = [self._schema.attributes[each] for each in group.attributes]
        return {
            "groupOrder": order,
            "metadataGroupName": group.name,
            "metadataGroupSearchField": group.slug,
            "securityPermissions": [],
            "metadataAttributes": [self._attribute(each, number) for number, each in enumerate(attributes, 1)],
        }

    def _system_group(self, order: int) -> Json:
        rows = [
            {**self._attribute(each, n), "readonly": True} for n, each in enumerate(self._schema.system.values(), 1)
        ]
        return {
            "groupOrder": order,
            "metadataGroupName": "System",
            "metadataGroupSearchField": "system",
            "securityPermissions": [],
            "metadataAttributes": rows,
        }

    def _attribute(self, attribute: Attribute, order: int) -> dict[str, Json]:
        shown: dict[str, Json] = {
            "id": attribute.id,
            "name": attribute.name,
            "type": attribute.type,
            "searchField": attribute.slug,
            "fieldOrder": order,
            "required": attribute.required,
            "visible": True,
            "readonly": False,
            "facetable": attribute.facetable,
            "isMultipleSelect": attribute.multiple,
            "isRestricted": attribute.sensitive,
            "dateFormat": "MM/dd/yyyy" if attribute.type == "date" else "N/A",
        }
        if attribute.type == "text":
            shown |= {"subType": "textArea" if attribute.area else "textBox", "length": attribute.length}
        if attribute.type == VOCABULARY:
            shown["controlledVocabularyId"] = attribute.vocabulary
        children = [self._schema.attributes[each] for each in attribute.children]
        if attribute.type == TABLE:
            fields = [self._attribute(each, number) for number, each in enumerate(children, 1)]
            shown |= {"isSingleRow": attribute.single_row, "tableNameVisible": True, "tableFieldsDenormalized": fields}
        if attribute.type == CASCADE:
            levels = [{**self._attribute(each, n + 1), "cascadeOrder": n} for n, each in enumerate(children)]
            shown["cascadeFieldsDenormalized"] = levels
        return shown


def _dates(thing: Template | Group | Attribute) -> dict[str, Json]:
    return {
        "customerId": CUSTOMER,
        "createdEpoch": thing.created,
        "createdDate": long_instant(thing.created),
        "lastUpdatedEpoch": thing.updated,
        "lastUpdatedDate": long_instant(thing.updated),
    }
