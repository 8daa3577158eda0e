"""What `import dam_sync` promises: jobs, mappings and services from Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from ruamel.yaml import YAML

import dam_sync
from dam_sync.api.check import check_job
from dam_sync.api.emulation.sandbox import Emulated
from dam_sync.api.jobs import plan_job, run_job
from dam_sync.emulators.kit.library import schema_records, target_records
from dam_sync.model import errors
from dam_sync.model.run_options import RunOptions
from dam_sync.report.report import ReportedSide
from dam_sync.services import discover
from tests.support.jobs.accepted_exposure import ACCEPTED
from tests.support.jobs.small_jobs import MAPPING, SOURCE, TARGET, photos
from tests.support.jobs.tenants import Tenant, emulated

QUICK = {"lag": 0.0}


@pytest.fixture
def tenants() -> Iterator[tuple[Tenant, Tenant]]:
    made = (
        emulated(SOURCE, [*schema_records(), *photos()], None, **QUICK),
        emulated(TARGET, target_records(), None, **QUICK),
    )
    try:
        yield made
    finally:
        for tenant in made:
            assert tenant.served is not None
            tenant.served.stop()


def side(kind: str, tenant: Tenant) -> dict[str, Any]:
    return Emulated(kind, tenant.url).as_job()


def job_of(folder: Path, tenants: tuple[Tenant, Tenant], mapping: dam_sync.Mapping | Path) -> dam_sync.Job:
    """A job built in code, its secrets given as they are."""
    return dam_sync.Job(
        name="coded",
        source=side(SOURCE, tenants[0]),
        target=side(TARGET, tenants[1]),
        mapping=mapping,
        folder=folder,
        state="state/job.db",
        policy=ACCEPTED,
    )


async def test_a_job_built_in_code_is_checked_planned_run_and_verified(
    tmp_path: Path, tenants: tuple[Tenant, Tenant]
) -> None:
    job = job_of(tmp_path, tenants, dam_sync.Mapping.load(MAPPING))
    assert [finding for finding in await job.check() if finding.exit_code] == []
    plan = await job.plan()
    assert plan.counts["created"] == 4
    seen: list[Mapping[str, Any]] = []
    report = await job.run(progress=seen.append)
    assert isinstance(report, dam_sync.Report)
    assert report.counts["created"] == seen[-1]["done"] == 4
    verdict = await job.verify("digest")
    assert verdict.clean
    assert (await job.adopt()).counts["linked before"] == 4
    status = await job.status()
    assert (status["job"], status["now"]["linked"]) == ("coded", 4)
    assert (await job.errors())["count"] == 0
    assert len(tenants[1].assets) == 4


async def test_a_job_and_a_mapping_without_files(tmp_path: Path, tenants: tuple[Tenant, Tenant]) -> None:
    text = MAPPING.read_text(encoding="utf-8")
    for mapping in (
        dam_sync.Mapping.from_text(text, MAPPING.parent),
        dam_sync.Mapping(YAML(typ="safe").load(text), MAPPING.parent),
        MAPPING,
    ):
        plan = await job_of(tmp_path, tenants, mapping).plan()
        assert plan.counts["created"] == 4
    assert list(tmp_path.rglob("*.yaml")) == []


async def test_a_stopped_run_raises_one_error_and_can_be_continued(
    tmp_path: Path, tenants: tuple[Tenant, Tenant]
) -> None:
    job, options = job_of(tmp_path, tenants, MAPPING), dam_sync.RunOptions()
    options.stop("enough")
    with pytest.raises(dam_sync.StopRequested, match="enough"):
        await job.run(options)
    with pytest.raises(dam_sync.StopRequested, match="after 3 assets") as stopped:
        await job.run(dam_sync.RunOptions(limit=3))
    assert stopped.value.report.counts["created"] == 3
    assert len(tenants[1].assets) == 3
    assert (await job.run()).counts["created"] == 4
    assert len(tenants[1].assets) == 4


async def test_a_service_is_connected_read_and_closed(tenants: tuple[Tenant, Tenant]) -> None:
    given = side(SOURCE, tenants[0])
    async with dam_sync.connect(given.pop("kind"), **given) as service:
        assert service.kind == SOURCE
        assert (await service.probe()).total == 4
        assert "title" in (await service.schema()).fields
        assert {asset.filename async for asset in service.assets()} == {f"photo-{number}.jpg" for number in range(1, 5)}


async def test_a_mapping_is_checked_against_two_services(tenants: tuple[Tenant, Tenant]) -> None:
    schemas = []
    for kind, tenant in zip((SOURCE, TARGET), tenants, strict=True):
        given = side(kind, tenant)
        async with dam_sync.connect(given.pop("kind"), **given) as service:
            schemas.append(await service.schema())
    assert dam_sync.Mapping.load(MAPPING).check(*schemas) == ()
    wrong = dam_sync.Mapping({"version": 1, "fields": {"nonsense": {"from": "fields.title"}}})
    assert any("nonsense" in str(fault) for fault in wrong.check(*schemas))


async def test_everything_wrong_is_reported_at_once() -> None:
    with pytest.raises(dam_sync.ConfigError) as caught:
        async with dam_sync.connect(TARGET, base_url="https://api.example", auth={"flow": "tokn"}, options={"x": 1}):
            pass
    assert {fault.key for fault in caught.value.diagnostics} >= {"auth.flow", "options.x"}
    with pytest.raises(dam_sync.ConfigError) as caught:
        dam_sync.Job(name="not a name", source={"kind": "z"}, target={"kind": TARGET}, mapping="m.yaml", nonsense=1)
    assert {fault.key for fault in caught.value.diagnostics} >= {"name", "source.kind", "nonsense"}
    with pytest.raises(dam_sync.MappingError):
        dam_sync.Mapping({"version": 2})


def test_a_job_file_still_refuses_a_literal_secret(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    body = {"kind": SOURCE, "base_url": "https://a.example", "auth": {"flow": "basic", "login": "me", "password": "s"}}
    with job.open("w", encoding="utf-8") as out:
        YAML().dump({"version": 1, "name": "x", "source": body, "target": body, "mapping": "m.yaml"}, out)
    with pytest.raises(dam_sync.ConfigError, match="a literal secret is not allowed"):
        dam_sync.Job.load(job)


def test_every_promised_name_is_there_and_no_other() -> None:
    assert all(getattr(dam_sync, name) is not None for name in dam_sync.__all__)
    assert set(dam_sync.__all__) <= set(dir(dam_sync))
    with pytest.raises(AttributeError):
        dam_sync.nonsense  # noqa: B018


def test_every_error_is_public() -> None:
    named = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert named <= set(dam_sync.__all__)


async def test_a_transport_that_is_passed_in_carries_every_request_and_is_left_open() -> None:
    class Recorded(httpx.AsyncBaseTransport):
        def __init__(self) -> None:
            self.urls: list[str] = []
            self.closed = 0

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            self.urls.append(str(request.url))
            return httpx.Response(403, json={"error": "no"}, request=request)

        async def aclose(self) -> None:
            self.closed += 1

    transport = Recorded()
    auth = {"flow": "token", "token": "wat_demo_b1d3c61e03c6"}
    url = "https://dam.example"
    async with dam_sync.connect(TARGET, base_url=url, tenant_url=url, auth=auth, transport=transport) as service:
        with pytest.raises(dam_sync.Denied):
            await service.probe()
    assert transport.urls
    assert all(each.startswith(url) for each in transport.urls)
    assert transport.closed == 0


async def test_what_is_no_transport_is_refused() -> None:
    class Closing:
        async def aclose(self) -> None: ...

    auth, url = {"flow": "token", "token": "wat_demo_b1d3c61e03c6"}, "https://dam.example"
    with pytest.raises(dam_sync.ConfigError, match="not a Closing"):
        async with dam_sync.connect(TARGET, base_url=url, tenant_url=url, auth=auth, transport=Closing()):
            pass


async def test_connectors_that_are_passed_in_are_the_services_of_a_job(
    tmp_path: Path, tenants: tuple[Tenant, Tenant]
) -> None:
    mine = {"my_library": replace(discover()[SOURCE], name="my_library"), TARGET: discover()[TARGET]}
    sides = {"source": {**side(SOURCE, tenants[0]), "kind": "my_library"}, "target": side(TARGET, tenants[1])}
    job = dam_sync.Job(**sides, mapping=MAPPING, folder=tmp_path, policy=ACCEPTED, connectors=mine)
    assert (await job.plan()).counts["created"] == 4
    with pytest.raises(dam_sync.ConfigError, match="my_library"):
        dam_sync.Job(**sides, mapping=MAPPING, folder=tmp_path)


async def test_connectors_of_the_options_are_those_a_job_file_is_checked_against(tmp_path: Path) -> None:
    only = RunOptions(connectors={TARGET: discover()[TARGET]})
    path = tmp_path / "job.yaml"
    side = "{kind: KIND, base_url: https://dam.example, auth: {flow: basic, login: me, password: '${env:NOT_SET}'}}"
    text = f"version: 1\nname: one\nsource: {side}\ntarget: {side}\nmapping: mapping.yaml\n".replace("KIND", SOURCE)
    path.write_text(text, encoding="utf-8")
    for act in (check_job, plan_job, run_job):
        with pytest.raises(dam_sync.ConfigError, match=f"there is no kind {SOURCE}"):
            await act(path, only)


def folder_job(folder: Path, **changed: Any) -> dam_sync.Job:
    """A job built in code whose paths are all given as such."""
    for name in ("from", "to"):
        (folder / name).mkdir(exist_ok=True)
    given: dict[str, Any] = {
        "source": {"kind": "folder", "options": {"path": folder / "from"}},
        "target": {"kind": "folder", "options": {"path": folder / "to"}},
        "mapping": folder / "mapping.yaml",
        "folder": folder,
        "state": folder / "state" / "job.db",
    }
    return dam_sync.Job(**{**given, **changed})


def test_what_is_printed_of_a_job_and_of_a_report_is_one_short_line(tmp_path: Path) -> None:
    """In a notebook, a repr of several kB hides everything else."""
    assert repr(folder_job(tmp_path)) == "<Job job: folder to folder>"
    side = ReportedSide("a", "b")
    counts = {"listed": 1_200, "open": 0, "created": 1_199, "parked": 1}
    report = dam_sync.Report("run", "museum", side, side, "", "", run=3, counts=counts, notes=["n" * 9_999])
    assert repr(report) == "<Report of run 3 of job museum: 1,200 listed, 1,199 created, 1 parked>"
    assert repr(dam_sync.Report("verify", "x", side, side, "", "")) == "<Report of verify of job x: no counts>"


def test_every_path_of_a_job_built_in_code_may_be_a_path(tmp_path: Path) -> None:
    config = folder_job(tmp_path).config
    assert config.state_path == tmp_path / "state" / "job.db"
    assert config.mapping_path == tmp_path / "mapping.yaml"
    assert config.source.options == {"path": str(tmp_path / "from")}
    assert folder_job(tmp_path, state=Path("beside.db")).config.state_path == tmp_path / "beside.db"
    pins = {"version": 1, "vocabularies": {"v": {"source": "a", "target": "b", "pins": tmp_path / "no.csv"}}}
    with pytest.raises(errors.MappingError, match=r"no\.csv"):
        dam_sync.Mapping(pins, tmp_path)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"state": 7}, "job: state: should be text"),
        ({"policy": {"deletes": "all"}}, "job: policy.deletes: "),
        ({"stat": "x"}, "job: stat: unknown key"),
        ({"source": {"kind": "folder", "options": {"pth": "x"}}}, "job: source.options.pth: "),
        ({"waves": [{"name": "a", "selekt": {}}]}, "job: waves[0].selekt: unknown key"),
    ],
)
def test_an_error_in_code_names_its_key_and_no_line(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        folder_job(tmp_path, **changed)
    assert said in str(caught.value)
    assert not re.search(r":\d+:", str(caught.value))


async def test_an_error_in_a_mapping_built_in_code_names_no_line(tmp_path: Path) -> None:
    with pytest.raises(errors.MappingError) as caught:
        dam_sync.Mapping({"version": 1, "fields": {"a": {"cel": "1 +"}, "b": {"frm": "x"}}}, tmp_path)
    assert "mapping: fields.b.frm: unknown key" in str(caught.value)
    assert not re.search(r":\d+:", str(caught.value))
    with pytest.raises(errors.ConfigError, match=r"^connect: options\.pth: "):
        async with dam_sync.connect("folder", options={"pth": tmp_path}):
            pass
