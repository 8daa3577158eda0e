"""The JSON of service B and our model, without a server."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.model.asset import Asset, FileRef
from dam_sync.model.connector import Context
from dam_sync.model.errors import ConfigError, ContractBroken, InvalidValue, NotFound
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import GeoPoint, Person, Row, Term, Value
from dam_sync.services.b_documents import CONNECTOR, facts
from dam_sync.services.b_documents.api.client import authenticator_of
from dam_sync.services.b_documents.api.search import hits_of, quoted, select
from dam_sync.services.b_documents.codec.fields import (
    Directory,
    DocumentsField,
    ServerSchema,
    enumerated,
    info_of,
    schema_of,
)
from dam_sync.services.b_documents.codec.forms import state_of, status_ways, transitions_between
from dam_sync.services.b_documents.codec.values import decode, encode, lost, same
from dam_sync.services.b_documents.codec.wire import (
    Around,
    asset_of,
    digests_of,
    entry_of,
    file_of,
    files_of,
    revision_of,
    size_of,
)
from dam_sync.services.b_documents.options import DocumentsOptions
from dam_sync.services.b_documents.taxonomy.containers import Tree, container_name
from dam_sync.services.b_documents.taxonomy.terms import Listed, arranged, enum_of, free_id
from dam_sync.services.b_documents.tenant import Release, Root
from tests.support.services.typed_options import read_options, typed

UTC_ZONE, PARIS = ZoneInfo("UTC"), ZoneInfo("Europe/Paris")
SUBJECT = {"art": Term("Art", "art", ("Art",)), "art/photo": Term("Photo", "art/photo", ("Art", "Photo"), "art")}
TERMS = {"subjects": {"photo": SUBJECT["art/photo"], **SUBJECT}}


# -- values ------------------------------------------------------------------------------------------------------------

CASES: list[tuple[DocumentsField, Value, Any]] = [
    (DocumentsField("t"), "x\x07y", "xy"),
    (DocumentsField("t"), 12, "12"),
    (DocumentsField("t"), date(2024, 1, 2), "2024-01-02"),
    (DocumentsField("n", "double", FieldKind.NUMBER), 1.5, 1.5),
    (DocumentsField("n", "long", FieldKind.NUMBER), 3.0, 3),
    (DocumentsField("f", "boolean", FieldKind.FLAG), True, True),
    (DocumentsField("d", "date", FieldKind.INSTANT), datetime(2024, 1, 2, 3, tzinfo=UTC), "2024-01-02T03:00:00.000Z"),
    (DocumentsField("d", "date", FieldKind.INSTANT), date(2024, 1, 2), "2024-01-02T00:00:00.000Z"),
    (DocumentsField("d", "date", FieldKind.DATE), date(2024, 1, 2), "2024-01-01T23:00:00.000Z"),
    (DocumentsField("l", multiple=True), ("a", "b"), ["a", "b"]),
    (DocumentsField("l", multiple=True), "a", ["a"]),
    (DocumentsField("t"), ("a",), "a"),
    (DocumentsField("s", kind=FieldKind.TERM, vocabulary="subjects", parented=True), SUBJECT["art/photo"], "art/photo"),
    (DocumentsField("s", kind=FieldKind.TERM, vocabulary="subjects"), SUBJECT["art/photo"], "photo"),
    (DocumentsField("s", kind=FieldKind.TERM, vocabulary="subjects", parented=True), "Photo", "photo"),
    (DocumentsField("p", kind=FieldKind.PERSON), Person("ann"), "ann"),
    (DocumentsField("p", kind=FieldKind.PERSON), "ann", "ann"),
    (DocumentsField("p", kind=FieldKind.PERSON, prefix="user:"), Person("ann"), "user:ann"),
    (DocumentsField("p", kind=FieldKind.PERSON, prefix="user:"), Person("user:ann"), "user:ann"),
    (DocumentsField("p", kind=FieldKind.PERSON, prefix="user:"), Person("group:members"), "group:members"),
    (
        DocumentsField("g", "complex", FieldKind.PLACE),
        GeoPoint(1.0, 2.0),
        {"latitude": 1.0, "longitude": 2.0, "address": None},
    ),
]


@pytest.mark.parametrize(("info", "value", "wire"), CASES)
def test_values_are_sent_as_the_service_takes_them(info: DocumentsField, value: Value, wire: Any) -> None:
    assert encode(info, value, TERMS, PARIS) == wire


def test_a_path_of_terms_is_stored_with_the_separator_that_the_field_names() -> None:
    info = DocumentsField("s", kind=FieldKind.TERM, vocabulary="subjects", multiple=True, parented=True, separator="|")
    assert decode(info, ["art|photo", "art"], TERMS, UTC_ZONE) == (SUBJECT["art/photo"], SUBJECT["art"])
    assert encode(info, (SUBJECT["art/photo"], "art/photo", "Photo"), TERMS, UTC_ZONE) == [
        "art|photo",
        "art|photo",
        "photo",
    ]
    unknown = Term("gone|here", "gone/here")
    assert decode(info, "gone|here", TERMS, UTC_ZONE) == (unknown,)
    assert encode(info, unknown, {}, UTC_ZONE) == ["gone|here"]
    flat = DocumentsField("s", kind=FieldKind.TERM, vocabulary="subjects", separator="|")
    assert decode(flat, "a|b", TERMS, UTC_ZONE) == Term("a|b", "a|b")


@pytest.mark.parametrize(
    ("info", "value"),
    [
        (DocumentsField("n", "double", FieldKind.NUMBER), "many"),
        (DocumentsField("n", "long", FieldKind.NUMBER), 1.5),
        (DocumentsField("n", "double", FieldKind.NUMBER), True),
        (DocumentsField("f", "boolean", FieldKind.FLAG), "yes"),
        (DocumentsField("d", "date", FieldKind.INSTANT), "soon"),
        (DocumentsField("t", max_length=3), "four"),
        (DocumentsField("t"), ("a", "b")),
        (DocumentsField("r", "complex", FieldKind.ROWS, parts={"a": DocumentsField("a")}), Row({"b": "x"})),
        (DocumentsField("g", "complex", FieldKind.PLACE), 7),
    ],
)
def test_what_a_property_cannot_hold_is_refused_before_a_call(info: DocumentsField, value: Value) -> None:
    with pytest.raises(InvalidValue):
        encode(info, value, TERMS, UTC_ZONE)


def test_a_set_is_sent_whole_and_read_without_its_empty_parts() -> None:
    """What is missing in it would become null."""
    info = DocumentsField(
        "r", "complex", FieldKind.ROWS, True, parts={"a": DocumentsField("a"), "b": DocumentsField("b")}
    )
    assert encode(info, (Row({"a": "x"}),), TERMS, UTC_ZONE) == [{"a": "x", "b": None}]
    assert decode(info, [{"a": "x", "b": None}, {}], TERMS, UTC_ZONE) == (Row({"a": "x"}),)


@pytest.mark.parametrize(("text", "sent"), [("12.5", 12.5), ("3", 3)])
def test_a_number_of_a_row_may_come_as_text(text: str, sent: float) -> None:
    """Other services keep the cells of a row as texts."""
    info = DocumentsField(
        "r", "complex", FieldKind.ROWS, True, parts={"n": DocumentsField("n", "double", FieldKind.NUMBER)}
    )
    assert encode(info, (Row({"n": text}),), TERMS, UTC_ZONE) == [{"n": sent}]


@pytest.mark.parametrize("text", ["wide", "nan", "inf"])
def test_a_text_that_is_no_number_is_refused_in_a_row_too(text: str) -> None:
    info = DocumentsField(
        "r", "complex", FieldKind.ROWS, True, parts={"n": DocumentsField("n", "double", FieldKind.NUMBER)}
    )
    with pytest.raises(InvalidValue):
        encode(info, (Row({"n": text}),), TERMS, UTC_ZONE)


def test_a_day_typed_east_of_greenwich_is_that_day() -> None:
    info = DocumentsField("d", "date", FieldKind.DATE)
    assert decode(info, "2024-06-30T22:00:00.000Z", TERMS, PARIS) == date(2024, 7, 1)


@settings(max_examples=60)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=4)))
def test_a_value_that_is_returned_as_it_was_sent_is_not_lost(value: Any) -> None:
    assert same(value, value)
    assert lost({"a": value}, {"a": value}) == []


@pytest.mark.parametrize(
    ("sent", "got", "alike"),
    [
        ("2024-01-02", "2024-01-02T00:00:00.000Z", True),
        ("2024-01-02T01:00:00+01:00", "2024-01-02T00:00:00.000Z", True),
        (12, "12", True),
        (1, 1.0, True),
        (True, "true", True),
        ([], None, True),
        ("", None, True),
        ({"a": None}, None, True),
        ("a\x00b", "ab", True),
        ("jdoe", {"entity-type": "user", "id": "jdoe"}, True),
        ("a", None, False),
        ("a", "b", False),
        (["a", "b"], ["b", "a"], False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        (0, None, False),
        (False, None, False),
    ],
)
def test_what_counts_as_the_same(sent: Any, got: Any, alike: bool) -> None:
    assert same(sent, got) is alike


# -- documents ---------------------------------------------------------------------------------------------------------

MD5 = "0cc175b9c0f1b6a831c399e269772661"


@pytest.mark.parametrize(
    ("blob", "digests"),
    [
        ({"digestAlgorithm": "MD5", "digest": MD5.upper()}, {"md5": MD5}),
        ({"digestAlgorithm": "SHA-256", "digest": MD5 * 2}, {"sha256": MD5 * 2}),
        ({"digestAlgorithm": None, "digest": MD5}, {}),
        ({"digestAlgorithm": "MD5", "digest": None}, {}),
        ({"digestAlgorithm": "MD5", "digest": f"{MD5[:-3]}-12"}, {}),
        ({"digestAlgorithm": "MD5", "digest": MD5[:-1]}, {}),
    ],
)
def test_only_a_digest_is_taken_for_one(blob: Any, digests: dict[str, str]) -> None:
    assert digests_of(blob) == digests


@pytest.mark.parametrize(("length", "size"), [("12", 12), (12, 12), ("-1", None), (None, None), ("", None)])
def test_sizes_come_as_text_or_number(length: Any, size: int | None) -> None:
    assert size_of({"length": length}) == size


def version(uid: str, digest: str) -> Any:
    blob = {"name": "a.jpg", "length": "1", "digestAlgorithm": "MD5", "digest": digest * 32}
    return {"uid": uid, "properties": {"file:content": blob}}


def test_versions_that_only_changed_words_are_no_file_versions() -> None:
    rows = [version("v1", "a"), version("v2", "a"), version("v3", "b"), {"uid": "v4"}, version("live", "a")]
    assert [file.id for file in files_of(rows)] == ["v2/file:content", "v3/file:content", "live/file:content"]


def saved(uid: str, title: str, second: int, **more: Any) -> Any:
    """A document as somebody saved it: with one file, and what a service keeps for itself."""
    row = version(uid, "a")
    url = {"data": f"https://host/nxfile/{uid}/a.jpg?changeToken={second}"}
    kept = {"dc:title": title, "dc:modified": f"2026-01-01T00:00:0{second}.000Z", "uid:minor_version": second}
    attached = [{"file": {"name": "b.pdf", "digest": "b", **url}}]
    row["properties"] = {
        **{key: {**value, **url} for key, value in row["properties"].items()},
        **{**kept, "imd:width": second, "nxtag:tags": [{"label": uid}], "files:files": attached},
    }
    return {"isVersion": uid.startswith("v"), "isCheckedOut": uid == "live", "state": "project", **row, **more}


@pytest.mark.parametrize(
    ("rows", "files"),
    [
        ([saved("v1", "A", 1), saved("live", "A", 2)], ["v1", "live"]),  # saved again, and nothing else changed
        ([saved("v1", "A", 1), saved("live", "B", 2)], ["live"]),
        ([saved("v1", "A", 1), saved("live", "A", 2, state="approved")], ["live"]),
        ([saved("v1", "A", 1), saved("live", "A", 1)], ["live"]),  # checked out, and nothing saved
        ([saved("v1", "A", 1), saved("v2", "A", 2), saved("live", "A", 2, isCheckedOut=False)], ["v1", "live"]),
        ([saved("v1", "A", 1), saved("v2", "A", 2), saved("live", "B", 3)], ["v1", "live"]),
        ([saved("v1", "A", 1), {"uid": "v2"}, saved("live", "B", 3)], ["v1", "live"]),
    ],
    ids=["uploaded", "titled", "approved", "checked-out", "checked-in", "both", "removed-between"],
)
def test_a_file_that_was_uploaded_again_is_a_version_of_its_own(rows: Any, files: list[str]) -> None:
    found = files_of(rows)
    assert [file.id.partition("/")[0] for file in found] == files
    left = {row["uid"] for row in rows if "properties" in row} - set(files)
    checked_in = {"v2"} if rows[-1]["isCheckedOut"] is False else set()
    assert {each.partition("/")[0] for file in found for each in file.repeats} == left - checked_in


def test_an_older_version_is_not_the_current_file_of_an_asset_without_one() -> None:
    around = Around(versions=[version("v1", "a"), version("v2", "b")])
    found = asset_of({"uid": "live", "title": "Words", "properties": {}}, ServerSchema(), DocumentsOptions(), around)
    assert (found.versions, found.file, found.filename) == ((), None, "Words")
    assert told(found) == [("versions", "2 older")]
    assert told(asset_of({"uid": "live"}, ServerSchema(), DocumentsOptions(), Around(versions=[{"uid": "v1"}]))) == []


@pytest.mark.usefixtures("collected")
def test_a_list_written_as_text_has_no_unpaired_surrogates_and_no_depth() -> None:
    assert enumerated(json.dumps(["a\ud800b"])) == ("a\ufffdb",)
    assert enumerated("[" * 100_000)


def test_a_file_knows_its_document() -> None:
    assert file_of({"name": "a"}, "u/files:files/0/file", None) == FileRef("u/files:files/0/file", "a")


def read(server: ServerSchema | None = None, /, **row: Any) -> Asset:
    acls = [{"name": "inherited", "aces": [{"username": "Everyone", "permission": "Read", "granted": True}]}]
    return asset_of(
        {"uid": "u", "contextParameters": {"acls": acls}, **row}, server or ServerSchema(), DocumentsOptions(), Around()
    )


def told(asset: Asset) -> list[tuple[str, str]]:
    return [(loss.path, loss.detail) for loss in asset.losses]


def test_dates_that_are_none_cost_only_themselves() -> None:
    odd = "20255-01-01T00:00:00.000Z"
    dates = {"dc:created": odd, "dc:modified": "2025-01-01T00:00:00.000Z", "dc:expired": odd}
    server = ServerSchema(
        fields={key: DocumentsField(key, "date", FieldKind.INSTANT) for key in ("dc:created", "dc:modified")}
    )
    found = read(server, lastModified=odd, properties={**dates, "file:content": {"name": "a"}})
    assert (found.created_at, found.changed_at) == (None, datetime(2025, 1, 1, tzinfo=UTC))
    assert found.rights.expires_at is None
    assert told(found) == [("created_at", odd), ("expires_at", odd)]
    assert entry_of({"uid": "u", "lastModified": odd}, ()).changed_at is None


def test_properties_that_cannot_be_read_are_reported_by_name() -> None:
    """A file in a schema of the tenant, a set of properties with one in it; not what the service keeps for itself."""
    server = ServerSchema(fields={"acme:name": DocumentsField("acme:name")})
    properties = {"acme:name": "x", "acme:contract": {"name": "a.pdf", "length": "1"}, "acme:scans": [{"file": None}]}
    empty = {"acme:empty": None, "acme:none": [], "acme:blank": {"file": None, "note": ""}}
    own = {"uid:uid": "1", "files:files": [{"file": {}}], "picture:views": [{"title": "t"}]}
    kept = {"dc:issued": "2025-01-01T00:00:00.000Z", "acme:scans": [{"file": {"name": "s.pdf"}}]}
    found = read(server, properties={**properties, **empty, **own, **kept})
    assert [loss.path for loss in found.losses] == ["fields.acme:contract", "fields.acme:scans"]


def test_the_revision_moves_with_token_state_trash_and_path() -> None:
    row = {"changeToken": "7-2", "state": "project", "isTrashed": False}
    others = [{**row, "changeToken": "8-2"}, {**row, "state": "approved"}, {**row, "isTrashed": True}]
    plain = revision_of(row, ("A",))
    assert len({plain, revision_of(row, ("B",)), *(revision_of(each, ("A",)) for each in others)}) == 5
    assert plain == revision_of({**row, "title": "x"}, ("A",))


def test_a_day_before_the_first_one_stays_text() -> None:
    info, first = DocumentsField("d", "date", FieldKind.DATE), "0001-01-01T00:00:00.000Z"
    assert decode(info, first, {}, PARIS) == date(1, 1, 1)
    assert decode(info, first, {}, ZoneInfo("America/New_York")) == first


# -- schema ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("told", [["a", "b c"], '["a", "b c"]', "[a, b c]", "['a', 'b c']"])
def test_listed_values_are_read_in_both_readings(told: Any) -> None:
    assert enumerated(told)[:2] == ("a", "b c")


def test_a_constraint_without_values_is_a_closed_list_without_terms() -> None:
    declared = {"type": "string", "constraints": [{"name": "EnumConstraint", "parameters": {"Values": []}}]}
    info, free = info_of("dc:nature", declared), info_of("dc:title", "string")
    assert info is not None
    assert free is not None
    server = ServerSchema({}, {info.key: info, free.key: free}, {})
    schema = schema_of(server, DocumentsOptions())
    assert schema.fields["dc:nature"].kind is FieldKind.TERM
    assert schema.vocabularies[schema.fields["dc:nature"].vocabulary].closed
    assert enum_of(server, "enum:dc:nature") == Listed({}, {})
    with pytest.raises(NotFound):
        enum_of(server, "enum:dc:title")


def test_a_value_of_a_closed_list_may_hold_commas() -> None:
    """The text has no quotes: what stands between two commas anywhere in it may be one value."""
    found = enumerated("[Etching, Gouache, white, Oil,tempera]")
    assert found[:5] == ("Etching", "Gouache", "white", "Oil", "tempera")
    assert {"Gouache, white", "Oil,tempera"} <= set(found)
    assert enumerated(["Gouache, white", "Etching"]) == ("Gouache, white", "Etching")
    assert enumerated('["Gouache, white", "Etching"]') == ("Gouache, white", "Etching")
    assert len(enumerated("[" + ", ".join(map(str, range(500))) + "]")) <= 2000


def test_types_come_as_words_or_with_constraints() -> None:
    assert info_of("dc:subjects", "string[]") == DocumentsField("dc:subjects", multiple=True)
    rule = {"name": "directoryResolver", "parameters": {"directory": "subjects", "parentField": "parent"}}
    found = info_of("dc:subjects", {"type": "string[]", "itemConstraints": [rule]})
    assert found is not None
    assert (found.kind, found.vocabulary, found.parented, found.multiple) == (FieldKind.TERM, "subjects", True, True)
    assert info_of("file:content", "blob") is None
    assert info_of("picture:views", {"type": "complex[]", "fields": {"content": "blob"}}) is None


@pytest.mark.parametrize(("groups", "prefix"), [("true", "user:"), ("false", "")])
def test_users_among_groups_have_their_kind_before_their_names(groups: str, prefix: str) -> None:
    rule = {"name": "userManagerResolver", "parameters": {"includeUsers": "true", "includeGroups": groups}}
    found = info_of("p", {"type": "string", "constraints": [rule]})
    assert found == DocumentsField("p", kind=FieldKind.PERSON, prefix=prefix)
    assert found is not None
    assert encode(found, decode(found, f"{prefix}ann", TERMS, PARIS), TERMS, PARIS) == f"{prefix}ann"


def entry(identity: str, parent: str = "") -> tuple[Directory, Any]:
    row = {"id": identity, "properties": {"id": identity, "parent": parent, "label": identity.title()}}
    return Directory("d", "xvocabulary", parent="d"), row


def test_terms_come_after_their_parents_whatever_the_order() -> None:
    listed = arranged(Directory("d", parent="d"), [entry("c", "b"), entry("b", "a"), entry("a"), entry("x", "gone")])
    assert list(listed.terms) == ["a", "x", "a/b", "a/b/c"]
    assert listed.terms["a/b/c"].path == ("A", "B", "C")


def test_entries_in_a_circle_are_all_there() -> None:
    assert len(arranged(Directory("d", parent="d"), [entry("a", "b"), entry("b", "a")]).terms) == 2


def test_what_is_below_a_circle_keeps_its_place() -> None:
    rows = [entry("d", "c"), entry("c", "a"), entry("a", "b"), entry("b", "a"), entry("s", "s"), entry("t", "s")]
    assert sorted(arranged(Directory("d", parent="d"), rows).terms) == ["a", "a/c", "a/c/d", "b", "s", "s/t"]


def test_new_entries_have_ids_that_follow_from_label_and_parent() -> None:
    none = Listed({}, {})
    assert free_id(Term("sea"), none) == "sea"
    assert free_id(Term("a/b"), none) == free_id(Term("a/b"), none)
    taken = Listed({"sea": Term("Sea", "sea")}, {"sea": "sea"})
    ids = {free_id(Term("sea", parent=parent), taken) for parent in ("x", "y")}
    assert len(ids | {"sea"}) == 3
    assert all("/" not in each for each in ids)
    renamed = {each: Term("Ocean", each) for each in ids | {"sea"}}
    assert free_id(Term("sea", parent="x"), Listed(renamed, {each: each for each in renamed})) not in ids


def test_containers_of_equal_title_and_parent_stay_apart() -> None:
    tree = Tree(Root("root", "/w", "WorkspaceRoot"))
    rows = [{"uid": uid, "title": "Same", "parentRef": "root", "path": f"/w/{uid}"} for uid in ("a", "b")]
    for row in rows:
        tree.add(row)
    assert {place.path for place in tree.placements()} == {("Same",), ("Same [b]",)}


def folder(uid: str, title: str, parent: str = "root") -> dict[str, str]:
    return {"uid": uid, "title": title, "parentRef": parent, "path": f"/w/{uid}"}


def test_a_folder_is_found_by_its_path_whatever_was_added_renamed_and_moved_since() -> None:
    tree = Tree(Root("root", "/w", "WorkspaceRoot"))

    def found(*path: str) -> str:
        place = tree.find(path)
        return "" if place is None else place.id

    tree.add(folder("b", "Below", "a"))
    assert found("Above", "Below") == ""
    tree.add(folder("a", "Above"))
    assert (found("Above"), found("Above", "Below")) == ("a", "b")
    tree.add(folder("c", "E\u0301te\u0301", "b"))
    assert found("Above", "Below", "\u00c9t\u00e9") == "c"
    tree.rename("a", "Other")
    assert (found("Above", "Below"), found("Other", "Below", "\u00c9t\u00e9")) == ("", "c")
    tree.add(folder("c", "Elsewhere", "a"))
    assert (found("Other", "Below", "\u00c9t\u00e9"), found("Other", "Elsewhere")) == ("", "c")


def test_a_folder_is_found_without_a_look_at_all_others() -> None:
    tree = Tree(Root("root", "/w", "WorkspaceRoot"))
    looks = Looks()
    tree.folders = looks
    for number in range(200):
        assert tree.find((f"Box {number}",)) is None
        tree.add(folder(f"f{number}", f"Box {number}"))
    assert tree.find(("Box 7",)) is not None
    assert looks.whole <= 2


class Looks(dict[str, Any]):
    """Counts how often all folders are looked at."""

    whole = 0

    def values(self) -> Any:
        self.whole += 1
        return super().values()


@given(st.text(min_size=1, max_size=80))
@settings(max_examples=60)
def test_names_of_containers_are_short_and_plain(title: str) -> None:
    name = container_name("folder", title)
    assert name == container_name("folder", title)
    assert 0 < len(name) < facts.NAME_LETTERS
    assert not set(name) & set("/\\@' ")


# -- queries and states ------------------------------------------------------------------------------------------------


def test_texts_in_queries_are_escaped() -> None:
    assert quoted('l\'été \\ "x"') == "'l\\'été \\\\ \"x\"'"
    assert select("a = 1", "", "b = 2") == "SELECT * FROM Document WHERE a = 1 AND b = 2"


def test_the_total_of_an_index_is_no_promise() -> None:
    told = {"entries": [{"uid": "1"}], "resultsCount": 3}
    assert hits_of(told).total == 3
    assert hits_of({**told, "resultsCountLimit": 10_000}).total is None
    assert hits_of({**told, "resultsCount": -2}).total is None
    with pytest.raises(ContractBroken):
        hits_of({"entity-type": "exception"})


def test_states_are_reached_by_the_fewest_transitions() -> None:
    options = read_options(
        CONNECTOR, {"transitions": {"project": {"review": "submit"}}, "states": {"in review": "review"}}
    )
    assert transitions_between("approved", "obsolete", options) == ["backToProject", "obsolete"]
    assert transitions_between("approved", "review", options) == ["backToProject", "submit"]
    assert state_of("in review", options) == "review"
    assert status_ways(options)["published", "archived"] == {"draft"}
    assert status_ways(options)["published", "in review"] == {"draft"}
    assert ("draft", "published") not in status_ways(options)
    with pytest.raises(InvalidValue):
        transitions_between("review", "approved", options)
    with pytest.raises(InvalidValue):
        state_of("no such", options)


@pytest.mark.parametrize(
    ("text", "new"), [("2025.10", True), ("2025.3", True), ("2025.2", False), ("10.10-HF68", False)]
)
def test_releases_are_compared_by_number(text: str, new: bool) -> None:
    assert Release(text).since((2025, 3)) is new


@pytest.mark.parametrize(
    "given",
    [
        {"kinds": {"dc:x": "number"}},
        {"timezone": "Nowhere/City"},
        {"increment": "huge"},
        {"transitions": {"a": "b"}},
        {"states": ["a"]},
    ],
)
def test_options_that_mean_nothing_are_refused(given: Any) -> None:
    with pytest.raises(ConfigError):
        read_options(CONNECTOR, given)


@pytest.mark.parametrize(
    "auth",
    [
        {},
        {"flow": "session"},
        {"flow": "basic", "login": "a"},
        {"flow": "token"},
        {"flow": "signed_token", "login": "a"},
        {"flow": "oauth", "client_id": "a"},
        {"flow": "oauth", "client_id": "a", "grant": "password"},
        {"flow": "oauth", "client_id": "a", "refresh_token": "r"},
    ],
)
def test_credentials_with_something_missing_are_refused(auth: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        authenticator_of(typed(CONNECTOR, Context("https://dam.example", auth or {"flow": ""})))
