"""What a rehearsal gives an emulated tenant, and what it says of the rest."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dam_sync.api.emulation.tenant_layout import LEVELS, TenantLayout, compare_layouts, layout_of, records_of
from dam_sync.model.asset import Placement
from dam_sync.model.schema import AssetType, Field, FieldKind, Schema, Vocabulary
from dam_sync.model.values import Term
from tests.conformance.tenant import starting

TITLE = Field("title", FieldKind.TEXT, "Title", types=frozenset({"Photo"}))
SUBJECT = Field("lib:subject", FieldKind.TERM, "Subject", multiple=True, vocabulary="subjects")
WIDTH = Field("width", FieldKind.NUMBER, derived=True)
SEA = Term("Sea", "1", ("Sea",), labels={"en": "Sea"})
SCHEMA = Schema(
    {field.key: field for field in (TITLE, SUBJECT, WIDTH)},
    {"subjects": Vocabulary("subjects"), "unused": Vocabulary("unused")},
    types=(AssetType("Photo", "photos"), AssetType("Film")),
    groups=frozenset({"staff"}),
    locales=("fr",),
)
LAYOUT = TenantLayout(SCHEMA, {"subjects": (SEA,)}, (Placement("folder", ("Press", "2024")),))


def bare(*fields: Field, types: tuple[AssetType, ...] = ()) -> Schema:
    return Schema({field.key: field for field in fields}, types=types)


def test_what_a_new_tenant_has_already_is_not_written_again() -> None:
    known = bare(replace(TITLE, types=frozenset()), types=(AssetType("Film"),))
    records = list(records_of(LAYOUT, known, "lib:"))
    assert [row["key"] for row in records if row["record"] == "field"] == ["subject"]
    assert [row["key"] for row in records if row["record"] == "vocabulary"] == ["subjects"]
    assert [row["labels"] for row in records if row["record"] == "term"] == [{"en": "Sea"}]
    assert [row["name"] for row in records if row["record"] in ("type", "group")] == ["Photo", "staff"]
    assert [row["path"] for row in records if row["record"] == "container"] == [["Press", "2024"]]


def test_a_built_in_field_that_differs_is_declared() -> None:
    known = bare(replace(TITLE, required=True))
    assert [row["key"] for row in records_of(LAYOUT, known, "") if row["record"] == "field"] == ["title", "lib:subject"]


def test_profiles_are_declared_with_what_they_show_and_those_that_keep_assets_closed() -> None:
    public = frozenset({"public"})
    schema = replace(
        SCHEMA,
        types=(AssetType("Photo", "photos", groups=public),),
        closing_types=(
            AssetType("Photo", "shut", groups=public, releases=False),
            AssetType("Photo", "groupless", groups=frozenset()),
        ),
    )
    records = records_of(TenantLayout(schema, LAYOUT.terms, ()), bare(), "")
    assert [row for row in records if row["record"] == "profile"] == [
        {"record": "profile", "name": "photos", "type": "Photo", "groups": ["public"], "immediate_release": True},
        {"record": "profile", "name": "shut", "type": "Photo", "groups": ["public"], "immediate_release": False},
        {"record": "profile", "name": "groupless", "type": "Photo", "groups": [], "immediate_release": True},
    ]


def test_all_types_are_declared_where_one_of_a_new_tenant_is_missing() -> None:
    known = bare(TITLE, types=(AssetType("Photo"), AssetType("Sound")))
    assert [row["name"] for row in records_of(LAYOUT, known, "") if row["record"] == "type"] == ["Photo", "Film"]


def test_the_cells_of_a_field_set_keep_their_kinds() -> None:
    kinds = {"since": FieldKind.DATE, "size": FieldKind.NUMBER, "place": FieldKind.TERM}
    loans = Field("loans", FieldKind.ROWS, multiple=True, cells=frozenset({*kinds, "by"}), cell_kinds=kinds)
    (row,) = records_of(TenantLayout(Schema({"loans": loans}), {}, ()), bare(), "")
    assert {cell["key"]: cell["kind"] for cell in row["fields"]} == {
        "by": "text",
        "place": "text",
        "since": "date",
        "size": "number",
    }


def test_each_difference_is_a_line() -> None:
    shorter = replace(SUBJECT, max_length=40, label="Other")
    schema = replace(SCHEMA, fields={"lib:subject": shorter}, locales=("en",), groups=None)
    assert compare_layouts(LAYOUT, TenantLayout(schema, {}, ())) == [
        "field title is missing",
        "field lib:subject: max_length None became 40",
        "vocabulary subjects: 1 term is missing, for example Sea",
        "groups: staff became None",
        "locales: ('fr',) became ('en',)",
        "folder /Press/2024 is missing",
    ]
    assert compare_layouts(LAYOUT, LAYOUT) == []


async def test_a_tree_of_terms_becomes_a_cascade_where_a_list_has_no_levels(tmp_path: Path) -> None:
    places = Vocabulary("places", "Places", hierarchical=True)
    where = Field("places", FieldKind.TERM, "Where", vocabulary="places")
    europe = Term("Europe", "e", ("Europe",))
    layout = TenantLayout(Schema({"places": where}, {"places": places}), {"places": (europe,)}, ())
    with_levels = [dict(record) for record in records_of(layout, bare(), "")]
    assert [row.get("levels") for row in with_levels if row["record"] == "field"] == [LEVELS]
    async with starting("d_templates", tmp_path) as start:
        service = start([{"record": "group", "name": "public"}, *with_levels]).connect()
        found = await layout_of(service)
        assert found.schema.vocabularies["places"].hierarchical
        assert not [line for line in compare_layouts(layout, found) if "vocabulary" in line]
        (top,) = [term async for term in service.terms("places")]
        made = await service.ensure_term("places", Term("France", parent=top.id))
        assert made.path == ("Europe", "France")
