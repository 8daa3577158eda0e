"""The mapping file: every fault at once, each with file, line and the nearest right key."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

from dam_sync.mapping.document import json_schema
from dam_sync.mapping.transforms.registry import TRANSFORMS
from dam_sync.mapping.transforms.values import LookUp
from dam_sync.model.errors import MappingError
from tests.support.mapping.tenant_schemas import LEAST, loaded, read, with_lines


def told(folder: Path, text: str) -> list[str]:
    with pytest.raises(MappingError) as caught:
        read(folder, text)
    assert caught.value.exit_code == 2
    assert [str(fault) for fault in caught.value.diagnostics] == caught.value.message.split("\n")
    return [str(fault).replace(f"{folder}/", "") for fault in caught.value.diagnostics]


def test_the_least_mapping_reads(tmp_path: Path) -> None:
    document = read(tmp_path, LEAST)
    assert document.body.fields["srckey"].marker
    assert document.body.fields["title"].from_ == ("filename",)


def test_every_diagnostic_is_reported_at_once_with_its_line(tmp_path: Path) -> None:
    text = """\
version: 2
locals: [en]
select: {were: 'asset.status == "x"', statuses: [a]}
vocabularies:
  subject: {target: subject, match: [exact, {fuzzy: 90}]}
  other: {match: [similar], unmatched: guess, target: x}
profile: {from: form_type}
fields:
  srckey: {marker: true, from: id}
  title:
    from: fields.title
    pipe:
      - trimm
      - {truncate: {maxx: 3}}
      - {truncate: 0}
    on_error: stop
  note: {cel: "1 + 1", from: id}
  both: {from: id, const: x}
  neither: {required: true}
  piped: {const: x, pipe: [trim]}
  text: fields.title
placements: {from: id, kind: folder}
unmapped: maybe
tests:
  - given: {}
"""
    assert told(tmp_path, text) == [
        "mapping.yaml:1:1: version: should be 1",
        "mapping.yaml:2:1: locals: unknown key; did you mean locales?",
        "mapping.yaml:3:10: select.were: unknown key; did you mean where?",
        "mapping.yaml:3:39: select.statuses: unknown key; did you mean status?",
        "mapping.yaml:5:30: vocabularies.subject.match: fuzzy takes a score from 0.5 to 1; write {fuzzy: 0.92}",
        "mapping.yaml:6:11: vocabularies.other.match: unknown way to match: similar; "
        "known: casefold, exact, fuzzy, pin, synonym",
        "mapping.yaml:6:29: vocabularies.other.unmatched: should be 'create', 'suggest', 'park', 'drop' or 'keep'",
        "mapping.yaml:7:1: profile: a profile needs `default`, or `from` and `cases`",
        "mapping.yaml:9:3: fields.srckey: a marker line cannot have other keys; write {marker: true}",
        "mapping.yaml:13:9: fields.title.pipe[0]: unknown transform trimm; did you mean trim?",
        "mapping.yaml:14:10: fields.title.pipe[1].truncate: max is missing; add the key max",
        "mapping.yaml:14:21: fields.title.pipe[1].truncate.maxx: unknown key; did you mean max?",
        "mapping.yaml:15:10: fields.title.pipe[2].truncate: should be at least 1; "
        "for example {truncate: {max: 255, on_cut: park}}",
        "mapping.yaml:16:5: fields.title.on_error: should be 'park', 'drop' or 'null'",
        "mapping.yaml:17:3: fields.note: a line needs `from`, `const` or `cel`, and only one of them",
        "mapping.yaml:18:3: fields.both: a line needs `from`, `const` or `cel`, and only one of them",
        "mapping.yaml:19:3: fields.neither: a line needs `from`, `const` or `cel`; write {from: fields.KEY}",
        "mapping.yaml:20:3: fields.piped: a constant cannot have a pipe; write its final value",
        "mapping.yaml:21:3: fields.text: should contain keys and values; write {key: value}",
        "mapping.yaml:22:24: placements.kind: unknown key; "
        "known: as, cel, const, default, from, on_error, pipe, required, when",
        "mapping.yaml:23:1: unmapped: should be 'fail', 'report' or 'ignore'",
        "mapping.yaml:25:5: tests[0]: expect is missing; add the key expect",
    ]


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("version: 1\nfields: {a: [}\n", "mapping.yaml:2:14: YAML: "),
        ("version: 1\nversion: 1\n", "mapping.yaml:2:1: YAML: found duplicate key"),
        ("version: 1\nfields: {a: {from: id,  [{x: 1}]}}\n", "mapping.yaml:2:25: YAML: a list or a block where a key"),
        ("version: 1\nfields: {a: {from: id,  [{x: 1}]}, b: c]\n", "mapping.yaml:2:"),
        ("- a\n", "mapping.yaml:1: file: is not a mapping file"),
        ("", "mapping.yaml:1: file: is not a mapping file"),
        ("version: 1\nfields:\n\ttitle: {}\n", "mapping.yaml:3:1: YAML: "),
        ("a: " + "[" * 60 + "]" * 60 + "\n", "mapping.yaml:1: YAML: nested too deep"),
        pytest.param("a: " + "[" * 3_000 + "]" * 3_000, "mapping.yaml:1: YAML: nested too deep", id="very deep"),
        ('version: 1\n"a\\ud800": x\n', "mapping.yaml:1: YAML: half a character"),
        ('version: 1\nmarker: "\\udfff"\n', "mapping.yaml:1: YAML: half a character"),
        (LAUGHS, "mapping.yaml:1: YAML: nested too deeply or too large"),
        pytest.param("#" * 4_000_001, "mapping.yaml:1: file: is larger than 4,000,000 bytes", id="too large"),
    ],
)
@pytest.mark.usefixtures("collected")
def test_broken_files(tmp_path: Path, text: str, start: str) -> None:
    (fault,) = told(tmp_path, text)
    assert fault.startswith(start)


def test_a_missing_file_and_one_that_is_not_text(tmp_path: Path) -> None:
    with pytest.raises(MappingError, match="there is no mapping file"):
        loaded(tmp_path / "no.yaml")
    with pytest.raises(MappingError, match="is a folder, not a mapping file"):
        loaded(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"version: \xe9\n")
    with pytest.raises(MappingError, match=r"latin\.yaml:1: file: is not UTF-8"):
        loaded(tmp_path / "latin.yaml")


TABLES = """\
version: 1
lookups:
  country: {csv: tables/country.csv, key: iso2, value: label, unmatched: null}
