"""Who sees what at service D: security templates of assets and collections, values that only some users see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from dam_sync.model.asset import Draft, Marker, Patch, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.capabilities import Feature
from dam_sync.model.errors import ConfigError, InvalidValue
from dam_sync.model.estimator import Estimator
from dam_sync.model.service import Service, Window
from dam_sync.services.d_templates import facts
from tests.conformance.catalogue import SCHEMA, asset, field
from tests.conformance.tenant import Start, Tenant
from tests.support.state.memory_journal import MemoryJournal

KIND = "d_templates"
VAULT = {"record": "group", "name": "vault"}
SECRET = field("secret", "text", sensitive=True)
SENSITIVE = frozenset({Restriction(RestrictionKind.SENSITIVE, "secret")})


def draft(**more: Any) -> Draft:
    fields = {"title": "New", "srckey": "one", **more.pop("fields", {})}
    return Draft(Marker("srckey", "one"), "one.jpg", "Photo", fields=fields, **more)


async def connected(tenant: Tenant, **options: str) -> Service:
    service = tenant.connect(options={"relations": "off", **options})
    await service.schema()
    return service


def seen_by(tenant: Tenant, identity: Any) -> set[str]:
    return set(tenant.truth()[identity]["rights"]["groups"])


async def test_a_template_that_stands_for_everybody_limits_nobody(start: Start) -> None:
    open_, limited = asset(1, rights={"groups": ["public", "staff"]}), asset(2, rights={"groups": ["staff"]})
    tenant = start([*SCHEMA, open_, limited])
    service = await connected(tenant, security="public", everybody="public")
    listed = [
        entry
        async for shard in service.shards(Window())
        async for batch in service.crawl(shard, None)
        for entry in batch.entries
    ]
    groups = {entry.asset.filename: entry.asset.rights.groups for entry in listed if entry.asset}
    assert groups == {"photo 1.jpg": frozenset(), "photo 2.jpg": frozenset({"staff"})}
    assert service.audience(draft()) == Audience()
    assert service.audience(draft(rights=staff())) == Audience(groups=frozenset({"staff"}))
    told = await connected(tenant, security="public")
    assert told.audience(draft()) == Audience(groups=frozenset({"public"}))


def staff() -> Rights:
    return Rights(groups=frozenset({"staff"}))


async def test_a_closed_asset_is_created_with_the_restricted_template_and_no_other(start: Start) -> None:
    tenant = start([*SCHEMA, VAULT])
    service = await connected(tenant, restricted_security="vault")
    assert (await service.schema()).capabilities.writes(Feature.CLOSED)
    given = draft(closed=True, rights=staff())
    told = Estimator(service).write(given)
    with tenant.costs() as spent:
        made = await service.create(given, None, MemoryJournal())
    assert sum(spent.values()) == sum(told.values())
    assert seen_by(tenant, made) == {"vault"}
    assert service.audience(given).hidden
    opened = Patch(closed=False, rights=staff())
    assert Estimator(service).write(opened) == {facts.UPDATE: 1, facts.ASSET: 1}  # the first one is read back
    await service.update(made, opened)
    assert seen_by(tenant, made) == {"staff"}
    await service.update(made, Patch(closed=True, fields={"note": "n"}))
    assert seen_by(tenant, made) == {"vault"}
    with pytest.raises(InvalidValue):
        await service.update(made, Patch(closed=False))
    assert seen_by(tenant, made) == {"vault"}


async def test_without_a_restricted_template_nothing_can_be_closed(start: Start) -> None:
    tenant = start()
    service = await connected(tenant)
    assert not (await service.schema()).capabilities.writes(Feature.CLOSED)
    with pytest.raises(InvalidValue, match="needs a security template"):
        await service.create(draft(closed=True), None, MemoryJournal())
    assert not tenant.marked("one")


async def test_the_option_by_which_assets_can_be_hidden_is_asked_for_with_the_templates_of_the_tenant(
    start: Start,
) -> None:
    tenant = start([*SCHEMA, VAULT])
    service = await connected(tenant, security="public")
    (open_,) = service.exposure_options().closing
    assert service.closing_option(draft()) == open_
    assert open_.candidates == ("staff", "vault")
    assert "cannot be hidden there later" in open_.why
    assert "`options: {restricted_security: NAME}` of the target" in open_.remedy
    told = await connected(tenant, security="public", everybody="staff")
    assert "`options: {restricted_security: vault}` of the target" in told.exposure_options().closing[0].remedy
    decided = await connected(tenant, security="public", restricted_security="")
    assert decided.exposure_options().closing == (), "it was given up"
    assert decided.closing_option(draft()) is not None, "and is still what would help"
    named = await connected(tenant, security="public", restricted_security="vault")
    assert (named.exposure_options().closing, named.closing_option(draft())) == ((), None)


@pytest.mark.parametrize("option", ["security", "restricted_security"])
async def test_an_option_that_names_no_template_is_an_error_before_anything_moves(start: Start, option: str) -> None:
    tenant = start()
    with pytest.raises(ConfigError, match=f"option {option}: unknown security template 'nobody'"):
        await connected(tenant, **{option: "nobody"})


@pytest.mark.parametrize(
    ("options", "given", "groups"),
    [
        ({"security": "public"}, {}, {"public"}),
        ({"security": "public"}, {"rights": staff()}, {"staff"}),
        ({"security": ""}, {}, None),
    ],
)
async def test_the_audience_is_that_of_the_templates(
    start: Start, options: Mapping[str, str], given: Mapping[str, Any], groups: set[str] | None
) -> None:
    service = await connected(start(), **options)
    assert service.audience(draft(**given)) == Audience(groups=frozenset(groups) if groups else None)


async def test_dates_and_a_status_hide_nothing(start: Start) -> None:
    names = {"release_field": "released", "expiry_field": "expires", "status_field": "state"}
    service = await connected(start(**names), **names)
    later = datetime(2050, 1, 1, tzinfo=UTC)
    given = draft(status="archived", rights=Rights(later, later))
    assert service.audience(given) == Audience(groups=frozenset({"public"}))


async def test_values_for_some_users_only_are_a_restriction(start: Start) -> None:
    fields = {"title": "One", "secret": "hidden"}
    tenant = start([*SCHEMA, SECRET, asset(1, fields=fields), asset(2)])
    service = await connected(tenant)
    assert (await service.fetch(tenant.of_catalogue(1))).rights.restrictions == SENSITIVE
    assert (await service.fetch(tenant.of_catalogue(2))).rights.restrictions == frozenset()
    assert service.audience(draft(fields={"secret": "x"})).restrictions == SENSITIVE


async def test_what_each_asset_needs_is_said_by_the_schema(start: Start) -> None:
    tenant = start([*SCHEMA, {"record": "type", "name": "Video"}])
    assert (await (await connected(tenant, security="")).schema()).needs == {"groups", "profile"}
    assert (await (await connected(tenant)).schema()).needs == {"profile"}
    one = start([row for row in SCHEMA if row != {"record": "group", "name": "staff"}])
    service = await connected(one, security="")
    assert (await service.schema()).needs == frozenset()
    made = await service.create(replace(draft(), profile=""), None, MemoryJournal())
    assert seen_by(one, made) == {"public"}


@pytest.mark.parametrize(
    ("options", "shared", "security"),
    [
        ({"security": "staff"}, True, ["staff"]),
        ({"security": "", "restricted_security": "vault"}, True, ["vault"]),
        ({"security": ""}, False, []),
    ],
    ids=["default", "restricted", "private"],
)
async def test_a_new_collection_is_not_for_more_people_than_is_said(
    start: Start, options: dict[str, str], shared: bool, security: list[str]
) -> None:
    tenant = start([*SCHEMA, VAULT])
    service = await connected(tenant, **options)
    place = await service.ensure_container("collection", ("Spring",))
    made = await service.create(draft(rights=staff()), None, MemoryJournal())
    await service.place(place, [made], [])
    tenant.advance(60)
    row = await service._row(place.id)  # type: ignore[attr-defined]
    names = {identity: name for name, identity in (await service.tenant.security.get()).known.items()}  # type: ignore[attr-defined]
    assert (row["collectionType"] == "secured") is shared
    assert [names[one] for one in row.get("securityTemplateIds") or ()] == security
    other = await connected(tenant)
    assert [m.assets async for m in other.members() if m.placement.path == ("Spring",)] == [(made,)]


async def test_the_first_update_is_read_back_and_paid_for_in_the_plan(start: Start) -> None:
    tenant = start()
    service = await connected(tenant)
    made = await service.create(draft(), None, MemoryJournal())
    changes = (
        Patch(fields={"note": "n"}),
        Patch(rights=staff()),
        Patch(fields={"note": "m"}, rights=staff()),
        Patch(fields={"note": None}),
    )
    for change in changes:
        told = Estimator(service).write(change)
        with tenant.costs() as spent:
            await service.update(made, change)
        assert sum(spent.values()) == sum(told.values())


async def test_a_feature_of_an_attribute_belongs_to_the_templates_that_have_it(start: Start) -> None:
    names = {"status_field": "state", "tags_field": "tags"}
    rows = [*SCHEMA, {"record": "type", "name": "Video"}, field("state", "term", vocabulary="subjects")]
    schema = await (await connected(start(rows, tags_field="tags"), **names)).schema()
    assert {"status", "tags"} <= schema.capabilities.parts
    assert schema.held_by["status"] == {"Photo"}
