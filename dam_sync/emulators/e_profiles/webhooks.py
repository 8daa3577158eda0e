"""Webhook configurations and the deliveries they ask for (wire E 9)."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dam_sync.emulators.e_profiles.records import Asset, Field, Refusal, User, instant
from dam_sync.emulators.e_profiles.taxonomy import Taxonomy, escaped
from dam_sync.emulators.kit.environment import Environment, Json

EVENTS = frozenset(
    {
        "asset_created",
        "asset_deleted",
        "asset_version_added",
        "asset_categories_updated",
        "asset_tags_updated",
        "asset_asset_groups_updated",
        "asset_release_date_updated",
        "asset_expiration_date_updated",
        "asset_metadata_value_updated",
    }
)
PATCHABLE = frozenset({"delivery_enabled", "delivery_url", "event_type", "secret_key"})
SECRET_LETTERS = 256
SIGNATURE = "X-Svc-Signature"


@dataclass(slots=True)
class Configuration:
    """One subscription to one event type."""

    id: str
    delivery_url: str
    event_type: str
    created_by: str
    created: int
    secret_key: str = ""
    monitored: tuple[str, ...] = ()
    enabled: bool = True
    delivered: int | None = None
    pinged: int | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to be posted: address, headers, body."""

    configuration: str
    url: str
    headers: Mapping[str, str]
    body: bytes


class Webhooks:
    """The configurations; each event that one of them wants goes to `post`, when somebody has set it."""

    def __init__(self, world: Environment) -> None:
        self._world = world
        self.configurations: dict[str, Configuration] = {}
        self.post: Callable[[Delivery], None] | None = None

    def add(self, sent: Mapping[str, Json], user: User, fields: Mapping[str, Field]) -> Configuration:
        """A new configuration. Raises Refusal 400, or 403 for a field the user cannot see (spec 002, Events, E)."""
        monitored = sent.get("monitored_metadata_fields") or ()
        hidden = [key for key in monitored if key not in fields]
        if hidden:
            raise Refusal(403, "forbidden", f"The metadata field {hidden[0]} is not visible to you")
        made = Configuration(
            self._id(),
            _address(sent.get("delivery_url")),
            _event(sent.get("event_type")),
            user.id,
            int(self._world.now().timestamp()),
            _secret(sent.get("secret_key")),
            tuple(monitored),
        )
        self.configurations[made.id] = made
        return made

    def find(self, configuration: str) -> Configuration:
        """The configuration of an id. Raises Refusal 404."""
        found = self.configurations.get(configuration)
        if found is None:
            raise Refusal(404, "not_found", "Webhook configuration not found")
        return found

    def change(self, found: Configuration, sent: Mapping[str, Json], patch: frozenset[str]) -> None:
        """Change what `patch` names, or all that is sent. Raises Refusal 400."""
        unknown = patch - PATCHABLE
        if unknown:
            raise Refusal(400, "invalid_request", f"`patch` cannot name {', '.join(sorted(unknown))}")
        names = (patch or PATCHABLE) & set(sent)
        if "delivery_url" in names:
            found.delivery_url = _address(sent["delivery_url"])
        if "event_type" in names:
            found.event_type = _event(sent["event_type"])
        if "secret_key" in names:
            found.secret_key = _secret(sent["secret_key"])
        if "delivery_enabled" in names:
            found.enabled = bool(sent["delivery_enabled"])

    def arrived(self, configuration: str) -> None:
        """A delivery was answered with 2xx."""
        found = self.configurations.get(configuration)
        if found is not None:
            found.delivered = int(self._world.now().timestamp())

    def ping(self, found: Configuration, user: User) -> None:
        """Send a `ping` event."""
        found.pinged = int(self._world.now().timestamp())
        self._deliver(found, "ping", "", {}, user)

    def created(self, asset: Asset, user: User) -> None:
        """`asset_created`."""
        self._fire("asset_created", asset.id, {"date_created": instant(asset.created)}, user)

    def deleted(self, asset: str, at: int, user: User) -> None:
        """`asset_deleted`."""
        self._fire("asset_deleted", asset, {"date_deleted": instant(at)}, user)

    def versioned(self, asset: Asset, user: User) -> None:
        """`asset_version_added`; the version number is a string."""
        version = asset.current
        facts = {"asset_version_id": version.id, "version_number": str(version.number)}
        self._fire("asset_version_added", asset.id, {**facts, "date_created": instant(version.uploaded)}, user)

    def tags(self, before: Asset, after: tuple[str, ...], user: User) -> None:
        """`asset_tags_updated`."""
        self._changed("asset_tags_updated", before.id, _tags(before.tags), _tags(after), user)

    def categories(self, before: Asset, after: frozenset[str], taxonomy: Taxonomy, user: User) -> None:
        """`asset_categories_updated`."""
        old, new = (_categories(each, taxonomy) for each in (before.categories, after))
        self._changed("asset_categories_updated", before.id, old, new, user)

    def security(self, before: Asset, after: Asset, groups: Mapping[str, str], user: User) -> None:
        """The events of groups, release and expiration, each where it changed."""
        if before.groups != after.groups:
            old, new = ([{"id": groups.get(name, "")} for name in each.groups] for each in (before, after))
            self._changed("asset_asset_groups_updated", before.id, old, new, user)
        pairs = (
            ("asset_release_date_updated", before.release, after.release),
            ("asset_expiration_date_updated", before.expiration, after.expiration),
        )
        for event, was, becomes in pairs:
            if was != becomes:
                self._changed(event, before.id, instant(was), instant(becomes), user)

    def metadata(
        self, before: Asset, fields: Mapping[str, Field], after: Mapping[str, tuple[str, ...]], user: User
    ) -> None:
        """`asset_metadata_value_updated`; its `change` is an array."""
        changes = {
            key: {
                "field": {"display_key": key, "value_type": fields[key].field_type},
                "change": {"old_value": list(before.fields.get(key, ())), "new_value": list(values)},
            }
            for key, values in after.items()
        }
        for found in self._wanting("asset_metadata_value_updated"):
            shown = [change for key, change in changes.items() if not found.monitored or key in found.monitored]
            if shown:
                self._deliver(found, found.event_type, before.id, {"change": shown}, user)

    def _changed(self, event: str, asset: str, old: Json, new: Json, user: User) -> None:
        self._fire(event, asset, {"change": {"old_value": old, "new_value": new}}, user)

    def _fire(self, event: str, asset: str, facts: Mapping[str, Json], user: User) -> None:
        for found in self._wanting(event):
            self._deliver(found, event, asset, facts, user)

    def _wanting(self, event: str) -> list[Configuration]:
        return [each for each in self.configurations.values() if each.enabled and each.event_type == event]

    def _deliver(self, found: Configuration, event: str, asset: str, facts: Mapping[str, Json], user: User) -> None:
        person = {"id": user.id, "email": f"{user.name}@example.test"}
        payload = {
            "webhook_configuration_id": found.id,
            "webhook_delivery_id": self._id(),
            "event_type": event,
            **({"asset_id": asset} if asset else {}),
            "event_context": {"user": person},
            **facts,
        }
        body = json.dumps(payload).encode()
        headers = {"Content-Type": "application/json"}
        if found.secret_key:
            headers[SIGNATURE] = hmac.new(found.secret_key.encode(), body, hashlib.sha256).hexdigest()
        self._world.event(event, configuration=found.id, asset=asset)
        if self.post is not None:
            self.post(Delivery(found.id, found.delivery_url, headers, body))

    def _id(self) -> str:
        return str(uuid.UUID(int=self._world.rng.getrandbits(128), version=4))


