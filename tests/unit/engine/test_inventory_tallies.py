"""Counters of an inventory: exact within their bounds, and honest beyond them."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dam_sync.engine.inventory import rights
from dam_sync.engine.inventory.duplicates import DIGEST, NAME_AND_SIZE, DuplicateTally
from dam_sync.engine.inventory.library import FieldTally, LibraryTally
from dam_sync.engine.inventory.reading import Sampling
from dam_sync.engine.inventory.rights import RightsTally, holds_rights
from dam_sync.engine.inventory.tallies import BoundedCounter
from dam_sync.model.asset import Asset, AssetId, FileRef, Loss, Placement, Revision, Rights
from dam_sync.model.capabilities import YES, Capabilities, Feature
from dam_sync.model.errors import ConfigError
from dam_sync.model.schema import Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Localized, Row, Term, Value

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
TEXTS = st.lists(st.text(max_size=5), max_size=60)
FIELDS = {
    "title": Field("title", FieldKind.TEXT, localized=True),
    "sizes": Field("sizes", FieldKind.ROWS, multiple=True),
    "subject": Field("subject", FieldKind.TERM, multiple=True, vocabulary="subjects", types=frozenset({"Photo"})),
    "copyright": Field("copyright", FieldKind.TEXT),
}
SCHEMA = Schema(FIELDS, {"subjects": Vocabulary("subjects")})


def made(number: int = 1, **more: object) -> Asset:
    return Asset(AssetId(str(number)), Revision("1"), **{"filename": f"{number}.jpg", "status": "published", **more})  # type: ignore[arg-type]


def file(number: int, size: int | None = 10, **digests: str) -> FileRef:
    return FileRef(str(number), f"{number}.jpg", size, digests=digests)


def tally(*assets: Asset) -> LibraryTally:
    found = LibraryTally.of(SCHEMA, NOW, DIGEST)
    for asset in assets:
        found.add(asset)
    return found


@given(TEXTS, st.integers(1, 20))
def test_a_counter_is_exact_within_its_bound(texts: list[str], bound: int) -> None:
    counter = BoundedCounter(bound)
    for text in texts:
        counter.add(text)
    true = Counter(texts)
    assert counter.exceeded == (len(true) > bound)
    assert counter.distinct.number == min(len(true), bound)
    assert all(true[text] == number for text, number in counter.counts.items())
    if not counter.exceeded:
        assert dict(counter.common(len(true) or 1)) == dict(true)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 3)), max_size=40))
def test_duplicates_are_those_with_equal_digests(files: list[tuple[int, int]]) -> None:
    found = DuplicateTally(DIGEST)
    for number, (digest, size) in enumerate(files):
        found.add(made(number, versions=(file(number, size, md5=f"{digest}-{size}"),)))
    true = Counter(files)
    result = found.result()
    assert result.compared == len(files)
    assert result.groups == sum(number > 1 for number in true.values())
    assert result.surplus == sum(number - 1 for number in true.values())
    assert result.bytes == sum((number - 1) * size for (_, size), number in true.items())


def test_without_digests_name_and_size_decide() -> None:
    found = DuplicateTally(NAME_AND_SIZE)
    for number, (name, size) in enumerate([("A.jpg", 5), ("a.JPG", 5), ("a.jpg", 6), ("b.jpg", 5)]):
        found.add(made(number, filename=name, versions=(file(number, size),)))
    assert [(group.assets, group.examples) for group in found.result().examples] == [(2, ("0", "1"))]


def test_files_of_no_bytes_and_unknown_files_are_not_compared() -> None:
    found = DuplicateTally(DIGEST)
    for number in (1, 2):
        found.add(made(number, versions=(file(number, 0, md5="d41d8cd98f00b204e9800998ecf8427e"),)))
        found.add(made(number + 2, versions=(file(number, 7),)))
        found.add(made(number + 4))
    assert found.result().compared == 0


def test_beyond_its_bound_a_duplicate_tally_says_so() -> None:
    found = DuplicateTally(DIGEST, most=2)
    for number, digest in enumerate("aabbccc"):
        found.add(made(number, versions=(file(number, 1, md5=digest),)))
    result = found.result()
    assert (result.exceeded, result.groups, result.surplus, result.compared) == (True, 2, 2, 7)


@pytest.mark.parametrize(
    ("more", "status", "expected"),
    [
        ({"expires_at": NOW - timedelta(days=1)}, "published", {rights.EXPIRED}),
        ({"expires_at": NOW - timedelta(days=1)}, "archived", {rights.HIDDEN}),
        ({"expires_at": NOW + timedelta(days=90)}, "published", {rights.EXPIRING}),
        ({"expires_at": NOW + timedelta(days=91)}, "published", set()),
        ({"release_at": NOW + timedelta(days=1)}, "published", {rights.UNRELEASED}),
        ({"groups": frozenset({"staff"})}, "published", set()),
        ({}, "published", {rights.OPEN}),
    ],
)
def test_risks(more: dict[str, object], status: str, expected: set[str]) -> None:
    found = RightsTally(NOW, frozenset())
    found.add(made(status=status, rights=Rights(**more)))  # type: ignore[arg-type]
    assert {risk.what for risk in found.risks() if risk.assets} == expected


def test_what_is_not_read_is_not_counted_as_none() -> None:
    all_read = RightsTally.of((), NOW, Capabilities(features={Feature.RELEASE: YES, Feature.EXPIRY: YES}))
    assert all(risk.assets == 0 for risk in all_read.risks())
    unset = RightsTally.of((), NOW, Capabilities(features={Feature.TEXT: YES}))
    unknown = {risk.what: risk.assets for risk in unset.risks() if "not known" in risk.what}
    assert set(unknown.values()) == {None}
    assert f"{rights.UNRELEASED}: not known, because no release date is read" in unknown


def test_a_service_that_reports_no_restriction_does_not_say_that_there_is_none() -> None:
    silent = RightsTally.of((), NOW, Capabilities(features={Feature.TEXT: YES}))
    silent.add(made(rights=Rights()))
    reason = "not known, because no release date, expiry date and access groups are read"
    assert {risk.what: risk.assets for risk in silent.risks()}[f"{rights.OPEN}: {reason}"] is None
    partly = RightsTally.of((), NOW, Capabilities(features={Feature.RELEASE: YES, Feature.EXPIRY: YES}))
    partly.add(made(rights=Rights()))
    assert [risk.assets for risk in partly.risks() if risk.what == rights.OPEN] == [1]


@pytest.mark.parametrize(
    ("key", "label", "expected"),
    [
        ("dc:rights", "", True),
        ("x12", "Copyright notice", True),
        ("licence_type", "", True),
        ("usageTerms", "", True),
        ("copywriter", "", False),
        ("title", "Right side", False),
    ],
)
def test_fields_of_rights_are_known_by_their_names(key: str, label: str, *, expected: bool) -> None:
    assert holds_rights(Field(key, FieldKind.TEXT, label)) is expected


def test_assets_without_a_value_in_a_field_of_rights_are_found() -> None:
    found = tally(made(1, fields={"copyright": " "}), made(2, fields={"copyright": "Museum"}), made(3))
    (risk,) = (risk for risk in found.rights.risks() if "field of rights" in risk.what)
    assert (risk.assets, risk.examples) == (2, ("1 (1.jpg)", "3 (3.jpg)"))


def test_values_of_fields() -> None:
    sea, city = Term("Sea", "2", ("Nature", "Sea")), Term("City", "4")
    values: list[dict[str, Value]] = [
        {"title": Localized({"en": "Harbour", "fr": "Port de pêche"}), "subject": (sea, city)},
        {"title": Localized({"en": "Harbour", "fr": " "}), "sizes": (Row({"part": "frame", "length": 12}),)},
        {"title": Localized({"en": " "}), "subject": (sea,)},
    ]
    found = tally(*(made(number, fields=fields, type="Photo") for number, fields in enumerate(values)))
    title, subject = found.fields["title"], found.fields["subject"]
    assert (title.filled, title.longest, dict(title.languages)) == (2, 13, {"en": 2, "fr": 1})
    assert (subject.filled, subject.most, dict(found.used["subjects"].counts)) == (2, 2, {"#2": 2, "#4": 1})
    assert found.fields["sizes"].longest == 5
    assert found.holders(FIELDS["subject"]) == 3


def test_sizes_years_containers_and_what_is_hidden() -> None:
    press = Placement("folder", ("Press",))
    found = tally(
        made(1, versions=(file(1, 5), file(2, 6)), attachments=(file(3, 7),), created_at=NOW, placements={press}),
        made(2, versions=(file(4, None),), losses=(Loss("versions", "x"), Loss("versions", "y")), status="draft"),
    )
    assert (found.assets.bytes, found.unsized) == (18, 1)
    assert {year: one.assets for year, one in found.years.items()} == {"2026": 1, "unknown": 1}
    assert {status: one.bytes for status, one in found.statuses.items()} == {"published": 18, "draft": 0}
    assert found.containers == {("folder", "/Press"): 1}
    assert found.hidden["versions"].number == 1


@pytest.mark.parametrize("text", ["0", "", "101%", "half", "-3", "2.5"])
def test_an_invalid_sample_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--sample"):
        Sampling.of(text)


def test_a_share_is_about_as_large_as_asked_for() -> None:
    sampling = Sampling.of("20%")
    taken = sum(sampling.takes(str(number)) for number in range(5_000))
    assert 900 < taken < 1_100


def test_counters_do_not_grow_with_the_library() -> None:
    found = tally(
        *(
            made(
                number,
                status=f"status {number}",
                fields={"copyright": f"{'long ' * 100}{number}", "title": f"title {number}"},
                placements={Placement("folder", (f"folder {number}",))},
            )
            for number in range(2_500)
        )
    )
    title, copyright = found.fields["title"], found.fields["copyright"]
    assert (title.values.distinct.number, title.values.exceeded) == (2_000, True)
    assert copyright.values.distinct.number == 1  # of long texts the beginning is kept
    assert copyright.longest == 504
    assert len(title.samples) == 5
    assert len(found.statuses) == 500
    assert found.assets.assets == 2_500


VALUES = st.one_of(
    st.text(max_size=8),
    st.integers(-5, 5),
    st.booleans(),
    st.dictionaries(st.sampled_from(["en", "fr", "de"]), st.text(max_size=6), min_size=1).map(Localized),
    st.lists(st.sampled_from(["a", "bb", " ", "ccc"]), min_size=1, max_size=4).map(tuple),
)


@given(st.lists(st.one_of(st.none(), VALUES), max_size=30))
def test_the_numbers_of_a_field_are_those_of_its_values(values: list[Value | None]) -> None:
    assets = (made(number, fields={} if value is None else {"title": value}) for number, value in enumerate(values))
    found = tally(*assets).fields.get("title", FieldTally())
    texts = [list(_texts(value)) for value in values if value is not None and value is not False]
    filled = [each for each in texts if any(text.strip() for text in each)]
    assert found.filled == len(filled)
    lengths = [len(text) for value, each in zip(_real(values), texts, strict=True) if each in filled
               for text in each if not isinstance(value, int)]  # fmt: skip
    assert found.longest == max(lengths, default=0)


def _real(values: list[Value | None]) -> list[Value]:
    return [value for value in values if value is not None and value is not False]


def _texts(value: Value) -> list[str]:
    match value:
        case Localized(texts):
            return list(texts.values())
        case tuple():
            return [str(each) for each in value]
        case _:
            return [str(value)]
