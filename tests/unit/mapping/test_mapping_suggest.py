"""A first mapping from two schemas: every pair of very different services compiles, and says why."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from dam_sync.mapping.sample import Sample
from dam_sync.mapping.similarity import similarity
from dam_sync.mapping.suggest import suggest
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.capabilities import Feature
from dam_sync.model.naming import Naming
from dam_sync.model.schema import Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Json, Term
from tests.support.mapping.service_schemas import (
    SERVICES,
    TERM,
    TEXT,
    A,
    B,
    C,
    D,
    E,
    by_target,
    walked,
)
from tests.support.mapping.tenant_schemas import able, schema


@pytest.mark.parametrize("pair", list(product(SERVICES, SERVICES)), ids="".join)
@pytest.mark.parametrize("locales", [(), ("fr", "en")], ids=["any", "fr"])
def test_every_pair_of_services_compiles(tmp_path: Path, pair: tuple[str, str], locales: tuple[str, ...]) -> None:
    source, target = SERVICES[pair[0]], SERVICES[pair[1]]
    found = suggest(source, target, locales=locales)
    crosswalk = walked(tmp_path, found, source, target)
    assert found.text() == suggest(source, target, locales=locales).text()
    assert all(0 <= line.score <= 1 and line.reason for line in found.lines)
    assert crosswalk.writes == set(by_target(found))
    required = {key for key, known in target.fields.items() if known.required}
    assert required <= crosswalk.writes


@pytest.mark.parametrize("name", ["object_type", "lib:workType", "Genre", "object_category"])
def test_a_classification_is_offered_for_what_catalogues_call_it(name: str) -> None:
    assert similarity(Field("classification", TEXT), Field(name, TERM)).score == pytest.approx(0.8)


def test_names_that_the_first_mapping_changes_are_noted() -> None:
    names = ("CON.jpg", "e\u0301te\u0301.jpg", "what?.jpg", "")
    sample = Sample.of(Asset(AssetId(name), Revision("1"), filename=name) for name in names)
    note = "the line filename changes 2 of 3 sampled names, such as “CON.jpg” to “_CON.jpg”"
    assert f"{note}; without `safe_name` they stay as they are" in suggest(C, B, sample=sample).notes
    named = replace(B, naming=Naming(frozenset("?"), 128))
    assert note in suggest(C, named, sample=sample).notes
    assert not any("line filename" in text for text in suggest(C, B).notes)


def test_the_whole_text_of_one(tmp_path: Path) -> None:
    found = suggest(A, E, marker="srckey", filename=128)
    assert found.text() == GOLDEN
    walked(tmp_path, found, A, E)


GOLDEN = """\
# A first mapping, created by comparing the fields of both sides.
# The number after a line says how certain it is, from 0 to 1. Read every line before a run.
# `check` warns of lines below 0.5 as long as they have their number: remove it once you have decided.
# groups that the target does not have are dropped and reported; its default then decides who sees the asset: \
please check before a run
# no line reads contact, dims, inventory, srckey, taken_at: reported as losses until one does
# machine tags have no line: reported as losses until one reads machine_tags[]
version: 1
locales: [en, fr]
vocabularies:
  cleared: {target: cleared, match: [exact, casefold], unmatched: create}
  country: {source: country, target: country, match: [exact, casefold], unmatched: create}
  subject: {source: keywords, target: subject, match: [exact, casefold], unmatched: create}
profile: {from: type, cases: {Document: documents, Picture: images}, default: documents}  # by the fields of their \
types, then by name
asset:
  filename: {from: filename, pipe: [nfc, {safe_name: {max: 128}}]}  # 1.00 a name that every system accepts
