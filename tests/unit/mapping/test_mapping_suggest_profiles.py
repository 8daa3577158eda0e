"""Suggested mappings: profiles, and the field of the marker."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dam_sync.mapping.doubts import DOUBTED
from dam_sync.mapping.sample import Sample
from dam_sync.mapping.suggest import suggest
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.schema import AssetType, Field, Schema
from dam_sync.model.values import Json
from tests.support.mapping.service_schemas import (
    TEXT,
    A,
    B,
    C,
    D,
    E,
    by_target,
    walked,
)
from tests.support.mapping.tenant_schemas import schema


def test_the_marker_is_never_a_field_that_holds_something(tmp_path: Path) -> None:
    def marker(source: Schema, target: Schema, wish: str = "") -> str | None:
        return walked(tmp_path, suggest(source, target, marker=wish), source, target).marker

    assert marker(B, E) == "srckey"
    assert marker(A, D) == "migration_key"
    assert marker(A, C) == "dam_sync_source_id"
    assert marker(C, C) == "dam_sync_source_id"
    assert marker(E, B) == "dc:source"
    assert marker(A, E) != "srckey"
    assert marker(A, E, "srckey") == "srckey"
    assert marker(A, E, "nothing") != "nothing"
    assert marker(A, E, "title") != "title"
    assert any(note.startswith("title cannot hold the marker") for note in suggest(A, E, marker="title").notes)


def test_the_marker_leaves_the_fields_of_a_standard_to_what_the_standard_means(tmp_path: Path) -> None:
    def marker(*keys: str) -> str | None:
        target = schema(Field("title", TEXT, required=True), *(Field(key, TEXT) for key in keys))
        return walked(tmp_path, suggest(A, target), A, target).marker

    assert marker("dc:source", "museum:legacy_number") == "museum:legacy_number"
    assert marker("dc:identifier", "IPTC:Reference", "zoo_reference") == "zoo_reference"
    assert marker("dc:source", "museum:colour_of_the_frame") == "dc:source", "a word that means a key counts more"


def test_the_marker_is_never_a_field_of_accounts(tmp_path: Path) -> None:
    shared = (Field("title", TEXT), Field("acme:srckey", TEXT))
    source = schema(*shared, Field("source_key", TEXT))
    target = schema(*shared, Field("dc:creator", TEXT, accounts=True))
    found = suggest(source, target)
    assert walked(tmp_path, found, source, target).marker == "acme:srckey"
    asked = suggest(source, target, marker="dc:creator")
    assert walked(tmp_path, asked, source, target).marker == "acme:srckey"


def test_a_target_without_a_field_for_the_marker_is_reported(tmp_path: Path) -> None:
    target = schema(Field("title", TEXT, required=True))
    found = suggest(A, target)
    assert walked(tmp_path, found, A, target).marker is None
    assert any("no field can hold the marker" in note for note in found.notes)


def test_profiles_by_the_names_of_types() -> None:
    def profile(source: Schema, target: Schema) -> Mapping[str, Json]:
        return suggest(source, target).profile.block

    cases = {"Document": "documents", "Picture": "images"}
    assert profile(A, E) == {"from": "type", "cases": cases, "default": "documents"}
    assert profile(A, A) == {"from": "type", "cases": {"Document": "Document", "Picture": "Picture"}}
    assert profile(C, E) == {"default": "documents"}
    assert profile(A, C) == {}
    assert profile(C, A) == {}
    assert profile(A, D) == {"from": "type", "cases": {"Picture": "Images"}, "default": "Default"}


LEAN, RICH = frozenset({"Photo"}), frozenset({"Migration"})


ARCHIVE = schema(
    Field("title", TEXT, "Title", types=LEAN | RICH),
    *(Field(key, TEXT, indexed=False, types=RICH) for key in ("author", "height", "rights")),
    Field("srckey", TEXT, types=RICH),
    types=(AssetType("Photo", "Photos"), AssetType("Migration", "Migration")),
)


STORE = schema(
    *(Field(f"dc:{key}", TEXT, key.title()) for key in ("title", "author", "height", "rights")),
    types=(AssetType("Photo"),),
)


def test_a_profile_that_holds_few_fields_is_not_chosen_for_its_name() -> None:
    found = suggest(STORE, ARCHIVE)
    assert found.profile.block == {"default": "Migration"}
    assert set(by_target(found)) == {"title", "author", "height", "rights", "srckey"}


def test_types_that_no_asset_has_are_no_profiles_and_cost_no_marker(tmp_path: Path) -> None:
    images, lists = frozenset({"Images"}), frozenset({"Collections"})
    same = schema(
        Field("title", TEXT, types=images | lists),
        Field("key", TEXT, "Legacy key", types=images),
        Field("label", TEXT, required=True, types=lists),
        types=(AssetType("Collections", "Collections"), AssetType("Images", "Images")),
    )
    for sample in (None, Sample(3, {"Images": 3}, frozenset({"title"}), whole=True)):
        found = suggest(same, same, sample=sample)
        profiles = {*found.profile.block.get("cases", {}).values(), found.profile.block["default"]}
        assert profiles == {"Images"}
        assert walked(tmp_path, found, same, same).marker == "key"


def test_profiles_without_a_common_field_for_the_marker_are_left_to_the_default(tmp_path: Path) -> None:
    def of(name: str, *keys: str) -> list[Field]:
        return [Field(key, TEXT, types=frozenset({name})) for key in keys]

    kinds = (AssetType("Photo", "Photo"), AssetType("Text", "Text"))
    same = schema(*of("Photo", "shot", "legacyid"), *of("Text", "pages", "words", "sourceid"), types=kinds)
    found = suggest(same, same)
    assert found.profile.block == {"from": "type", "cases": {"Text": "Text"}, "default": "Text"}
    assert walked(tmp_path, found, same, same).marker == "sourceid"


def test_of_all_assets_those_types_are_cases_that_they_use() -> None:
    profile = suggest(A, E, sample=Sample(3, {"Picture": 3}, whole=True)).profile
    assert profile.block == {"from": "type", "cases": {"Picture": "images"}, "default": "documents"}
    partly = suggest(A, E, sample=Sample(3, {"Picture": 3})).profile
    assert partly.block["cases"] == {"Document": "documents", "Picture": "images"}


def test_the_marker_goes_where_the_source_stores_nothing_of_its_own(tmp_path: Path) -> None:
    both = schema(Field("title", TEXT), Field("srckey", TEXT), Field("other", TEXT))
    assert walked(tmp_path, suggest(both, both), both, both).marker == "srckey"
    for filled, marker in (({"title"}, "srckey"), ({"title", "srckey"}, "srckey")):
        found = suggest(both, both, sample=Sample(9, {"": 9}, frozenset(filled)))
        assert walked(tmp_path, found, both, both).marker == marker
        told = any("srckey is similar to it" in note for note in found.notes)
        assert told is ("srckey" in filled)


PLAIN, OWN = frozenset({"File", "Picture"}), frozenset({"Exhibit", "Reel"})


REGISTRY = schema(
    *(
        Field(key, TEXT, label)
        for key, label in (("naam", "Objecttitel"), ("door", "Vervaardiger"), ("wat", "Techniek"))
    ),
    types=(AssetType("Beeld"), AssetType("Geluid en film")),
)


HOUSE = schema(
    Field("dc:source", TEXT, types=PLAIN | OWN),
    Field("house:work_title", TEXT, "Work title", types=OWN),
    Field("house:made_by", TEXT, "Made by", types=OWN),
    Field("house:technique", TEXT, "Technique", types=OWN),
    types=(
        AssetType("Exhibit", media=frozenset({"PICTURE"})),
        AssetType("File"),
        AssetType("Picture", media=frozenset({"PICTURE"})),
        AssetType("Reel", media=frozenset({"VIDEO"})),
    ),
)


def test_a_profile_has_the_fields_that_other_words_name() -> None:
    """None of the names is equal to one of the other service."""
    names = {"Beeld": ("a.jpg", "b.tif", "c.jpg"), "Geluid en film": ("d.mp4", "e.mov")}
    shown = [sample_asset(name, kind) for kind, files in names.items() for name in files]
    found = suggest(REGISTRY, HOUSE, sample=Sample.of(shown, whole=True))
    assert found.profile.block["cases"] == {"Beeld": "Exhibit", "Geluid en film": "Reel"}
    assert {"house:work_title", "house:made_by", "house:technique"} <= set(by_target(found))


def sample_asset(name: str, kind: str) -> Asset:
    values = {"naam": "Molen", "door": "Anna Kern", "wat": "ets"}
    return Asset(AssetId(name), Revision("1"), filename=name, type=kind, fields=values)


def of_profiles(*profiles: tuple[str, str]) -> Schema:
    """A target whose types all have the same fields, with these profiles of types."""
    every = frozenset(kind for _, kind in profiles)
    fields = (Field("title", TEXT, types=every), Field("srckey", TEXT, types=every))
    return schema(*fields, types=tuple(AssetType(kind, profile) for profile, kind in profiles))


def test_a_profile_for_another_kind_of_file_is_not_chosen() -> None:
    kinds = (AssetType("Blatt", media=frozenset({"DOCUMENT"})), AssetType("Motiv", media=frozenset({"PICTURE"})))
    source = schema(Field("title", TEXT), types=kinds)
    found = suggest(source, of_profiles(("Image intake", "Images"), ("Paper intake", "Papers")))
    assert found.profile.block == {"from": "type", "cases": {"Motiv": "Image intake"}, "default": "Paper intake"}


def test_profiles_of_the_same_types_are_for_a_person_to_choose_from(tmp_path: Path) -> None:
    target = of_profiles(("Intake", "Images"), ("Internal", "Images"), ("Texts", "Texts"))
    source = schema(Field("title", TEXT), types=(AssetType("Images"), AssetType("Texts")))
    found = suggest(source, target)
    cases = {"Images": "Internal", "Texts": "Texts"}
    assert found.profile.block == {"from": "type", "cases": cases, "default": "Texts"}
    told = (
        "profiles Intake, Internal create assets of the same types: Internal was chosen; which one, and so who sees a "
        "new asset, is for you to decide"
    )
    assert told in found.notes
    walked(tmp_path, found, source, target)
    assert not any("same types" in note for note in suggest(source, of_profiles(("Intake", "Images"))).notes)


def test_a_guessed_profile_is_doubted_until_a_person_has_decided() -> None:
    source = schema(Field("title", TEXT), types=(AssetType("Karteikarte"), AssetType("Sonstiges")))
    target = of_profiles(("Alpha intake", "Alpha"), ("Beta intake", "Beta"))
    found = suggest(source, target)
    assert found.profile.score < DOUBTED
    assert "profile: {default: " in found.text()
    assert f"# {found.profile.score:.2f} " in next(
        row for row in found.text().splitlines() if row.startswith("profile")
    )
    sure = suggest(schema(Field("title", TEXT), types=(AssetType("Alpha"), AssetType("Beta"))), target)
    assert sure.profile.score >= DOUBTED


def test_a_profile_is_chosen_by_fields_that_mean_the_same_in_other_words() -> None:
    plain, own, other = frozenset({"File"}), frozenset({"Figure"}), frozenset({"Paperwork"})
    source = schema(
        *(Field(key, TEXT) for key in ("titel", "fotograaf", "vervaardiger", "inventarisnummer")),
        types=(AssetType("Beeldopname"), AssetType("Schriftstuk")),
    )
    target = schema(
        Field("lib:heading", TEXT, types=own | other),
        Field("lib:maker", TEXT, types=own | other),
        Field("lib:accession_number", TEXT, types=own | other),
        Field("lib:photographed_by", TEXT, types=own),
        Field("dc:title", TEXT, types=plain | own | other),
        Field("lib:srckey", TEXT, types=own | other),
        Field("dc:source", TEXT, types=plain | own | other),
        types=(AssetType("File"), AssetType("Figure"), AssetType("Paperwork")),
    )
    found = suggest(source, target)
    assert found.profile.block == {"default": "Figure"}
    assert found.profile.reason == "Figure: its type has 4 of the source's fields, none has more: please check"
    assert {line.target for line in found.lines if line.block == "fields"} >= {"lib:maker", "lib:photographed_by"}


def test_profiles_with_equally_many_fields_are_all_named() -> None:
    both = frozenset({"Figure", "Paperwork"})
    target = schema(
        *(Field(key, TEXT, types=both) for key in ("lib:title", "lib:maker", "lib:srckey")),
        types=(AssetType("Figure"), AssetType("Paperwork")),
    )
    found = suggest(schema(Field("titel", TEXT), Field("vervaardiger", TEXT)), target)
    assert found.profile.block == {"default": "Figure"}
    assert found.profile.reason == "Figure: its type has 2 of the source's fields, as many as Paperwork: please check"


def test_the_marker_is_a_key_of_another_system_in_the_language_of_the_tenant(tmp_path: Path) -> None:
    def marker(*labels: str) -> str | None:
        keys = (Field(f"f{at}", TEXT, label) for at, label in enumerate(labels))
        target = schema(Field("title", TEXT, required=True), *keys)
        found = walked(tmp_path, suggest(A, target), A, target).marker
        return target.fields[found].label if found else None

    for label in (
        "Reference in previous system",
        "Codice nel sistema precedente",
        "Schlüssel im Altsystem",
        "Sleutel in het vorige systeem",
        "Identifiant dans l'ancien système",
        "Clave en el sistema anterior",
    ):
        assert marker("Autore/Bottega", "Appunti", label) == label
        assert marker("Werkstatt / Hersteller", "Vermischtes", label) == label


def test_the_marker_takes_no_field_whose_meaning_is_known_while_there_is_another() -> None:
    target = schema(
        Field("title", TEXT, required=True),
        Field("bottega", TEXT, "Autore/Bottega"),
        *(Field(key, TEXT) for key in ("fundort", "parole_chiave", "zusatz")),
    )
    lines = by_target(suggest(schema(Field("title", TEXT)), target))
    assert lines["zusatz"].more == {"marker": True}


def test_a_marker_whose_name_says_nothing_of_a_key_has_a_score_that_asks_for_a_person() -> None:
    for key, score in (("srckey", 1.0), ("zusatz", 0.6)):
        target = schema(Field("title", TEXT, required=True), Field(key, TEXT))
        assert by_target(suggest(schema(Field("title", TEXT)), target))[key].score == score
