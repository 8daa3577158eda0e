"""The calls that write assets, attachments, tags and values (wire C 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dam_sync.emulators.c_brandlibrary.calls import Call, Reply, rows_of
from dam_sync.emulators.c_brandlibrary.creating import Creator
from dam_sync.emulators.c_brandlibrary.links import Links
from dam_sync.emulators.c_brandlibrary.listing import listed
from dam_sync.emulators.c_brandlibrary.records import Asset, FieldValue, Key, Library, Refusal, Tag
from dam_sync.emulators.c_brandlibrary.render import Document
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.kit.environment import Json

DONE = Reply(json={})


class Writing:
    """Handlers; collaborators and up may write."""

    def __init__(self, tenant: Tenant, links: Links, creator: Creator) -> None:
        self._tenant, self._links, self._creator = tenant, links, creator

    # -- assets --------------------------------------------------------------------------------------------------------

    async def create(self, call: Call) -> Reply:
        """New assets in a library."""
        library = self._tenant.library(call.id, call.caller(), "collaborator")
        return self._created(call, await call.json(), library)

    async def create_in_collection(self, call: Call) -> Reply:
        """New assets in a library and in one of its collections, the only way into one."""
        collection = self._tenant.collection(call.id, call.caller(), "collaborator")
        return self._created(call, await call.json(), self._tenant.libraries[collection.library], collection.id)

    def _created(self, call: Call, sent: Mapping[str, Json], library: Library, collection: str = "") -> Reply:
        tenant = self._tenant
        data = sent.get("data")
        key = sent.get("section_key")
        if not isinstance(key, str) or not key:
            raise Refusal(422, "`section_key` is required")
        section = tenant.find(tenant.sections, key)
        if section.library != library.id:
            raise Refusal(422, "The section is not in this library")
        rows = data.get("attributes") if isinstance(data, dict) else None
        if "some_created" in call.plays and isinstance(rows, list):
            self._creator.create(rows[: (len(rows) + 1) // 2], section, call.caller(), collection)
            raise Refusal(500, "Internal server error")
        made = self._creator.create(rows, section, call.caller(), collection)
        if "doomed" in call.plays:
            self._creator.doom(made)
        return listed(tenant, _first_page(call), made, lambda doc, row: doc.asset(row), self._document())

    async def update(self, call: Call) -> Reply:
        """Only the attributes that are sent change."""
        asset = self._tenant.asset(call.id, call.caller(), "collaborator")
        sent = await call.attributes()
        if "name_on_put" in self._tenant.plays and not sent.get("name"):
            raise Refusal(422, "`name` is required")
        changed = self._creator.update(asset, sent)
        return self._one(self._document().asset(changed))

    async def delete(self, call: Call) -> Reply:
        """Gone, as far as the API knows."""
        self._tenant.delete(self._tenant.asset(call.id, call.caller(), "collaborator"))
        return DONE

    # -- attachments ---------------------------------------------------------------------------------------------------

    async def update_attachment(self, call: Call) -> Reply:
        """Another name, or another version."""
        asset, attachment = self._tenant.attachment(call.id, call.caller(), "collaborator")
        changed = self._creator.replace(asset, attachment, await call.attributes())
        return self._one(self._document().attachment(changed, self._tenant.assets[asset.id]))

    async def delete_attachment(self, call: Call) -> Reply:
        """One attachment less."""
        asset, attachment = self._tenant.attachment(call.id, call.caller(), "collaborator")
        self._creator.remove(asset, attachment)
        return DONE

    # -- tags ----------------------------------------------------------------------------------------------------------

    async def add_tags(self, call: Call) -> Reply:
        """More tags; one that is there, in characters of any case, stays as it is. Answers with all of them."""
        asset = self._tenant.asset(call.id, call.caller(), "collaborator")
        tags = {tag.name.casefold(): tag for tag in asset.tags}
        for row in rows_of(await call.json()):
            name = _name(row)
            tags.setdefault(name.casefold(), Tag(self._tenant.names.key(), name))
        asset = self._tenant.edit(replace(asset, tags=tuple(tags.values())), "tags")
        return listed(self._tenant, _first_page(call), asset.tags, lambda doc, row: doc.tag(row), self._document())

    async def rename_tag(self, call: Call) -> Reply:
        """Another name for this one record."""
        asset = self._tenant.home(call.id, call.caller(), "collaborator")
        name = _name(await call.attributes())
        tags = tuple(replace(tag, name=name) if tag.id == call.id else tag for tag in asset.tags)
        self._tenant.edit(replace(asset, tags=tags), "tags")
        return self._one(self._document().tag(next(tag for tag in tags if tag.id == call.id)))

    async def drop_tags(self, call: Call) -> Reply:
        """Tags go some time later (wire C 6.6)."""
        asset = self._tenant.asset(call.id, call.caller(), "collaborator")
        names = (await call.json()).get("tags")
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise Refusal(422, "`tags` must be an array of names")
        folded = {name.casefold() for name in names}

        def drop(at: int) -> None:
            found = self._tenant.assets[asset.id]
            kept = tuple(tag for tag in found.tags if tag.name.casefold() not in folded)
            if found.deleted is None:
                self._tenant.edit(replace(found, tags=kept), "tags", at=at)

        self._tenant.agenda.at(self._tenant.now() + int(self._tenant.options.tag_lag * 1000), drop)
        return DONE

    # -- custom field values -------------------------------------------------------------------------------------------

    async def add_values(self, call: Call) -> Reply:
        """Values of many assets under one key: all of them or none."""
        key = self._key(call)
        rows = (await call.json()).get("data")
        if not isinstance(rows, list) or not rows:
            raise Refusal(422, "`data` must be an array")
        found = [self._value(row, key, call) for row in rows]
        self._check_room(key, found)
        made = []
        for asset_id, text in found:
            value = FieldValue(self._tenant.names.key(), key.id, text)
            asset = self._tenant.assets[asset_id]
            self._tenant.edit(replace(asset, values=(*asset.values, value)), "custom_fields")
            made.append(value)
        return listed(self._tenant, _first_page(call), made, lambda doc, row: doc.value(row), self._document())

    async def change_value(self, call: Call) -> Reply:
        """Another text for one value."""
        asset, value = self._held(call)
        key = self._tenant.keys[value.key]
        changed = replace(value, value=_allowed((await call.attributes()).get("value"), key))
        values = tuple(changed if each.id == value.id else each for each in asset.values)
        self._tenant.edit(replace(asset, values=values), "custom_fields")
        shown = self._document().value(changed)
        return self._one([shown] if "value_array" in self._tenant.plays else shown)

    async def delete_value(self, call: Call) -> Reply:
        """One value less."""
        asset, value = self._held(call)
        kept = tuple(each for each in asset.values if each.id != value.id)
        self._tenant.edit(replace(asset, values=kept), "custom_fields")
        return DONE

    def _held(self, call: Call) -> tuple[Asset, FieldValue]:
        asset = self._tenant.home(call.id, call.caller(), "collaborator")
        for value in asset.values:
            if value.id == call.id and value.key in self._tenant.keys:
                return asset, value
        raise Refusal(404, "Record not found")

    def _key(self, call: Call) -> Key:
        key = self._tenant.find(self._tenant.keys, call.id)
        self._tenant.library(key.library, call.caller(), "collaborator")
        return key

    def _value(self, row: Json, key: Key, call: Call) -> tuple[str, str]:
        """Asset id and text of one row."""
        try:
            text, asset_id = row["attributes"]["value"], row["relationships"]["asset"]["data"]["id"]
        except (TypeError, KeyError):
            raise Refusal(422, "A value needs `attributes.value` and `relationships.asset.data.id`") from None
        if row["relationships"]["asset"]["data"].get("type") != "assets":
            raise Refusal(422, "An asset is referred to as `assets`")
        asset = self._tenant.asset(str(asset_id), call.user, "collaborator")
        if asset.library != key.library:
            raise Refusal(422, "The asset is not in the library of the key")
        return asset.id, _allowed(text, key)

    def _check_room(self, key: Key, found: list[tuple[str, str]]) -> None:
        """Only some tenants refuse a second value (wire C 6.7)."""
        if "one_value" not in self._tenant.plays or key.multiple:
            return
        ids = [asset_id for asset_id, _ in found]
        held = [each for each in set(ids) if any(v.key == key.id for v in self._tenant.assets[each].values)]
        if held or len(set(ids)) < len(ids):
            raise Refusal(422, "This custom field takes one value")

    def _one(self, data: Json) -> Reply:
        return Reply(json={"data": data})

    def _document(self) -> Document:
        return Document(self._tenant, self._links)


def _allowed(text: Json, key: Key) -> str:
    """A value as a string; one that is not a string or not in a restricted key's list is refused with 422."""
    if not isinstance(text, str) or not text:
        raise Refusal(422, "`value` must be a string")
    if key.restricted and text not in key.allowed:
        raise Refusal(422, f"{text} is not an allowed value of {key.name}")
    return text


def _name(row: Mapping[str, Json]) -> str:
    name = row.get("name")
    if not isinstance(name, str) or not name.strip():
        raise Refusal(422, "Name can't be blank")
    return name.strip()


def _first_page(call: Call) -> Call:
    """Answers to writes are lists of one page, whatever the query says."""
    call.query = {"per": "3000"}
    return call
