"""Paths into the neutral asset."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.help import text_of
from dam_sync.mapping.paths import PATHS as OF_ANY_ASSET
from dam_sync.mapping.paths import PathFault, field_name, parse_path
from dam_sync.mapping.results import LanguagePreference, ValueType, empty
from dam_sync.model.asset import Asset, AssetId, FileRef, Placement, Revision, Rights
from dam_sync.model.schema import Field, FieldKind
from dam_sync.model.values import GeoPoint, Localized, Person, Row, Scalar, Term
from tests.support.libraries.value_strategies import assets
from tests.support.mapping.tenant_schemas import SOURCE, schema

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
ASSET = Asset(
    AssetId("7"),
    Revision("1"),
    filename="a.jpg",
    status="published",
    form_type="PICTURE",
    fields={
        "title": Localized({"en": "Sea", "fr": "Mer", "de": " "}),
        "inventory": " ",
        "keywords": (Term("Sea", "1", ("Nature", "Sea")), Term("Land")),
        "site": GeoPoint(48.4, -4.5, "Brest"),
        "people": (Person("Ann", "3"), Person("Bob")),
        "shot_date": date(2024, 1, 1),
        "dims": (Row({"h": 3, "w": (1, 2)}), Row({})),
        "height_cm": 0,
        "cleared": False,
    },
    versions=(FileRef("1", "old.jpg"), FileRef("2", "new.jpg", 10, "image/jpeg", {"md5": "abc"})),
    placements=frozenset(
        (Placement("folder", ("Press", "a/b")), Placement("category", ("X",)), Placement("label", ("Top",)))
    ),
    tags=frozenset(("b", "a")),
    rights=Rights(NOON, None, frozenset(("staff",))),
    imported_at=NOON,
)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("id", ["7"]),
        ("filename", ["a.jpg"]),
        ("status", ["published"]),
        ("substatus", []),
        ("form_type", ["PICTURE"]),
        ("tags[]", ["a", "b"]),
        ("tags", ["a", "b"]),
        ("machine_tags[]", []),
        ("labels[]", ["Top"]),
        ("groups[]", ["staff"]),
        ("placements[].path", ["/X", "/Press/a\\/b"]),
        ("placements.folder[].path", ["/Press/a\\/b"]),
        ("placements.label[].path", ["Top"]),
        ("release_at", [NOON]),
        ("expires_at", []),
        ("imported_at", [NOON]),
        ("file.name", ["new.jpg"]),
        ("file.size", [10]),
        ("file.md5", ["abc"]),
        ("file.media_type", ["image/jpeg"]),
        ("fields.title.fr", ["Mer"]),
        ("fields.title.FR", ["Mer"]),
        ("fields.title.it", []),
        ("fields.title", ["Sea"]),
        ("fields.inventory", []),
        ("fields.description", []),
        ("fields.keywords[]", [Term("Sea", "1", ("Nature", "Sea")), Term("Land")]),
        ("fields.keywords[].label", ["Sea", "Land"]),
        ("fields.keywords[].path", ["/Nature/Sea"]),
        ("fields.site.latitude", [48.4]),
        ("fields.site.address", ["Brest"]),
        ("fields.people[].name", ["Ann", "Bob"]),
        ("fields.people[].id", ["3"]),
        ("fields.dims[].h", [3]),
        ("fields.dims[].w", [1, 2]),
        ("fields.height_cm", [0]),
        ("fields.cleared", [False]),
    ],
)
def test_what_is_at_the_end_of_a_path(path: str, values: list[Scalar]) -> None:
    assert [found.value for found in parse_path(path, SOURCE).read(ASSET, LanguagePreference(("en",)))] == values


@pytest.mark.parametrize(
    ("path", "shape", "many"),
    [
        ("fields.title", ValueType.TEXT, False),
        ("fields.keywords[]", ValueType.TERM, True),
        ("fields.keywords", ValueType.TERM, True),
        ("fields.keywords[].path", ValueType.TEXT, True),
        ("fields.site.longitude", ValueType.NUMBER, False),
        ("fields.shot_date", ValueType.DATE, False),
        ("fields.cleared", ValueType.FLAG, False),
        ("file.size", ValueType.NUMBER, False),
        ("created_at", ValueType.INSTANT, False),
        ("tags[]", ValueType.TEXT, True),
    ],
)
def test_what_a_path_promises(path: str, shape: ValueType, many: bool) -> None:
    found = parse_path(path, SOURCE)
    assert (found.shape, found.many) == (shape, many)


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("fields.titel", "did you mean title?"),
        ("fields.inventory.fr", ""),
        ("fields.site.latitud", "did you mean latitude?"),
        ("fields.country.name", "known: id, label, path"),
        ("filenam", "did you mean filename?"),
        ("fields", ""),
        ("tags[].x", "did you mean tags[]?"),
        ("file.sha1", ""),
        ("placements.path", "write placements[].path or placements.folder[].path"),
        ("placements.galaxy[].path", "known: folder, label"),
        ("release_at[]", "did you mean release_at?"),
        ("", ""),
    ],
)
def test_paths_that_lead_nowhere(path: str, hint: str) -> None:
    with pytest.raises(PathFault) as caught:
        parse_path(path, SOURCE)
    assert str(caught.value.hint) == hint or hint == ""


ODD = schema(
    Field("lib:title", FieldKind.TEXT, localized=True),
    Field("lib:subjects", FieldKind.TEXT, multiple=True, localized=True),
    Field("Release Date", FieldKind.TEXT, localized=True),
    Field("a", FieldKind.TEXT, localized=True),
    Field("a.b", FieldKind.TEXT),
    Field("a.b.c", FieldKind.TERM, multiple=True),
    Field('say "x"', FieldKind.TEXT),
    Field("back\\slash", FieldKind.TEXT),
    Field("list[]", FieldKind.TEXT),
    Field("sizes", FieldKind.ROWS, multiple=True),
    Field("", FieldKind.TEXT),
)


@pytest.mark.parametrize(
    ("path", "key", "locale", "part"),
    [
        ("fields.lib:title", "lib:title", "", ""),
        ("fields.lib:title.en", "lib:title", "en", ""),
        ("fields.lib:subjects[]", "lib:subjects", "", ""),
        ("fields.lib:subjects[].pt-BR", "lib:subjects", "pt-br", ""),
        ('fields."lib:subjects"[].fr', "lib:subjects", "fr", ""),
        ("fields.Release Date.en", "Release Date", "en", ""),
        ('fields."Release Date"', "Release Date", "", ""),
        ('fields."Release Date".en', "Release Date", "en", ""),
        ("fields.a.b", "a.b", "", ""),
        ('fields."a.b"', "a.b", "", ""),
        ('fields."a".b', "a", "b", ""),
        ("fields.a.b.c[].path", "a.b.c", "", "path"),
        ('fields."a.b.c"[].path', "a.b.c", "", "path"),
        ('fields."say \\"x\\""', 'say "x"', "", ""),
        ('fields."back\\\\slash"', "back\\slash", "", ""),
        ('fields."list[]"', "list[]", "", ""),
        ('fields.sizes[]."Net weight"', "sizes", "", "Net weight"),
        ('fields."sizes"[]."a.b"[]', "sizes", "", "a.b"),
        ("fields.sizes[].w[]", "sizes", "", "w"),
        ('fields.""', "", "", ""),
    ],
)
def test_keys_of_any_characters(path: str, key: str, locale: str, part: str) -> None:
    found = parse_path(path, ODD)
    assert (found.key, found.locale, found.part) == (key, locale, part)


@pytest.mark.parametrize(
    ("path", "told", "hint"),
    [
        ('fields."Release Date', 'a quote in fields."Release Date is not closed', "write it like"),
        ('fields."Release Dat"', "the source has no field Release Dat", 'did you mean "Release Date"?'),
        ('fields."Release Date"en', "something that is not a part", "write it like"),
        ('fields."Release Date".', "something that is not a part", "write it like"),
        ('fields."Release Date"."en', "is not closed", "write it like"),
        ('fields."a.b".c', "field a.b is a text without languages; it has no c", ""),
        ("fields.lib:titel", "the source has no field lib:titel", "did you mean lib:title?"),
        ("fields..en", "the source has no field .en", ""),
    ],
)
def test_diagnostics_of_keys_of_any_characters(path: str, told: str, hint: str) -> None:
    with pytest.raises(PathFault) as caught:
        parse_path(path, ODD)
    assert told in str(caught.value)
    assert str(caught.value.hint).startswith(hint)


@given(st.text(max_size=12), st.booleans())
def test_the_name_of_a_field_leads_to_it(key: str, multiple: bool) -> None:
    source = schema(Field(key, FieldKind.TEXT, localized=True, multiple=multiple), Field("other", FieldKind.TEXT))
    name = field_name(key) + ("[]" if multiple else "")
    assert parse_path(name, source).key == key
    assert (parse_path(f"{name}.fr", source).key, parse_path(f"{name}.fr", source).locale) == (key, "fr")
    value = ("x",) if multiple else "x"
    (found,) = parse_path(name, source).read(
        Asset(AssetId("7"), Revision("1"), fields={key: value}), LanguagePreference()
    )
    assert found.label == name


def test_every_language_goes_along_where_the_target_has_languages() -> None:
    (found,) = parse_path("fields.title", SOURCE).read(ASSET, LanguagePreference(), all_languages=True)
    assert found.value == Localized({"en": "Sea", "fr": "Mer"})
    assert [label for label, _, _ in found.texts] == ["fields.title.en", "fields.title.fr"]
    (one,) = parse_path("fields.title.fr", SOURCE).read(ASSET, LanguagePreference(), all_languages=True)
    assert one.value == Localized({"fr": "Mer"})


def test_a_text_without_languages_stands_for_the_one_that_was_asked_for() -> None:
    asset = Asset(AssetId("7"), Revision("1"), fields={"title": "Sea"})
    assert [found.value for found in parse_path("fields.title.en", SOURCE).read(asset, LanguagePreference())] == ["Sea"]


PATHS = (
    *("fields.title", "fields.title.fr", "fields.keywords[].path", "fields.site.latitude", "fields.dims[].a"),
    *("tags[]", "placements[].path", "labels[]", "file.size", "release_at", "fields.people[].id"),
)


@settings(max_examples=100, deadline=None)
@given(
    assets(),
    st.sampled_from(PATHS),
    st.booleans(),
)
def test_reading_never_raises_and_returns_no_empty_value(asset: Asset, path: str, all_languages: bool) -> None:
    for found in parse_path(path, SOURCE).read(asset, LanguagePreference(), all_languages=all_languages):
        assert not empty(found.value)
        assert found.label


def test_the_help_lists_every_path_that_an_asset_has() -> None:
    text = text_of("mapping")
    assert [path for path in (*OF_ANY_ASSET, "placements.folder[].path") if f"`{path}`" not in text] == []
