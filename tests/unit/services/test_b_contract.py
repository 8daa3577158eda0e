"""Service B: what its contract allows a client to send, and what a client has to survive, line by line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import Patch, Rights
from dam_sync.model.errors import InvalidValue, Rejected, SessionGone
from dam_sync.services.b_documents import facts
from dam_sync.services.b_documents.service import DocumentsService
from tests.conformance.tenant import Start, Tenant, content
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connections import entries
from tests.support.state.memory_journal import MemoryJournal
from tests.unit.services.test_b_exposure import draft, let

KIND = "b_documents"
OPERATIONS = "/api/v1/automation/"
REPORT = {
    "entity-type": "validation_report",
    "has_error": True,
    "number": 2,
    "violations": [
        {
            "messageKey": "label.schema.constraint.violation.PatternConstraint",
            "message": "Value does not match the pattern",
            "invalid_value": "x",
            "constraint": {"entity-type": "validation_constraint", "name": "PatternConstraint", "parameters": {}},
            "path": [{"field_name": "lib:note", "is_list_item": False}],
        },
        {"messageKey": "label.too.many"},
    ],
}


class Recording(AlteredTransport):
    """Keeps which operations were run."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[str] = []

    def sent(self, request: httpx.Request) -> httpx.Request:
        if request.url.path.startswith(OPERATIONS):
            self.operations.append(request.url.path.removeprefix(OPERATIONS))
        return request


async def test_members_are_added_by_the_documented_operation(tenant: Tenant) -> None:
    """`Document.AddToCollection` adds, `Collection.RemoveFromCollection` removes (wire B 6.5)."""
    tenant.transport = recorded = Recording()
    service = tenant.connect()
    place = await service.ensure_container("collection", ("Set",))
    recorded.operations.clear()
    await service.place(place, [tenant.of_catalogue(2)], [])
    await service.place(place, [], [tenant.of_catalogue(2)])
    assert recorded.operations == ["Document.AddToCollection", "Collection.RemoveFromCollection"]


class Servlet(DocumentsService):
    """Asks the servlet for small files too."""

    most_by_blob = 100


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_servlet_that_does_not_know_our_credential_is_given_up(tenant: Tenant, status: int) -> None:
    """A server with anonymous users returns 404 or 403 instead of a login page (wire B 1.4)."""
    tenant.service = Servlet
    service = tenant.connect(read_only=True)
    asset = await service.fetch(tenant.of_catalogue(2))
    assert asset.file is not None
    tenant.fail({"match": "GET */nxfile/*", "every": 1, "do": f"status:{status}"})
    stream = await service.open(asset.file)
    size = sum([len(block) async for block in stream])
    assert size == asset.file.size
    assert service.calls[facts.BLOB] == 1


class Invalid(AlteredTransport):
    """Refuses every change of a document by a report."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "PUT":
            return httpx.Response(422, json=REPORT)
        return await super().handle_async_request(request)


async def test_a_report_of_refused_values_names_the_property_and_why(tenant: Tenant) -> None:
    """Wire B 7.2."""
    tenant.transport = Invalid()
    with pytest.raises(InvalidValue, match=r"lib:note: Value does not match the pattern; label\.too\.many"):
        await tenant.connect().update(tenant.of_catalogue(2), Patch(fields={"lib:note": "x"}))


class SmallPages(AlteredTransport):
    """A server with `maxPageSize` 3, from which somebody deletes a document after the first page of the assets."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.later = False

    def sent(self, request: httpx.Request) -> httpx.Request:
        if not request.url.path.endswith("/Repository.Query"):
            return request
        body = json.loads(request.content)
        if "ORDER BY ecm:uuid" in body["params"]["query"]:
            self.sizes.append(body["params"]["pageSize"])
        body["params"]["pageSize"] = min(3, body["params"]["pageSize"])
        headers = {name: text for name, text in request.headers.items() if name != "content-length"}
        return httpx.Request(request.method, request.url, headers=headers, content=json.dumps(body).encode())

    def altered(self, request: httpx.Request, body: Any) -> Any:
        if isinstance(body, dict) and "maxPageSize" in body:
            body["maxPageSize"] = 3
            body["resultsCount"] += len(body["entries"]) == 3 and "properties" in request.headers and not self.later
            self.later = self.later or "properties" in request.headers
        return body


async def test_no_page_is_larger_than_the_server_allows(tenant: Tenant) -> None:
    """`maxPageSize` is read from the first response (wire B 2.2). A document that is deleted meanwhile is no gap."""
    tenant.transport = pages = SmallPages()
    found = await entries(tenant.connect(read_only=True))
    assert {entry.id for entry in found} == set(tenant.truth())
    assert set(pages.sizes[1:]) == {3}


async def test_an_operation_that_is_forbidden_is_not_a_missing_document(tenant: Tenant) -> None:
    """404 with an empty body is how a forbidden operation looks (wire B 2.6, 7.3)."""
    tenant.transport = Forbidding()
    service, identity = tenant.connect(), tenant.of_catalogue(2)
    with pytest.raises(Rejected, match=r"forbids the operation Document\.Trash") as refused:
        await service.remove(identity)
    assert type(refused.value) is Rejected
    assert refused.value.hint


