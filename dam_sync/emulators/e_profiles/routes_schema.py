"""v2: fields, vocabularies, categories, collections, the user, usage, toggles, webhook configurations, tokens."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from urllib.parse import quote, urlencode

from dam_sync.emulators.e_profiles.accounts import Accounts, profile_of
from dam_sync.emulators.e_profiles.calls import Call, Reply
from dam_sync.emulators.e_profiles.metadata import FIELD_TYPES, viewable
from dam_sync.emulators.e_profiles.records import Refusal, User, instant
from dam_sync.emulators.e_profiles.render import vocabulary_row
from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.e_profiles.taxonomy import Category, Collection, escaped, parts_of
from dam_sync.emulators.e_profiles.webhooks import shown
from dam_sync.emulators.kit.environment import Json

FIELDS_MOST = 100
COLLECTIONS_REACH = 9_999
WEBHOOKS_MOST = 10


class SchemaCalls:
    """Handlers of what describes the tenant."""

    def __init__(self, tenant: Tenant, accounts: Accounts) -> None:
        self._tenant = tenant
        self._accounts = accounts
        self._done = {"status": "success"} if "void_json" in tenant.options.plays else None

    def done(self, status: int = 200) -> Reply:
        """A call without a result."""
        return Reply(200, self._done) if self._done else Reply(status)

    async def fields(self, call: Call) -> Reply:
        """`GET /v2/metadata/fields/viewable`."""
        wanted = frozenset(call.names("field_types") or ())
        if not wanted <= {*FIELD_TYPES, "all", "all_controlled_vocabulary"}:
            raise Refusal(400, "invalid_request", "Unknown `field_types`")
        limit = call.number("limit", FIELDS_MOST, 1, FIELDS_MOST)
        prefix, after = (call.query.get(f"display_name_{word}", "") for word in ("starts_with", "after"))
        rows = viewable(self._tenant.metadata.fields.values(), wanted, prefix, after, limit)
        shape = [
            {
                "display_key": field.key,
                "display_name": field.label,
                "field_type": field.field_type,
                "metadata_types": list(field.types),
            }
            for field in rows
        ]
        return Reply(200, {"fields": shape})

    async def words(self, call: Call) -> Reply:
        """`GET /v2/metadata/{displayKey}/vocabulary`: the whole list, in order."""
        key = call.params["key"]
        words = self._tenant.metadata.words(key)
        address = f"{self._tenant.world.api_origin}/v2/metadata/{key}/vocabulary"
        return Reply(200, {"_links": {"self": address}, "vocabulary": words.values})

    async def add_word(self, call: Call) -> Reply:
        """`POST /v2/metadata/{displayKey}/vocabulary`."""
        words = self._tenant.metadata.words(call.params["key"])
        sent = await call.json()
        value = _word(sent.get("value"))
        if value in words.known:
            raise Refusal(409, "conflict", f"{value} is in the vocabulary")
        words.add(value, _index(sent.get("index"), len(words.values)))
        return self.done(201)

    async def word(self, call: Call) -> Reply:
        """`GET …/vocabulary/{value}`."""
        key, value = self._existing(call)
        index = self._tenant.metadata.words(key).values.index(value)
        path = quote(value, safe="")
        return Reply(200, vocabulary_row(self._tenant.world.api_origin, key, value, index, path))

    async def change_word(self, call: Call) -> Reply:
        """`PUT …/vocabulary/{value}`: another value, another place, or both; assets follow."""
        key, value = self._existing(call)
        sent = await call.json()
        if "value" not in sent and "index" not in sent:
            raise Refusal(400, "invalid_request", "`value` or `index` is required")
        words = self._tenant.metadata.words(key)
        new = _word(sent["value"]) if "value" in sent else value
        if new != value and new in words.known:
            raise Refusal(409, "conflict", f"{new} is in the vocabulary")
        index = _index(sent.get("index"), len(words.values) - 1)
        index = words.values.index(value) if index is None else index
        words.drop(value)
        words.add(new, index)
        if new != value:
            self._tenant.reworded(key, value, new)
        return self.done()

    async def drop_word(self, call: Call) -> Reply:
        """`DELETE …/vocabulary/{value}`: assets lose it."""
        key, value = self._existing(call)
        self._tenant.metadata.words(key).drop(value)
        self._tenant.reworded(key, value, None)
        return self.done(204)

    async def categories(self, call: Call) -> Reply:
        """`GET /v2/categories` and `/v2/categories/{path}`: the children; `\\/` is a slash in a name."""
        rows = [self._category(each) for each in self._tenant.taxonomy.children(parts_of(call.segment(3)))]
        return Reply(200, {"item_type": "category", "total_count": len(rows), "items": rows})

    async def collections(self, call: Call) -> Reply:
        """`GET /v2/collections`; `type` is required."""
        kind = call.query.get("type", "")
        if kind not in ("global", "private", "shared"):
            raise Refusal(400, "invalid_request", "`type` must be global, private or shared")
        limit = call.number("limit", 10, 1, 100)
        offset = call.number("offset", 0, 0, COLLECTIONS_REACH)
        found = [each for each in self._tenant.taxonomy.collections.values() if _listed(each, kind, call.user)]
        items = [self._collection(each) for each in found[offset : offset + limit]]
        page = {"total_count": len(found), "limit": limit, "offset": offset, "items": items}
        return Reply(200, {"item_type": "collection", **page})

    async def user(self, call: Call) -> Reply:
        """`GET /v2/user`, and `/v2/user/{id}`."""
        wanted = call.params.get("id", call.user.id)
        found = next((user for user in self._accounts.users if user.id == wanted), None)
        if found is None:
            raise Refusal(404, "not_found", "User not found")
        return Reply(200, profile_of(found))

    async def usage(self, call: Call) -> Reply:
        """`GET /v2/usage/api`: the calls of the month, itself not counted; by the option, until the last midnight."""
        now = self._tenant.world.now().astimezone(UTC)
        end = datetime.combine(now.date(), time(), UTC) if self._tenant.options.usage_late else now
        start = (end - timedelta(microseconds=1)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        answer = {
            "request_count": sum(
                number
                for (day, template), number in self._tenant.world.api_days.items()
                if start.date() <= day and datetime.combine(day, time(), UTC) < end
                if template != "GET /v2/usage/api"
            ),
            "report_start_timestamp": instant(int(start.timestamp())),
            "report_end_timestamp": instant(int(end.timestamp())),
        }
        return Reply(200, answer)

    async def toggles(self, call: Call) -> Reply:
        """`GET /v2/toggles`."""
        text = "A new version keeps the metadata type of the existing asset (always on)"
        return Reply(200, [{"name": "conflicted-upload-metadata-type", "description": text}])

    async def webhooks(self, call: Call) -> Reply:
        """`GET /v2/webhooks/configurations`."""
        self._webhook_feature()
        limit = call.number("limit", WEBHOOKS_MOST, 1, WEBHOOKS_MOST)
        offset = call.number("offset", 0, 0, 1 << 31)
        found = list(self._tenant.webhooks.configurations.values())
        items = [shown(each) for each in found[offset : offset + limit]]
        page = {"total_count": len(found), "limit": limit, "offset": offset, "items": items}
        return Reply(200, {"item_type": "webhook_configuration", **page})

    async def add_webhook(self, call: Call) -> Reply:
        """`POST /v2/webhooks/configurations`."""
        self._webhook_feature()
        made = self._tenant.webhooks.add(await call.json(), call.user, self._tenant.metadata.fields)
        return Reply(201, {"id": made.id})

    async def webhook(self, call: Call) -> Reply:
        """`GET /v2/webhooks/configurations/{id}`."""
        self._webhook_feature()
        return Reply(200, shown(self._tenant.webhooks.find(call.params["id"])))

    async def change_webhook(self, call: Call) -> Reply:
        """`PUT /v2/webhooks/configurations/{id}`."""
        self._webhook_feature()
        found = self._tenant.webhooks.find(call.params["id"])
        self._tenant.webhooks.change(found, await call.json(), frozenset(call.names("patch") or ()))
        return self.done()

    async def drop_webhook(self, call: Call) -> Reply:
        """`DELETE /v2/webhooks/configurations/{id}`."""
        self._webhook_feature()
        del self._tenant.webhooks.configurations[self._tenant.webhooks.find(call.params["id"]).id]
        return self.done(204)

    async def ping_webhook(self, call: Call) -> Reply:
        """`GET /v2/webhooks/configurations/{id}/ping`."""
        self._webhook_feature()
        self._tenant.webhooks.ping(self._tenant.webhooks.find(call.params["id"]), call.user)
        return self.done()

    async def token(self, call: Call) -> Reply:
        """`POST /v2/oauth/access-token`: client id and secret in the body, no Authorization header."""
        return Reply(200, self._accounts.exchange(await call.json()))

    async def revoke(self, call: Call) -> Reply:
        """`DELETE /v2/oauth/access-token`: the calling token."""
        self._accounts.revoke(call.token)
        return self.done(204)

    def _webhook_feature(self) -> None:
        if "no_webhooks" in self._tenant.options.plays:
            raise Refusal(403, "forbidden", "Webhooks are not enabled for this account")

    def _existing(self, call: Call) -> tuple[str, str]:
        key, value = call.params["key"], call.segment(5)
        if value not in self._tenant.metadata.words(key).known:
            raise Refusal(404, "not_found", f"{value} is not in the vocabulary")
        return key, value

    def _category(self, category: Category) -> Json:
        origin = self._tenant.world.api_origin
        parts = self._tenant.taxonomy.path(category.id)
        path = "/".join(quote(part.replace("/", "\\/"), safe="") for part in parts)
        return {
            "id": category.id,
            "name": category.title,
            "path": escaped(parts),
            "parts": list(parts),
            "_links": {
                "assets": search_link(origin, f"categoryId:({{{category.id}}})"),
                "categories": f"{origin}/v2/categories/{path}",
            },
        }

    def _collection(self, collection: Collection) -> Json:
        return {
            "id": collection.id,
            "title": collection.title,
            "type": collection.type,
            "total_items": len(collection.assets),
            "_links": {"assets": search_link(self._tenant.world.api_origin, f"collectionId:({{{collection.id}}})")},
        }


def search_link(origin: str, query: str) -> str:
    """A search as a link."""
    return f"{origin}/v2/assets/search?{urlencode({'query': query})}"


def _listed(collection: Collection, kind: str, user: User) -> bool:
    return collection.type == kind and (kind == "global" or collection.owner in ("", user.id))


def _word(value: Json) -> str:
    if not isinstance(value, str) or not value.strip():
        raise Refusal(400, "invalid_request", "`value` is missing")
    return value.strip()


def _index(index: Json, most: int) -> int | None:
    if index is None:
        return None
    if not isinstance(index, int) or not 0 <= index <= most:
        raise Refusal(400, "invalid_request", f"`index` must be from 0 to {most}")
    return index
