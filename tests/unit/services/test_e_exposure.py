"""Service E: who sees an asset, read and written; nobody else sees it, at no moment."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from dam_sync.model.asset import AssetId, Draft, Patch, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import ConfigError, InvalidValue, Rejected
from dam_sync.model.estimator import Estimator
from dam_sync.model.exposure_options import ExposureOption
from dam_sync.model.values import Json
from dam_sync.services.e_profiles.codec import fields, security
from dam_sync.services.e_profiles.codec.fields import TenantSchema, UploadProfile
from dam_sync.services.e_profiles.options import ProfilesOptions
from tests.support.services.connected_e import Open, asset, created, draft, serving
from tests.support.services.connected_e import Tenant as Served
from tests.support.services.connections import entries

NOW = datetime(2026, 11, 22, tzinfo=UTC)
LATER, PAST = datetime(2999, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC)
STAFF, PUBLIC = frozenset({"staff"}), frozenset({"public"})
SHUT: Json = {
    "record": "profile", "name": "shut", "type": "Photo", "groups": ["public"], "version_policy": "file_only",
    "release_date": "2999-01-01T00:00:00Z",
}  # fmt: skip
STAFF_ALONE = {"group:staff"}
ALL = {"public", "user", "group:public", "group:staff"}


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    async with serving() as start:
        yield start


def seen(tenant: Served) -> Any:
    with urllib.request.urlopen(f"{tenant.served.url}/_emulator/audience") as reply:
        return json.load(reply)


def now_seen(tenant: Served, identity: AssetId) -> set[str]:
    return set(seen(tenant)["now"].get(identity, ()))


def ever_seen(tenant: Served, identity: AssetId) -> set[str]:
    return {row["viewer"] for row in seen(tenant)["opened"] if row["asset"] == identity}


# -- reading -----------------------------------------------------------------------------------------------------------


DATE, GROUP = "no release date", "no asset group"


def unreleased(*why: str) -> frozenset[Restriction]:
    return frozenset(Restriction(RestrictionKind.UNRELEASED, each) for each in why)


@pytest.mark.parametrize(
    ("told", "rights"),
    [
        ({"asset_groups": ["staff"], "release_date": "2020-01-01T00:00:00Z"}, Rights(PAST, None, STAFF)),
        ({"asset_groups": ["staff"], "release_date": None}, Rights(groups=STAFF, restrictions=unreleased(DATE))),
        ({"asset_groups": [], "release_date": "2020-01-01T00:00:00Z"}, Rights(PAST, restrictions=unreleased(GROUP))),
        ({"asset_groups": "x", "release_date": "2020-01-01T00:00:00Z"}, Rights(PAST, restrictions=unreleased(GROUP))),
        ({}, Rights(restrictions=unreleased(DATE, GROUP))),
        (None, Rights(restrictions=unreleased(security.HIDDEN))),
        ("public", Rights(restrictions=unreleased(security.HIDDEN))),
    ],
)  # fmt: skip
def test_what_is_missing_hides_the_asset_and_is_not_everybody(told: Json, rights: Rights) -> None:
    assert security.rights_of(told, frozenset()) == rights


def test_a_group_that_stands_for_everybody() -> None:
    told = {"asset_groups": ["staff", "public"], "release_date": "2020-01-01T00:00:00Z"}
    assert security.rights_of(told, PUBLIC) == Rights(PAST)
    assert security.rights_of(told, frozenset()).groups == STAFF | PUBLIC


async def test_an_asset_without_a_release_date_is_read_so(opened: Open) -> None:
    hidden = asset(1, rights={"groups": ["public"], "released": False})
    tenant = opened(hidden, asset(2))
    found = {e.asset.filename: e.asset for e in await entries(tenant.connect(read_only=True)) if e.asset}
    assert found["photo 1.jpg"].rights.restrictions == unreleased("no release date")
    assert found["photo 2.jpg"].rights.restrictions == frozenset()


# -- who would see a draft ---------------------------------------------------------------------------------------------

OPEN = UploadProfile("photos", "Photo", PUBLIC, True)
CLOSED = UploadProfile("shut", "Photo", PUBLIC, False)
TENANT = TenantSchema(groups=PUBLIC | STAFF, profiles={"photos": OPEN})
BOTH = TenantSchema(groups=PUBLIC | STAFF, profiles={"photos": OPEN, "shut": CLOSED})
FUTURE = TenantSchema(profiles={"photos": OPEN, "later": UploadProfile("later", "Photo", PUBLIC, False, LATER)})
PLAIN = ProfilesOptions()


def audience(tenant: TenantSchema, options: ProfilesOptions = PLAIN, profile: str = "photos", **more: Any) -> Audience:
    return security.audience_of(Draft(None, "a.jpg", profile, **more), profile, tenant, options, NOW)


def test_the_audience_of_a_draft_is_that_of_its_rights_and_else_of_its_profile() -> None:
    assert audience(BOTH) == Audience(groups=PUBLIC)
    assert audience(BOTH, rights=Rights(groups=STAFF)) == Audience(groups=STAFF)
    assert audience(BOTH, rights=Rights(LATER, LATER, STAFF)) == Audience("", LATER, LATER, STAFF)
    assert audience(BOTH, profile="shut") == Audience("no release date", groups=PUBLIC)
    assert audience(BOTH, ProfilesOptions(everybody=PUBLIC), "shut") == Audience("no release date")
    assert audience(BOTH, profile="shut", rights=Rights(PAST)) == Audience("", PAST, None, PUBLIC)
    assert audience(BOTH, closed=True).hidden
    assert audience(BOTH, profile="unknown") == Audience()
    assert audience(TenantSchema(profiles={"p": UploadProfile("p", "Photo", frozenset(), True)}), profile="p").hidden
    assert audience(BOTH, ProfilesOptions(everybody=PUBLIC)) == Audience()


def test_without_a_profile_that_releases_nothing_its_own_groups_see_an_upload_first() -> None:
    assert audience(TENANT, rights=Rights(groups=STAFF)) == Audience(groups=STAFF | PUBLIC)
    assert audience(TENANT, rights=Rights(release_at=LATER)) == Audience(groups=PUBLIC)
    assert audience(TENANT, rights=Rights(expires_at=PAST)) == Audience(groups=PUBLIC)
    assert audience(TENANT, rights=Rights(expires_at=LATER)) == Audience(expires_at=LATER, groups=PUBLIC)


LOGOS = UploadProfile("logos", "Logo", PUBLIC, True)
GROUPLESS = UploadProfile("Image closed", "Photo", frozenset(), True)
NAMED = ProfilesOptions(closed_profile={"": "Image closed"})
SECOND = TenantSchema(groups=PUBLIC | STAFF, profiles={"photos": OPEN, "Image closed": GROUPLESS})


def closing(tenant: TenantSchema, options: ProfilesOptions = PLAIN, profile: str = "photos") -> ExposureOption | None:
    return security.closing_option(profile, tenant, options, NOW)


def test_each_asset_is_closed_by_a_profile_of_its_own_type() -> None:
    assert closing(BOTH) is None
    assert closing(FUTURE) is None
    assert closing(TENANT) is not None
    mixed = TenantSchema(profiles={**BOTH.profiles, "logos": LOGOS})
    assert closing(mixed) is None
    assert closing(mixed, profile="logos") is not None, "of another type"
    vault = TenantSchema(profiles={**mixed.profiles, "vault": UploadProfile("vault", "Logo", frozenset(), True)})
    assert closing(vault, ProfilesOptions(closed_profile={"Logo": "vault"}), "logos") is None
    assert closing(vault, ProfilesOptions(closed_profile="vault"), "logos") is None
    assert closing(vault, ProfilesOptions(closed_profile="vault")) is None, "the name is that of another type"


def test_the_option_that_keeps_an_asset_closed_is_named_with_a_profile_of_the_tenant() -> None:
    option = closing(SECOND)
    assert option is not None
    assert option.why == "profile photos shows a new asset to public until its rights are written"
    assert "`options: {closed_profile: Image closed}` of the target" in option.remedy
    assert option.hint.endswith('`options: {closed_profile: ""}` leaves it as it is')
    more = TenantSchema(profiles={**SECOND.profiles, "logos": LOGOS})
    option = closing(more)
    assert option is not None
    assert "`options: {closed_profile: {Photo: Image closed}}`" in option.remedy
    option = closing(more, profile="logos")
    assert option is not None
    assert "let an administrator of the target create a profile of type Logo" in option.remedy
    assert "closed_profile: " not in option.remedy, "there is none to name"


def test_options_are_open_for_the_types_of_which_nothing_can_be_closed() -> None:
    mixed = TenantSchema(profiles={**SECOND.profiles, "logos": LOGOS})

    def of(options: ProfilesOptions) -> list[tuple[str, tuple[str, ...]]]:
        return [(one.key, one.candidates) for one in security.open_types(mixed, options, NOW)]

    assert of(PLAIN) == [("Photo", ("Image closed",)), ("", ())]
    assert of(NAMED) == [("", ())]
    assert of(ProfilesOptions.model_validate({"closed_profile": ""})) == [], "it was decided"
    assert of(ProfilesOptions(closed_profile={"Logo": ""})) == [("Photo", ("Image closed",))]


def test_types_without_a_profile_to_name_are_listed_together() -> None:
    profiles = {name: UploadProfile(name, name, PUBLIC, True) for name in ("Film", "Logo", "Photo")}
    (one,) = security.open_types(TenantSchema(profiles=profiles), PLAIN, NOW)
    assert "new assets of types Film, Logo, Photo closed" in one.why
    assert "create a profile of types Film, Logo, Photo" in one.remedy


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ({"": "Image close"}, "there is no upload profile 'Image close'"),
        ({"Photo": "logos"}, "there is no upload profile 'logos' of type Photo"),
        ({"": "photos"}, "shows new assets at once to public"),
        ({"": "void"}, "gives neither a release date nor a group"),
    ],
)
def test_a_name_that_keeps_nothing_closed_is_refused(named: dict[str, str], text: str) -> None:
    void = UploadProfile("void", "Photo", frozenset(), False)
    tenant = TenantSchema(profiles={**SECOND.profiles, "logos": LOGOS, "void": void})
    with pytest.raises(ConfigError, match=text):
        security.refuse_seen_profiles(tenant, ProfilesOptions(closed_profile=named), NOW)


async def test_a_target_is_refused_for_such_a_name_and_a_source_is_not(opened: Open) -> None:
    service = opened().connect(closed_profile="Image closed")
    schema = await service.schema()
    with pytest.raises(ConfigError, match="there is no upload profile 'Image closed'"):
        await service.adopt_schema(schema)


def test_a_profile_that_does_not_say_its_groups_may_show_assets_to_everybody() -> None:
    silent = UploadProfile("photos", "Photo", frozenset(), True, says_groups=False)
    tenant = TenantSchema(groups=PUBLIC | STAFF, profiles={"photos": silent})
    assert audience(tenant) == Audience()
    assert audience(tenant, rights=Rights(groups=STAFF)) == Audience()
    assert closing(tenant) is not None
    assert fields.profile_of({"name": "photos", "metadata_type": "Photo"}).says_groups is False


# -- writing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rights", "viewers"),
    [
        (Rights(groups=STAFF), STAFF_ALONE),
        (Rights(release_at=LATER), set()),
        (Rights(expires_at=PAST), set()),
        (Rights(groups=STAFF | PUBLIC), ALL),
        (Rights(), ALL),
    ],
)
async def test_an_upload_is_seen_by_nobody_but_those_it_is_for(opened: Open, rights: Rights, viewers: set[str]) -> None:
    tenant = opened(SHUT)
    service = tenant.connect()
    await service.schema()
    wanted = draft(rights=rights, tags=frozenset({"a"}))
    told = Estimator(service).write(wanted, 300)
    before = Counter(service.calls)
    made = await created(service, wanted)
    assert Counter(service.calls) - before == Counter(told)
    assert ever_seen(tenant, made) == viewers
    found = await service.fetch(made)
    assert found.rights.groups == rights.groups or PUBLIC
    assert found.rights.release_at is not None


@pytest.mark.parametrize("rights", [Rights(), Rights(PAST, None, STAFF)])
async def test_a_closed_asset_is_seen_by_nobody_until_it_is_opened(opened: Open, rights: Rights) -> None:
    tenant = opened(SHUT)
    service = tenant.connect()
    made = await created(service, draft(closed=True, rights=rights))
    assert ever_seen(tenant, made) == set()
    await service.update(made, Patch(rights=Rights(PAST, None, rights.groups), closed=True))
    assert ever_seen(tenant, made) == set()
    await service.update(made, Patch(rights=rights, closed=False))
    assert now_seen(tenant, made) == (STAFF_ALONE if rights.groups else ALL)


@pytest.mark.parametrize("more", [{"rights": Rights(groups=STAFF)}, {"closed": True}, {"rights": Rights(LATER)}])
async def test_a_profile_without_groups_that_the_job_names_shows_nothing(opened: Open, more: dict[str, Any]) -> None:
    tenant = opened({"record": "profile", "name": "Image closed", "type": "Photo", "groups": []})
    open_ = tenant.connect()
    await open_.schema()
    assert open_.audience(draft(**{**more, "closed": False})).groups == PUBLIC | more.get("rights", Rights()).groups
    service = tenant.connect(closed_profile="Image closed")
    schema = await service.schema()
    assert {kind.profile for kind in schema.types} == {"photos", "logos"}, "it is no choice of a mapping"
    told = service.audience(draft(**more))
    assert told.hidden or told.groups == STAFF or told.release_at == LATER
    made = await created(service, draft(**more))
    assert ever_seen(tenant, made) <= STAFF_ALONE


async def test_an_asset_that_exists_is_hidden_whatever_profiles_there_are(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    made = await created(service, draft())
    assert now_seen(tenant, made)
    await service.update(made, Patch(closed=True))
    assert now_seen(tenant, made) == set()


async def test_a_type_that_no_profile_keeps_closed_is_refused_before_the_upload(opened: Open) -> None:
    tenant = opened(SHUT)
    service = tenant.connect()
    assert (await service.schema()).capabilities.writes(Feature.CLOSED), "it hides what exists"
    logo, photo = draft(profile="logos", closed=True), draft(closed=True)
    assert service.closing_option(logo) is not None
    assert service.closing_option(photo) is None
    with pytest.raises(Rejected, match="keeps an asset closed") as refused:
        await created(service, logo)
    assert "closed_profile" in refused.value.hint
    assert not tenant.truth()


async def test_no_crash_shows_an_asset_to_others(opened: Open) -> None:
    tenant = opened(SHUT)
    tenant.faults.add([{"match": "PUT /v2/assets/*/security", "nth": 1, "do": "status:400"}])
    with pytest.raises(InvalidValue):
        await created(tenant.connect(), draft(rights=Rights(groups=STAFF)))
    (identity,) = tenant.truth()
    assert ever_seen(tenant, identity) == set()


async def test_a_profile_that_releases_nothing_is_no_choice_of_the_mapping(opened: Open) -> None:
    tenant = opened(SHUT)
    schema = await tenant.connect().schema()
    assert {kind.profile for kind in schema.types} == {"photos", "logos"}


async def fails_after(service: Any, tenant: Served, made: AssetId, patch: Patch) -> set[str]:
    """Who sees it when the metadata is refused."""
    tenant.faults.add([{"match": "PUT /v2/assets/*/metadata", "nth": 1, "do": "status:400"}])
    with pytest.raises(InvalidValue):
        await service.update(made, patch)
    return now_seen(tenant, made)


async def test_rights_are_written_before_or_after_the_rest_as_they_shut_out_or_let_in(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    fields = {"title": "Other"}
    made = await created(service, draft())
    narrower = Patch(fields=fields, rights=Rights(groups=STAFF | PUBLIC, expires_at=PAST))
    assert await fails_after(service, tenant, made, narrower) == set()  # also wider, so hidden in between
    made = await created(service, draft("m-2", "two.jpg"))
    assert await fails_after(service, tenant, made, Patch(fields=fields, rights=Rights(expires_at=PAST))) == set()
    assert await fails_after(service, tenant, made, Patch(fields=fields, cleared=frozenset({"expiry"}))) == set()
    await service.update(made, Patch(fields=fields, cleared=frozenset({"expiry"})))
    assert now_seen(tenant, made) == ALL
    swapped = Patch(fields=fields, rights=Rights(groups=STAFF))
    assert await fails_after(service, tenant, made, swapped) == set()
    await service.update(made, swapped)
    assert now_seen(tenant, made) == STAFF_ALONE


async def test_hiding_comes_first_and_showing_last(opened: Open) -> None:
    tenant = opened()
    service = tenant.connect()
    made = await created(service, draft())
    for patch in (Patch(fields={"title": "Secret"}, closed=True), Patch(fields={"title": "Harmless"}, closed=False)):
        assert await fails_after(service, tenant, made, patch) == set()
        before = Counter(service.calls)
        await service.update(made, patch)
        assert Counter(service.calls) - before == Counter(Estimator(service).write(patch))
    assert now_seen(tenant, made) == ALL