class Forbidding(AlteredTransport):
    """Forbids to move documents to the trash."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/Document.Trash"):
            return httpx.Response(404)
        return await super().handle_async_request(request)


async def test_what_only_administrators_may_set_is_not_offered_to_others(start: Start) -> None:
    """Secured properties are refused from anybody else, even unchanged (wire B 6.4)."""
    tenant = start(users=[{"name": "mover", "password": "p", "groups": ["movers"]}])
    await let(tenant, "/default-domain/workspaces", "mover", "Everything")
    mover = tenant.connect({"flow": "basic", "login": "mover", "password": "p"})
    for service, may in ((tenant.connect(), True), (mover, False)):
        fields = (await service.schema()).fields
        assert {fields[key].editable for key in ("dc:created", "dc:creator")} == {may}
        assert fields["dc:title"].editable


class Unmoved(AlteredTransport):
    """Follows no transition, as for a type with another life cycle."""

    def __init__(self, times: int = 1000) -> None:
        super().__init__()
        self.left = times

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.left and request.url.path.endswith("/Document.FollowLifecycleTransition"):
            self.left -= 1
            body = {"entity-type": "exception", "status": 500, "message": "Internal Server Error"}
            return httpx.Response(500, json=body)
        return await super().handle_async_request(request)


async def test_a_transition_that_the_life_cycle_forbids_is_no_failure_of_the_service(tenant: Tenant) -> None:
    """500 is how a forbidden transition looks (wire B 6.5, 7.3): a dozen of them would stop the run."""
    tenant.transport = Unmoved()
    identity = tenant.of_catalogue(2)
    status = "archived" if tenant.truth()[identity]["status"] != "archived" else "draft"
    with pytest.raises(Rejected, match="does not follow the transition") as refused:
        await tenant.connect().update(identity, Patch(status=status))
    assert refused.value.hint


class Silent(AlteredTransport):
    """Runs transitions without a response (wire B 6.1)."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        void = request.url.path.endswith("/Document.FollowLifecycleTransition")
        return httpx.Response(204) if void and response.status_code == 200 else response


@pytest.mark.parametrize(
    "transport",
    [
        pytest.param(Silent, id="without a response"),
        pytest.param(lambda: Unmoved(times=1), id="failed once"),
    ],
)
async def test_a_transition_of_which_nothing_is_known_is_followed(
    tenant: Tenant, transport: Callable[[], AlteredTransport]
) -> None:
    tenant.transport = transport()
    identity = tenant.of_catalogue(2)
    await tenant.connect().update(identity, Patch(status="archived"))
    assert tenant.truth()[identity]["status"] == "archived"


class Cancelled(AlteredTransport):
    """Has cancelled the batch that the first create names."""

    def __init__(self) -> None:
        super().__init__()
        self.left = 1

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.left and b"upload-batch" in await request.aread():
            self.left -= 1
            return httpx.Response(410, json={"entity-type": "exception", "status": 410, "message": "Cancelled"})
        return await super().handle_async_request(request)


async def test_a_create_that_names_a_cancelled_batch_is_sent_again_with_another(tenant: Tenant) -> None:
    """410 asks for a new batch (wire B 6.8, 7.3)."""
    tenant.transport = Cancelled()
    service, journal = tenant.connect(), MemoryJournal()
    async with content(tenant, "again.jpg", seed="again") as (given, _):
        with pytest.raises(SessionGone):
            await service.create(draft("again"), given, journal)
        identity = await service.create(draft("again"), given, journal)
    assert [row["id"] for row in tenant.marked("again")] == [identity]


class Literal(AlteredTransport):
    """Knows `fetch.schema` as the contract spells it, and no header with a hyphen in its place."""

    def sent(self, request: httpx.Request) -> httpx.Request:
        request.headers.pop("fetch-schema", None)
        return request


async def test_constraints_are_requested_as_the_contract_spells_it(tenant: Tenant) -> None:
    """`fetch.schema: fields` (wire B 5.1): without it no list of values would be known as one."""
    usual = (await tenant.connect().schema()).vocabularies
    tenant.transport = Literal()
    found = await tenant.connect().schema()
    assert found.vocabularies == usual
    assert {field.vocabulary for field in found.fields.values()} - {""}


class WithoutEnricher(AlteredTransport):
    """Returns rights by `@acl` alone, as spec 001 shows it."""

    def altered(self, request: httpx.Request, body: Any) -> Any:
        for row in (body, *(body.get("entries") or ())) if isinstance(body, dict) else ():
            if isinstance(row, dict):
                row.pop("contextParameters", None)
        return body


async def test_rights_are_read_alone_where_documents_come_without_them(tenant: Tenant) -> None:
    """`@acl` (spec 001, Endpoints; wire B 3) is read after a write as well."""
    tenant.transport = WithoutEnricher()
    service = tenant.connect()
    async with content(tenant, "some.jpg", seed="some") as (given, _):
        wanted = draft("some", rights=Rights(groups=frozenset({"staff"})))
        identity = await service.create(wanted, given, MemoryJournal())
    assert (await service.fetch(identity)).rights.groups == {"staff"}
    await service.update(identity, Patch(closed=True))
    assert tenant.truth()[identity]["rights"]["groups"] != ["staff"]
