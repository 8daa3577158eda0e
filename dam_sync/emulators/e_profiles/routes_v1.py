"""v1: what only the old interface can do (wire E 3.3, 3.4, 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlencode, urlsplit

from dam_sync.emulators.e_profiles.accounts import Accounts
from dam_sync.emulators.e_profiles.calls import Call, Reply
from dam_sync.emulators.e_profiles.formats import format_of
from dam_sync.emulators.e_profiles.links import Links
from dam_sync.emulators.e_profiles.metadata import DISCRIMINATORS, word_id
from dam_sync.emulators.e_profiles.records import Asset, Field, MetadataType, Refusal, Version, instant
from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.e_profiles.taxonomy import Category, Collection
from dam_sync.emulators.kit.environment import Json

DESCRIPTION_LETTERS = 255


class OldCalls:
    """Handlers under `/api/rest`, and the consent page."""

    def __init__(self, tenant: Tenant, accounts: Accounts, links: Links) -> None:
        self._tenant = tenant
        self._accounts = accounts
        self._links = links
        self._done = {"status": "success"} if "void_json" in tenant.options.plays else None

    def done(self) -> Reply:
        """A call without a result."""
        return Reply(200, self._done)

    async def consent(self, call: Call) -> Reply:
        """`GET /allowaccess`: the person consents at once."""
        where = call.query.get("redirect_uri", "")
        if not urlsplit(where).scheme:
            raise Refusal(400, "invalid_request", "`redirect_uri` is missing")
        facts = {"code": self._accounts.consent(call.query.get("client_id", ""))}
        if "state" in call.query:
            facts["state"] = call.query["state"]
        glue = "&" if "?" in where else "?"
        return Reply(302, None, [(b"location", f"{where}{glue}{urlencode(facts)}".encode())])

    async def token(self, call: Call) -> Reply:
        """`POST /api/rest/oauth/token`."""
        return Reply(200, self._accounts.exchange_v1(call.header("authorization"), await call.json()))

    async def logout(self, call: Call) -> Reply:
        """`POST /api/rest/oauth/logout`."""
        self._accounts.revoke(call.token)
        return self.done()

    async def asset(self, call: Call) -> Reply:
        """`GET /api/rest/asset/uuid/{uuid}?options=attachedDocs`."""
        asset = self._tenant.asset(call.params["id"], call.user)
        options = call.names("options") or []
        data: dict[str, Json] = {"uuid": asset.id, "name": asset.filename, "metadataType": asset.type}
        if "attachedDocs" in options:
            docs = [
                {"uuid": doc.id, "title": doc.title, "downloadUrl": self._links.download(doc.blob, doc.title)}
                for doc in asset.attachments
            ]
            data["attachedDocs"] = {"docs": docs}
        if "downloadUrl" in options and call.user.may_download(asset, self._tenant.now()):
            data["downloadUrl"] = self._links.download(asset.current.blob, asset.filename)
        return Reply(200, data)

    async def versions(self, call: Call) -> Reply:
        """`GET /api/rest/asset/uuid/{uuid}/assetversions`: newest first."""
        asset = self._tenant.asset(call.params["id"], call.user)
        rows = [self._version(asset, version) for version in reversed(asset.versions)]
        return Reply(200, {"uuid": asset.id, "numResults": len(rows), "versions": rows})

    async def types(self, call: Call) -> Reply:
        """`GET /api/rest/metadata/types`."""
        return Reply(200, {"types": [self._type(each) for each in self._tenant.metadata.types.values()]})

    async def change_type(self, call: Call) -> Reply:
        """`PUT /api/rest/asset/changemetadatatype/asset/{uuid}/type/{uuid}`, no body."""
        self._tenant.change_type(self._tenant.asset(call.params["id"], call.user), call.params["type"])
        return self.done()

    async def groups(self, call: Call) -> Reply:
        """`GET /api/rest/assetgroups`."""
        rows = [
            {"uuid": key, "name": name}
            for name, key in self._tenant.groups.items()
            if call.user.groups is None or name in call.user.groups
        ]
        return Reply(200, {"assetGroups": rows})

    async def profiles(self, call: Call) -> Reply:
        """`GET /api/rest/uploadprofile`."""
        rows = [{"uuid": each.id, "title": each.name} for each in self._tenant.profiles.values()]
        return Reply(200, {"uploadProfiles": rows})

    async def tree(self, call: Call) -> Reply:
        """`GET /api/rest/category/categoryTree`; only `includeEmpty=true` shows empty categories."""
        used = None if call.query.get("includeEmpty") == "true" else self._used()
        return Reply(200, {"parentCategory": None, "categories": self._branch(self._tenant.taxonomy.top, used)})

    async def add_category(self, call: Call) -> Reply:
        """`POST /api/rest/category`."""
        sent = await call.json()
        title = self._tenant.checked_name(sent.get("title"), "title")
        parent = str(sent.get("parentCategory") or "root")
        more = {
            "description": str(sent.get("description") or ""),
            "alphabetically": bool(sent.get("displayAlphabetically")),
            "before": str(sent.get("displayBeforeCategory") or ""),
        }
        return Reply(200, self._shown(self._tenant.new_category(title, "" if parent == "root" else parent, **more)))

    async def change_category(self, call: Call) -> Reply:
        """`PUT /api/rest/category/uuid/{uuid}`: any part of the create body."""
        taxonomy = self._tenant.taxonomy
        category = taxonomy.by_id(call.params["id"])
        sent = await call.json()
        if "title" in sent:
            taxonomy.rename(category, self._tenant.checked_name(sent["title"], "title"))
        if "parentCategory" in sent:
            taxonomy.move(category, "" if sent["parentCategory"] == "root" else str(sent["parentCategory"]))
        category.description = str(sent.get("description", category.description))
        self._tenant.index.forget()
        return Reply(200, self._shown(category))

    async def place(self, call: Call) -> Reply:
        """`POST /api/rest/category/assets`: every listed asset into every listed category."""
        sent = await call.json()
        categories = frozenset(self._tenant.taxonomy.by_id(each).id for each in _uuids(sent, "categories"))
        added, removed = self._assets(call, sent, "add"), self._assets(call, sent, "remove")
        self._tenant.place(added, categories, frozenset(), call.user)
        self._tenant.place(removed, frozenset(), categories, call.user)
        return self.done()

    async def add_collection(self, call: Call) -> Reply:
        """`POST /api/rest/collection`: a private one of the token's user."""
        sent = await call.json()
        title = self._tenant.checked_name(sent.get("title"), "title")
        made = Collection(self._tenant.uuid(), title, "private", call.user.id, str(sent.get("description") or ""))
        members = [self._tenant.asset(each, call.user) for each in _uuids(sent, "assets")]
        self._tenant.taxonomy.collections[made.id] = made
        count = self._tenant.collect(made, members, inside=True)
        return Reply(200, {**_collection(made), "assetsAddedCount": count})

    async def collections(self, call: Call) -> Reply:
        """`GET /api/rest/collection`: what the user sees."""
        found = [each for each in self._tenant.taxonomy.collections.values() if each.owner in ("", call.user.id)]
        return Reply(200, {"collections": [_collection(each) for each in found]})

    async def collection(self, call: Call) -> Reply:
        """`GET /api/rest/collection/uuid/{uuid}`."""
        return Reply(200, _collection(self._tenant.taxonomy.collection(call.params["id"])))

    async def collect(self, call: Call) -> Reply:
        """`POST /api/rest/collection/assets`."""
        sent = await call.json()
        collections = [self._tenant.taxonomy.collection(each) for each in _uuids(sent, "collections")]
        for name, inside in (("add", True), ("remove", False)):
            ids = [asset.id for asset in self._assets(call, sent, name)]
            for collection in collections:
                self._tenant.collect(collection, [self._tenant.assets[each] for each in ids], inside=inside)
        return self.done()

    async def integration_links(self, call: Call) -> Reply:
        """`GET /api/rest/integrationlink`: all of the tenant, unpaged."""
        return Reply(200, {"integrationLinks": list(self._tenant.integration_links.values())})

    async def add_integration_link(self, call: Call) -> Reply:
        """`POST /api/rest/integrationlink`."""
        sent = await call.json()
        asset = self._tenant.asset(str(sent.get("assetUuid", "")), call.user)
        description = str(sent.get("description") or "")
        if len(description) > DESCRIPTION_LETTERS:
            raise Refusal(400, "invalid_request", "`description` is too long")
        facts = {"assetUuid": asset.id, "description": description, "url": sent.get("url")}
        key = self._tenant.uuid()
        made = {"uuid": key, **facts, "updatedDate": instant(self._tenant.now())}
        self._tenant.integration_links[key] = made
        return Reply(200, made)

    async def drop_integration_link(self, call: Call) -> Reply:
        """`DELETE /api/rest/integrationlink/{uuid}`."""
        if self._tenant.integration_links.pop(call.params["id"], None) is None:
            raise Refusal(404, "not_found", "Integration link not found")
        return self.done()

    def _assets(self, call: Call, sent: Mapping[str, Json], name: str) -> list[Asset]:
        return [self._tenant.asset(each, call.user) for each in _uuids(sent, name)]

    def _version(self, asset: Asset, version: Version) -> Json:
        kind = format_of(version.filename)
        at = instant(version.uploaded)
        previews = {
            f"preview{size}": self._links.thumbnail(version, f"{size}px") for size in (125, 160, 300, 600, 2048)
        }
        return {
            "uuid": version.id,
            "versionNumber": version.number,
            "externalId": asset.external_id,
            "name": version.filename,
            "type": kind.type,
            "fileFormat": kind.name,
            "size": f"{round(version.blob.size / 1024)} KB",
            "finalized": version is not asset.current or asset.ready <= self._tenant.world.now().timestamp(),
            "dateAdded": at,
            "dateLastEdited": at,
            "previews": {
                **previews,
                "templated": self._links.embed(asset, "{size}px@{scale}x", "x.jpg", "q={quality}"),
            },
        }

    def _type(self, each: MetadataType) -> Json:
        fields = [_field(self._tenant.metadata.fields[key]) for key in each.keys]
        return {"uuid": each.id, "name": each.name, "use": "Asset", "fields": fields}

    def _used(self) -> frozenset[str]:
        return frozenset(category for asset in self._tenant.assets.values() for category in asset.categories)

    def _branch(self, ids: Iterable[str], used: frozenset[str] | None) -> Json:
        rows = []
        for each in ids:
            category = self._tenant.taxonomy.categories[each]
            children = self._branch(category.children, used)
            if used is None or children or each in used:
                rows.append({"id": category.number, "uuid": each, "title": category.title, "children": children})
        return rows

    def _shown(self, category: Category) -> Json:
        children = self._branch(category.children, None)
        return {"id": category.number, "uuid": category.id, "title": category.title, "children": children}


