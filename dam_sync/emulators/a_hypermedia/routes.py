"""The paths of the service and what answers them."""

from __future__ import annotations

from starlette.routing import Route

from dam_sync.emulators.a_hypermedia import (
    downloading,
    entry,
    finding,
    grouping,
    reading,
    taxonomy,
    writing,
)
from dam_sync.emulators.a_hypermedia.call import Handler, Instance, endpoint
from dam_sync.emulators.a_hypermedia.hal import placed

Line = tuple[str, str, Handler]
"""Methods, path below `/api/dam`, handler."""

_SELECTION = "/users/{user:int}/selections/{selection}"

MEDIAS: tuple[Line, ...] = (
    ("GET", "/medias", reading.medias),
    ("POST", "/medias", writing.create),
    ("GET", "/medias/custom-statuses", taxonomy.statuses),
    ("GET", "/medias/custom-statuses/{id:int}", taxonomy.status),
    ("GET", "/medias/labels", taxonomy.labels),
    ("GET", "/medias/labels/{id:int}", taxonomy.label),
    ("GET", "/medias/{id:int}", reading.media),
    ("PUT", "/medias/{id:int}", writing.put),
    ("DELETE", "/medias/{id:int}", writing.delete),
    ("GET", "/medias/{id:int}/metadatas", reading.metadatas),
    ("GET", "/medias/{id:int}/metadatas/{field}", reading.metadata),
    ("PUT", "/medias/{id:int}/metadatas/{field}", writing.metadata_put),
    ("GET", "/medias/{id:int}/folders", reading.folders),
    ("GET", "/medias/{id:int}/labels", reading.labels),
    ("POST", "/medias/{id:int}/labels", writing.label_add),
    ("DELETE", "/medias/{id:int}/labels/{label:int}", writing.label_remove),
    ("GET", "/medias/{id:int}/file-versions", reading.versions),
    ("POST", "/medias/{id:int}/file-versions", writing.version_add),
    ("GET", "/medias/{id:int}/file-versions/{version:int}", reading.version),
    ("PUT", "/medias/{id:int}/file-versions/{version:int}", writing.version_put),
    ("DELETE", "/medias/{id:int}/file-versions/{version:int}", writing.version_delete),
    ("GET", "/medias/{id:int}/permalinks", reading.permalinks),
    ("GET", "/medias/{id:int}/permalinks/{format}", reading.permalink),
    ("GET", "/medias/{id:int}/media-links", reading.media_links),
    ("GET", "/medias/{id:int}/media-links/{type:int}/medias", reading.media_link_medias),
    ("POST", "/medias/{id:int}/media-links/{type:int}/medias", writing.link_add),
    ("DELETE", "/medias/{id:int}/media-links/{type:int}/medias/{media:int}", writing.link_remove),
    ("GET", "/medias/{id:int}/duplicates", reading.duplicates),
    ("GET", "/medias/{id:int}/attachments", reading.attachments),
    ("POST", "/medias/{id:int}/attachments", writing.attachment_add),
    ("GET", "/medias/{id:int}/terms-of-use", reading.terms_of_use),
)
SEARCHES: tuple[Line, ...] = (
    ("GET", "/search/media", finding.search_media),
    ("GET", "/search/trash", finding.search_trash),
    ("GET", "/search/folder", finding.search_folder),
    ("GET", "/search/autocomplete", finding.autocomplete),
    ("GET", "/search/facet-fields", finding.facet_fields),
    ("GET", "/search/advanced/criterias", finding.advanced_criterias),
    ("POST", "/search/advanced", finding.advanced_create),
    ("GET", "/search/advanced/{id}/media", finding.advanced_media),
)
SCHEMA: tuple[Line, ...] = (
    ("GET", "/forms", taxonomy.forms),
    ("GET", "/forms/lookups", taxonomy.lookups),
    ("GET", "/forms/lookups/{id:int}", taxonomy.lookup),
    ("GET", "/forms/{id:int}", taxonomy.form),
    ("GET", "/forms/{id:int}/fields", taxonomy.form_fields),
    ("GET", "/forms/{id:int}/fields/{field:int}", taxonomy.form_field),
    ("GET", "/forms/{id:int}/extensions", taxonomy.form_extensions),
    ("GET", "/sheet-fields", taxonomy.sheet_fields),
    ("GET", "/sheet-fields/{name}", taxonomy.sheet_field),
)
TREES: tuple[Line, ...] = (
    ("GET", "/thesaurus-tree", taxonomy.thesaurus_roots),
    ("GET", "/thesaurus-tree/{id:int}", taxonomy.thesaurus_node),
    ("DELETE", "/thesaurus-tree/{id:int}", taxonomy.thesaurus_remove),
    ("GET", "/thesaurus-tree/{id:int}/children", taxonomy.thesaurus_node),
    ("POST", "/thesaurus-tree/{id:int}/children", taxonomy.thesaurus_child),
    ("GET", "/thesaurus-tree/{parent:int}/children/{id:int}", taxonomy.thesaurus_node),
    ("GET", "/thesauruses", taxonomy.thesauruses),
    ("GET", "/thesauruses/{id:int}", taxonomy.thesaurus),
    ("PUT", "/thesauruses/{id:int}", taxonomy.thesaurus_write),
    ("GET", "/folder-tree", taxonomy.folder_roots),
    ("POST", "/folder-tree", taxonomy.folder_create),
    ("GET", "/folder-tree/{id:int}", taxonomy.folder_node),
    ("DELETE", "/folder-tree/{id:int}", taxonomy.folder_remove),
    ("GET", "/folder-tree/{id:int}/children", taxonomy.folder_node),
    ("POST", "/folder-tree/{id:int}/children", taxonomy.folder_create),
    ("PUT", "/folder-tree/{id:int}/order-children", taxonomy.folder_order),
    ("GET", "/folder-tree/{id:int}/medias", taxonomy.folder_tree_medias),
    ("GET", "/folders", taxonomy.folders),
    ("GET", "/folders/{id:int}", taxonomy.folder),
    ("PUT", "/folders/{id:int}", taxonomy.folder_write),
    ("DELETE", "/folders/{id:int}", taxonomy.folder_remove),
    ("GET", "/folders/{id:int}/medias", taxonomy.folder_medias),
    ("POST", "/folders/{id:int}/medias", writing.folder_post),
    ("DELETE", "/folders/{id:int}/medias/{media:int}", writing.folder_take),
)
GROUPS: tuple[Line, ...] = (
    ("GET", "/users", entry.users),
    ("GET", "/users/{user:int}", entry.user),
    ("POST", "/users/{user:int}/selections", grouping.selection_begin),
    ("GET", _SELECTION, grouping.selection),
    ("GET", f"{_SELECTION}/medias", grouping.selection_medias),
    ("POST", f"{_SELECTION}/medias", grouping.selection_add),
    ("POST DELETE", f"{_SELECTION}/medias-collection", grouping.selection_collection),
    ("GET", f"{_SELECTION}/bulks/fields", grouping.bulk_fields),
    ("POST", f"{_SELECTION}/bulks", grouping.bulk),
    ("GET", f"{_SELECTION}/terms-of-use", reading.terms_of_use),
    ("POST", f"{_SELECTION}/exports", grouping.export),
    ("GET", "/users/{user:int}/exports/{export}", grouping.export_get),
    ("POST", "/download-requests", grouping.download_request),
    ("GET DELETE", "/download-requests/{id}", grouping.download_request_get),
    ("GET", "/bulk-jobs", grouping.bulk_jobs),
    ("POST", "/bulk-jobs", grouping.bulk_job_begin),
    ("GET", "/baskets", grouping.baskets),
    ("POST", "/baskets", grouping.basket_create),
    ("GET PUT DELETE", "/baskets/{id:int}", grouping.basket),
    ("GET POST", "/baskets/{id:int}/medias", grouping.basket_medias),
    ("POST DELETE", "/baskets/{id:int}/medias-collection", grouping.basket_collection),
    ("GET", "/baskets/{id:int}/terms-of-use", reading.terms_of_use),
    ("GET", "/boards", grouping.boards),
    ("POST", "/boards", grouping.board_create),
    ("GET PUT DELETE", "/boards/{id:int}", grouping.board),
    ("GET", "/scripts", entry.scripts),
    ("POST", "/files", downloading.upload),
    ("GET", "/files/{id}", downloading.descriptor),
    ("PUT", "/files/{id}", downloading.chunk),
)


