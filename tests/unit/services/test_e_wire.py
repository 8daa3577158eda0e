"""The contract's own examples of service E, read and written (wire E 1, 2.1, 3.1, 5, 6)."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from dam_sync.http.dates import parse_timestamp
from dam_sync.model.asset import AssetId, Draft, Marker, Patch, Placement, Rights
from dam_sync.model.errors import ContractBroken, Disposition, IntegrityError, InvalidValue
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import Term
from dam_sync.services.e_profiles.api import query
from dam_sync.services.e_profiles.api.tokens import tenant_of
from dam_sync.services.e_profiles.codec import fields, security, trees, wire
from dam_sync.services.e_profiles.codec.fields import ProfilesField, TenantSchema
from dam_sync.services.e_profiles.codec.values import term_of
from tests.support.services.wire_examples_e import ASSET, SEARCH

NOW = datetime(2026, 1, 1, tzinfo=UTC)
VIEWABLE = json.loads("""
{"fields": [{"display_key": "assettype", "display_name": "Asset type", "field_type": "selection_list",
             "metadata_types": ["Photo", "Logo"]},
            {"display_key": "colors", "display_name": "Colours", "field_type": "selection_list_multi",
             "metadata_types": ["Photo"]},
            {"display_key": "shotDate", "display_name": "Shot", "field_type": "date", "metadata_types": ["Photo"]},
            {"display_key": "height", "display_name": "Height", "field_type": "numeric", "metadata_types": ["Photo"]}]}
""")
TYPES = json.loads("""
{"types": [{"uuid": "2eedfe73", "name": "Photo", "use": "Asset", "fields": [
  {"uuid": "f1", "displayKey": "author", "displayName": "Author", "discriminator": "TextArea", "editable": true,
   "required": true},
  {"uuid": "f2", "displayKey": "colors", "displayName": "Colours", "discriminator": "X", "editable": false,
   "required": false, "itemList": {"items": [{"uuid": "i1", "displayName": "Red"}]}}]}]}
