"""What the values of a sample say for or against a pair of fields."""

from __future__ import annotations

from dam_sync.mapping.sample import Sample
from dam_sync.mapping.suggest import Suggestion, suggest
from dam_sync.model.asset import Asset, AssetId, Revision
from dam_sync.model.schema import Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Value
from tests.support.mapping.service_schemas import by_target
from tests.support.mapping.tenant_schemas import schema

TEXT, TERM, DATE = FieldKind.TEXT, FieldKind.TERM, FieldKind.DATE
KEY = Field("srckey", TEXT)
COLOURS = ("Red", "Green", "Blue", "Black")


def assets(**fields: tuple[Value, ...]) -> Sample:
    """Assets with these values of each field, in turn."""
    number = max(map(len, fields.values()))
    rows = [{key: values[at] for key, values in fields.items() if at < len(values)} for at in range(number)]
    return Sample.of(
        Asset(AssetId(str(at)), Revision("1"), filename=f"p{at}.jpg", fields=row) for at, row in enumerate(rows)
    )


def listed(*keys: str, closed: bool = True) -> Schema:
    fields = (Field(key, TERM, vocabulary=key) for key in keys)
    return schema(*fields, KEY, vocabularies={key: Vocabulary(key, closed=closed) for key in keys})


def test_values_that_are_terms_of_the_list_pair_fields_whose_names_say_nothing() -> None:
    sample = assets(abc=(*COLOURS, "Violet"), zzz=tuple("pqrst"))
    found = suggest(
        schema(Field("abc", TEXT), Field("zzz", TEXT)), listed("hue"), sample=sample, terms={"hue": (*COLOURS, "White")}
    )
    line = by_target(found)["hue"]
    assert line.sources == ("fields.abc",)
    assert line.score > 0.5
    assert "4 of 5 different values are in the target's list" in line.reason


def test_two_fields_with_the_same_values_are_a_question() -> None:
    sample = assets(abc=COLOURS, zzz=COLOURS)
    found = suggest(
        schema(Field("abc", TEXT), Field("zzz", TEXT)), listed("hue"), sample=sample, terms={"hue": COLOURS}
    )
    assert by_target(found)["hue"].score < 0.5


def test_a_list_with_none_of_the_values_makes_a_similar_name_doubtful() -> None:
    source, target = schema(Field("Gattung", TEXT)), listed("object_type")
    sample = assets(Gattung=("Gemälde", "Grafik", "Plastik"))
    line = by_target(suggest(source, target, sample=sample, terms={"object_type": ("Painting", "Print")}))[
        "object_type"
    ]
    assert line.score < 0.5
    assert "no value is in the target's list" in line.reason
    open_list = listed("object_type", closed=False)
    line = by_target(suggest(source, open_list, sample=sample, terms={"object_type": ("Painting",)}))["object_type"]
    assert line.score > 0.5


def test_a_field_with_values_goes_before_one_of_the_same_name_without() -> None:
    fields = (Field("lib:keywords", TEXT, multiple=True), Field("dc:subjects", TEXT, "Subjects", multiple=True))
    target = schema(Field("subjects", TEXT, multiple=True), KEY)
    filled = assets(**{"lib:keywords": ("a", "b")})
    line = by_target(suggest(schema(*fields), target, sample=filled))["subjects"]
    assert line.sources == ("fields.lib:keywords[]",)
    assert "filled in 2 of 2 sampled assets" in line.reason
    assert by_target(suggest(schema(*fields), target))["subjects"].sources == ("fields.dc:subjects[]",)


def test_a_line_that_would_read_nothing_says_so() -> None:
    line = by_target(
        suggest(schema(Field("colour", TEXT)), schema(Field("colour", TEXT), KEY), sample=assets(x=("1",)))
    )
    assert line["colour"].score < 0.9
    assert line["colour"].reason.endswith("empty in the sample")


def test_a_field_that_repeats_the_file_names_is_no_title_while_there_is_one() -> None:
    source = schema(Field("dc:title", TEXT, "Title"), Field("lib:headline", TEXT, "Headline"))
    target = schema(Field("title", TEXT, required=True), KEY)
    sample = assets(**{"dc:title": ("p0.jpg", "p1"), "lib:headline": ("Sea", "Sky")})
    line = by_target(suggest(source, target, sample=sample))["title"]
    assert line.sources == ("fields.lib:headline", "filename")
    own = assets(**{"dc:title": ("Sea", "Sky"), "lib:headline": ("Waves", "Clouds")})
    assert by_target(suggest(source, target, sample=own))["title"].sources[0] == "fields.dc:title"


def test_of_two_sources_as_likely_the_one_that_a_standard_defines_is_first() -> None:
    source = schema(Field("dc:title", TEXT, "Title"), Field("acme:title", TEXT, "Title"))
    target = schema(Field("title", TEXT), KEY)
    sample = assets(**{"dc:title": ("Sea", "Sky"), "acme:title": ("Waves", "Clouds")})
    for given in (None, sample):
        assert by_target(suggest(source, target, sample=given))["title"].sources == ("fields.dc:title",)


def test_texts_without_a_date_are_no_date() -> None:
    source, target = schema(Field("acquired", TEXT)), schema(Field("acquisition_date", DATE), KEY)
    sample = assets(acquired=("purchased", "given", "unknown"))
    line = by_target(suggest(source, target, sample=sample))["acquisition_date"]
    assert line.score < 0.5
    assert "none of its sampled values is a date" in line.reason


def test_a_name_that_may_mean_two_things_of_the_target_is_a_question() -> None:
    source = schema(Field("date", TEXT))
    lines = by_target(suggest(source, schema(Field("date_made", TEXT), Field("date_taken", TEXT), KEY)))
    assert [line.score < 0.5 for line in lines.values() if line.sources] == [True]
    assert by_target(suggest(source, schema(Field("date_made", TEXT), KEY)))["date_made"].score > 0.5


def suggested_tags(*tagged: frozenset[str]) -> Suggestion:
    source = schema(Field("subjects", TEXT, multiple=True))
    target = schema(Field("keywords", TEXT, multiple=True), KEY)
    sample = Sample.of(
        Asset(AssetId(str(at)), Revision("1"), fields={"subjects": ("Sea",)}, tags=tags)
        for at, tags in enumerate(tagged)
    )
    return suggest(source, target, sample=sample)


def test_tags_that_no_asset_has_leave_the_field_to_subjects_that_have_values() -> None:
    assert by_target(suggested_tags(frozenset()))["keywords"].sources == ("fields.subjects[]",)
    assert by_target(suggested_tags(frozenset({"sea"})))["keywords"].sources == ("tags[]",)
