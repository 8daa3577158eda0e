"""Faults of a mapping are reported together: what cannot be read, what fits neither schema, what is hardly meant so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dam_sync.model.errors import MappingError
from dam_sync.model.schema import Field, FieldKind, Schema
from tests.support.mapping.tenant_schemas import LEAST, SOURCE, TARGET, compiled, compiled_file, with_lines

LANGUAGES = replace(
    TARGET,
    fields={**TARGET.fields, "title": replace(TARGET.fields["title"], localized=True)},
    locales=("en", "fr"),
)


def faults(folder: Path, text: str, target: Schema = TARGET) -> list[str]:
    path = folder / "mapping.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(MappingError) as caught:
        compiled_file(path, SOURCE, target)
    return [str(fault).replace(f"{folder}/", "") for fault in caught.value.diagnostics]


def test_both_stages_are_reported_at_once_and_only_what_is_wrong(tmp_path: Path) -> None:
    text = """\
version: 2
loclaes: [en]
profile: {default: image}
vocabularies:
  subject: {target: subjct, match: [similar]}
  other: {target: contry}
fields:
  srckey: {marker: true}
  title: {from: filename, pipe: [trimm]}
  note: {form: filename}
  titleFr: {from: fields.titl}
  shotDate: {from: fields.taken_at}
placements: {from: "placements[].path", as: folder, kind: x}
unmapped: fail
"""
    assert faults(tmp_path, text) == [
        "mapping.yaml:1:1: version: should be 1",
        "mapping.yaml:2:1: loclaes: unknown key; did you mean locales?",
        "mapping.yaml:3:11: profile.default: the target has no profile image; did you mean images?",
        "mapping.yaml:5:29: vocabularies.subject.match: unknown way to match: similar; "
        "known: casefold, exact, fuzzy, pin, synonym",
        "mapping.yaml:6:11: vocabularies.other.target: the target has no vocabulary contry; did you mean country?",
        "mapping.yaml:9:34: fields.title.pipe[0]: unknown transform trimm; did you mean trim?",
        "mapping.yaml:10:10: fields.note.form: unknown key; did you mean from?",
        "mapping.yaml:11:13: fields.titleFr.from: the source has no field titl; did you mean title?",
        "mapping.yaml:12:3: fields.shotDate: values of kind instant do not fit a field of kind date (fields.taken_at); "
        "the pipe needs date",
        "mapping.yaml:13:53: placements.kind: unknown key; "
        "known: as, cel, const, default, from, on_error, pipe, required, when",
    ]


def test_a_file_that_is_no_mapping_at_all_says_that_alone(tmp_path: Path) -> None:
    assert faults(tmp_path, "- a\n") == [
        "mapping.yaml:1: file: is not a mapping file: it has no keys; "
        "it begins with `version: 1`, then a key on each line"
    ]
    assert "YAML" in faults(tmp_path, "a: [\n")[0]


def test_unread_fields_come_last_in_one_line_to_paste(tmp_path: Path) -> None:
    text = LEAST.replace("unmapped: ignore\n", "") + "  titel: {from: fields.title}\n"
    first, last = faults(tmp_path, text)
    assert first == "mapping.yaml:6:3: fields.titel: the target has no such field; did you mean title?"
    assert last.startswith("mapping.yaml:1:1: unmapped: no line reads 14 fields of the source")
    pasted = last.partition("`")[2].rstrip("`")
    assert compiled(tmp_path, f"{text.replace('titel', 'titleFr')}{pasted}\n").unread == frozenset()


def test_a_text_is_not_cut_to_more_than_the_field_takes(tmp_path: Path) -> None:
    assert faults(tmp_path, with_lines("note: {from: filename, pipe: [{truncate: 9999}]}")) == [
        "mapping.yaml:7:33: fields.note.pipe[0]: cuts to 9999 characters but the field accepts 20; "
        "write {truncate: {max: 20}}"
    ]
    compiled(tmp_path, with_lines("note: {from: filename, pipe: [{truncate: 9999}, {truncate: 20}]}"))
    compiled(tmp_path, with_lines("description: {from: filename, pipe: [{truncate: 9999}]}"))


@pytest.mark.parametrize(
    ("line", "warned"),
    [
        ("{from: filename}", "filename"),
        ("{from: [fields.title, filename]}", "filename"),
        ("{const: Untitled}", "the constant"),
        ("{from: fields.title}", ""),
        ("{from: filename, pipe: [{language: en}]}", ""),
    ],
)
def test_plain_text_for_a_field_in_languages_is_a_warning(tmp_path: Path, line: str, warned: str) -> None:
    text = LEAST.replace("{from: filename}", line)
    crosswalk = compiled(tmp_path, text, SOURCE, LANGUAGES)
    told = [one for one in crosswalk.warnings if one.startswith("fields.title: ")]
    assert len(told) == bool(warned)
    assert all(f"{warned} has none: en is assumed; write {{language: en}}" in one for one in told)
    assert set(crosswalk.warnings) <= set(crosswalk.notes)
    assert compiled(tmp_path, text).warnings == ()


def test_a_mapping_without_a_marker_says_so_or_is_warned_of(tmp_path: Path) -> None:
    bare = LEAST.replace("  srckey: {marker: true}\n", "")
    crosswalk = compiled(tmp_path, bare)
    assert not crosswalk.marked
    assert any("no field is the marker" in one for one in crosswalk.warnings)
    meant = compiled(tmp_path, f"{bare}marker: none\n")
    assert meant.marked
    assert meant.marker is None
    assert meant.warnings == ()
    assert faults(tmp_path, f"{LEAST}marker: none\n") == [
        "mapping.yaml:7:1: marker: `marker: none` contradicts srckey, which is the marker; remove one"
    ]


def test_languages_that_neither_service_has_are_a_warning_where_services_show_some(tmp_path: Path) -> None:
    plain = Schema({"title": Field("title", FieldKind.TEXT)})
    bare = compiled(tmp_path, "version: 1\nlocales: [xx]\nfields: {title: {from: fields.title}}\n", plain, plain)
    (told,) = (one for one in bare.warnings if one.startswith("locales: "))
    assert told.startswith("locales: neither service has the language xx; neither lists any")
    assert compiled(tmp_path, f"{LEAST}locales: [FR, en]\n").warnings == ()
    (told,) = compiled(tmp_path, f"{LEAST}locales: [de, en]\n").warnings
    assert told == "locales: neither service has the language de; known: en, fr"


def test_a_file_below_the_folder_is_named_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "maps").mkdir()
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "maps" / "mapping.yaml"
    path.write_text(with_lines("titel: {from: filename}"), encoding="utf-8")
    with pytest.raises(MappingError, match=r"^maps/mapping\.yaml:7:3: fields\.titel"):
        compiled_file(path, SOURCE, TARGET)
    monkeypatch.chdir(tmp_path / "maps")
    with pytest.raises(MappingError, match=r"^mapping\.yaml:7:3: "):
        compiled_file(path, SOURCE, TARGET)
