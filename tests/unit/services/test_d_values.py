"""Values of service D that are not quite what a template says: read as they are, or reported as lost."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from dam_sync.model.errors import ContractBroken, Rejected
from dam_sync.model.schema import FieldKind
from dam_sync.model.values import Json, Row, Term
from dam_sync.services.d_templates.codec.forms import Attribute, MetadataForms, Template, VocabularyValues, values_of
from dam_sync.services.d_templates.codec.wire import created_ids, member_files, record_of, value_ids
from dam_sync.services.d_templates.source.fetch import fields_of
from dam_sync.services.d_templates.target.proof import carried

LEVELS = tuple(Attribute(f"l{n}", f"level_{n}", f"Level {n}", FieldKind.TERM, vocabulary="words") for n in range(2))
CELL = Attribute("cell", "until", "Until", FieldKind.DATE)
ATTRIBUTES = (
    Attribute("a-flag", "approved", "Approved", FieldKind.TERM, vocabulary="yes-no"),
    Attribute("a-day", "day", "Day", FieldKind.DATE),
    Attribute("a-path", "area", "Area", FieldKind.TERM, levels=LEVELS),
    Attribute("a-table", "usage", "Usage", FieldKind.ROWS, multiple=True, cells=(CELL,)),
)
LEXICON = {
    "yes-no": VocabularyValues("yes-no", "yes_no", "Yes or no", {"1": "Yes", "2": "no"}),
    "words": VocabularyValues("words", "words", "Words", {"3": "North", "4": "Coast", "5": "Hills"}),
}
FORMS = MetadataForms.of([Template("t", "Photo", {one.key: one for one in ATTRIBUTES})], LEXICON)


def read(identity: str, value: Json = None, rows: Json = None) -> tuple[dict[str, Any], list[str]]:
    """The values of a record with one entry, and the paths of what is lost of it."""
    entry = {"metadataDefinitionId": identity, "metadataDefinitionValue": value}
    entry |= {"metadataDefinitionTableValue": rows} if rows is not None else {}
    values, losses = fields_of(record_of({"objectId": "o", "fileId": "f", "metadata": [entry]}), FORMS)
    return dict(values), [loss.path for loss in losses]


@pytest.mark.parametrize(("identity", "said"), [("1", True), ("2", False)])
def test_yes_and_no_are_flags(identity: str, said: bool) -> None:
    assert read("a-flag", {"valueId": identity}) == ({"approved": said}, [])
    assert read("a-flag", [{"valueId": identity}]) == ({"approved": said}, [])


def test_a_removed_third_value_is_not_a_no() -> None:
    assert read("a-flag", {"valueId": "9"}) == ({}, ["fields.approved"])


def test_a_level_with_two_values_is_reported() -> None:
    both = [{"metadataDefinitionId": "l0", "metadataDefinitionValue": [{"valueId": "3"}]}]
    both += [{"metadataDefinitionId": "l1", "metadataDefinitionValue": [{"valueId": "4"}, {"valueId": "5"}]}]
    coast = Term("Coast", "3/4", ("North", "Coast"), "3")
    assert read("a-path", both) == ({"area": coast}, ["fields.area"])
    assert read("a-path", both[:1]) == ({"area": Term("North", "3", ("North",))}, [])


def test_a_column_that_no_template_has_is_reported_once() -> None:
    row = [
        {"metadataDefinitionId": "cell", "metadataDefinitionValue": "02/18/2026"},
        {"metadataDefinitionId": "other", "metadataDefinitionValue": "x"},
        {"metadataDefinitionId": "empty"},
    ]
    told = {"usage": (Row({"until": date(2026, 2, 18)}),) * 2}
    assert read("a-table", rows=[row, row]) == (told, ["fields.usage.other"])


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("02/10/2026", date(2026, 2, 10)),
        (1770681600000, date(2026, 2, 10)),
        ("1770681600000", date(2026, 2, 10)),
        (-1770681600000, date(1913, 11, 22)),
        ("2026", "2026"),
        ("20260210", "20260210"),
        ("9" * 40, "9" * 40),
    ],
)
def test_only_a_large_number_is_a_timestamp(written: Json, day: object) -> None:
    assert read("a-day", written) == ({"day": day}, [])


def test_the_ids_of_an_entry_without_an_id_are_looked_for_once() -> None:
    """Where the id of an attribute is no text, the whole attribute is kept as a value, which has no id either."""
    strange = {"metadataDefinitionId": ["a-path"], "metadataDefinitionValue": [{"valueId": "3"}]}
    row = {"objectId": "o", "fileId": "f", "metadata": [strange]}
    assert list(value_ids(record_of(row).entries)) == []
    inside = {"metadataDefinitionId": "a-table", "metadataDefinitionValue": [strange, {"valueId": "4"}]}
    assert list(value_ids(record_of({**row, "metadata": [inside]}).entries)) == ["4"]


@pytest.mark.parametrize("strange", [["f"], {"id": "f"}, True])
def test_an_id_that_is_no_text_is_no_id(strange: Any) -> None:
    """As a text it would name a file that nobody has, and a membership would be lost silently."""
    with pytest.raises(ContractBroken):
        created_ids({"objectId": "o", "fileId": strange})
    with pytest.raises(ContractBroken):
        member_files({"collectionDocument": ["f", strange]})
    assert created_ids({"objectId": "o", "fileId": "f"}) == ("o", "f", "f")
    assert member_files({"collectionDocument": ["f", None]}) == ["f"]


KNOWN = {"fileName": "a.jpg", "fileSizeInBytes": 3, "MD5Checksum": "AB"}


@pytest.mark.parametrize(
    "technical",
    [
        {"vendor_metadata": [KNOWN]},
        {"vendor_metadata": "a.jpg", "image_metadata": {"fileType": "JPEG"}},
        {"vendor_metadata": {**KNOWN, "fileSizeInBytes": [3]}},
        [KNOWN],
        "no JSON",
        7,
    ],
)
def test_a_file_whose_facts_cannot_be_read_is_not_taken_for_one_that_is_missing(technical: Any) -> None:
    """An asset without a file is a documented case, so its file would be left behind silently."""
    with pytest.raises(ContractBroken):
        record_of({"objectId": "o", "fileId": "f", "technicalMetadata": technical})


@pytest.mark.parametrize("technical", [None, "", {}, "{}", "null", {"image_metadata": {}}, {"vendor_metadata": None}])
def test_a_record_without_facts_of_a_file_has_none(technical: Any) -> None:
    assert not record_of({"objectId": "o", "fileId": "f", "technicalMetadata": technical}).has_file


@pytest.mark.parametrize(
    ("document", "blocks"),
    [
        pytest.param("technicalMetadataDocument", {"other_metadata": ["x"]}, id="block with something else"),
        # wire D 0; what the extractors write into the other blocks is free (wire D 3.2)
        pytest.param("technicalMetadata", {"image_metadata": {"fileSizeInBytes": 1}}, id="block without a checksum"),
    ],
)
def test_the_facts_of_a_file_are_those_of_the_block_with_its_checksum(document: str, blocks: Any) -> None:
    found = record_of({"objectId": "o", "fileId": "f", document: {**blocks, "vendor_metadata": KNOWN}})
    assert (found.md5, found.size) == ("ab", 3)


def test_metadata_that_is_no_list_is_reported() -> None:
    row = {"objectId": "o", "fileId": "f", "metadata": "no JSON"}
    assert [loss.path for loss in fields_of(record_of(row), FORMS)[1]] == ["fields"]


@pytest.mark.usefixtures("collected")
def test_metadata_encoded_as_text_has_no_unpaired_surrogates_and_no_depth() -> None:
    """What the response as a whole lost at the door would come back where a text of it is JSON again."""
    row = {"objectId": "o", "fileId": "f", "metadata": json.dumps([of("a-text", "\ud800x")])}
    assert "\ufffdx" in repr(record_of(row).entries)
    deep = {"objectId": "o", "fileId": "f", "metadata": "[" * 100_000 + "]" * 100_000}
    assert [loss.path for loss in fields_of(record_of(deep), FORMS)[1]] == ["fields"]


@pytest.mark.parametrize("strange", [["1"], {"id": "1"}, True])
def test_a_value_whose_id_is_no_text_is_no_value(strange: Any) -> None:
    """As a text, the id would be that of no value: the value would be missing, and added a second time."""
    with pytest.raises(ContractBroken):
        values_of({"metadataDefinitionId": "v", "metadataDocument": {"values": [{"valueId": strange}]}})
    with pytest.raises(ContractBroken):
        list(value_ids(record_of({"objectId": "o", "metadata": [of("a-flag", {"valueId": strange})]}).entries))


def of(identity: str, value: Json) -> Json:
    """An entry."""
    return {"metadataDefinitionId": identity, "metadataDefinitionValue": value}


def test_a_new_version_is_not_made_without_a_value_that_no_template_explains() -> None:
    record = record_of({"objectId": "o", "fileId": "f", "metadata": [of("a-day", "02/10/2026"), of("gone", "x")]})
    system = Attribute("s", "system_match", "System Match", FieldKind.TEXT, system=True)
    listed = MetadataForms.of([Template("t", "Photo", {one.key: one for one in (*ATTRIBUTES, system)})], LEXICON)
    with pytest.raises(Rejected, match="'gone'"):
        carried(record, listed)
    assert [entry.id for entry in carried(record, FORMS)] == ["a-day"], "it may be one that the service maintains"
