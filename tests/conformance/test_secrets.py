"""The contract of errors, logs and representations: none contains a secret or a signed URL."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import structlog

from dam_sync.model.asset import AssetId, Marker, Patch
from dam_sync.model.errors import DamSyncError
from dam_sync.model.service import Service
from dam_sync.model.values import Term
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.drafts import full_draft, made, plain_draft
from tests.conformance.tenant import Tenant
from tests.support.services.connections import body, entries

Fresh = Callable[..., Tenant]


SIGNED = ("Signature=", "Expires=", "X-Amz-", "sig=", "?token=")


def assert_no_secret(tenant: Tenant, *texts: str) -> None:
    for text in texts:
        for secret in (*tenant.wired.secrets, *SIGNED):
            assert secret not in text


def text_of(error: DamSyncError) -> str:
    return "\n".join(
        [str(error), repr(error), error.hint, json.dumps(error.as_json()), *traceback.format_exception(error)]
    )


FAILING: dict[str, Callable[[Tenant, Service], Awaitable[Any]]] = {
    "unknown": lambda tenant, service: service.fetch(AssetId("999999999")),
    "container": lambda tenant, service: service.ensure_container("drawer", ("x",)),
    "vocabulary": lambda tenant, service: service.ensure_term("no such vocabulary", Term("x")),
    "find": lambda tenant, service: service.find(Marker("no such field", 'a"b')),
}


@pytest.mark.parametrize("call", FAILING)
async def test_errors_contain_no_secret(tenant: Tenant, service: Service, call: str) -> None:
    try:
        assert await FAILING[call](tenant, service) is None
    except DamSyncError as error:
        assert_no_secret(tenant, text_of(error))


@pytest.mark.needs("network")
async def test_a_denied_credential_is_not_shown(tenant: Tenant) -> None:
    with pytest.raises(DamSyncError) as denied:
        await tenant.connect(tenant.wired.denied).probe()
    assert_no_secret(tenant, text_of(denied.value))
    assert denied.value.hint


@pytest.mark.parametrize("fault", ["status:403", "status:500", "html:502", "garble", "reset_before", "truncate:0.3"])
@pytest.mark.needs("network")
async def test_a_download_that_fails_shows_no_link(fresh: Fresh, fault: str) -> None:
    tenant = fresh([*SCHEMA, asset(1)])
    service = tenant.connect(read_only=True)
    file = (await service.fetch(tenant.of_catalogue(1))).file
    assert file is not None
    tenant.fail({"match": "GET *", "do": fault})
    try:
        await body(service, file)
    except DamSyncError as error:
        assert_no_secret(tenant, text_of(error))
    assert_no_secret(tenant, repr(file), str(file))


@pytest.mark.parametrize(
    "fault", ["status:400", "status:401", "status:403", "status:500", "html:502", "garble", "empty"]
)
@pytest.mark.needs("network")
async def test_any_response_ends_in_an_error_of_ours_without_a_secret(fresh: Fresh, fault: str) -> None:
    tenant = fresh()
    service = tenant.connect()
    draft = await plain_draft(service)
    tenant.fail({"match": "* *", "do": fault})
    for call in (
        lambda: service.fetch(tenant.of_catalogue(1)),
        lambda: entries(service),
        lambda: made(tenant, service, draft),
        lambda: service.update(tenant.of_catalogue(2), Patch(fields={tenant.key("note"): "x"})),
        tenant.connect().probe,
    ):
        with contextlib.suppress(Quiet):
            await quietly(tenant, call)


class Quiet(Exception):
    """An error of ours that names its service and contains no secret."""


async def quietly(tenant: Tenant, call: Callable[[], Awaitable[Any]]) -> None:
    try:
        await call()
    except DamSyncError as error:
        assert_no_secret(tenant, text_of(error))
        if error.service == tenant.kind.name:
            raise Quiet from error
        raise


@pytest.mark.needs("network")
async def test_representations_contain_no_secret(tenant: Tenant) -> None:
    for auth in (*tenant.wired.auth, tenant.wired.denied):
        service = tenant.connect(auth)
        found = await service.schema() if auth != tenant.wired.denied else None
        parts = [repr(part) for part in vars(service).values()]
        assert_no_secret(tenant, repr(service), repr(found), *parts)


@pytest.mark.needs("network")
async def test_logs_contain_no_secret(
    tenant: Tenant, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything that is logged while reading, writing and failing, down to the last detail."""
    lines = io.StringIO()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(lines))
    caplog.set_level(logging.DEBUG)
    try:
        service = tenant.connect()
        tenant.fail(
            {"match": "GET *", "nth": 2, "do": "status:503"}, {"match": "GET *", "nth": 5, "do": "reset_before"}
        )
        identity, _ = await made(tenant, service, await full_draft(tenant, service))
        tenant.advance(90)
        file = (await service.fetch(identity)).file
        assert file is not None
        await body(service, file)
    finally:
        structlog.reset_defaults()
    out, err = capsys.readouterr()
    assert_no_secret(tenant, lines.getvalue(), caplog.text, out, err)
