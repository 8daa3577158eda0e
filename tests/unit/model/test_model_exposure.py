"""Who would see more: every rule by itself, with what counts as held and what does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dam_sync.model.asset import Asset, AssetId, Draft, Revision, Rights
from dam_sync.model.audience import Audience, Restriction, RestrictionKind
from dam_sync.model.exposure import MEANINGS, OF_RESTRICTION, Decided, ExposureRule, audience_of, widenings

NOW = datetime(2026, 5, 1, tzinfo=UTC)
LATER, SOONER = NOW + timedelta(days=30), NOW - timedelta(days=30)
NOTHING = Decided()
EVERYBODY = Audience()


def asset(status: str = "published", **rights: object) -> Asset:
    return Asset(AssetId("7"), Revision("r"), status=status, rights=Rights(**rights))  # type: ignore[arg-type]


def rules(one: Asset, target: Audience, decided: Decided = NOTHING, *groups: str) -> list[str]:
    draft = Draft(None, "a.jpg", rights=Rights(groups=frozenset(groups)))
    return [found.rule.value for found in widenings(one, draft, target, decided, NOW, timedelta(seconds=1))]


def test_every_rule_has_its_sentence_and_every_restriction_its_rule() -> None:
    assert set(MEANINGS) == set(ExposureRule)
    assert set(OF_RESTRICTION) == set(RestrictionKind)


def test_a_published_asset_without_limits_widens_by_no_rule() -> None:
    assert rules(asset(), EVERYBODY) == []
    assert rules(asset(""), EVERYBODY) == []
    assert rules(asset("Published"), EVERYBODY) == []


@pytest.mark.parametrize(
    ("status", "rule"),
    [
        ("archived", "archived_as_published"),
        ("Archived", "archived_as_published"),
        ("draft", "unpublished_as_published"),
        ("pending", "unpublished_as_published"),
        ("import", "unpublished_as_published"),
        ("awaiting review", "unpublished_as_published"),
    ],
)
def test_what_is_not_published_widens_where_the_target_shows_it(status: str, rule: str) -> None:
    assert rules(asset(status), EVERYBODY) == [rule]
    assert rules(asset(status), Audience(hidden="not approved")) == []


def test_what_means_the_same_in_a_service_of_the_same_kind_is_preserved_by_the_draft() -> None:
    """Some services hide nothing by status or dates; then those of a source of that kind did not either."""
    one = asset("archived", release_at=LATER, expires_at=LATER)
    same = Draft(None, "a.jpg", status="archived", rights=one.rights)
    alike = Decided(same=frozenset({"status", "release", "expiry"}))
    assert not widenings(one, same, EVERYBODY, alike, NOW)
    assert len(widenings(one, same, EVERYBODY, NOTHING, NOW)) == 3
    bare = Draft(None, "a.jpg")
    assert len(widenings(one, bare, EVERYBODY, alike, NOW)) == 3
    assert len(widenings(one, same, EVERYBODY, Decided(same=frozenset({"status"})), NOW)) == 2


def test_why_an_asset_is_hidden_names_its_own_status_too() -> None:
    one = replace(asset("draft"), substatus="Legal check")
    assert audience_of(one).hidden == "draft (Legal check)"


@pytest.mark.parametrize(
    ("release", "shown", "widens"),
    [
        (LATER, None, True),
        (LATER, SOONER, True),
        (LATER, LATER - timedelta(hours=1), True),
        (LATER, LATER, False),
        (LATER, LATER + timedelta(days=1), False),
        (LATER, LATER - timedelta(milliseconds=900), False),
        (SOONER, None, False),
        (None, None, False),
    ],
)
def test_a_release_that_is_to_come_has_to_be_carried(
    release: datetime | None, shown: datetime | None, widens: bool
) -> None:
    found = rules(asset(release_at=release), Audience(release_at=shown))
    assert found == (["unreleased_as_released"] if widens else [])


def test_an_asset_without_the_release_date_it_needs_is_not_released() -> None:
    one = asset(restrictions=frozenset({Restriction(RestrictionKind.UNRELEASED)}))
    assert rules(one, EVERYBODY) == ["unreleased_as_released"]
    assert rules(one, Audience(release_at=LATER)) == ["unreleased_as_released"]
    assert rules(one, Audience(hidden="no release date")) == []


@pytest.mark.parametrize(
    ("expiry", "gone", "widens"),
    [
        (LATER, None, True),
        (SOONER, None, True),
        (SOONER, NOW, True),
        (LATER, LATER, False),
        (LATER, SOONER, False),
        (LATER, LATER + timedelta(milliseconds=900), False),
        (None, None, False),
    ],
)
def test_an_expiry_past_or_to_come_has_to_be_carried(
    expiry: datetime | None, gone: datetime | None, widens: bool
) -> None:
    assert rules(asset(expires_at=expiry), Audience(expires_at=gone)) == (["expiry_dropped"] if widens else [])


def test_groups_are_preserved_by_name_or_by_a_field_rule_that_reads_them() -> None:
    one = asset(groups=frozenset({"staff", "press"}))
    given, others = frozenset({"Personnel"}), frozenset({"Personnel", "public"})
    assert rules(one, EVERYBODY) == ["groups_widened"]
    assert rules(one, Audience(groups=frozenset({"Staff"}))) == []
    assert rules(one, Audience(groups=frozenset({"staff", "public"}))) == ["groups_widened"]
    assert rules(one, Audience(groups=given), NOTHING, *given) == ["groups_widened"]
    assert rules(one, Audience(groups=given), Decided(groups=True), *given) == []
    assert rules(one, Audience(groups=others), Decided(groups=True), *given) == ["groups_widened"], (
        "the target adds one"
    )
    assert rules(one, EVERYBODY, Decided(groups=True)) == ["groups_widened"], "the line gave nothing"
    assert rules(asset(), Audience(groups=given)) == []


@pytest.mark.parametrize("kind", list(RestrictionKind))
def test_a_restriction_is_preserved_only_by_one_of_its_kind(kind: RestrictionKind) -> None:
    one = asset(restrictions=frozenset({Restriction(kind, "interns")}))
    same, other = Restriction(kind, "interns"), Restriction(kind, "others")
    assert rules(one, EVERYBODY) == [OF_RESTRICTION[kind].value]
    assert rules(one, Audience(restrictions=frozenset({same}))) == []
    by_name = kind in (RestrictionKind.DENIED, RestrictionKind.TIMED)
    assert rules(one, Audience(restrictions=frozenset({other}))) == ([OF_RESTRICTION[kind].value] if by_name else [])


def test_groups_made_of_containers_hold_the_container() -> None:
    one = asset(restrictions=frozenset({Restriction(RestrictionKind.CONTAINER, "/Board")}))
    board = frozenset({"board"})
    assert rules(one, Audience(groups=board), Decided(containers=True), *board) == []
    assert rules(one, Audience(groups=board), NOTHING, *board) == ["container_widened"]
    assert rules(one, EVERYBODY, Decided(containers=True)) == ["container_widened"]


def test_an_asset_may_fall_under_several_rules() -> None:
    one = asset("archived", release_at=LATER, expires_at=LATER, groups=frozenset({"staff"}))
    assert rules(one, EVERYBODY) == [
        "archived_as_published",
        "unreleased_as_released",
        "expiry_dropped",
        "groups_widened",
    ]


def test_a_date_that_the_target_stores_and_does_not_obey_is_named_as_such() -> None:
    one = asset(release_at=LATER, expires_at=LATER)
    details = {
        rights: [found.detail for found in widenings(one, Draft(None, "a.jpg", rights=rights), EVERYBODY, NOTHING, NOW)]
        for rights in (one.rights, Rights())
    }
    idle = "it keeps the date, which hides nothing there"
    assert [detail.endswith(f": {idle}") for detail in details[one.rights]] == [True, True]
    assert not any(idle in detail for detail in details[Rights()])