vocabularies:
  subject: {target: subject, match: [pin, exact], pins: pins.csv}
"""


def test_tables_are_read_from_files_next_to_the_mapping(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "country.csv").write_text("\ufeffiso2,label\nFR,France\n DE ,Germany\n,empty\nFR,France\n")
    (tmp_path / "pins.csv").write_text("source,target\n12,Sea\n")
    document = read(tmp_path, TABLES)
    table = document.lookups["country"]
    assert table.unmatched == "null"
    assert table.find(" DE") == "Germany"
    assert table.find("XX") is None
    assert document.pins == {"subject": {"12": "Sea"}}
    (tmp_path / "pins.csv").write_text("source,target\n'=cmd|x,'+1\n'tis,-\n")  # as `map sheet` writes it
    document = read(tmp_path, TABLES)
    assert document.pins == {"subject": {"=cmd|x": "+1", "'tis": "-"}}


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_tables_are_read_as_spreadsheets_of_other_languages_save_them(tmp_path: Path, delimiter: str) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "country.csv").write_text("\ufeffiso2,label\nFR,France\n".replace(",", delimiter))
    (tmp_path / "pins.csv").write_text("source,target\n12,Sea\n".replace(",", delimiter))
    document = read(tmp_path, TABLES)
    assert document.lookups["country"].find("FR") == "France"
    assert document.pins == {"subject": {"12": "Sea"}}


@pytest.mark.parametrize(
    ("content", "told_"),
    [
        (None, "there is no file"),
        ("iso,label\nFR,France\n", "country.csv has no column iso2 in its first line"),
        ("iso2,label\nFR,France\nFR,Francia\n", "country.csv:3: FR occurs twice, with different values"),
        (b"iso2,label\n\xff,x\n", "is not UTF-8 at byte 11"),
        ('iso2,label\n"FR,France\n', "is not a CSV file"),
        ("", "country.csv has no column iso2"),
    ],
)
def test_diagnostics_of_tables_name_the_file_and_the_error(
    tmp_path: Path, content: str | bytes | None, told_: str
) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "pins.csv").write_text("source,target\n")
    if content is not None:
        data = content if isinstance(content, bytes) else content.encode()
        (tmp_path / "tables" / "country.csv").write_bytes(data)
    (fault,) = told(tmp_path, TABLES)
    assert fault.startswith("mapping.yaml:3:13: lookups.country.csv: ")
    assert told_ in fault


@pytest.mark.parametrize("name", ["../secret.csv", "linked.csv", "{outside}"])
def test_a_table_outside_of_the_folder_of_the_mapping_is_not_read(tmp_path: Path, name: str) -> None:
    """A mapping from somebody else must not carry other files of this user into the target."""
    folder = tmp_path / "mappings"
    folder.mkdir()
    secret = tmp_path / "secret.csv"
    secret.write_text("iso2,hunter2\nFR,hunter2\n")
    (folder / "linked.csv").symlink_to(secret)
    text = TABLES.replace("tables/country.csv", name.format(outside=secret)).replace("value: label", "value: hunter2")
    (fault,) = (fault for fault in told(folder, text) if "lookups" in fault)
    assert "is not in the folder of the mapping file" in fault
    assert "hunter2" not in fault


def test_a_diagnostic_of_a_table_repeats_nothing_of_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "country.csv").write_text("hunter2\n")
    assert not any("hunter2" in fault for fault in told(tmp_path, TABLES))


@pytest.mark.parametrize("place", ["mapping.yaml", "tables/country.csv"])
@pytest.mark.parametrize("kind", ["device", "pipe", "socket"])
def test_a_device_or_a_pipe_is_not_read(tmp_path: Path, place: str, kind: str) -> None:
    (tmp_path / "tables").mkdir()
    (tmp_path / "pins.csv").write_text("source,target\n")
    (tmp_path / "mapping.yaml").write_text(TABLES)
    path = tmp_path / place
    path.unlink(missing_ok=True)
    if kind == "device":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path) if kind == "pipe" else os.mknod(path, stat.S_IFSOCK | 0o600)
    with pytest.raises(MappingError) as caught:
        loaded(tmp_path / "mapping.yaml")
    assert "not a file" in str(caught.value) or "cannot be read" in str(caught.value) or "folder" in str(caught.value)


def test_more_items_than_are_read_in_seconds_are_refused(tmp_path: Path) -> None:
    began = time.process_time()
    (fault,) = told(tmp_path, "version: 1\ntags: [" + "x," * 150_000 + "]\n")
    assert fault.startswith("mapping.yaml:1: file: has more than 60,000 lines and items")
    assert time.process_time() - began < 2  # it took 13 s


def test_diagnostics_of_tables_and_of_keys_are_reported_together(tmp_path: Path) -> None:
    found = told(tmp_path, TABLES + "unmaped: fail\n")
    assert [fault.split(": ")[0].rpartition(":")[0] for fault in found] == [
        f"mapping.yaml:{line}" for line in (3, 5, 6)
    ]


def test_unmatched_may_be_null_in_a_pipe_as_well(tmp_path: Path) -> None:
    text = with_lines("note: {from: filename, pipe: [{lookup: {name: x, unmatched: null}}]}")
    (transform,) = read(tmp_path, text).pipes["fields", "note"]
    assert isinstance(transform, LookUp)
    assert transform.unmatched == "null"


def test_null_may_be_written_plainly(tmp_path: Path) -> None:
    document = read(tmp_path, with_lines("note: {from: filename, on_error: null}"))
    assert document.body.fields["note"].on_error == "null"


def test_placements_may_be_one_field_rule_or_several(tmp_path: Path) -> None:
    one = read(tmp_path, LEAST + 'placements: {from: "placements[].path"}\n')
    two = read(tmp_path, LEAST + 'placements: [{from: "labels[]", as: collection}, {from: "placements[].path"}]\n')
    assert len(one.body.placements) == 1
    assert [line.as_ for line in two.body.placements] == ["collection", ""]


def test_the_json_schema_names_every_key_and_transform() -> None:
    schema = json_schema()
    assert {"fields", "security", "unmapped", "tests"} <= set(schema["properties"])
    assert "from" in schema["$defs"]["FieldLine"]["properties"]
    step = schema["$defs"]["FieldLine"]["properties"]["pipe"]["items"]
    assert {name for option in step["anyOf"][1:] for name in option["properties"]} == set(TRANSFORMS)
    assert "trim" in step["anyOf"][0]["enum"]
    assert "truncate" not in step["anyOf"][0]["enum"]
