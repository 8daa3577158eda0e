"""Which redirects are published, by who sees an asset at both services and by what the links returned."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.model.asset import Asset, AssetId, Revision, Rights
from dam_sync.model.audience import Restriction, RestrictionKind
from dam_sync.model.capabilities import LinkAccess
from dam_sync.model.exposure import ExposureRule, link_widenings
from dam_sync.model.public_link import LinkWidening, Redirect
from tests.support.sample.property_examples import examples

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
OPEN, LOGIN = LinkAccess(), LinkAccess(login=True)
SHOWN = Asset(AssetId("1"), Revision("1"), status="published")
WIDENED = (LinkWidening(ExposureRule.GROUPS, "source"),)


def days(number: int) -> datetime:
    return NOW + timedelta(days=number)


@pytest.mark.parametrize(
    ("asset", "rule"),
    [
        (replace(SHOWN, status="archived"), ExposureRule.ARCHIVED),
        (replace(SHOWN, status="draft"), ExposureRule.UNPUBLISHED),
        (replace(SHOWN, status="trash"), ExposureRule.UNPUBLISHED),
        (replace(SHOWN, rights=Rights(release_at=days(1))), ExposureRule.UNRELEASED),
        (replace(SHOWN, rights=Rights(expires_at=days(-1))), ExposureRule.EXPIRY),
        (replace(SHOWN, rights=Rights(groups=frozenset({"staff"}))), ExposureRule.GROUPS),
    ],
)
def test_a_link_that_anybody_can_open_widens_what_is_not_everybodys(asset: Asset, rule: ExposureRule) -> None:
    assert [one.rule for one in link_widenings(asset, None, NOW)] == [rule]
    assert [one.rule for one in link_widenings(asset, asset.rights.expires_at, NOW)] == [rule], "its dates do not help"


@pytest.mark.parametrize("kind", RestrictionKind)
def test_every_restriction_counts(kind: RestrictionKind) -> None:
    asset = replace(SHOWN, rights=Rights(restrictions=frozenset({Restriction(kind, "staff")})))
    assert len(link_widenings(asset, None, NOW)) == 1


def test_a_link_may_end_with_its_asset_but_not_later() -> None:
    asset = replace(SHOWN, rights=Rights(expires_at=days(9)))
    assert link_widenings(asset, days(9), NOW) == ()
    assert link_widenings(asset, days(8), NOW) == ()
    assert [one.rule for one in link_widenings(asset, days(10), NOW)] == [ExposureRule.EXPIRY]
    assert [one.rule for one in link_widenings(asset, None, NOW)] == [ExposureRule.EXPIRY]


@given(
    status=st.sampled_from(["", "published", "draft", "archived", "pending"]),
    release=st.none() | st.integers(-3, 3),
    expiry=st.none() | st.integers(-3, 3),
    groups=st.frozensets(st.sampled_from(["public", "staff"]), max_size=2),
    kinds=st.frozensets(st.sampled_from(list(RestrictionKind)), max_size=2),
    until=st.none() | st.integers(-3, 3),
)
@settings(max_examples=examples(1000))
def test_only_what_everybody_sees_now_may_have_an_open_link(
    status: str,
    release: int | None,
    expiry: int | None,
    groups: frozenset[str],
    kinds: frozenset[RestrictionKind],
    until: int | None,
) -> None:
    rights = Rights(
        None if release is None else days(release),
        None if expiry is None else days(expiry),
        groups,
        frozenset(Restriction(kind) for kind in kinds),
    )
    limited = bool(groups or kinds) or status not in ("", "published") or (release is not None and release > 0)
    outlives = expiry is not None and (expiry <= 0 or until is None or until <= 0 or until > expiry)
    asset = replace(SHOWN, status=status, rights=rights)
    found = link_widenings(asset, None if until is None else days(until), NOW)
    assert bool(found) == (limited or outlives)


@pytest.mark.parametrize(
    ("old", "new", "source", "target", "refused"),
    [
        (None, None, OPEN, OPEN, {ExposureRule.GROUPS}),
        (None, None, LOGIN, OPEN, {ExposureRule.GROUPS, ExposureRule.LOGIN}),
        (None, None, LOGIN, LOGIN, set()),
        (None, None, OPEN, LOGIN, set()),
        (False, True, OPEN, LOGIN, {ExposureRule.GROUPS, ExposureRule.LOGIN}),
        (True, True, LOGIN, OPEN, {ExposureRule.GROUPS}),
        (True, False, OPEN, OPEN, {ExposureRule.GROUPS}),
        (False, False, OPEN, OPEN, {ExposureRule.GROUPS}),
        (False, None, OPEN, OPEN, {ExposureRule.GROUPS, ExposureRule.LOGIN}),
        (False, None, OPEN, LOGIN, set()),
    ],
)
def test_what_was_seen_of_the_links_stands_before_what_is_said_of_them(
    old: bool | None, new: bool | None, source: LinkAccess, target: LinkAccess, refused: set[ExposureRule]
) -> None:
    row = Redirect("https://a.example/1", "https://e.example/1", "1", "2", widened=WIDENED)
    assert {one.rule for one in row.rules(old, new, source, target)} == refused
