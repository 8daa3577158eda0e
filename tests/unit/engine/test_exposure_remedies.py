"""What keeps an asset closed is named by its cause, with the names of both tenants, and before the waiver."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dam_sync.engine.guards.exposure import ExposureGate, held_back_of
from dam_sync.engine.guards.remedies import Advice, HeldBack, advice_of
from dam_sync.mapping.crosswalk import Drafted
from dam_sync.model.asset import Asset, AssetId, Draft, Revision, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.capabilities import YES, Capabilities, Feature, Operation
from dam_sync.model.exposure import ExposureRule, Waiver, Waivers
from dam_sync.model.exposure_advice import what_to_do
from dam_sync.model.exposure_options import ExposureOption, ExposureOptions
from dam_sync.model.limits import Limits
from dam_sync.model.link import LinkRow
from dam_sync.model.outcome import Outcome
from dam_sync.model.schema import Schema
from dam_sync.model.service import Service

NOW, LATER = datetime(2026, 11, 22, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)
STAFF, PUBLIC = frozenset({"staff"}), frozenset({"public"})
CLOSING = ExposureOption(
    "closed_profile", "profile Image shows a new asset to public", "a profile", "uploads it unseen", ("Image closed",)
)
ASSET = Asset(AssetId("7"), Revision("r"), filename="a.jpg", status="published")


def service(
    audience: Any, *features: Feature, option: ExposureOption | None = None, everybody: str = "everybody"
) -> Service:
    abilities = Capabilities(frozenset({Operation.UPDATE}), dict.fromkeys(features, YES))
    made = SimpleNamespace(
        audience=audience,
        capabilities=abilities,
        limits=Limits(),
        closing_option=lambda draft: option,
        exposure_options=lambda: ExposureOptions(everybody),
    )
    return cast("Service", made)


def judged(target: Service, asset: Asset, draft: Draft | None = None, **waivers: Waiver) -> Outcome:
    """Why the asset is set aside."""
    schema = Schema({}, groups=PUBLIC | STAFF, capabilities=target.capabilities)
    given = Waivers({ExposureRule(rule): waiver for rule, waiver in waivers.items()})
    gate = ExposureGate(service(None), target, schema, given, lambda: NOW)
    parked = gate.judge(asset, Drafted(draft or Draft(None, "a.jpg")), None, {}).parked
    assert parked is not None
    return parked


def in_order(hint: str, *parts: str) -> None:
    places = [hint.index(part) for part in parts]
    assert places == sorted(places)


def by_rights(draft: Draft) -> Audience:
    """A target that shows an asset as its rights say, to the public without groups."""
    return Audience(groups=draft.rights.groups or PUBLIC, release_at=draft.rights.release_at)


def limited() -> Asset:
    return replace(ASSET, rights=Rights(groups=STAFF))


def test_what_the_target_shows_first_is_closed_by_its_option_and_nothing_else_is_proposed() -> None:
    target = service(lambda draft: Audience(groups=STAFF | PUBLIC), Feature.GROUPS, Feature.CLOSED, option=CLOSING)
    hint = judged(target, limited(), Draft(None, "a.jpg", rights=Rights(groups=STAFF))).hint
    in_order(
        hint,
        "profile Image shows a new asset to public: `options: {closed_profile: Image closed}` of the target",
        "`select`",
        "`policy: {exposure: {groups_widened: accept}}`",
    )
    assert "everybody" not in hint, "another reading of the source would not help"
    assert "close}" not in hint, "it cannot be closed yet"


def test_groups_that_do_not_arrive_are_mapped_to_those_of_the_target() -> None:
    hint = judged(service(by_rights, Feature.GROUPS, Feature.CLOSED), limited()).hint
    in_order(
        hint,
        "`everybody`",
        'security: {groups: {from: "groups[]"',
        "(public, staff)",
        "`policy: {exposure: {groups_widened: close}}`",
        "`select`",
        "groups_widened: accept",
    )


def test_no_line_of_the_mapping_is_named_where_the_target_has_no_groups() -> None:
    hint = judged(service(lambda draft: Audience(), Feature.CLOSED), limited()).hint
    assert "security:" not in hint
    in_order(hint, "groups_widened: close", "groups_widened: accept")


def test_without_an_option_for_it_no_group_is_said_to_stand_for_everybody() -> None:
    target, bare = service(by_rights, Feature.GROUPS), service(None, everybody="")
    schema = Schema({}, capabilities=target.capabilities)
    gate = ExposureGate(bare, target, schema, Waivers(), lambda: NOW)
    parked = gate.judge(limited(), Drafted(Draft(None, "a.jpg")), None, {}).parked
    assert parked is not None
    assert "everybody" not in parked.hint


@pytest.mark.parametrize(("kept", "line"), [(by_rights, True), (lambda draft: Audience(), False)])
def test_a_date_is_carried_by_the_mapping_only_where_it_hides_the_asset(kept: Any, line: bool) -> None:
    asset = replace(ASSET, rights=Rights(release_at=LATER))
    hint = judged(service(kept, Feature.RELEASE, Feature.CLOSED), asset).hint
    assert ("`security: {release: {from: release_at}}`" in hint) == line
    in_order(hint, "unreleased_as_released: close", "unreleased_as_released: accept")


@pytest.mark.parametrize(("status", "line"), [("archived", True), ("draft", False)])
def test_a_status_is_carried_by_the_mapping_only_where_it_hides_the_asset(status: str, line: bool) -> None:
    def hidden(draft: Draft) -> Audience:
        return Audience(hidden="archived" if draft.status == "archived" else "")

    hint = judged(service(hidden, Feature.STATUS), replace(ASSET, status=status)).hint
    assert ("`asset: {status: {from: status}}`" in hint) == line


KEPT = "the target keeps it, and nothing is hidden by it there"


@pytest.mark.parametrize(
    ("asset", "kept"),
    [
        (replace(ASSET, rights=Rights(release_at=LATER)), Rights(release_at=LATER)),
        (replace(ASSET, rights=Rights(expires_at=LATER)), Rights(expires_at=LATER)),
        (replace(ASSET, status="archived"), Rights()),
    ],
)
def test_what_the_target_keeps_and_does_not_hide_by_is_no_loss_of_the_mapping(asset: Asset, kept: Rights) -> None:
    """The mapping has the line, and still the asset is set aside: the message says why."""
    open_to_all = service(lambda draft: Audience(), Feature.RELEASE, Feature.EXPIRY, Feature.STATUS, Feature.CLOSED)
    draft = Draft(None, "a.jpg", rights=kept, status=asset.status)
    assert KEPT in judged(open_to_all, asset, draft).message
    assert KEPT not in judged(open_to_all, asset).message
    first = service(lambda draft: Audience(), Feature.RELEASE, Feature.EXPIRY, Feature.STATUS, option=CLOSING)
    assert KEPT not in judged(first, asset, draft).message, "it is hidden by it a moment later"


def test_the_lookup_of_groups_is_written_out() -> None:
    hint = judged(service(by_rights, Feature.GROUPS, Feature.CLOSED), limited()).hint
    assert "`lookups: {groups: {values: {NAME AT THE SOURCE: NAME AT THE TARGET}}}`" in hint


def test_where_nothing_can_be_hidden_yet_the_option_comes_before_the_policy() -> None:
    hint = judged(service(lambda draft: Audience(), option=CLOSING), replace(ASSET, status="archived")).hint
    in_order(hint, "closed_profile: Image closed", "archived_as_published: close", "archived_as_published: accept")


def test_what_only_a_waiver_helps_names_it_after_leaving_out() -> None:
    asset = replace(ASSET, rights=Rights(restrictions=frozenset({Restriction(RestrictionKind.DOWNLOAD)})))
    hint = judged(service(lambda draft: Audience()), asset).hint
    assert hint.startswith("leave out by `select`")
    in_order(hint, "`select`", "Only if more people may see these assets", "download_widened: accept")


def test_an_asset_that_was_moved_before_is_hidden_although_a_new_one_could_not_be() -> None:
    target = service(lambda draft: Audience(), Feature.CLOSED, option=CLOSING)
    gate = ExposureGate(service(None), target, Schema({}, capabilities=target.capabilities), Waivers(), lambda: NOW)
    link = LinkRow("7", "t", draft={"status": ""})
    drafted = Drafted(Draft(None, "a.jpg"))
    assert gate.judge(replace(ASSET, status="archived"), drafted, link, {}).closed
    assert gate.judge(replace(ASSET, status="archived"), drafted, None, {}).parked is not None


# -- all that is held back ---------------------------------------------------------------------------------------------

GROUPS = ExposureRule.GROUPS
SOURCE = ExposureOptions("everybody")


MAPPED = {GROUPS: Advice(("map them",))}


def held(*groups: str, assets: int, remedy: str = "map them") -> HeldBack:
    return HeldBack(GROUPS, (remedy,) if remedy else (), frozenset(groups), assets)


def told(held: list[HeldBack], library: int, source: ExposureOptions = SOURCE) -> str:
    return advice_of(held, source, library)[GROUPS].as_json(GROUPS)["remedy"]


def test_a_group_that_all_of_them_have_is_named_in_the_option() -> None:
    advice = told([held("members", assets=7), held("members", "staff", assets=3)], 10)
    assert advice.startswith("all 10 assets have the group members: ")
    in_order(advice, "`options: {everybody: members}` of the source", "map them")


def test_a_group_that_most_of_them_have_is_named_with_their_number() -> None:
    advice = told([held("members", assets=270), held("staff", assets=30)], 300)
    assert advice.startswith("270 of 300 assets have the group members: ")


def test_no_group_is_named_that_few_have_or_that_is_named_already_or_for_which_there_is_no_option() -> None:
    few, many = [held("members", assets=5), held("staff", assets=5)], [held("members", assets=9)]
    assert advice_of(few, SOURCE, 10) == MAPPED
    assert advice_of(many, ExposureOptions("everybody", frozenset({"members"})), 9) == MAPPED
    assert advice_of(many, ExposureOptions(), 9) == MAPPED


def test_a_group_of_all_that_is_held_back_and_of_few_of_the_library_is_not_said_to_have_everybody() -> None:
    assert advice_of([held("staff", assets=30)], SOURCE, 300) == MAPPED


def test_a_group_that_arrives_is_not_in_the_way() -> None:
    target = service(lambda draft: Audience(groups=STAFF | PUBLIC), Feature.GROUPS, option=CLOSING)
    outcome = judged(target, limited(), Draft(None, "a.jpg", rights=Rights(groups=STAFF)))
    assert [each.groups for each in held_back_of(outcome)] == [frozenset()]


def test_a_group_is_added_to_those_that_are_named() -> None:
    advice = told([held("yes", assets=9)], 9, ExposureOptions("everybody", frozenset({"all of us"})))
    assert '`options: {everybody: [all of us, "yes"]}`' in advice


def test_the_remedies_of_most_assets_come_first_and_each_once() -> None:
    rare = [held(str(number), assets=1, remedy="rare") for number in range(3)]
    advice = told([*rare, held("a", assets=9, remedy="usual"), held("b", assets=1, remedy="")], 13)
    assert advice.endswith(
        "`options: {everybody: a}` of the source says so, and everybody at the target sees them; or usual; or rare"
    )


def test_one_remedy_of_several_rules_is_named_once_and_the_waiver_at_last() -> None:
    rows = [
        Advice(("set the option",), closes=True).as_json(ExposureRule.ARCHIVED),
        Advice(("set the option",)).as_json(ExposureRule.UNRELEASED),
    ]
    assert what_to_do(rows) == [
        "archived_as_published, unreleased_as_released: set the option",
        "`policy: {exposure: {archived_as_published: close}}` in the job file moves such assets hidden from ordinary "
        "users",
        "leave out by `select` in the mapping file what is not to be moved",
        "Only if more people may see these assets: `policy: {exposure: {archived_as_published: accept, "
        "unreleased_as_released: accept}}` in the job file",
    ]


def test_an_asset_that_is_set_aside_is_counted_by_rule() -> None:
    outcome = judged(service(by_rights, Feature.GROUPS), replace(limited(), status="archived"))
    found = {each.rule: each.groups for each in held_back_of(outcome)}
    assert found == {GROUPS: STAFF, ExposureRule.ARCHIVED: frozenset()}
