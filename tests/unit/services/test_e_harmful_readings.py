"""Service E, where an undocumented write does something else than was assumed: it is noticed at the first."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from dam_sync.model.asset import AssetId, Patch, Rights
from dam_sync.model.errors import Conflict, Rejected, SafetyStop
from dam_sync.model.service import Service
from dam_sync.model.values import Json, Term
from tests.support.services.connected_e import TOKEN, Open, Tenant, asset, created, draft, serving
from tests.support.services.connections import Bytes, entries
from tests.support.state.memory_journal import MemoryJournal
from tests.unit.services.test_e_exposure import SHUT, ever_seen, now_seen

OTHERS: Json = {"record": "profile", "name": "both", "type": "Photo", "groups": ["public"]}
OURS: dict[str, Any] = {"tags": frozenset({"ours"}), "rights": Rights(groups=frozenset({"staff"}))}
LATER = datetime(2999, 1, 1, tzinfo=UTC)


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


async def tried(calls: Iterable[Awaitable[Any]]) -> list[Any]:
    """The results, or errors, of calls that are made at once."""
    return await asyncio.gather(*calls, return_exceptions=True)


async def ids_of(service: Service) -> list[AssetId]:
    await service.schema()
    return [entry.id for entry in await entries(service)]


# -- uploads under a name of others (assumptions 16 to 18) -------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "name"),
    [("", "Photo 1.JPG"), ("late_versions", "photo 1.jpg"), ("names_loosely", "phöto 1.tif")],
)
async def test_an_asset_of_others_gets_no_rights_and_tags_though_the_job_expects_no_versions(
    opened: Open, variant: str, name: str
) -> None:
    tenant = opened({**OTHERS, "version_policy": "file_only"}, asset(1), variant=variant)
    service = tenant.connect(version_policy="none")
    ((theirs, before),) = tenant.truth().items()
    with pytest.raises(Conflict) as refused:
        await service.create(draft(filename=name, profile="both", **OURS), Bytes(name, b"ours"), MemoryJournal())
    after = tenant.truth()[theirs]
    assert refused.value.code == "name taken"
    assert [after[part] for part in ("tags", "rights", "fields")] == [
        before[part] for part in ("tags", "rights", "fields")
    ]


# -- the trash (assumption 24) -----------------------------------------------------------------------------------------


async def test_a_removal_that_purges_is_the_only_one(opened: Open) -> None:
    tenant = opened(*[asset(number) for number in range(1, 6)], variant="delete_purges")
    service = tenant.connect()
    refused = await tried(service.remove(each) for each in await ids_of(service))
    assert {type(error) for error in refused} == {SafetyStop}
    assert "deletes: none" in refused[0].hint
    assert len(tenant.truth()) == 4


@pytest.mark.parametrize("fault", ["reset_after", "reset_before", "status:503"])
async def test_a_removal_whose_response_was_lost_is_not_sent_to_an_asset_in_the_trash(opened: Open, fault: str) -> None:
    tenant = opened(asset(1), asset(2), variant="delete_twice_purges")
    service = tenant.connect()
    tenant.faults.add([{"match": "DELETE /v2/assets/*", "nth": 1, "do": fault}])
    for each in await ids_of(service):
        await service.remove(each)
    assert [row["status"] for row in tenant.truth().values()] == ["trash", "trash"]


async def test_a_removal_costs_one_look_in_a_run(opened: Open) -> None:
    tenant = opened(asset(1), asset(2))
    service = tenant.connect()
    looks = []
    for each in await ids_of(service):
        before = Counter(service.calls)
        await service.remove(each)
        looks.append((Counter(service.calls) - before)["GET /v2/assets/{id}"])
    assert looks == [1, 0]


# -- who sees an asset (assumptions 26, 27) ----------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["null_unheeded", "no_nulls"])
async def test_a_release_date_that_is_not_shown_to_be_gone_is_not_taken_as_gone(opened: Open, variant: str) -> None:
    tenant = opened(asset(1), variant=variant)
    service = tenant.connect()
    (identity,) = await ids_of(service)
    with pytest.raises(Rejected, match="or does not show that it has none"):
        await service.update(identity, Patch(closed=True))


async def test_one_asset_is_seen_at_most_where_no_release_date_shows_assets(opened: Open) -> None:
    later: Json = {"rights": {"groups": ["public"], "release_at": "2999-01-01T00:00:00Z"}}
    tenant = opened(*[asset(number, **later) for number in range(1, 6)], variant="null_is_public")
    service = tenant.connect()
    found = await ids_of(service)
    refused = await tried(service.update(each, Patch(closed=True)) for each in found)
    assert {type(error) for error in refused} == {SafetyStop}
    assert [now_seen(tenant, each) for each in found] == [set()] * 5
    assert [bool(ever_seen(tenant, each)) for each in found].count(True) == 1


async def test_one_asset_is_seen_at_most_where_a_profile_releases_in_spite_of_its_words(opened: Open) -> None:
    tenant = opened(SHUT, variant="profile_releases")
    service = tenant.connect()
    wanted = [draft(f"m-{number}", f"{number}.jpg", closed=True) for number in range(5)]
    refused = await tried(created(service, each) for each in wanted)
    assert {getattr(error, "code", "created") for error in refused} == {"released at once"}
    (identity,) = tenant.truth()
    assert now_seen(tenant, identity) == set()


async def test_one_asset_is_uploaded_at_most_where_an_asset_without_groups_is_there_for_nobody(opened: Open) -> None:
    groupless = {"record": "profile", "name": "Image closed", "type": "Photo", "groups": []}
    tenant = opened(groupless, variant="groupless_unavailable")
    service = tenant.connect(closed_profile="Image closed")
    await service.schema()
    wanted = [draft(f"m-{number}", f"{number}.jpg", closed=True) for number in range(3)]
    refused = await tried(created(service, each) for each in wanted)
    assert {getattr(error, "code", "created") for error in refused} == {"unavailable"}
    assert [ever_seen(tenant, each) for each in tenant.truth()] == [set()]


async def test_a_profile_that_does_not_say_whether_it_releases_hides_nothing(opened: Open) -> None:
    quiet = {**SHUT, "release_date": None, "immediate_release": False}
    tenant = opened(quiet, variant="unsaid_release")
    service = tenant.connect()
    await service.schema()
    assert service.closing_option(draft(closed=True)) is not None
    with pytest.raises(Rejected, match="keeps an asset closed"):
        await created(service, draft(closed=True))
    assert not tenant.truth()


async def test_an_expiration_that_is_not_shown_to_be_gone_is_not_taken_as_gone(opened: Open) -> None:
    rights = {"groups": ["public"], "release_at": "2024-01-01T00:00:00Z", "expires_at": "2999-01-01T00:00:00Z"}
    tenant = opened(asset(1, rights=rights), variant="no_nulls")
    service = tenant.connect()
    (identity,) = await ids_of(service)
    with pytest.raises(Rejected, match="still has an expiration date"):
        await service.update(identity, Patch(cleared=frozenset({"expiry"})))


# -- renamed values (assumption 29) ------------------------------------------------------------------------------------


def coloured(number: int, colour: str) -> Json:
    return asset(number, fields={"title": f"Photo {number}", "colors": [{"id": "", "label": colour}]})


async def test_a_value_that_is_renamed_in_the_list_alone_gets_its_name_back(opened: Open) -> None:
    colours = ("Red", "Blue", "Green / lime")
    held = [coloured(number, colour) for number, colour in enumerate(colours, 1)]
    tenant = opened(*held, variant="rename_list_only")
    service = tenant.connect()
    await service.schema()
    for colour in ("Green / lime", "Red"):
        with pytest.raises(Rejected, match="renamed in the list alone"):
            await service.rename_term("colors", Term(colour, colour), Term(f"New {colour}"))
    assert [term.label async for term in service.terms("colors")] == list(colours)


@pytest.mark.parametrize("colour", ["Red", "Green / lime"])
async def test_a_value_that_is_renamed_on_assets_costs_two_calls_more_in_a_run(opened: Open, colour: str) -> None:
    tenant = opened(coloured(1, colour))
    service = tenant.connect()
    await service.schema()
    spent = []
    for old, new in ((colour, "Ocean"), ("Blue", "Sky")):
        before = Counter(service.calls)
        await service.rename_term("colors", Term(old, old), Term(new))
        spent.append((Counter(service.calls) - before).total())
    assert spent == [4, 2]


async def test_a_rename_that_a_killed_process_left_in_the_list_alone_is_found(opened: Open) -> None:
    tenant = opened(coloured(1, "Red"), variant="rename_list_only")
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKEN['token']}"}) as killed:
        url = f"{tenant.served.url}/v2/metadata/colors/vocabulary/Red"
        assert (await killed.put(url, json={"value": "Crimson"})).status_code == 200
    service = tenant.connect()
    await service.schema()
    with pytest.raises(Rejected, match="renamed in the list alone"):
        await service.rename_term("colors", Term("Red", "Red"), Term("Crimson"))
    assert "Red" in [term.label async for term in service.terms("colors")]


# -- tags (assumption 23) ----------------------------------------------------------------------------------------------


async def tagged(tenant: Tenant, patch: Patch) -> AssetId:
    service = tenant.connect()
    (identity,) = await ids_of(service)
    await service.update(identity, patch)
    return identity


async def test_tags_that_an_asset_does_not_show_are_looked_for(opened: Open) -> None:
    tenant = opened(asset(1), variant="tags_unshown")
    identity = await tagged(tenant, Patch(tags_add=frozenset({"harbour"})))
    assert tenant.truth()[identity]["tags"] == ["harbour"]


@pytest.mark.parametrize(
    ("variant", "patch"),
    [
        ("tags_unheeded", Patch(tags_add=frozenset({"ships"}))),
        ("tags_unshown", Patch(tags_add=frozenset({"at sea: ships"}))),
        ("tags_unshown", Patch(tags_remove=frozenset({"harbour"}))),
    ],
)
async def test_tags_that_nothing_shows_are_not_taken_as_written(opened: Open, variant: str, patch: Patch) -> None:
    with pytest.raises(Rejected, match="does not show its tags"):
        await tagged(opened(asset(1, tags=["harbour"]), variant=variant), patch)
