"""The neutral model: values survive JSON, parts cover a file, errors say enough."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dam_sync.model.asset import Asset, AssetId, FileRef, Placement, Relation, Revision, Rights
from dam_sync.model.capabilities import YES, Capabilities, Feature, Operation, Support
from dam_sync.model.codec import asset_from_json, asset_to_json, file_from_json, file_to_json, fingerprint
from dam_sync.model.errors import Disposition, Rejected, SessionGone, Throttled, TruncatedListing
from dam_sync.model.limits import MIB, PartBounds
from dam_sync.model.service import Service
from dam_sync.model.values import (
    GeoPoint,
    Localized,
    Person,
    Row,
    Term,
    instant_text,
    parse_instant,
    value_from_json,
    value_to_json,
)
from tests.support.services.empty_service import EmptyService

texts = st.text(max_size=20)
instants = st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2100, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC, microsecond=moment.microsecond // 1000 * 1000)
)
simple = st.one_of(
    texts, st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.dates(), instants
)
terms = st.builds(
    Term, texts, texts, st.lists(texts, max_size=3).map(tuple), texts, st.dictionaries(texts, texts, max_size=2)
)
scalars = st.one_of(
    simple,
    st.dictionaries(texts, texts, max_size=3).map(Localized),
    terms,
    st.builds(Person, texts, texts),
    st.builds(GeoPoint, st.floats(-90, 90), st.floats(-180, 180), texts),
    st.dictionaries(texts, simple, max_size=3).map(Row),
)
values = st.one_of(scalars, st.lists(scalars, max_size=4).map(tuple))


@given(values)
def test_every_value_survives_json(value: object) -> None:
    assert value_from_json(value_to_json(value)) == value  # type: ignore[arg-type]


@given(st.dictionaries(texts, values, max_size=4), st.sets(texts, max_size=3))
def test_every_asset_survives_json(fields: dict[str, object], tags: set[str]) -> None:
    asset = Asset(
        id=AssetId("7"),
        revision=Revision("r1"),
        filename="été.jpg",
        fields=fields,  # type: ignore[arg-type]
        versions=(FileRef("f1", "a.jpg", 3, "image/jpeg", {"md5": "x"}, datetime(2024, 1, 1, tzinfo=UTC)),),
        placements=frozenset({Placement("folder", ("a/b", "c\\d"), "12")}),
        tags=frozenset(tags),
        rights=Rights(datetime(2024, 1, 1, tzinfo=UTC), None, frozenset({"public"})),
        relations=frozenset({Relation("view", AssetId("8"))}),
    )
    again = asset_from_json(asset_to_json(asset))
    assert again == asset
    assert fingerprint(again) == fingerprint(asset)


def test_a_signed_link_never_reaches_json_or_repr() -> None:
    file = FileRef("f", "a.jpg", link="https://cdn.example/a?Signature=secret")
    asset = Asset(AssetId("1"), Revision(""), versions=(file,))
    assert "secret" not in repr(asset)
    assert "secret" not in str(asset_to_json(asset))


def test_a_revision_alone_does_not_change_the_fingerprint() -> None:
    one, two = (Asset(AssetId("1"), Revision(r), filename="a") for r in ("r1", "r2"))
    assert fingerprint(one) == fingerprint(two)
    assert fingerprint(one) != fingerprint(Asset(AssetId("1"), Revision("r1"), filename="b"))


@given(st.integers(0, 20_000_000_000))
def test_parts_cover_the_file_once(size: int) -> None:
    bounds = PartBounds(preferred=16 * MIB, least=5 * MIB, most=95_000_000, count=10_000)
    parts = bounds.split(size)
    assert parts[0].start == 0
    assert parts[-1].stop == size
    assert all(one.stop == two.start for one, two in itertools.pairwise(parts))
    assert all(bounds.least <= part.size <= 95_000_000 for part in parts[:-1])
    assert len(parts) <= 10_000
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))


def test_a_file_too_large_for_the_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        PartBounds(preferred=5, least=5, most=10, count=3).split(31)


def test_paths_escape_slashes() -> None:
    assert Placement("folder", ("Atelier / Workshop", "a\\b")).text == "/Atelier \\/ Workshop/a\\\\b"


def test_timestamps_without_offset_are_utc() -> None:
    assert parse_instant("2024-05-01T12:00:00") == datetime(2024, 5, 1, 12, tzinfo=UTC)
    assert parse_instant("2024-05-01T14:00:00+02:00") == datetime(2024, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"])
def test_a_timestamp_that_utc_does_not_have_is_refused_as_a_value(text: str) -> None:
    with pytest.raises(ValueError, match="is not between the years 1 and 9999"):
        parse_instant(text)


def test_errors_say_where_and_what_next() -> None:
    error = Rejected("too long", service="x", operation="PUT /y").within(asset="7", service="other", hint="shorten it")
    assert str(error) == "x, PUT /y, asset 7: too long"
    assert error.hint == "shorten it"
    assert error.disposition is Disposition.PARK
    assert SessionGone("gone").disposition is Disposition.RESTART
    assert Throttled("slow down", retry_after=3).retry_after == 3
    assert TruncatedListing("short").disposition is Disposition.STOP


def test_overriding_a_method_declares_the_ability() -> None:
    class Small(Service):
        async def remove(self, asset: AssetId) -> None: ...

    assert Small.declared.operations == {Operation.REMOVE}


def test_a_connection_can_only_lose_capabilities() -> None:
    class Small(EmptyService):
        declared = Capabilities(features={Feature.TAGS: YES, Feature.STATUS: YES})

        async def remove(self, asset: AssetId) -> None: ...

    one, other = Small(), Small()
    with pytest.raises(AttributeError):
        one.capabilities = Capabilities(frozenset(Operation))  # type: ignore[misc]
    one.remove_capabilities(Operation.FIND, Operation.REMOVE, writes=[Feature.TAGS, Feature.GROUPS])
    assert one.capabilities.operations == frozenset()
    assert one.capabilities.features == {Feature.TAGS: Support("yes"), Feature.STATUS: YES}
    assert Operation.REMOVE in other.capabilities
    assert other.capabilities.writes(Feature.TAGS)


@given(st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(UTC)))
@example(datetime(2026, 11, 30, 12, 27, 43, 7, UTC))
def test_the_text_of_a_timestamp_is_the_same_after_it_is_read(moment: datetime) -> None:
    text = instant_text(moment)
    assert instant_text(parse_instant(text)) == text
    assert ".000" not in text


def test_a_date_is_not_a_timestamp() -> None:
    assert value_to_json(date(2024, 1, 2)) == {"date": "2024-01-02"}
    assert value_to_json(datetime(2024, 1, 2, tzinfo=UTC) + timedelta(milliseconds=5)) == {
        "instant": "2024-01-02T00:00:00.005Z"
    }


def test_what_is_withheld_is_known_after_the_queue() -> None:
    """A plan parks it as a run does, also where the asset came with the listing."""
    held = FileRef("1/2", "sea.jpg", withheld="no link")
    assert file_from_json(file_to_json(held)).withheld == "no link"
    assert "withheld" not in file_to_json(FileRef("1/2", "sea.jpg"))