def shown(found: Configuration) -> Json:
    """A configuration as the service shows it; never its secret."""
    return {
        "webhook_configuration_id": found.id,
        "event_type": found.event_type,
        "delivery_url": found.delivery_url,
        "delivery_enabled": found.enabled,
        "signing_enabled": bool(found.secret_key),
        "monitored_metadata_fields": list(found.monitored) or None,
        "created_by_user": {"uuid": found.created_by},
        "created_date": instant(found.created),
        "last_delivered_date": instant(found.delivered),
        "last_pinged_date": instant(found.pinged),
    }


def _tags(tags: tuple[str, ...]) -> Json:
    return [{"id": str(uuid.uuid5(uuid.NAMESPACE_OID, tag)), "value": tag, "display_name": tag} for tag in tags]


def _categories(categories: frozenset[str], taxonomy: Taxonomy) -> Json:
    paths = {category: taxonomy.path(category) for category in categories}
    return [
        {"id": category, "name": parts[-1], "path": escaped(parts), "parts": list(parts)}
        for category, parts in sorted(paths.items(), key=lambda item: item[1])
    ]


def _address(url: Json) -> str:
    if not isinstance(url, str) or not url.startswith(("https://", "http://127.0.0.1", "http://localhost")):
        raise Refusal(400, "invalid_request", "`delivery_url` must be an https address")
    return url


def _event(event: Json) -> str:
    if event not in EVENTS:
        raise Refusal(400, "invalid_request", f"Unknown event type {event}")
    return str(event)


def _secret(secret: Json) -> str:
    if secret is not None and (not isinstance(secret, str) or len(secret) > SECRET_LETTERS):
        raise Refusal(400, "invalid_request", f"`secret_key` takes at most {SECRET_LETTERS} characters")
    return secret or ""
