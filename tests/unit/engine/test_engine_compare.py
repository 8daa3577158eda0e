"""Two values are equal when they mean the same, however they are spelt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from dam_sync.engine.compare.comparison import compare
from dam_sync.engine.compare.expected import Expected, ExpectedFiles
from dam_sync.engine.compare.facts import Scope, TargetFacts
from dam_sync.model.asset import Asset, AssetId, Draft, FileRef, Placement, Revision, Rights
from dam_sync.model.audience import Audience
from dam_sync.model.canonical import canonical
from dam_sync.model.limits import Limits, Pace
from dam_sync.model.schema import Field, FieldKind, Schema
from dam_sync.model.values import GeoPoint, Localized, Person, Row, Term, Value
from tests.support.comparisons import ABLE, NOW, differing

LIMITS = Limits(page=100, pace=Pace())
SCHEMA = Schema(
    fields={
        "title": Field("title", FieldKind.TEXT),
        "shot": Field("shot", FieldKind.DATE),
        "subject": Field("subject", FieldKind.TERM, multiple=True),
        "legend": Field("legend", FieldKind.TEXT, localized=True),
        "words": Field("words", FieldKind.TEXT, localized=True, multiple=True),
        "cleared": Field("cleared", FieldKind.FLAG),
    },
    locales=("en", "fr"),
)
EVERY = Scope(
    frozenset(SCHEMA.fields), frozenset({"category"}), tags=True, groups=True, dates=frozenset({"release", "expiry"})
)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("a", "a"), ("a",)),  # some services merge equal values
        (("b", "a"), ("a", "b")),
        (Term("Sea", "1"), "Sea"),
        ((Term("Sea", "1"), Term("Sky", "2")), (Term("Sky", "9"), Term("Sea", "8"))),
        (620, 620.0),
        (620, "620"),
        (GeoPoint(29, -86.0, "Quay"), GeoPoint(29.0, -86, "Quay")),
        (Person("Doe Jane", "12"), "Doe Jane"),
        (True, "true"),
        (datetime(2024, 1, 1, microsecond=5000, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)),
        (None, ()),
        ("", None),
        (Localized({"en": "Sea", "fr": ""}), Localized({"en": "Sea"})),
        (12345678901234567000, 1.2345678901234567e19),  # as JSON has it
    ],
)
def test_values_of_the_same_meaning_are_equal(one: object, two: object) -> None:
    assert canonical(one) == canonical(two)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("a", "b"),
        ("a ", "a"),
        ("  a", "a"),
        (Term("Sea "), Term("Sea")),
        (Localized({"en": "Sea "}), Localized({"en": "Sea"})),
        (Localized({"en": "Sea"}), Localized({"fr": "Sea"})),
        (GeoPoint(1.0, 2.0), GeoPoint(1.0, 2.5)),
        (Row({"a": "x"}), Row({"a": "y"})),
        (date(2024, 1, 1), date(2024, 1, 2)),
        (0, None),
        (False, None),
    ],
)
def test_values_of_another_meaning_differ(one: object, two: object) -> None:
    assert canonical(one) != canonical(two)  # type: ignore[arg-type]


def asset(**changes: object) -> Asset:
    told: dict[str, object] = {"filename": "a.jpg", "fields": {"title": "Sea", "shot": date(2024, 5, 1)}, **changes}
    return Asset(AssetId("1"), Revision("r"), **told)  # type: ignore[arg-type]


def draft(**changes: object) -> Draft:
    told: dict[str, object] = {"filename": "a.jpg", "fields": {"title": "Sea", "shot": date(2024, 5, 1)}, **changes}
    return Draft(None, **told)  # type: ignore[arg-type]


def paths(one: Draft, two: Asset) -> list[str]:
    return [each.path for each in differing(one, two, SCHEMA, EVERY, precision=LIMITS.precision) if not each.extra]


def test_an_equal_asset_has_no_difference() -> None:
    more = asset(tags=frozenset({"x", "more"}), placements=frozenset({Placement("category", ("A",), "5")}))
    assert paths(draft(tags=frozenset({"x"}), placements=frozenset({Placement("category", ("A",))})), more) == []


def test_every_kind_of_difference_is_named() -> None:
    when = datetime(2024, 1, 1, tzinfo=UTC)
    wanted = draft(
        filename="b.jpg",
        status="published",
        fields={"title": "Land", "subject": (Term("Sea"),)},
        tags=frozenset({"x"}),
        placements=frozenset({Placement("category", ("A",))}),
        rights=Rights(when, when, frozenset({"public"})),
    )
    there = asset(rights=Rights(when + timedelta(minutes=1), None, frozenset()), versions=(FileRef("1", "a.jpg"),))
    found = paths(wanted, there)
    expected = [
        "filename",
        "status",
        "fields.title",
        "fields.subject",
        "tags",
        "placements",
        "groups",
        "release",
        "expiry",
    ]
    assert sorted(found) == sorted(expected)


def test_a_date_may_be_stored_as_a_timestamp() -> None:
    kept = asset(fields={"title": "Sea", "shot": datetime(2024, 5, 1, 0, 0, tzinfo=UTC)})
    assert paths(draft(), kept) == []


def changed_by_others(wrote: Sequence[dict[str, Value]], wanted: dict[str, Value], seen: Asset) -> list[str]:
    """Fields in which the target has neither what was written, or may have been, nor what is wanted."""
    states = [draft(fields=fields) for fields in wrote]
    about = TargetFacts(SCHEMA, ABLE, LIMITS.precision, lambda draft: Audience(), NOW)
    found = compare(Expected(states, ExpectedFiles(known=False)), seen, about, Scope(), draft(fields=wanted))
    return [path.removeprefix("fields.") for path in found.foreign if path.startswith("fields.")]


def test_a_value_that_is_neither_as_written_nor_as_wanted_was_changed_by_others() -> None:
    before = {"title": "Sea", "shot": date(2024, 5, 1)}
    edited = asset(fields={"title": "Lake", "shot": date(2024, 5, 1)})
    assert changed_by_others([before], {**before, "title": "Ocean"}, edited) == ["title"]
    assert changed_by_others([before], {"title": "Ocean"}, asset()) == []


def test_what_is_as_wanted_already_was_changed_by_nobody() -> None:
    before: dict[str, Value] = {"title": "Sea", "subject": ("Boat",)}
    half_written = asset(fields={"title": "Ocean", "subject": ("Boat",)})
    assert changed_by_others([before], {"title": "Ocean", "subject": ("Ship",)}, half_written) == []
    assert changed_by_others([{"title": "Sea"}], {}, asset(fields={})) == []


def test_a_list_of_which_an_interrupted_write_stored_some_values_was_changed_by_nobody() -> None:
    """Some services have a call for each value."""
    before: list[dict[str, Value]] = [{"subject": ("Boat", "Pier")}, {"subject": ("Boat", "Ship", "Sail")}]
    half = asset(fields={"subject": ("Boat", "Ship")})
    assert changed_by_others(before, before[1], half) == []
    for values in (("Boat", "Ship", "Lake"), ("Ship", "Sail")):
        assert changed_by_others(before, before[1], asset(fields={"subject": values})) == ["subject"]
        assert changed_by_others(before[:1], before[1], asset(fields={"subject": values})) == ["subject"]


def test_a_text_of_which_some_languages_were_written_was_changed_by_nobody() -> None:
    before: dict[str, Value] = {"legend": Localized({"en": "Sea", "fr": "Mer"})}
    wanted: dict[str, Value] = {"legend": Localized({"en": "Ocean", "fr": "Océan"})}
    for texts, found in (
        ({"en": "Sea", "fr": "Océan"}, []),
        ({"en": "Sea", "fr": "Océan", "de": "Meer"}, ["legend"]),
        ({"fr": "Océan"}, ["legend"]),
    ):
        assert changed_by_others([before], wanted, asset(fields={"legend": Localized(texts)})) == found
    swapped: list[dict[str, Value]] = [{"legend": Localized({"en": "Sea"})}, {"legend": Localized({"fr": "Mer"})}]
    assert changed_by_others(swapped, swapped[1], asset(fields={})) == [], "one was removed, the other not added yet"


def test_a_box_that_is_not_ticked_is_no_value() -> None:
    """Some services return `no` for every asset, and others for none."""
    seen = asset(fields={"cleared": False})
    assert changed_by_others([{}], {"cleared": True}, seen) == []
    assert changed_by_others([{"cleared": False}], {"cleared": True}, asset(fields={})) == []
    assert changed_by_others([{"cleared": False}], {}, asset(fields={"cleared": True})) == ["cleared"]


def test_a_date_that_the_target_stores_as_a_timestamp_was_changed_by_nobody() -> None:
    seen = asset(fields={"shot": datetime(2024, 5, 1, tzinfo=UTC)})
    assert changed_by_others([{"shot": date(2024, 5, 1)}], {"shot": date(2025, 5, 1)}, seen) == []


def added(one: Draft, two: Asset, scope: Scope = EVERY, schema: Schema = SCHEMA, **about: Any) -> list[tuple[str, str]]:
    found = differing(one, two, schema, scope, **about)
    return [(each.path, each.found) for each in found if each.extra]


def test_a_group_that_the_container_admits_was_added_by_nobody_unless_the_draft_names_groups() -> None:
    found = asset(rights=Rights(groups=frozenset({"members", "staff"})), inherited_groups=frozenset({"members"}))
    assert added(draft(), found) == [("groups", "staff")]
    staff = draft(rights=Rights(groups=frozenset({"staff"})))
    assert added(staff, found) == [("groups", "members")]


def test_what_is_there_in_addition_is_named() -> None:
    when = datetime(2024, 1, 1, tzinfo=UTC)
    wanted = draft(
        fields={"subject": (Term("Sea"),)}, tags=frozenset({"x"}), rights=Rights(groups=frozenset({"staff"}))
    )
    more = asset(
        fields={"subject": (Term("Sky"), Term("Sea")), "title": "by hand"},
        tags=frozenset({"x", "more"}),
        placements=frozenset({Placement("category", ("A",), "5")}),
        rights=Rights(when, when, frozenset({"staff", "public"})),
    )
    assert paths(wanted, more) == []
    assert sorted(added(wanted, more)) == [
        ("expiry", "2024-01-01T00:00:00Z"),
        ("fields.subject", "Sky"),
        ("fields.title", "by hand"),
        ("groups", "public"),
        ("placements", "category:/A"),
        ("release", "2024-01-01T00:00:00Z"),
        ("tags", "more"),
    ]


def test_what_the_mapping_does_not_write_is_nobodys_business() -> None:
    more = asset(
        fields={"title": "Sea", "shot": date(2024, 5, 1), "subject": (Term("Sky"),)},
        tags=frozenset({"more"}),
        placements=frozenset({Placement("category", ("A",), "5")}),
        rights=Rights(groups=frozenset({"public"})),
    )
    assert added(draft(), more, Scope(frozenset({"title", "shot"}))) == []


def test_what_the_target_sets_by_itself_was_not_added() -> None:
    came = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
    section = Placement("category", ("Inbox",))
    given = asset(
        fields={"title": "Sea", "shot": date(2024, 5, 1), "cleared": False},
        placements=frozenset({section}),
        rights=Rights(release_at=came + timedelta(seconds=3), groups=frozenset({"public"})),
        created_at=came,
    )
    schema, groups = replace(SCHEMA, container_default=frozenset({section})), frozenset({"public"})
    assert added(draft(), given, EVERY, schema, groups=groups) == []
    elsewhere = draft(placements=frozenset({Placement("category", ("A",))}), rights=Rights(groups=frozenset({"staff"})))
    assert added(elsewhere, given, EVERY, schema, groups=groups)[:2] == [
        ("placements", "category:/Inbox"),
        ("groups", "public"),
    ]


def test_a_release_date_without_which_nobody_sees_the_asset_was_not_added() -> None:
    came = datetime(2026, 1, 5, 8, 0, tzinfo=UTC)
    now, week = came + timedelta(days=9), timedelta(days=7)
    hiding = replace(SCHEMA, always_released=True)
    for release, more in ((came + week, []), (came - week, ["release"]), (now + week, ["release"])):
        given = asset(fields={"title": "Sea"}, rights=Rights(release_at=release), created_at=came)
        assert [path for path, _ in added(draft(), given, EVERY, hiding, now=now)] == more
        assert [path for path, _ in added(draft(), given, EVERY)] == ["release"]


def test_a_value_that_differs_is_not_reported_twice() -> None:
    swapped = asset(fields={"subject": (Term("Sky"),)})
    wanted = draft(fields={"subject": (Term("Sea"),)})
    assert (paths(wanted, swapped), added(wanted, swapped)) == (["fields.subject"], [])


def test_text_in_a_field_of_several_languages_is_in_the_first_of_them() -> None:
    wanted = draft(fields={"legend": "Sea", "words": ("a", "b")})
    held = {"legend": Localized({"en": "Sea"}), "words": (Localized({"en": "b"}), Localized({"en": "a"}))}
    assert paths(wanted, asset(fields=held)) == []
    assert paths(wanted, asset(fields={**held, "legend": Localized({"fr": "Sea"})})) == ["fields.legend"]
    assert changed_by_others([{"legend": "Sea"}], {"legend": "Ocean"}, asset(fields=held)) == []


def test_a_language_that_was_added_is_an_extra() -> None:
    wanted = draft(fields={"legend": Localized({"en": "Sea"})})
    more = asset(fields={"legend": Localized({"en": "Sea", "fr": "Mer"})})
    assert (paths(wanted, more), added(wanted, more)) == ([], [("fields.legend", "fr:Mer")])


def test_status_and_rights_of_a_closed_asset_are_not_compared() -> None:
    closed = draft(status="published", rights=Rights(groups=frozenset({"staff"})), closed=True)
    hidden = asset(status="draft", rights=Rights(release_at=datetime(2099, 1, 1, tzinfo=UTC), groups=frozenset({"x"})))
    assert (paths(closed, hidden), added(closed, hidden)) == ([], [])


def test_tags_that_differ_in_their_unicode_form_alone_are_the_same() -> None:
    composed, decomposed = "na\u00efve", "nai\u0308ve"
    held = asset(tags=frozenset({composed, "more"}))
    for tags in ({decomposed}, {composed, decomposed}):
        wanted = draft(tags=frozenset(tags))
        assert paths(wanted, held) == []
        assert added(wanted, held) == [("tags", "more")]
    assert paths(draft(tags=frozenset({"naive"})), held) == ["tags"]


@pytest.mark.parametrize(("folds", "found"), [(True, []), (False, ["tags"])])
def test_a_target_that_keeps_one_tag_for_two_cases_has_the_tag_in_either(folds: bool, found: list[str]) -> None:
    wanted, held = draft(tags=frozenset({"Wheel"})), asset(tags=frozenset({"wheel"}))
    other = differing(wanted, held, replace(SCHEMA, folds_tags=folds), EVERY)
    assert [each.path for each in other if not each.extra] == found


def test_a_box_that_somebody_ticked_differs_if_the_source_says_no() -> None:
    ticked = asset(fields={**asset().fields, "cleared": True})
    assert paths(draft(fields={**draft().fields, "cleared": False}), ticked) == ["fields.cleared"]
    assert paths(draft(), ticked) == [], "nothing is wanted: an addition"
