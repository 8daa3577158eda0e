"""The routes of an emulated tenant of service C: `/api/v4`, and the webhooks service on `/api/v1`."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.routing import Route

from dam_sync.emulators.c_brandlibrary.browsing import Browsing
from dam_sync.emulators.c_brandlibrary.calls import Endpoint, Handler
from dam_sync.emulators.c_brandlibrary.reading import Reading
from dam_sync.emulators.c_brandlibrary.shaping import Shaping
from dam_sync.emulators.c_brandlibrary.state import Tenant
from dam_sync.emulators.c_brandlibrary.subscribing import Subscribing
from dam_sync.emulators.c_brandlibrary.writing import Writing

Line = tuple[str, str, Handler]
_V4, _V1 = "/api/v4", "/api/v1"


@dataclass(frozen=True, slots=True)
class Served:
    """Everybody who answers calls."""

    reading: Reading
    browsing: Browsing
    writing: Writing
    shaping: Shaping
    subscribing: Subscribing


def routes_of(tenant: Tenant, served: Served) -> list[Route]:
    """Every route; what a call without a good key gets is the table of wire C 1."""
    reading = served.reading
    lists: tuple[Line, ...] = (
        ("GET", "/organizations", reading.organizations),
        ("GET", "/libraries", reading.libraries),
        ("GET", "/collections", reading.all_collections),
    )
    lines = (
        *_reading_lines(served.reading, served.browsing),
        *_writing_lines(served.writing),
        *_shaping_lines(served.shaping),
    )
    return [
        _route(tenant, _V4, ("GET", "/users/whoami", reading.whoami), "404"),
        _route(tenant, _V4, ("GET", "/upload_requests", reading.upload_request), "403"),
        *(_route(tenant, _V4, line, "empty") for line in lists),
        *(_route(tenant, _V4, line, "open") for line in lines),
        *(_route(tenant, _V1, line, "403", old=True) for line in _hook_lines(served.subscribing)),
    ]


def _route(tenant: Tenant, base: str, line: Line, keyless: str, *, old: bool = False) -> Route:
    verb, path, handler = line
    return Route(base + tenant.tokens.path(path), Endpoint(tenant, handler, keyless, old=old), methods=[verb])


def _reading_lines(reading: Reading, browsing: Browsing) -> tuple[Line, ...]:
    paths: tuple[tuple[str, Handler], ...] = (
        ("/organizations/{id}", reading.organization),
        ("/libraries/{id}", reading.library),
        ("/libraries/{id}/sections", reading.sections),
        ("/collections/{id}/sections", reading.collection_sections),
        ("/sections/{id}", reading.section),
        ("/libraries/{id}/collections", reading.collections),
        ("/collections/{id}", reading.collection),
        ("/libraries/{id}/assets", browsing.library),
        ("/sections/{id}/assets", browsing.section),
        ("/collections/{id}/assets", browsing.collection),
        ("/labels/{id}/assets", browsing.label),
        ("/assets/{id}", reading.asset),
        ("/attachments/{id}", reading.attachment),
        ("/assets/{id}/attachments", reading.asset_attachments),
        ("/libraries/{id}/attachments", reading.library_attachments),
        ("/sections/{id}/attachments", reading.section_attachments),
        ("/collections/{id}/attachments", reading.collection_attachments),
        ("/assets/{id}/tags", reading.asset_tags),
        ("/libraries/{id}/tags", reading.library_tags),
        ("/collections/{id}/tags", reading.collection_tags),
        ("/libraries/{id}/custom_field_keys", reading.keys),
        ("/assets/{id}/custom_field_values", reading.asset_values),
        ("/libraries/{id}/labels", reading.labels),
        ("/labels/{id}", reading.label),
        ("/user_permissions/{id}", reading.permission),
        ("/organizations/{id}/user_permissions", reading.permissions),
        ("/libraries/{id}/user_permissions", reading.permissions),
        ("/collections/{id}/user_permissions", reading.permissions),
    )
    return tuple(("GET", path, handler) for path, handler in paths)


def _writing_lines(writing: Writing) -> tuple[Line, ...]:
    return (
        ("POST", "/libraries/{id}/assets", writing.create),
        ("POST", "/collections/{id}/assets", writing.create_in_collection),
        ("PUT", "/assets/{id}", writing.update),
        ("DELETE", "/assets/{id}", writing.delete),
        ("PUT", "/attachments/{id}", writing.update_attachment),
        ("DELETE", "/attachments/{id}", writing.delete_attachment),
        ("POST", "/assets/{id}/tags", writing.add_tags),
        ("PUT", "/tags/{id}", writing.rename_tag),
        ("DELETE", "/async/tags/assets/{id}", writing.drop_tags),
        ("POST", "/custom_field_keys/{id}/custom_field_values", writing.add_values),
        ("PUT", "/custom_field_values/{id}", writing.change_value),
        ("DELETE", "/custom_field_values/{id}", writing.delete_value),
    )


def _shaping_lines(shaping: Shaping) -> tuple[Line, ...]:
    return (
        ("POST", "/organizations/{id}/libraries", shaping.add_library),
        ("PUT", "/libraries/{id}", shaping.change_library),
        ("POST", "/libraries/{id}/sections", shaping.add_section),
        ("POST", "/libraries/{id}/collections", shaping.add_collection),
        ("PUT", "/collections/{id}", shaping.change_collection),
        ("DELETE", "/collections/{id}", shaping.delete_collection),
        ("POST", "/libraries/{id}/custom_field_keys", shaping.add_keys),
        ("PUT", "/custom_field_keys/{id}", shaping.change_key),
        ("DELETE", "/custom_field_keys/{id}", shaping.delete_key),
        ("POST", "/libraries/{id}/labels", shaping.add_label),
        ("PUT", "/labels/{id}", shaping.change_label),
        ("PUT", "/labels/{id}/move", shaping.move_label),
        ("DELETE", "/labels/{id}", shaping.delete_label),
        ("POST", "/bulk_actions/assets/add_to_label", shaping.bulk_label),
        ("DELETE", "/user_permissions/{id}", shaping.delete_permission),
    )


def _hook_lines(hooks: Subscribing) -> tuple[Line, ...]:
    return (
        ("GET", "/webhooks", hooks.list),
        ("POST", "/webhooks", hooks.add),
        ("POST", "/webhooks/send", hooks.send),
        ("GET", "/webhooks/{id}", hooks.one),
        ("DELETE", "/webhooks/{id}", hooks.delete),
    )