fields:
  srckey: {marker: true}  # 1.00 the marker, by which a created asset is found again
  title: {from: [fields.title, filename]}  # 1.00 same key; otherwise the file name
  cleared: {from: fields.cleared, pipe: [text, {vocabulary: cleared}]}  # 0.93 same key, flag to term
  country: {from: fields.country, pipe: [{vocabulary: country}]}  # 1.00 same key
  credit: {from: fields.credit, pipe: [strip_html, {truncate: {max: 80, on_cut: note}}]}  # 0.98 same key, html to \
text
  description: {from: fields.description}  # 1.00 same key
  firstStored: {from: imported_at, pipe: [date]}  # 0.80 the asset's own imported_at
  heightCm: {from: fields.height_cm}  # 0.97 same key, spelled differently
  photographer: {from: "fields.photographer[]", pipe: [{join: "; "}, {truncate: {max: 1280, on_cut: note}}]}  # \
0.90 same key, person to text, several values into one
  place: {from: fields.site, pipe: [text, {truncate: {max: 1280, on_cut: note}}]}  # 0.74 site and place often mean \
the same, place to text
  shotDate: {from: fields.shot_date, pipe: [date]}  # 0.97 same key, spelled differently
  subject: {from: "fields.keywords[]", pipe: [{vocabulary: subject}, unique]}  # 0.80 keywords and subject often \
mean the same
  titleFr: {from: fields.title.fr}  # 0.93 fr of title
tags: {from: "tags[]", pipe: [trim, unique]}  # 1.00 tags stay tags
placements:
  - {from: "placements.folder[].path", as: category}  # 0.80 folder becomes category
  - {from: "labels[]", as: collection}  # 0.80 label becomes collection
security:
  groups: {from: "groups[]", pipe: [unique], on_error: drop}  # 1.00 groups by name
  release: {from: release_at}  # 1.00 release stays release
  expiry: {from: expires_at}  # 1.00 expiry stays expiry
