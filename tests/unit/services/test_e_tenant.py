"""What service E says of a tenant and an account: rights, allowance, opt-in behaviors, sign-in, schema."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any

import pytest

from dam_sync.model.asset import AssetId
from dam_sync.model.capabilities import Operation
from dam_sync.model.connector import Context
from dam_sync.model.errors import (
    ConfigError,
    ContractBroken,
    Denied,
    StopRequested,
    Unsupported,
)
from dam_sync.model.schema import FieldKind
from dam_sync.report.sentences import about_counted_calls
from dam_sync.services.e_profiles import CONNECTOR, facts
from dam_sync.services.e_profiles.codec.wire import toggles_of
from tests.support.services.connected_e import TOKEN, Open, asset, consent, serving
from tests.support.services.connections import Bytes
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
