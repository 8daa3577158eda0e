"""The routes of an emulated tenant of service E: v2 and v1 under one origin (wire E 12, line 1)."""

from __future__ import annotations

from starlette.routing import Route

from dam_sync.emulators.e_profiles.accounts import Accounts
from dam_sync.emulators.e_profiles.calls import Endpoint, Handler
from dam_sync.emulators.e_profiles.links import Links
from dam_sync.emulators.e_profiles.render import Renderer
from dam_sync.emulators.e_profiles.routes_assets import AssetCalls
from dam_sync.emulators.e_profiles.routes_schema import SchemaCalls
from dam_sync.emulators.e_profiles.routes_uploads import UploadCalls
from dam_sync.emulators.e_profiles.routes_v1 import OldCalls
from dam_sync.emulators.e_profiles.state import Tenant
from dam_sync.emulators.e_profiles.uploads import Uploads

Line = tuple[str, str, Handler]


def routes_of(tenant: Tenant, accounts: Accounts, links: Links, uploads: Uploads) -> list[Route]:
    """Every route; the four of OAuth need no token."""
    schema, old = SchemaCalls(tenant, accounts), OldCalls(tenant, accounts, links)
    public: tuple[Line, ...] = (
        ("POST", "/v2/oauth/access-token", schema.token),
        ("GET", "/allowaccess", old.consent),
        ("POST", "/api/rest/oauth/token", old.token),
    )
    lines = (*_asset_lines(tenant, links), *_upload_lines(tenant, uploads), *_schema_lines(schema), *_old_lines(old))
    return [
        *(Route(path, Endpoint(accounts, handler, public=True), methods=[verb]) for verb, path, handler in public),
        *(Route(path, Endpoint(accounts, handler), methods=[verb]) for verb, path, handler in lines),
    ]


def _asset_lines(tenant: Tenant, links: Links) -> tuple[Line, ...]:
    assets = AssetCalls(tenant, Renderer(tenant, links))
    one = "/v2/assets/{id}"
    return (
        ("GET", "/v2/assets/search", assets.search),
        ("GET", "/v2/assets/search/scroll", assets.scroll),
        ("GET", "/v2/assets/assetgroups", assets.groups),
        ("GET", one, assets.read),
        ("DELETE", one, assets.delete),
        ("DELETE", f"{one}/permanent", assets.purge),
        ("GET", f"{one}/versions", assets.versions),
        ("GET", f"{one}/versions/{{version}}", assets.version),
        ("PUT", f"{one}/filename", assets.rename),
        ("GET", f"{one}/metadata", assets.read_metadata),
        ("PUT", f"{one}/metadata", assets.write_metadata),
        ("GET", f"{one}/security", assets.read_security),
        ("PUT", f"{one}/security", assets.write_security),
        ("PUT", f"{one}/tags/add", assets.add_tags),
        ("POST", f"{one}/tags/remove", assets.remove_tags),
        ("POST", f"{one}/alternatepreview", assets.add_preview),
        ("DELETE", f"{one}/alternatepreview", assets.drop_preview),
    )


def _upload_lines(tenant: Tenant, taken: Uploads) -> tuple[Line, ...]:
    uploads = UploadCalls(tenant, taken)
    return (
        ("POST", "/v2/uploads", uploads.create),
        ("GET", "/v2/uploads/profiles", uploads.profiles),
        ("POST", "/v2/uploads/chunks/start", uploads.start),
        ("POST", "/v2/uploads/chunks/upload", uploads.chunk),
        ("POST", "/v2/uploads/chunks/complete", uploads.complete),
        ("POST", "/v2/uploads/chunks/status", uploads.status),
        ("POST", "/api/rest/asset", uploads.create_v1),
    )


def _schema_lines(schema: SchemaCalls) -> tuple[Line, ...]:
    words = "/v2/metadata/{key}/vocabulary"
    hooks = "/v2/webhooks/configurations"
    return (
        ("GET", "/v2/metadata/fields/viewable", schema.fields),
        ("GET", words, schema.words),
        ("POST", words, schema.add_word),
        ("GET", f"{words}/{{value:path}}", schema.word),
        ("PUT", f"{words}/{{value:path}}", schema.change_word),
        ("DELETE", f"{words}/{{value:path}}", schema.drop_word),
        ("GET", "/v2/categories", schema.categories),
        ("GET", "/v2/categories/{path:path}", schema.categories),
        ("GET", "/v2/collections", schema.collections),
        ("GET", "/v2/user", schema.user),
        ("GET", "/v2/user/{id}", schema.user),
        ("GET", "/v2/usage/api", schema.usage),
        ("GET", "/v2/toggles", schema.toggles),
        ("GET", hooks, schema.webhooks),
        ("POST", hooks, schema.add_webhook),
        ("GET", f"{hooks}/{{id}}", schema.webhook),
        ("PUT", f"{hooks}/{{id}}", schema.change_webhook),
        ("DELETE", f"{hooks}/{{id}}", schema.drop_webhook),
        ("GET", f"{hooks}/{{id}}/ping", schema.ping_webhook),
        ("DELETE", "/v2/oauth/access-token", schema.revoke),
    )


def _old_lines(old: OldCalls) -> tuple[Line, ...]:
    rest = "/api/rest"
    return (
        ("POST", f"{rest}/oauth/logout", old.logout),
        ("GET", f"{rest}/asset/uuid/{{id}}", old.asset),
        ("GET", f"{rest}/asset/uuid/{{id}}/assetversions", old.versions),
        ("PUT", f"{rest}/asset/changemetadatatype/asset/{{id}}/type/{{type}}", old.change_type),
        ("GET", f"{rest}/metadata/types", old.types),
        ("GET", f"{rest}/assetgroups", old.groups),
        ("GET", f"{rest}/uploadprofile", old.profiles),
        ("GET", f"{rest}/category/categoryTree", old.tree),
        ("POST", f"{rest}/category", old.add_category),
        ("PUT", f"{rest}/category/uuid/{{id}}", old.change_category),
        ("POST", f"{rest}/category/assets", old.place),
        ("GET", f"{rest}/collection", old.collections),
        ("POST", f"{rest}/collection", old.add_collection),
        ("GET", f"{rest}/collection/uuid/{{id}}", old.collection),
        ("POST", f"{rest}/collection/assets", old.collect),
        ("GET", f"{rest}/integrationlink", old.integration_links),
        ("POST", f"{rest}/integrationlink", old.add_integration_link),
        ("DELETE", f"{rest}/integrationlink/{{id}}", old.drop_integration_link),
    )
