"""The paths of the service and what answers them."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.routing import Route

from dam_sync.emulators.b_documents import (
    downloads,
    operations_documents,
    operations_members,
    operations_queries,
    routes_documents,
    routes_entry,
    routes_more,
    routes_search,
    routes_taxonomy,
    routes_uploads,
)
from dam_sync.emulators.b_documents.calls import Endpoint, Handler
from dam_sync.emulators.b_documents.operations import OPERATIONS, invoke, listed, on_document
from dam_sync.emulators.b_documents.server import Server

REGISTERING = (operations_documents, operations_members, operations_queries)
"""Modules whose operations are known because they are imported."""
Line = tuple[str, str, Handler]
"""Methods, path below `/api/v1`, handler. The more special ones come first."""

ENTRY: tuple[Line, ...] = (
    ("GET", "/me", routes_entry.me),
    ("GET", "/capabilities", routes_entry.capabilities),
    ("POST", "/automation/login", routes_entry.login),
    ("GET", "/config/types", routes_entry.types),
    ("GET", "/config/types/{name}", routes_entry.type_),
    ("GET", "/config/schemas", routes_entry.schemas),
    ("GET", "/config/schemas/{name}", routes_entry.schema),
    ("GET", "/config/facets", routes_entry.facets),
    ("GET", "/config/facets/{name}", routes_entry.facet),
)
SEARCH: tuple[Line, ...] = (
    ("GET", "/search/lang/NXQL/execute", routes_search.by_query),
    ("GET", "/search/lang/{lang}/execute", routes_search.by_query),
    ("GET", "/search/execute", routes_search.by_query),
    ("GET", "/search/pp/{provider}/execute", routes_search.by_provider),
    ("GET", "/query", routes_search.by_query),
    ("GET", "/query/NXQL", routes_search.by_query),
    ("GET", "/query/{provider}", routes_search.by_provider),
)
UPLOADS: tuple[Line, ...] = (
    ("POST", "/upload/new/default", routes_uploads.begin),
    ("POST", "/upload/new/{handler}", routes_uploads.begin),
    ("POST", "/upload", routes_uploads.begin_legacy),
    ("GET", "/upload/handlers", routes_uploads.handlers),
    ("GET", "/upload/{batch}", routes_uploads.listing),
    ("DELETE", "/upload/{batch}", routes_uploads.cancel),
    ("GET", "/upload/{batch}/info", routes_uploads.info),
    ("POST", "/upload/{batch}/refreshToken", routes_uploads.refresh),
    ("POST", "/upload/{batch}/execute/{operation}", routes_uploads.execute_batch),
    ("GET", "/upload/{batch}/{index}", routes_uploads.file_info),
    ("DELETE", "/upload/{batch}/{index}", routes_uploads.file_drop),
    ("POST", "/upload/{batch}/{index}/complete", routes_uploads.complete),
    ("POST", "/upload/{batch}/{index}/execute/{operation}", routes_uploads.execute_file),
)
_DOC: tuple[Line, ...] = (
    ("GET", "/@children", routes_documents.children),
    ("GET", "/@search", routes_documents.search_below),
    ("GET", "/@acl", routes_documents.acl),
    ("GET", "/@audit", routes_documents.audit),
    ("GET", "/@blob/{xpath:path}", downloads.of_document),
    ("DELETE", "/@blob/{xpath:path}", downloads.remove),
    ("POST", "/@op/{operation}", on_document),
    ("GET", "", routes_documents.read),
    ("POST", "", routes_documents.create),
    ("PUT", "", routes_documents.update),
    ("DELETE", "", routes_documents.delete),
)


def routes_of(server: Server) -> list[Route]:
    """All routes of a server."""
    prefix = server.options.prefix
    api = f"{prefix}/api/v1"
    put = Route(f"{api}/upload/{{batch}}/{{index}}", Endpoint(server, streams=routes_uploads.put), methods=["POST"])
    return [*_entry(server, prefix), *_lines(server, api, ENTRY), *_lines(server, api, SEARCH),
            *_lines(server, api, UPLOADS), put, *_lines(server, api, routes_taxonomy.LINES),
            *_lines(server, api, routes_more.API), *_automation(server, api), *_documents(server, api)]  # fmt: skip


def _lines(server: Server, head: str, lines: tuple[Line, ...]) -> Iterator[Route]:
    for methods, path, handler in lines:
        yield Route(f"{head}{path}", Endpoint(server, handler), methods=methods.split())


def _automation(server: Server, api: str) -> Iterator[Route]:
    names = [*OPERATIONS, "{operation}"]
    yield from _lines(server, api, (("GET", "/automation", listed),))
    yield from _lines(server, f"{api}/automation", tuple(("POST", f"/{name}", invoke) for name in names))


def _documents(server: Server, api: str) -> Iterator[Route]:
    for head in ("/id/{id}", "/path/{path:path}"):
        yield from _lines(server, f"{api}{head}", (*routes_more.DOCUMENT, *_DOC))
    root = [line for line in _DOC if not line[1]]
    yield from _lines(server, f"{api}/path", tuple(root))


def _entry(server: Server, prefix: str) -> Iterator[Route]:
    public = (
        ("GET", "/authentication/token", routes_entry.login_token),
        ("POST", "/oauth2/token", routes_entry.token),
        ("GET", "/runningstatus", routes_entry.running),
        ("GET", "/login.jsp", routes_entry.login_page),
    )
    for method, path, handler in public:
        yield Route(f"{prefix}{path}", Endpoint(server, handler, public=True), methods=[method])
    own = (
        ("GET", "/oauth2/authorize", routes_entry.authorize),
        ("POST", "/oauth2/authorize", routes_entry.grant),
        ("GET", "/json/cmis", routes_entry.cmis),
        ("GET", "/nxbigblob/{key}", routes_more.big_blob),
    )
    yield from _lines(server, prefix, own)
    for path in ("", "/{xpath:path}/{filename}", "/{xpath}"):
        endpoint = Endpoint(server, downloads.servlet, browser=True)
        yield Route(f"{prefix}/nxfile/{{repository}}/{{id}}{path}", endpoint, methods=["GET"])