def _field(field: Field) -> Json:
    data: dict[str, Json] = {
        "uuid": field.id,
        "displayKey": field.key,
        "displayName": field.label,
        "discriminator": DISCRIMINATORS[field.field_type],
        "editable": field.editable,
        "required": field.required,
    }
    if field.words is not None:
        data["itemList"] = {
            "items": [{"uuid": word_id(field, value), "displayName": value} for value in field.words.values]
        }
    return data


def _collection(collection: Collection) -> dict[str, Json]:
    return {
        "uuid": collection.id,
        "name": collection.title,
        "description": collection.description,
        "type": "local" if collection.type == "private" else collection.type,
        "numResults": len(collection.assets),
        "assets": [{"uuid": asset} for asset in sorted(collection.assets)],
    }


def _uuids(sent: Mapping[str, Json], name: str) -> list[str]:
    """`{name: {"uuids": […]}}`; an absent member is an empty list, and so is an absent `uuids` (clients send `{}`)."""
    given = sent.get(name)
    if given is None:
        return []
    ids = given.get("uuids", []) if isinstance(given, dict) else None
    if not isinstance(ids, list) or not all(isinstance(each, str) for each in ids):
        raise Refusal(400, "invalid_request", f"`{name}` must hold a list `uuids`")
    return list(dict.fromkeys(ids))
