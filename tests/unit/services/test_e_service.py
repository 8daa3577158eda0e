"""Service E as a source, against its emulator over sockets: two readings of one contract."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import Asset, AssetId, Patch
from dam_sync.model.capabilities import Operation
from dam_sync.model.connector import Context
from dam_sync.model.errors import (
    ConfigError,
    ContractBroken,
    DamSyncError,
    Denied,
    NotFound,
    Rejected,
    StopRequested,
    Transient,
    TruncatedListing,
    Unsupported,
)
from dam_sync.model.schema import FieldKind
from dam_sync.model.service import Window
from dam_sync.model.values import Term
from dam_sync.report.sentences import about_counted_calls
from dam_sync.services.e_profiles import CONNECTOR, facts
from dam_sync.services.e_profiles.codec.wire import toggles_of
from tests.support.network.altered_transport import AlteredTransport
from tests.support.services.connected_e import START, TOKEN, Open, asset, consent, serving
from tests.support.services.connections import Bytes, body, entries
from tests.support.services.typed_options import connected
from tests.support.state.memory_journal import MemoryJournal


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def test_probe_says_who_we_are_and_what_we_see(opened: Open) -> None:
    service = opened(asset(1), asset(2)).connect()
    account = await service.probe()
    assert (account.tenant, account.total) == ("demo", 2)
    assert account.user
    assert abs(account.clock_skew) < timedelta(seconds=5)


async def test_the_counter_of_calls_is_read_where_the_job_names_an_allowance(opened: Open) -> None:
    tenant = opened(asset(1))
    for _ in range(2):
        assert (await tenant.connect().probe()).allowance is None
    sent = tenant.world.api_calls.total()
    assert not tenant.world.api_calls["GET /v2/usage/api"]
    service = tenant.connect(calls_per_month=sent + 5)
    found = (await service.probe()).allowance
    assert found is not None
    assert (found.calls, found.used, found.since.day) == (sent + 5, sent, 1)
    with pytest.raises(StopRequested, match="monthly allowance"):
        await service.schema()
    assert tenant.world.api_calls.total() - tenant.world.api_calls["GET /v2/usage/api"] <= sent + 5


async def test_what_the_service_counted_is_shown_without_an_option_by_one_call(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    await service.probe()
    sent = tenant.world.api_calls.total()
    for _ in range(2):
        found = await service.counted_calls()
    assert found is not None
    assert (found.used, found.since.day, found.option, found.calls) == (sent, 1, "calls_per_month", None)
    assert tenant.world.api_calls["GET /v2/usage/api"] == 1
    (text,) = about_counted_calls(found)
    assert f"the service counted {sent} API calls of this account from {found.since:%Y-%m-%d}" in text
    assert "the option calls_per_month is not set" in text


async def test_with_the_option_it_is_shown_with_what_is_left_and_not_read_again(opened: Open) -> None:
    tenant = opened(asset(1))
    sent = tenant.world.api_calls.total()
    service = tenant.connect(calls_per_month=sent + 700)
    await service.probe()
    (text,) = about_counted_calls(await service.counted_calls())
    assert f"of a monthly allowance of {sent + 700:,}: 700 are left (calls_per_month)" in text
    assert tenant.world.api_calls["GET /v2/usage/api"] == 1


async def test_a_counter_that_cannot_be_read_is_not_missed_without_the_option(opened: Open) -> None:
    tenant = opened(asset(1))
    tenant.faults.add([{"match": "GET /v2/usage/api", "do": "status:403", "times": 1}])
    assert await tenant.connect().counted_calls() is None
    assert about_counted_calls(None) == []


async def test_an_allowance_is_to_be_decided_until_the_option_is_there(opened: Open) -> None:
    tenant = opened(asset(1))
    for role in ("source", "target"):
        account = await tenant.connect(attachments=False).probe()
        (left,) = [one for one in account.undecided_as(role) if one.part is None]
        assert "monthly allowance" in left.text
        assert f"of the {role}" in left.hint
        for decided in (None, 50_000):
            account = await tenant.connect(calls_per_month=decided).probe()
            assert all(one.part is not None for one in account.undecided_as(role))


async def test_opt_in_behaviors_are_listed_with_what_the_job_requests(opened: Open) -> None:
    tenant = opened(asset(1))
    found = await tenant.connect(toggles="conflicted-upload-metadata-type, later", version_policy="none").toggles()
    assert found is not None
    (one,) = found.offered
    assert (one.name, one.requested, one.decides) == ("conflicted-upload-metadata-type", True, "")
    assert one.description
    assert (found.option, found.unknown, found.unread) == ("toggles", ("later",), "")


async def test_opt_in_behaviors_are_asked_for_only_if_the_job_depends_on_one(opened: Open) -> None:
    tenant = opened(asset(1))
    asked = tenant.world.api_calls
    assert await tenant.connect(version_policy="none").toggles(needed=True) is None
    assert not asked["GET /v2/toggles"]
    found = await tenant.connect(version_policy="file_only").toggles(needed=True)
    assert found is not None
    assert ["metadata type" in one.decides for one in found.offered] == [True]
    assert asked["GET /v2/toggles"] == 1


@pytest.mark.parametrize("status", [403, 404])
async def test_a_list_of_opt_in_behaviors_that_cannot_be_read_is_reported(opened: Open, status: int) -> None:
    tenant = opened(asset(1))
    tenant.faults.add([{"match": "GET /v2/toggles", "do": f"status:{status}", "times": 1}])
    found = await tenant.connect(toggles="later").toggles(needed=True)
    assert found is not None
    assert str(status) in found.unread
    assert (found.offered, found.unknown) == ((), ())


@pytest.mark.parametrize("reply", [{"toggles": 1}, [1], [{"description": "no name"}], [{"name": ["x"]}], "text", None])
def test_a_list_of_opt_in_behaviors_of_another_shape_is_refused(reply: object) -> None:
    with pytest.raises(ContractBroken):
        toggles_of(reply)


def test_names_and_descriptions_of_opt_in_behaviors_have_a_bound() -> None:
    ((name, text),) = toggles_of([{"name": "n" * 5_000, "description": "d" * 5_000}]).items()
    assert (len(name), len(text)) == (100, 300)
    assert toggles_of({"items": [{"name": "plain"}]}) == {"plain": ""}


async def test_the_rate_that_responses_announce_is_respected_if_it_is_lower(opened: Open) -> None:
    for rate, kept in ((5, 5.0), (1_000, facts.SELF_THROTTLE)):
        service = opened(asset(1), rate=rate).connect()
        await service.probe()
        assert service.measured_pace.pace.per_second == kept


async def test_without_a_counter_an_allowance_is_an_error_of_the_job(opened: Open) -> None:
    tenant = opened(asset(1))
    for status in (403, 404):
        tenant.faults.add([{"match": "GET /v2/usage/api", "do": f"status:{status}", "times": 1}])
        with pytest.raises(ConfigError, match="calls_per_month"):
            await tenant.connect(calls_per_month=5).probe()
    assert not tenant.world.api_calls["GET /v2/user"]


@pytest.mark.parametrize("auth", [TOKEN, {**TOKEN, "form": "basic"}])
async def test_a_token_opens_in_both_forms(opened: Open, auth: Mapping[str, str]) -> None:
    assert (await opened(asset(1)).connect(auth).probe()).total == 1


async def test_a_wrong_token_is_denied(opened: Open) -> None:
    with pytest.raises(Denied):
        await opened().connect({**TOKEN, "token": "wat_demo_000000000000"}).probe()


async def test_a_refresh_token_rotates_into_the_credential_store(opened: Open) -> None:
    tenant = opened(asset(1))
    refresh = consent(tenant.served.url)
    auth = {"flow": "oauth", "client_id": "client-1", "client_secret": "client-secret-1", "refresh_token": refresh}
    service = tenant.connect(auth)
    assert (await service.probe()).tenant == "demo"
    (kept,) = tenant.credentials.kept.values()
    assert refresh not in kept
    assert (await tenant.connect(auth).probe()).total == 1  # the consumed one is not used again
    tenant.world.advance(9 * 3600)
    assert (await service.probe()).total == 1


async def test_the_schema_of_the_tenant(opened: Open) -> None:
    schema = await opened().connect().schema()
    kinds = {key: schema.fields[key].kind for key in ("title", "legend", "shotDate", "rating", "colors", "country")}
    assert kinds == {
        "title": FieldKind.TEXT,
        "legend": FieldKind.LONG_TEXT,
        "shotDate": FieldKind.DATE,
        "rating": FieldKind.NUMBER,
        "colors": FieldKind.TERM,
        "country": FieldKind.TERM,
    }
    assert (schema.fields["colors"].multiple, schema.fields["country"].multiple) == (True, False)
    assert schema.fields["title"].required
    assert not schema.fields["legend"].required
    assert schema.fields["title"].types == {"Photo", "Logo"}
    assert schema.groups == frozenset({"public", "staff"})
    assert {(each.name, each.profile) for each in schema.types} >= {("Photo", "photos"), ("Logo", "logos")}
    assert "versions" in schema.capabilities.parts


async def test_without_a_version_policy_nothing_is_replaced(opened: Open) -> None:
    service = opened().connect(version_policy="none")
    assert Operation.REPLACE not in service.capabilities
    assert "versions" not in (await service.schema()).capabilities.parts
    with pytest.raises(Unsupported):
        await service.replace(AssetId("x"), Bytes("a.jpg", b"1"), MemoryJournal())


async def test_an_unknown_option_value_is_reported(opened: Open) -> None:
    wrong: list[dict[str, Any]] = [
        {"enumerate": "pages"},
        {"version_policy": "all"},
        {"chunked": "maybe"},
        {"index_lag": "soon"},
    ]
    for options in wrong:
        with pytest.raises(ConfigError):
            opened().connect(**options)


async def test_an_asset_in_the_trash_says_nothing_about_the_right_to_download(opened: Open) -> None:
    tenant = opened(asset(1))
    await tenant.connect().remove(tenant.of_catalogue(1))
    notes = (await tenant.connect(read_only=True).probe()).notes
    assert not [note for note in notes if "download" in note]


async def test_a_verification_waits_for_the_index_as_long_as_the_option_says(opened: Open) -> None:
    assert opened().connect(index_lag=600).limits.lag == timedelta(seconds=600)


async def test_every_asset_is_listed_in_order_of_upload(opened: Open) -> None:
    tenant = opened(*(asset(n, START + timedelta(minutes=n % 60, days=n // 60)) for n in range(250)))
    service = tenant.connect(read_only=True)
    await service.schema()
    found = await entries(service)
    assert {entry.id for entry in found} == set(tenant.truth())
    assert all(entry.asset is not None for entry in found)
    uploads = [entry.asset.created_at for entry in found if entry.asset]
    assert uploads == sorted(uploads, key=str)


async def test_a_second_that_overfills_a_page_is_scrolled(opened: Open) -> None:
    tenant = opened(*(asset(n, START) for n in range(230)), asset(300, START + timedelta(seconds=1)))
    service = tenant.connect(read_only=True)
    found = await entries(service)
    assert {entry.id for entry in found} == set(tenant.truth())
    assert tenant.world.api_calls["GET /v2/assets/search/scroll"] >= 2


async def test_scrolling_costs_few_calls(opened: Open) -> None:
    tenant = opened(*(asset(n, START + timedelta(minutes=n)) for n in range(350)))
    service = tenant.connect(read_only=True, enumerate="scroll")
    await service.schema()
    with tenant.costs() as spent:
        found = await entries(service)
    assert Counter(entry.id for entry in found) == Counter(tenant.truth().keys())
    assert spent.total() <= 10


async def test_a_scroll_that_lost_a_page_is_begun_again(opened: Open) -> None:
    tenant = opened(*(asset(n, START) for n in range(230)))
    tenant.faults.add([{"match": "GET /v2/assets/search/scroll", "nth": 1, "do": "reset_after"}])
    found = await entries(tenant.connect(read_only=True, enumerate="scroll"))
    assert {entry.id for entry in found} == set(tenant.truth())
    assert not tenant.faults.unhit()


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_a_scroll_whose_page_cannot_be_read_is_begun_again(opened: Open, times: int) -> None:
    tenant = opened(*(asset(n, START) for n in range(230)))
    tenant.faults.add([{"match": "GET /v2/assets/search/scroll", "times": times, "do": "odd"}])
    service = tenant.connect(read_only=True, enumerate="scroll")
    if times == 3:
        with pytest.raises(ContractBroken, match="items"):
            await entries(service)
    else:
        assert {entry.id for entry in await entries(service)} == set(tenant.truth())
    assert not tenant.faults.unhit()


async def test_a_listing_that_stays_short_is_not_believed(opened: Open) -> None:
    tenant = opened(*(asset(n, START) for n in range(230)))
    tenant.faults.add([{"match": "GET /v2/assets/search/scroll", "nth": n, "do": "reset_after"} for n in (1, 2, 3)])
    with pytest.raises((Transient, TruncatedListing)):
        await entries(tenant.connect(read_only=True, enumerate="scroll"))


async def test_a_whole_asset_comes_with_its_entry(opened: Open) -> None:
    full = asset(
        1,
        fields={
            "title": "Harbour",
            "legend": "First light",
            "shotDate": {"date": "2025-02-06"},
            "rating": 12.5,
            "colors": [{"id": "c0", "label": "Red"}, {"id": "c2", "label": "Green / lime"}],
            "country": {"id": "k1", "label": "France"},
        },
        tags=["sea", "dawn"],
        rights={"groups": ["staff"], "release_at": "2020-01-01T00:00:00Z", "expires_at": "2050-01-01T00:00:00Z"},
    )
    tenant = opened(full)
    service = tenant.connect(read_only=True)
    (entry,) = await entries(service)
    found = entry.asset
    assert found is not None
    assert found == await service.fetch(entry.id)
    assert {key: found.fields[key] for key in ("title", "legend", "shotDate", "rating")} == {
        "title": "Harbour",
        "legend": "First light",
        "shotDate": date(2025, 2, 6),
        "rating": 12.5,
    }
    assert [term.label for term in found.fields["colors"]] == ["Red", "Green / lime"]  # type: ignore[union-attr]
    assert found.fields["country"] == Term("France", "France", ("France",))
    assert (found.type, found.status, found.filename) == ("Photo", "published", "photo 1.jpg")
    assert found.tags == {"sea", "dawn"}
    assert found.rights.groups == {"staff"}
    assert found.rights.expires_at == datetime(2050, 1, 1, tzinfo=UTC)
    assert entry.changed_at is not None
    assert not entry.deleted


async def test_versions_come_oldest_first_and_each_can_be_read(opened: Open) -> None:
    several = [{"name": "photo 1.jpg", "generate": {"size": 500 + n, "seed": n}} for n in range(3)]
    tenant = opened(asset(1, versions=several), asset(2))
    service = tenant.connect(read_only=True)
    found = {entry.id: entry.asset for entry in await entries(service)}
    first = next(each for each in found.values() if each is not None and each.filename == "photo 1.jpg")
    assert [file.size for file in first.versions] == [500, 501, 502]
    assert (await service.fetch(first.id)).versions == first.versions
    told = tenant.truth()[tenant.of_catalogue(1)]["versions"]
    for file, truth in zip(first.versions, told, strict=True):
        assert hashlib.md5(await body(service, file)).hexdigest() == truth["digests"]["md5"]


async def test_an_error_of_one_of_many_versions_is_raised_unchanged(opened: Open) -> None:
    several = [{"name": "a.jpg", "generate": {"size": 500 + n, "seed": n}} for n in range(2)]
    tenant = opened(*(asset(n, versions=several) for n in range(5)))
    tenant.faults.add([{"match": "GET /v2/assets/*/versions", "do": "status:401"}])
    with pytest.raises(Denied):
        await entries(tenant.connect(read_only=True))


async def test_an_asset_whose_versions_are_refused_is_listed_to_be_asked_for(opened: Open) -> None:
    several = [{"name": "a.jpg", "generate": {"size": 500 + n, "seed": n}} for n in range(2)]
    tenant = opened(*(asset(n, versions=several) for n in range(3)))
    tenant.faults.add([{"match": "GET /v2/assets/*/versions", "nth": 1, "do": "status:403"}])
    found = await entries(tenant.connect(read_only=True))
    assert len(found) == 3
    assert [entry.asset is None for entry in found].count(True) == 1


async def test_a_server_without_the_call_for_versions_returns_its_assets_all_the_same(opened: Open) -> None:
    several = [{"name": "a.jpg", "generate": {"size": 500 + n, "seed": n}} for n in range(2)]
    tenant = opened(asset(1, versions=several), asset(2), variant="older")
    tenant.faults.add([{"match": "GET /v2/assets/*/versions", "do": "status:404"}])
    service = tenant.connect(read_only=True)
    first, second = [await service.fetch(tenant.of_catalogue(number)) for number in (1, 2)]
    assert [file.name for file in first.versions] == ["a.jpg"]
    assert [loss.path for loss in first.losses] == ["versions"]
    assert not second.losses


async def test_an_asset_deleted_before_its_versions_were_read_is_not_found(opened: Open) -> None:
    files = [{"name": "a.jpg", "generate": {"size": 300 + n, "seed": n}} for n in range(2)]
    tenant = opened(asset(1, filename="a.jpg", versions=files))
    tenant.faults.add([{"match": "GET /v2/assets/*/versions", "do": "status:404"}])
    with pytest.raises(NotFound):
        await tenant.connect(read_only=True).fetch(tenant.of_catalogue(1))


async def test_attached_documents_are_read_where_asked_for(opened: Open) -> None:
    papers = [{"name": "release.pdf", "generate": {"size": 300, "seed": 9}}]
    tenant = opened(asset(1, attachments=papers), asset(2))
    assert not any(e.asset.attachments for e in await entries(tenant.connect(read_only=True)) if e.asset)
    service = tenant.connect(read_only=True, attachments="on")
    (found,) = [e.asset for e in await entries(service) if e.asset and e.asset.attachments]
    (paper,) = found.attachments
    assert paper.name == "release.pdf"
    truth = tenant.truth()[tenant.of_catalogue(1)]["attachments"][0]
    assert hashlib.md5(await body(service, paper)).hexdigest() == truth["digests"]["md5"]
    assert (await service.fetch(found.id)).attachments == found.attachments
    assert hashlib.md5(await body(tenant.connect(read_only=True), paper)).hexdigest() == truth["digests"]["md5"]


async def test_a_web_page_is_not_taken_for_a_document_whose_size_is_unknown(opened: Open) -> None:
    papers = [{"name": "release.pdf", "generate": {"size": 300, "seed": 9}}]
    tenant = opened(asset(1, attachments=papers))
    service = tenant.connect(read_only=True, attachments="on")
    (paper,) = (await service.fetch(tenant.of_catalogue(1))).attachments
    assert paper.size is None
    tenant.faults.add([{"match": "GET /objects*", "do": "html:200", "nth": 1}])
    with pytest.raises(Transient, match="a web page arrived"):
        await body(service, paper)
    assert len(await body(service, paper)) == 300


async def test_trash_and_archive_are_seen(opened: Open) -> None:
    tenant = opened(asset(1), asset(2, status="archived"), asset(3))
    target = tenant.connect()
    await target.remove(tenant.of_catalogue(3))
    service = tenant.connect(read_only=True)
    account = await service.probe()
    assert account.total == 3
    found = {e.asset.filename: e for e in await entries(service) if e.asset}
    statuses = {name: entry.asset.status for name, entry in found.items() if entry.asset}
    assert statuses == {"photo 1.jpg": "published", "photo 2.jpg": "archived", "photo 3.jpg": "trash"}
    assert [name for name, entry in found.items() if entry.deleted] == ["photo 3.jpg"]
    assert (await service.fetch(found["photo 2.jpg"].id)).status == "archived"


async def test_a_listing_reads_neither_versions_nor_documents_of_what_is_in_the_trash(opened: Open) -> None:
    several = [{"name": "a.jpg", "generate": {"size": 500 + n, "seed": n}} for n in range(2)]
    papers = [{"name": "release.pdf", "generate": {"size": 300, "seed": 9}}]
    tenant = opened(*(asset(number, versions=several, attachments=papers) for number in (1, 2)))
    await tenant.connect().remove(tenant.of_catalogue(2))
    tenant.world.reset_calls()
    found = await entries(tenant.connect(read_only=True, attachments="on"))
    assert [entry.asset.status for entry in found if entry.asset] == ["published", "trash"]
    assert tenant.world.api_calls["GET /v2/assets/{id}/versions"] == 1
    assert tenant.world.api_calls["GET /api/rest/asset/uuid/{id}"] == 1


async def test_a_delta_costs_what_changed(opened: Open) -> None:
    tenant = opened(*(asset(n) for n in range(1, 150)))
    service = tenant.connect()
    await service.schema()
    changed = tenant.of_catalogue(77)
    since = tenant.world.now()
    await service.update(changed, Patch(fields={"legend": "new"}))
    with tenant.costs() as spent:
        found = await entries(service, Window(since=since))
    assert [entry.id for entry in found] == [changed]
    assert spent.total() <= 3


async def test_bytes_from_any_offset_and_after_the_link_expired(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect(read_only=True)
    (entry,) = await entries(service)
    assert entry.asset is not None
    assert entry.asset.file is not None
    whole = await body(service, entry.asset.file)
    assert hashlib.md5(whole).hexdigest() == tenant.truth()[tenant.of_catalogue(1)]["versions"][0]["digests"]["md5"]
    assert await body(service, entry.asset.file, 700) == whole[700:]
    tenant.world.advance(3 * 24 * 3600)
    with tenant.costs() as spent:
        assert await body(service, entry.asset.file) == whole
    assert spent == {"GET /v2/assets/{id}": 1}
    with tenant.costs() as spent:
        assert await body(tenant.connect(read_only=True), entry.asset.file) == whole
    assert spent == {"GET /v2/assets/{id}": 1}


class UnlinkedTransport(AlteredTransport):
    """The user may not download `photo 1.jpg` (wire E 4)."""

    def altered(self, request: httpx.Request, body: Any) -> Any:
        for row in body.get("items", [body]) if isinstance(body, dict) else []:
            if row.get("filename") == "photo 1.jpg":
                del row["_links"]["download"]
        return body


async def test_a_plan_knows_of_an_original_that_may_not_be_downloaded(opened: Open) -> None:
    tenant = opened(asset(1), asset(2))
    tenant.transport = UnlinkedTransport()
    service = tenant.connect(read_only=True)
    outcomes = {}
    for entry in await entries(service):
        assert entry.asset is not None
        assert entry.asset.file is not None
        outcomes[entry.asset.filename] = entry.asset.file
    assert service.estimate_open(outcomes["photo 2.jpg"]) == {}
    with pytest.raises(Rejected) as planned:
        service.estimate_open(outcomes["photo 1.jpg"])
    with pytest.raises(Rejected) as opening:
        await body(service, outcomes["photo 1.jpg"])
    assert planned.value.code == opening.value.code == "no download link"


async def test_the_error_for_a_link_refused_again_and_again_does_not_contain_it(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect(read_only=True)
    (entry,) = await entries(service)
    assert entry.asset is not None
    assert entry.asset.file is not None
    tenant.faults.add([{"match": "GET /*download*", "do": "status:403"}, {"match": "GET /o*", "do": "status:403"}])
    with pytest.raises(Rejected) as refused:
        await body(service, entry.asset.file)
    assert "Signature" not in str(refused.value) + refused.value.hint
    assert refused.value.asset == entry.id


async def test_memberships_are_read_from_the_containers(opened: Open) -> None:
    press = {"kind": "category", "path": ["Press"], "id": ""}
    deep = {"kind": "category", "path": ["Press", "A/B"], "id": ""}
    best = {"kind": "collection", "path": ["Best of"], "id": ""}
    tenant = opened(
        asset(1, placements=[press]), asset(2, placements=[deep]), asset(3, placements=[deep, best]), asset(4)
    )
    found: dict[str, set[str]] = {}
    async for membership in tenant.connect(read_only=True).members():
        names = {tenant.truth()[asset]["filename"] for asset in membership.assets}
        found.setdefault(f"{membership.placement.kind} {membership.placement.text}", set()).update(names)
    assert found == {
        "category /Press": {"photo 1.jpg"},
        "category /Press/A\\/B": {"photo 2.jpg", "photo 3.jpg"},
        "collection /Best of": {"photo 3.jpg"},
    }


async def test_what_a_listing_shows_of_the_categories_below_is_unsure(opened: Open) -> None:
    press, deep = ({"kind": "category", "path": path, "id": ""} for path in (["Press"], ["Press", "A/B"]))
    tenant = opened(asset(1, placements=[press]), asset(2, placements=[deep, press]), asset(3), variant="subtree")
    found: dict[tuple[str, bool], set[str]] = {}
    async for membership in tenant.connect(read_only=True).members():
        names = {tenant.truth()[asset]["filename"] for asset in membership.assets}
        found.setdefault((membership.placement.text, membership.unsure), set()).update(names)
    assert found == {
        ("/Press", False): {"photo 1.jpg"},
        ("/Press/A\\/B", False): {"photo 2.jpg"},
        ("/Press", True): {"photo 2.jpg"},
    }


async def test_a_source_cannot_be_written_to(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect(read_only=True)
    with pytest.raises(DamSyncError, match="read-only"):
        await service.remove(tenant.of_catalogue(1))
    assert not tenant.world.api_calls["DELETE /v2/assets/{id}"]


async def test_the_documented_rate_is_respected_and_a_refusal_waited_out(opened: Open) -> None:
    tenant = opened(asset(1))
    service = tenant.connect()
    assert service.limits.pace.per_second == 40
    tenant.faults.add([{"match": "GET /v2/assets/assetgroups", "nth": 1, "do": "throttle"}])
    await service.schema()
    assert not tenant.faults.unhit()
    fast = connected(CONNECTOR, Context(tenant.served.url, TOKEN, {}, tenant.served.url, calls_per_second=500.0))
    assert fast.limits.pace.per_second == 50
    await fast.close()


async def test_an_asset_is_the_same_however_it_is_read(opened: Open) -> None:
    tenant = opened(*(asset(n) for n in range(1, 6)))
    service = tenant.connect(read_only=True)
    listed: dict[AssetId, Asset | None] = {entry.id: entry.asset for entry in await entries(service)}
    assert listed == {identity: await service.fetch(identity) for identity in listed}