ignore: [stat_views, width]  # maintained by the source itself
unmapped: report
"""


def test_a_field_is_known_by_key_prefix_label_and_spelling() -> None:
    lines = by_target(suggest(A, B))
    assert lines["lib:title"].sources == ("fields.title",)
    assert lines["lib:inventory"].reason == "same key after the prefix"
    assert lines["lib:shot_date"].pipe == ("datetime",)
    assert lines["dc:description"].sources == ("fields.description",)
    back = by_target(suggest(B, E))
    assert back["shotDate"].sources == ("fields.lib:shot_date",)
    assert back["shotDate"].pipe == ("date",)
    assert by_target(suggest(A, C))["asset:name"].sources == ("fields.title", "filename")


@pytest.mark.parametrize(
    ("left", "right", "score", "exact"),
    [
        (Field("title", TEXT), Field("title", TEXT), 1.0, True),
        (Field("lib:title", TEXT), Field("title", TEXT), 0.96, True),
        (Field("x", TEXT, "Année d’été"), Field("y", TEXT, "annee d'ete!"), 0.94, True),
        (Field("x", TEXT, "Shot date"), Field("shotDate", TEXT), 0.92, True),
        (Field("photographer", TEXT), Field("author", TEXT), 0.8, False),
        (Field("maker", TEXT), Field("x", TEXT, "Artist / Designer"), 0.8, False),
        (Field("x", TEXT, "Object No."), Field("accessionNumber", TEXT), 0.8, False),
        (Field("production_year", TEXT), Field("x", TEXT, "Year of production"), 0.76, False),
        (Field("year", TEXT, "Year produced"), Field("x", TEXT, "Production year"), 0.76, False),
        (Field("archive_id", TEXT), Field("archiveNo", TEXT), 0.76, False),
        (Field("x", TEXT, "Directed by"), Field("director", TEXT), 0.76, False),
        (Field("series_title", TEXT), Field("x", TEXT, "Series"), 0.76, False),
        (Field("creation_date", TEXT), Field("date_taken", TEXT), 0.72, False),
        (Field("audio_language", TEXT), Field("x", TEXT, "Language"), 0.66, False),
        (Field("job_title", TEXT), Field("title", TEXT), 0.0, False),
        (Field("country_code", TEXT), Field("country", TEXT), 0.0, False),
        (Field("tape_number", TEXT), Field("archive_number", TEXT), 0.0, False),
        (Field("no", TEXT), Field("number", TEXT), 0.0, False),
        (Field("field1", TEXT), Field("field2", TEXT), 0.0, False),
        (Field("width", TEXT), Field("height", TEXT), 0.0, False),
        (Field("::", TEXT), Field("--", TEXT), 0.0, False),
    ],
)
def test_how_alike_names_are(left: Field, right: Field, score: float, exact: bool) -> None:
    found = similarity(left, right)
    assert (found.score, found.exact) == (score, exact)


def test_a_field_for_names_of_users_is_paired_with_no_other() -> None:
    users, key = Field("dc:creator", TEXT, accounts=True), Field("srckey", TEXT)
    made, target = Field("creator", TEXT), Field("lib:artist", TEXT, required=True)
    lines = by_target(suggest(schema(made), schema(users, target, key), marker="srckey"))
    assert lines["lib:artist"].sources[0] == "fields.creator"
    assert "dc:creator" not in lines
    assert by_target(suggest(schema(users), schema(users, key), marker="srckey"))["dc:creator"].score == 1.0
    assert any("no line reads dc:creator" in note for note in suggest(schema(users), schema(made)).notes)


def test_names_that_are_nearly_the_same_make_a_weak_field_rule() -> None:
    target = schema(Field("watermark", TEXT, indexed=False))
    line = by_target(suggest(schema(Field("watermerk", TEXT)), target))["watermark"]
    assert line.sources == ("fields.watermerk",)
    assert 0.5 < line.score < 0.8


def test_terms_find_terms_and_make_them_where_the_list_is_open() -> None:
    found = suggest(A, E)
    assert found.vocabularies["country"] == {
        "source": "country",
        "target": "country",
        "match": ["exact", "casefold"],
        "unmatched": "create",
    }
    assert suggest(E, A).vocabularies["country"]["unmatched"] == "park"
    assert by_target(found)["subject"].pipe == ({"vocabulary": "subject"}, "unique")


def test_a_field_rule_that_loses_all_values_but_one_needs_review() -> None:
    words = {"keywords": Vocabulary("keywords")}
    source = schema(Field("keywords", TERM, multiple=True, vocabulary="keywords"), vocabularies=words)
    target = schema(Field("keywords", TERM, vocabulary="keywords"), vocabularies=words)
    line = by_target(suggest(source, target))["keywords"]
    assert line.pipe[-1] == "first"
    assert line.score < 0.9
    assert line.reason == "same key, only the first of several values: the others are lost"


def test_parts_that_the_source_does_not_return_are_reported() -> None:
    target = schema(Field("title", TEXT), capabilities=E.capabilities)
    bare = schema(Field("title", TEXT), capabilities=E.capabilities.without(reads=[*Feature]))
    lines = {line.target: line for line in suggest(bare, target).lines}
    assert lines["tags"].reason == "tags stay tags; as the job is set up, the source gives none"
    assert lines["release"].reason.endswith("the source gives none")
    assert not any("machine tags" in note for note in suggest(bare, target).notes)
    assert "labels[]" not in {path for line in suggest(bare, E).lines for path in line.sources}


def test_two_terms_of_one_label_become_one_text(tmp_path: Path) -> None:
    target = schema(Field("keywords", TEXT, max_length=100), Field("words", TEXT, multiple=True))
    source = schema(
        *(Field(key, TERM, multiple=True, vocabulary=key) for key in ("keywords", "words")),
        vocabularies={key: Vocabulary(key, hierarchical=True) for key in ("keywords", "words")},
    )
    found = suggest(source, target)
    assert by_target(found)["keywords"].pipe[:3] == ("text", "unique", {"join": "; "})
    terms = (Term("music", "1"), Term("music", "2"), Term("text", "3"))
    asset = Asset(AssetId("1"), Revision("1"), fields={"keywords": terms, "words": terms})
    drafted = walked(tmp_path, found, source, target).draft(asset, "mark", {})
    assert drafted.draft.fields == {"keywords": "music; text", "words": ("music", "text")}


def test_a_location_that_may_lack_coordinates_is_dropped_and_parks_nothing() -> None:
    target = schema(Field("spot", FieldKind.PLACE, coordinates=True))
    line = by_target(suggest(schema(Field("spot", TEXT)), target))["spot"]
    assert (line.pipe, line.more) == (("place",), {"on_error": "drop"})


def test_two_lists_into_one_have_a_block_each(tmp_path: Path) -> None:
    source = schema(
        Field("a", TERM, vocabulary="one"),
        Field("b", TERM, vocabulary="two"),
        vocabularies={"one": Vocabulary("one"), "two": Vocabulary("two")},
    )
    target = schema(
        Field("a", TERM, vocabulary="all"), Field("b", TERM, vocabulary="all"), vocabularies={"all": Vocabulary("all")}
    )
    found = suggest(source, target)
    assert list(found.vocabularies) == ["all", "all from two"]
    walked(tmp_path, found, source, target)


def test_tags_go_to_tags_or_into_a_field_of_that_name() -> None:
    (line,) = by_target(suggest(D, B), "tags").values()
    assert line.sources == ("tags[]", "fields.tags[]")
    assert not by_target(suggest(B, D), "tags")
    assert by_target(suggest(B, D))["tags"].sources == ("tags[]",)
    assert by_target(suggest(B, D))["tags"].pipe == ("trim", {"vocabulary": "tags"}, "unique")


def test_containers_go_to_the_best_kind_there_is() -> None:
    def kinds(source: Schema, target: Schema) -> dict[str, Json]:
        return {key: line.more["as"] for key, line in by_target(suggest(source, target), "placements").items()}

    assert kinds(A, E) == {"folder": "category", "label": "collection"}
    assert kinds(A, B) == {"folder": "folder", "label": "collection"}
    assert kinds(B, B) == {"folder": "folder", "section": "section", "collection": "collection", "label": "collection"}
    assert kinds(B, C) == {"section": "section", "collection": "collection"}
    assert kinds(A, C) == {"folder": "section", "label": "collection"}
    assert kinds(B, D) == {
        "folder": "collection",
        "section": "collection",
        "collection": "collection",
        "label": "collection",
    }
    assert kinds(E, A) == {"category": "folder", "collection": "folder", "label": "label"}
    assert any("containers of kind folder have no counterpart" in note for note in suggest(B, C).notes)


def test_rights_and_dates_where_the_target_holds_them() -> None:
    assert set(by_target(suggest(A, E), "security")) == {"groups", "release", "expiry"}
    assert set(by_target(suggest(A, A), "security")) == set()
    assert by_target(suggest(A, E), "security")["groups"].more == {"on_error": "drop"}
    assert "status" in by_target(suggest(E, A), "asset")
    assert by_target(suggest(A, D))["embargo_date"].sources == ("release_at",)
    assert by_target(suggest(A, D))["embargo_date"].pipe == ("date",)


@pytest.mark.parametrize(("theirs", "more"), [({"draft", "published"}, {}), ({"draft"}, {"on_error": "drop"})])
def test_a_status_that_the_target_has_not_is_dropped_and_parks_nothing(theirs: set[str], more: Json) -> None:
    source, target = replace(D, statuses=frozenset({"draft"})), replace(D, statuses=frozenset(theirs))
    holds = replace(target, capabilities=able(*target.capabilities.parts, "status"))
    (line,) = [one for one in suggest(source, holds).lines if one.target == "status"]
    assert line.more == more