def routes_of(instance: Instance) -> list[Route]:
    """All routes of an instance."""
    routes = [
        Route(
            f"/api/dam{placed(path, instance.options)}",
            endpoint(instance, handler),
            methods=methods.split(),
            name=handler.__name__,
        )
        for methods, path, handler in (*MEDIAS, *SEARCHES, *SCHEMA, *TREES, *GROUPS)
    ]
    routes.append(Route("/api/dam", endpoint(instance, entry.dam), name="dam"))
    routes.append(Route("/download-express", endpoint(instance, downloading.express), name="download_express"))
    return [*routes, *_open_routes(instance, routes)]


def _open_routes(instance: Instance, routes: list[Route]) -> list[Route]:
    """What needs no credentials."""
    world, oidc = instance.world, instance.options.oidc
    realm = {"realm": "demo"}
    return [
        Route("/api", entry.root(instance), name="root"),
        Route("/api/doc/swagger.json", entry.public(lambda: entry.description(routes)), name="description"),
        Route(
            "/api/public/sso-configuration",
            entry.public(lambda: {"ssoEnabled": oidc, "googleOAuthEnabled": False}),
            name="sso_configuration",
        ),
        Route(
            "/api/public/iam-configuration",
            entry.public(lambda: {"url": f"{world.api_origin}/auth", **realm}),
            name="iam_configuration",
        ),
        Route(
            "/auth/realms/demo/protocol/openid-connect/token",
            entry.token(instance),
            methods=["POST"],
            name="token",
        ),
    ]
