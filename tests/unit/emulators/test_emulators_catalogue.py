"""Reading catalogues."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from dam_sync.emulators.kit.catalogue import blob_of, catalogue_of, read_catalogue, unloaded
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.object_store import ObjectStore

RECORDS: list[dict[str, object]] = [
    {"record": "type", "name": "Photo"},
    {"record": "field", "key": "asset", "kind": "text"},
    {"id": "7", "record": "asset"},
    {"record": "term", "vocabulary": "v", "id": "1", "labels": {"en": "asset"}},
    {"record": "asset", "id": "8"},
]


@pytest.mark.parametrize("name", ["c.jsonl", "c.jsonl.gz"])
def test_a_file_is_read_by_kind_and_its_assets_more_than_once(tmp_path: Path, name: str) -> None:
    text = "\n".join(json.dumps(record) for record in RECORDS) + "\n\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    catalogue = read_catalogue(path)
    assert [len(catalogue.types), len(catalogue.fields), len(catalogue.terms)] == [1, 1, 1]
    assert [asset["id"] for asset in catalogue.assets] == ["7", "8"]
    assert [asset["id"] for asset in catalogue.assets] == ["7", "8"]


@pytest.mark.parametrize("line", ["{", '{"record": "thing"}', "[1]"])
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(RECORDS[0]) + "\n" + line + "\n")
    with pytest.raises(ValueError, match=r"c\.jsonl:2"):
        read_catalogue(path)


def test_records_at_hand() -> None:
    catalogue = catalogue_of(RECORDS)
    assert [asset["id"] for asset in catalogue.assets] == ["7", "8"]


def test_the_bytes_of_an_item(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"abc")
    objects = ObjectStore(Environment())
    assert blob_of({"name": "a", "file": "a.bin"}, tmp_path, objects).read() == b"abc"
    assert blob_of({"name": "a", "generate": {"size": 9, "seed": 1}}, None, objects).size == 9
    with pytest.raises(ValueError):
        blob_of({"name": "a", "file": "a.bin"}, None, objects)
    with pytest.raises(ValueError):
        blob_of({"name": "a"}, tmp_path, objects)
    with pytest.raises(OSError):
        blob_of({"name": "a", "file": "none.bin"}, tmp_path, objects)


@pytest.mark.parametrize("name", ["../secret", "../../etc/passwd", "link", "out/secret", "/etc/passwd"])
def test_files_outside_the_folder_are_refused_wherever_links_lead(tmp_path: Path, name: str) -> None:
    files, objects = tmp_path / "files", ObjectStore(Environment())
    files.mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    (files / "link").symlink_to(tmp_path / "secret")
    (files / "out").symlink_to(tmp_path)
    (files / "in").mkdir()
    (files / "in" / "a").write_bytes(b"inside")
    (files / "alias").symlink_to(files / "in" / "a")
    with pytest.raises((ValueError, OSError)):
        blob_of({"name": "a", "file": name}, files, objects)
    assert not objects.blobs
    assert [blob_of({"file": each}, files, objects).read() for each in ("in/a", "alias", "in/../in/a")] == [
        b"inside"
    ] * 3


def test_only_plain_files_are_read(tmp_path: Path) -> None:
    objects = ObjectStore(Environment())
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(OSError):
            blob_of({"name": "a", "file": name}, tmp_path, objects)
    (tmp_path / "a").write_bytes(b"abc")
    blob = blob_of({"name": "a", "file": "a"}, tmp_path, objects)
    (tmp_path / "a").unlink()
    (tmp_path / "a").symlink_to("/etc/hostname")
    with pytest.raises(OSError):
        blob.read()


def test_what_a_record_lacks_is_said_in_words() -> None:
    problem = unloaded({"id": "7"}, KeyError("lib:title"))
    assert str(problem) == "asset '7': 'lib:title' is missing, or no record of the file declares it"
    assert str(unloaded({"id": "7"}, ValueError("no date"))) == "asset '7': no date"
