"""Mapping files that include others: later parts win, and every fault names the file that it is in."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.api.mapping import Mapping
from dam_sync.mapping.crosswalk import Crosswalk
from dam_sync.model.errors import MappingError
from tests.support.mapping.drafts import asset
from tests.support.mapping.tenant_schemas import LEAST, SOURCE, TARGET, compiled_file, loaded

MAIN = "version: 1\ninclude: shared.yaml\n"


def write(folder: Path, **files: str) -> Path:
    """Files by name without their ending; returns the main one."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder / "main.yaml"


def compiled(folder: Path, **files: str) -> Crosswalk:
    return compiled_file(write(folder, **files), SOURCE, TARGET)[1]


def faults(folder: Path, **files: str) -> list[str]:
    with pytest.raises(MappingError) as caught:
        compiled(folder, **files)
    return [str(fault).replace(f"{folder}/", "") for fault in caught.value.diagnostics]


def test_field_rules_of_included_files_count_and_own_ones_win(tmp_path: Path) -> None:
    shared = f"{LEAST}  note: {{const: shared}}\n  titleFr: {{const: shared}}\nignore: [credit]\nlocales: [fr]\n"
    main = f"{MAIN}fields:\n  note: {{const: own}}\nignore: [site]\nlocales: [en]\n"
    crosswalk = compiled(tmp_path, main=main, shared=shared)
    drafted = crosswalk.draft(asset(), "m", {}).draft
    assert (drafted.fields["note"], drafted.fields["titleFr"]) == ("own", "shared")
    assert crosswalk.coverage.ignored == {"credit", "site"}
    assert crosswalk.languages.locales == ("en",)
    assert crosswalk.marker == "srckey"


def test_later_files_win_over_earlier_ones_and_nothing_removes_an_entry(tmp_path: Path) -> None:
    files = {
        "main": "version: 1\ninclude: [one.yaml, two.yaml]\nfields: {titleFr: null}\n",
        "one": f"{LEAST}  note: {{const: one}}\n  titleFr: {{const: one}}\n  description: {{const: one}}\n",
        "two": "version: 1\nfields: {note: {const: two}}\n",
    }
    drafted = compiled(tmp_path, **files).draft(asset(), "m", {}).draft
    assert (drafted.fields["note"], drafted.fields["description"]) == ("two", "one")
    assert "titleFr" not in drafted.fields


def test_paths_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "c.csv").write_text("key,value\nFR,France\n")
    (tmp_path / "own.csv").write_text("key,value\nFR,Frankreich\n")
    files = {
        "main": "version: 1\ninclude: shared/all.yaml\nlookups: {mine: {csv: own.csv}}\n",
        "shared__all": "version: 1\ninclude: ../least.yaml\nlookups: {theirs: {csv: c.csv}}\n",
        "least": LEAST,
    }
    document = loaded(write(tmp_path, **files))
    assert {name: table.find("FR") for name, table in document.lookups.items()} == {
        "theirs": "France",
        "mine": "Frankreich",
    }


def test_diagnostics_name_the_file_and_line_that_is_wrong(tmp_path: Path) -> None:
    shared = f"{LEAST}  note: {{cel: asset.status = 1}}\n  titel: {{from: filename}}\nselect: {{were: x}}\n"
    main = f"{MAIN}\nfields:\n  titleFr: {{from: fields.titl}}\n  description: {{form: filename}}\n"
    assert faults(tmp_path, main=main, shared=shared) == [
        "main.yaml:5:13: fields.titleFr.from: the source has no field titl; did you mean title?",
        "main.yaml:6:17: fields.description.form: unknown key; did you mean from?",
        "shared.yaml:7:28: fields.note.cel: is not CEL from here: = 1; write == instead of =",
        "shared.yaml:8:3: fields.titel: the target has no such field; did you mean title?",
        "shared.yaml:9:10: select.were: unknown key; did you mean where?",
    ]


def test_an_error_in_what_is_replaced_does_not_count(tmp_path: Path) -> None:
    shared = f"{LEAST}  note:\n    pipe: [trimm]\n    from: filename\n"
    (fault,) = faults(tmp_path, main=f"{MAIN}fields: {{note: {{form: x}}}}\n", shared=shared)
    assert fault.startswith("main.yaml:3:17: fields.note.form")
    compiled(tmp_path, main=f"{MAIN}fields: {{note: {{const: x}}}}\n", shared=shared)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"main": MAIN}, "main.yaml:2:1: include: there is no mapping file"),
        (
            {"main": MAIN.replace("shared", "../shared")},
            "shared.yaml is not in the folder of the mapping file or below",
        ),
        ({"main": MAIN.replace("shared.yaml", "/etc/passwd")}, "passwd is not in the folder of the mapping file"),
        (
            {
                "main": MAIN,
                "shared": "version: 1\ninclude: other.yaml\n",
                "other": "version: 1\ninclude: shared.yaml\n",
            },
            "other.yaml:2:1: include: the files include each other: shared.yaml includes other.yaml includes shared",
        ),
        ({"main": MAIN, "shared": "version: 1\ninclude: shared.yaml\n"}, "shared.yaml includes shared.yaml"),
        ({"main": MAIN, "shared": LEAST.replace("version: 1", "version: 2")}, "shared.yaml:1:1: version: should be 1"),
        ({"main": MAIN, "shared": "- a\n"}, "shared.yaml:1: file: is not a mapping file"),
        ({"main": MAIN, "shared": "a: [\n"}, "shared.yaml:2:1: YAML"),
        ({"main": 'version: 1\ninclude: "a\\0b"\n'}, "main.yaml:2:1: include: the path cannot be used"),
        ({"main": "version: 1\ninclude: {a: b}\n"}, "main.yaml:2:1: include: should be a list"),
        ({"main": "version: 1\ninclude: [7]\n"}, "main.yaml:2:11: include[0]: should be text"),
    ],
)
def test_files_that_cannot_be_included(tmp_path: Path, files: dict[str, str], told: str) -> None:
    found = faults(tmp_path, **files)
    assert any(told in fault for fault in found), found


def test_many_files_are_refused(tmp_path: Path) -> None:
    chain = {f"f{number}": f"version: 1\ninclude: f{number + 1}.yaml\n" for number in range(20)}
    found = faults(tmp_path, main="version: 1\ninclude: f0.yaml\n", f20=LEAST, **chain)
    assert found[0].startswith("f9.yaml:2:1: include: more than 10 files inside each other")
    twice = "version: 1\ninclude: [{0}.yaml, {0}.yaml]\n"
    files = {f"g{number}": twice.format(f"g{number + 1}") for number in range(8)}
    found = faults(tmp_path, main=twice.format("g0"), g8=LEAST, **files)
    assert "or 50 in all" in found[0]


def test_a_mapping_of_python_includes_from_its_folder(tmp_path: Path) -> None:
    write(tmp_path, shared=f"{LEAST}  titel: {{const: x}}\n")
    mapping = Mapping.from_text(MAIN, tmp_path)
    (fault,) = mapping.check(SOURCE, TARGET)
    assert (fault.file.rpartition("/")[2], fault.line) == ("shared.yaml", 7)


def test_what_a_mapping_means_does_not_depend_on_where_it_is_written(tmp_path: Path) -> None:
    whole = compiled(tmp_path, main=f"{LEAST}  note: {{const: x}}\n")
    parts = compiled(tmp_path, main=f"{MAIN}fields: {{note: {{const: x}}}}\n", shared=LEAST)
    assert whole.digest == parts.digest