""")
PROFILE = {
    "name": "Migration Photo",
    "metadata_type": "Photo",
    "asset_groups": ["public"],
    "immediate_release": True,
    "release_date": None,
}


def tenant() -> TenantSchema:
    return TenantSchema(
        fields=fields.with_types(fields.viewable_of(VIEWABLE["fields"]), TYPES["types"]),
        types=fields.asset_types(TYPES["types"]),
        groups=frozenset({"public"}),
        profiles={PROFILE["name"]: fields.profile_of(PROFILE)},  # type: ignore[dict-item]
    )


# -- reading -----------------------------------------------------------------------------------------------------------


def test_the_example_becomes_an_asset() -> None:
    asset = wire.asset_of(ASSET, tenant())
    assert asset.id == "2405adb8-fe72-4bec-a47e-0ef3e27fd0b7"
    assert asset.revision == "2023-03-03T13:10:39Z~9e4e810c-147b-4ac2-85a9-cf64f8fa61e0"
    assert (asset.filename, asset.status) == ("Wheel Illustration.ai", "published")
    assert (asset.form_type, asset.type) == ("image", "Photo")
    assert asset.fields == {
        "description": "A wheel",
        "shotDate": date(2022, 6, 19),
        "height": 620,
        "colors": (term_of("Red"), term_of("Blue")),
        "image_width": 650,
        "image_height": 650,
        "file_format": "JPEG",
        "embed_id": "zofltmp3ft",
    }
    assert asset.tags == {"wheel"}
    assert asset.machine_tags == {"rim", "alloy"}
    assert asset.rights == Rights(datetime(2021, 9, 24, 18, 31, 2, tzinfo=UTC), None, frozenset({"public"}))
    assert asset.imported_at == asset.created_at == datetime(2023, 3, 3, 12, 29, 11, tzinfo=UTC)
    (file,) = asset.versions
    assert (file.id, file.size) == (f"{asset.id}/{ASSET['version_id']}", 87040)
    assert (file.link, file.digests) == ("", {})


def test_a_field_the_tenant_list_did_not_show_is_read_as_the_asset_says() -> None:
    asset = wire.asset_of(ASSET, TenantSchema())
    assert asset.fields["colors"] == (term_of("Red"), term_of("Blue"))
    assert asset.fields["height"] == "620"


def test_a_revision_is_final_only_once_no_other_edit_can_bear_its_second() -> None:
    entry = wire.entry_of(ASSET, TenantSchema(), wire.More())
    assert entry.changed_at is not None
    assert wire.as_read(entry, entry.changed_at + timedelta(minutes=3)) == entry
    for seconds in (-5, 0, 119):
        early = wire.as_read(entry, entry.changed_at + timedelta(seconds=seconds))
        assert early.revision not in ("", entry.revision)
        assert early.asset is not None
        assert early.asset.revision == early.revision
    thin = wire.entry_of(ASSET, TenantSchema(), None)
    assert wire.as_read(thin, entry.changed_at).revision != thin.revision
    unsaid = wire.entry_of({**ASSET, "last_update_date": None}, TenantSchema(), None)
    assert wire.as_read(unsaid, entry.changed_at) == unsaid


def test_an_old_server_without_newer_members_is_read() -> None:
    old = {k: v for k, v in ASSET.items() if k not in ("version_id", "current_version", "tags", "ai_tags")}
    old["file_properties"] = {"format": "PDF", "format_type": "pdf", "size_in_kbytes": 85}
    del old["metadata_info"], old["security"], old["asset_properties"]
    asset = wire.asset_of(old, TenantSchema(), wire.More([old]))
    assert len(asset.versions) == 1
    assert asset.versions[0].size is None
    assert asset.revision == "2023-03-03T13:10:39Z~2023-03-03T12:29:11Z"


def test_trash_and_archive_are_statuses() -> None:
    trashed = {**ASSET, "deleted_date": "2024-01-01T00:00:00Z"}
    assert wire.asset_of(trashed, TenantSchema(), wire.More(archived=True)).status == "trash"
    assert wire.entry_of(trashed, TenantSchema(), None).deleted
    assert wire.asset_of(ASSET, TenantSchema(), wire.More(archived=True)).status == "archived"


def test_versions_come_oldest_first_and_end_with_the_current() -> None:
    def row(version: str, uploaded: str) -> dict[str, Any]:
        return {"id": ASSET["id"], "version_id": version, "filename": f"{version}.ai", "file_upload_date": uploaded}

    current = {**ASSET, "version_id": "v4", "file_upload_date": "2023-03-05T00:00:00Z"}
    newest_first = [
        row("v4", "2023-03-05T00:00:00Z"),
        row("v3", "2023-03-04T00:00:00Z"),
        row("v2", "2023-03-04T00:00:00Z"),
        row("v1", "2023-03-03T00:00:00Z"),
    ]
    asset = wire.asset_of(current, TenantSchema(), wire.More(newest_first))
    assert [file.id.rpartition("/")[2] for file in asset.versions] == ["v1", "v2", "v3", "v4"]
    assert wire.needs_versions(current)
    assert not wire.needs_versions(ASSET)


def test_versions_uploaded_after_the_row_was_made_are_left_for_the_next_reading() -> None:
    def row(version: str, day: int, **more: object) -> dict[str, Any]:
        return {"id": ASSET["id"], "version_id": version, "file_upload_date": f"2023-03-0{day}T00:00:00Z", **more}

    def order(current: dict[str, Any], *listed: dict[str, Any]) -> list[str]:
        found = wire.asset_of({**ASSET, **current}, TenantSchema(), wire.More(listed))
        return [file.id.rpartition("/")[2] for file in found.versions]

    assert order(row("v2", 4), row("v3", 5), row("v2", 4), row("v1", 3)) == ["v1", "v2"]
    newest = row("v3", 5, current_version=True)
    assert order(row("v2", 4), newest, row("v2", 4, current_version=False), row("v1", 3)) == ["v1", "v2"]
    taken_back = row("v1", 3, current_version=True)
    assert order(taken_back, row("v3", 5), row("v2", 4), taken_back) == ["v2", "v3", "v1"]


def test_a_search_response_is_believed_only_when_the_query_was_understood() -> None:
    hits = wire.hits_of(SEARCH)
    assert (hits.total, hits.scroll) == (24731, "DXF1ZXJ5QW5kRmV0Y2g=")
    assert wire.hits_of({**SEARCH, "scroll_id": None, "scroll_timeout": None}).scroll == ""
    for broken in ({"query_syntax_ok": False}, {"query_syntax_ok": None}, {"total_count": None}, {"items": None}):
        with pytest.raises(ContractBroken):
            wire.hits_of({**SEARCH, **broken})


def test_links_are_valid_until_a_quarter_of_an_hour_before_they_expire() -> None:
    link = wire.download_link(ASSET)
    expires = datetime.fromtimestamp(1632866400, UTC)
    assert wire.is_fresh(link, expires - timedelta(minutes=16))
    assert not wire.is_fresh(link, expires - timedelta(minutes=14))
    assert wire.is_fresh("https://cdn.example/x", expires)
    assert wire.download_link({**ASSET, "_links": {}}) == ""


def test_list_rows_with_and_without_envelope() -> None:
    assert wire.items_of([PROFILE]) == [PROFILE]
    assert wire.items_of({"items": [ASSET]}) == [ASSET]
    with pytest.raises(ContractBroken):
        wire.items_of({"rows": []})


def test_a_list_that_returns_less_than_it_counted_is_not_believed() -> None:
    for whole in ([ASSET], {"items": [ASSET]}, {"items": [ASSET], "total_count": 1}):
        assert wire.whole_of(whole) == [ASSET]
    with pytest.raises(IntegrityError, match="announced 2 rows and returned 1") as short:
        wire.whole_of({"items": [ASSET], "total_count": 2})
    assert short.value.disposition is Disposition.PARK


# -- schema ------------------------------------------------------------------------------------------------------------


def test_the_schema_joins_fields_types_profiles_and_groups() -> None:
    schema = fields.schema_of(tenant(), NOW)
    colors, author = schema.fields["colors"], schema.fields["author"]
    assert (colors.kind, colors.multiple, colors.vocabulary) == (FieldKind.TERM, True, "colors")
    assert not colors.editable
    assert (author.kind, author.required, author.max_length) == (FieldKind.TEXT, True, 1280)
    assert schema.fields["assettype"].types == {"Photo", "Logo"}
    assert not schema.fields["assettype"].multiple
    assert [(each.name, each.profile) for each in schema.types] == [("Photo", "Migration Photo")]
    assert schema.container_depth == {"collection": 1}, "a deeper path is joined into one title"
    assert schema.groups == frozenset({"public"})
    assert set(schema.vocabularies) == {"assettype", "colors"}
    assert schema.fields["image_width"].derived


def test_types_of_assets_are_known_in_any_case_and_others_left_out() -> None:
    rows = [{"name": "Photo", "use": "ASSET"}, {"name": "Logo"}, {"name": "Order", "use": "OrderForm"}]
    assert fields.asset_types(rows) == ("Photo", "Logo")
    assert [row["name"] for row in fields.of_assets(rows)] == ["Photo", "Logo"]
    assert fields.of_assets([]) == []
    with pytest.raises(ContractBroken, match="OrderForm"):
        fields.of_assets(rows[2:])


def test_a_field_is_locked_only_where_every_type_locks_it() -> None:
    def types(*editable: bool) -> list[dict[str, Any]]:
        return [
            {"name": f"t{number}", "fields": [{"displayKey": "author", "editable": each}]}
            for number, each in enumerate(editable)
        ]

    for editable in ((True, False), (False, True), (True, True)):
        assert fields.with_types({}, types(*editable))["author"].editable
    assert not fields.with_types({"author": ProfilesField("author")}, types(False, False))["author"].editable


def test_a_tenant_field_comes_before_a_derived_one_of_the_same_key() -> None:
    own = TenantSchema(fields={"embed_id": ProfilesField("embed_id", "text")})
    assert not fields.schema_of(own, NOW).fields["embed_id"].derived
    row = {**ASSET, "metadata": {"fields": {"embed_id": ["mine"]}}}
    assert wire.asset_of(row, own).fields["embed_id"] == "mine"


@pytest.mark.parametrize(
    ("values", "ticked", "unticked"),
    [(("Cleared",), "Cleared", ""), (("No", "Yes"), "Yes", "No"), (("A", "B"), "", ""), ((), "", "")],
)
def test_checkboxes_that_are_flags(values: tuple[str, ...], ticked: str, unticked: str) -> None:
    info = ProfilesField("box", "checkboxes", values=values)
    assert (info.ticked, info.unticked) == (ticked, unticked)
    assert info.kind is (FieldKind.FLAG if ticked else FieldKind.TERM)


# -- bodies ------------------------------------------------------------------------------------------------------------


def test_the_metadata_of_an_upload_is_wrapped_and_carries_the_marker() -> None:
    draft = Draft(Marker("srckey", "a_00017"), "IMG_1815.tif", fields={"colors": (Term("Red"),), "author": ""})
    assert json.loads(wire.upload_metadata(draft, tenant())) == {"fields": {"srckey": ["a_00017"], "colors": ["Red"]}}


def test_a_cleared_field_is_an_empty_array() -> None:
    assert wire.metadata_body({"author": None, "height": 3}, tenant()) == {"fields": {"author": [], "height": ["3"]}}


def test_rights_say_only_what_the_profile_does_not_set() -> None:
    profile = fields.profile_of(PROFILE)
    when = datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)
    assert security.security_of_draft(Rights(groups=frozenset({"public"})), profile) == {}
    assert security.security_of_draft(Rights(groups=frozenset({"staff"})), profile) == {"asset_groups": ["staff"]}
    full = security.security_of_draft(Rights(when, when, frozenset({"public"})), profile)
    assert full == {"release_date": "2026-01-01T00:00:00Z", "expiration_date": "2026-01-01T00:00:00Z"}


def test_a_patch_of_rights_clears_what_was_set_before() -> None:
    staff, now = Rights(groups=frozenset({"staff"})), datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    assert security.security_of_patch(Patch(), now) == {}
    assert security.security_of_patch(Patch(rights=staff), now) == {"asset_groups": ["staff"]}
    assert security.security_of_patch(Patch(rights=staff, cleared=frozenset({"expiry", "release"})), now) == {
        "asset_groups": ["staff"],
        "expiration_date": None,
        "release_date": "2026-01-02T03:04:05Z",  # none would hide the asset
    }
    given = Rights(release_at=datetime(2027, 1, 1, tzinfo=UTC))
    both = security.security_of_patch(Patch(rights=given, cleared=frozenset({"release"})), now)
    assert both == {"release_date": "2027-01-01T00:00:00Z"}


def test_the_made_asset_is_the_last_segment_of_self() -> None:
    assert wire.made_id({"_links": {"self": "https://api.dam.example/v2/assets/0b7c-e1"}}) == "0b7c-e1"
    assert wire.made_id({"_links": {"self": "https://api.dam.example/v2/assets/0b7c-e1/?x=1"}}) == "0b7c-e1"
    for broken in ({}, None, {"_links": {"self": ""}}):
        with pytest.raises(ContractBroken):
            wire.made_id(broken)


def test_paths_are_escaped_segment_by_segment() -> None:
    assert wire.category_path(("Campaigns", "Summer 24", "A/B")) == "/v2/categories/Campaigns/Summer%2024/A%5C%2FB"
    assert wire.vocabulary_path("a/b") == "/v2/metadata/a%2Fb/vocabulary"
    assert wire.asset_path("x", "tags", "add") == "/v2/assets/x/tags/add"
    assert wire.members_body("categories", "c1", ["a1"], []) == {
        "categories": {"uuids": ["c1"]},
        "add": {"uuids": ["a1"]},
        "remove": {"uuids": []},
    }


# -- containers, account, queries --------------------------------------------------------------------------------------


def test_containers_of_tree_and_lists() -> None:
    tree = json.loads("""{"parentCategory": null, "categories": [{"id": 17, "uuid": "u17", "title": "Campaigns",
      "children": [{"id": 18, "uuid": "u18", "title": "Summer", "children": []}]}]}""")
    found = list(trees.categories_of(tree))
    assert found == [Placement("category", ("Campaigns",)), Placement("category", ("Campaigns", "Summer"))]
    assert [each.id for each in found] == ["u17", "u18"]
    row = {"id": "u18", "name": "Summer", "path": "Campaigns/Summer", "parts": ["Campaigns", "Summer"]}
    assert trees.category_of(row) == found[1]
    link = {"_links": {"assets": "https://api.dam.example/v2/assets/search?query=collection%3A%7Bx%7D&a="}}
    assert wire.link_query(trees.assets_link(link)) == [("query", "collection:{x}"), ("a", "")]
    assert trees.assets_link({}) == ""


def test_a_category_is_known_again_by_its_path_and_by_its_id_in_any_case() -> None:
    places = [
        Placement("category", ("A",), "U1-x"),
        Placement("category", ("A", "B"), "u2"),
        Placement("category", ("C",)),
    ]
    inner = trees.Inner.of(places)
    assert inner.has(Placement("category", ("A",), "another"))
    assert inner.has(Placement("category", ("a",), "u1-X"))
    assert not inner.has(Placement("category", ("A", "B"), "u2"))
    assert not inner.has(Placement("category", ("C",)))


def test_collections_of_one_title_are_distinguished_by_their_type() -> None:
    rows = [
        {"id": "c1", "title": "Spring", "type": "global"},
        {"id": "c2", "title": "Spring", "type": "private"},
        {"id": "c3", "title": "Summer", "type": "private"},
        {"id": "c4", "title": "Spring", "type": "private"},
        {"id": "c5", "title": "Spring (private)", "type": "shared"},
        {"id": "c1", "title": "Spring", "type": "shared"},  # listed under two types
    ]
    placed = trees.collections_of(rows)
    assert [(each.path[0], each.id) for each in placed] == [
        ("Spring", "c1"),
        ("Spring (private)", "c2"),
        ("Summer", "c3"),
        ("Spring (private 2)", "c4"),
        ("Spring (private) (shared)", "c5"),
        ("Spring", "c1"),
    ]


def test_the_assets_of_a_collection_are_asked_for_or_named_as_out_of_reach() -> None:
    link = "https://api.dam.example/v2/assets/search?query=x"
    row = {"id": "c1", "title": "Spring", "type": "shared", "total_items": 3}
    assert trees.collection_link({**row, "_links": {"assets": link}}) == link
    assert trees.collection_link({**row, "_links": {"assets": link}, "total_items": 0}) == ""
    assert trees.collection_link({**row, "total_items": 0}) == ""
    assert (
        trees.unread_reason({**row, "_links": {"assets": link}}) == trees.unread_reason({**row, "total_items": 0}) == ""
    )
    assert "shared collection of 3 assets" in trees.unread_reason(row)
    assert "an unknown number" in trees.unread_reason({"id": "c1", "title": "Spring"})


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Bearer wat_demo_b1d3c61e03c6", "demo"),
        ("Bearer museum/a0b1c2", "museum"),
        ("Basic " + base64.b64encode(b"wat_demo_b1d3c61e03c6:x-oauth-basic").decode(), "demo"),
        ("Bearer opaque", "archive"),
        ("Basic ???", "archive"),
    ],
)
def test_the_tenant_is_known_by_the_token(header: str, name: str) -> None:
    assert tenant_of({"Authorization": header}, "https://archive.dam.example") == name


def test_queries_have_timestamps_in_utc() -> None:
    since, until = datetime(2026, 9, 1, tzinfo=UTC), datetime(2026, 9, 2, 0, 0, 0, 999, tzinfo=UTC)
    assert query.edited_between(since, until) == (
        "lastEditDate:[after 2026-09-01T00:00:00Z] AND lastEditDate:[before 2026-09-02T00:00:00Z]"
    )
    assert query.edited_between(None, None) == ""
    assert query.added_in(since, until) == "DateAdded:[2026-09-01T00:00:00Z to 2026-09-02T00:00:00Z]"
    assert query.added_in(None, until) == "DateAdded:[before 2026-09-02T00:00:00Z]"
    assert query.added_in(since, None) == "DateAdded:[after 2026-09-01T00:00:00Z]"
    assert query.added_in(None, None) == ""
    assert query.exactly("srckey", "a_00017") == "srckey:({a_00017})"
    with pytest.raises(InvalidValue):
        query.exactly("srckey", "a} OR {b")


def test_a_timestamp_that_orders_a_listing_must_be_valid() -> None:
    with pytest.raises(ContractBroken):
        parse_timestamp("yesterday")
    assert wire.id_of(ASSET) == AssetId(ASSET["id"])
    with pytest.raises(ContractBroken):
        wire.id_of({})


@pytest.mark.parametrize("row", [{}, {"filename": ""}, {"filename": None}, {"filename": ["a.jpg"]}])
def test_an_asset_without_a_file_name_gets_no_version(row: dict[str, Any]) -> None:
    """A version is uploaded under the name of the asset: under another one it would be an asset of its own."""
    with pytest.raises(ContractBroken):
        wire.filename_of(row)
