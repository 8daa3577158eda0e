"""Links of service D: many files of a listing by one call, singly where that call will not, foreseen as they come."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dam_sync.engine.context.pulls import PULL, Pulls
from dam_sync.engine.run.dry_run import DryFiles
from dam_sync.model.asset import FileRef
from dam_sync.model.capabilities import Capabilities
from dam_sync.model.errors import Rejected
from dam_sync.model.estimator import Estimator
from dam_sync.model.limits import Limits
from dam_sync.services.d_templates import facts
from tests.conformance.catalogue import SCHEMA, asset
from tests.conformance.tenant import Tenant, started
from tests.support.services.connections import body, entries

FILES = 60


@pytest.fixture(params=["", "expose_whole"])
async def tenant(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Tenant]:
    found = started("d_templates", [*SCHEMA, *(asset(n) for n in range(1, FILES + 1))], tmp_path, variant=request.param)
    yield found
    await found.disconnect()
    found.served.stop()


async def listed(service: Any) -> list[FileRef]:
    return [entry.asset.file for entry in await entries(service)]


async def test_files_of_a_listing_are_opened_by_few_calls_that_were_foreseen(tenant: Tenant) -> None:
    service = tenant.connect(read_only=True)
    files = await listed(service)
    estimator = Estimator(service)
    told = [estimator.open(file) for file in files]
    for file in files:
        await body(service, file)
    assert service.calls[facts.EXPOSE] == 2 == sum(calls.get(facts.EXPOSE, 0) for calls in told)
    assert facts.CONTENT not in service.calls


async def test_a_link_is_used_once_and_one_that_ended_is_renewed_for_all_that_wait(tenant: Tenant) -> None:
    service = tenant.connect(read_only=True)
    first, second, *_ = await listed(service)
    await body(service, first)
    await body(service, first)
    assert (service.calls[facts.EXPOSE], service.calls[facts.CONTENT]) == (1, 1)
    await service.api.clock.sleep(facts.EXPOSED_SECONDS)  # type: ignore[attr-defined]
    await body(service, second)
    assert service.calls[facts.EXPOSE] == 2


async def test_what_the_call_leaves_out_or_refuses_is_asked_for_singly(tenant: Tenant) -> None:
    service = tenant.connect(read_only=True)
    files = await listed(service)
    await tenant.connect().remove(files[0].id.partition("/")[0])  # type: ignore[arg-type]
    assert len(await body(service, files[1])) == files[1].size
    assert service.calls.get(facts.CONTENT, 0) == (1 if tenant.variant else 0)
    with pytest.raises(Rejected, match="recycle bin"):
        await body(service, files[0])


async def test_a_file_that_was_not_listed_has_a_link_of_its_own(tenant: Tenant) -> None:
    one, other = tenant.connect(read_only=True), tenant.connect(read_only=True)
    file = (await listed(one))[0]
    assert Estimator(other).open(file) == {facts.CONTENT: 1}
    await body(other, file)
    assert facts.EXPOSE not in other.calls


async def test_a_plan_counts_the_calls_for_links_that_the_target_is_given(tenant: Tenant) -> None:
    service = tenant.connect(read_only=True)
    files = await listed(service)
    target: Any = SimpleNamespace(capabilities=Capabilities(fetches=timedelta(hours=1)), limits=Limits())
    pulls, dry = Pulls(service, target, PULL, dry=True), DryFiles(service)
    for file in files:
        async with dry.contents(file, file.name, await pulls.link(file)):
            pass
    assert (dry.fetched, dry.estimated) == (len(files), {facts.EXPOSE: 2})
