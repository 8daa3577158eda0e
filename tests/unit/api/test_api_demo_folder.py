"""A demonstration touches no file that it did not write."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.api.emulation.demo_folder import STAMP, keep, prepare
from dam_sync.model.errors import ConfigError


def written(folder: Path, *names: str) -> list[Path]:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return [folder / name for name in names]


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_a_folder_with_files_of_others_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    written(tmp_path, "thesis.txt", "files/photo.jpg")
    with pytest.raises(ConfigError, match="nothing was changed") as refused:
        prepare(tmp_path)
    assert "--dir" in refused.value.hint
    assert files_of(tmp_path) == {"thesis.txt", "files/photo.jpg"}


@pytest.mark.parametrize("there", [False, True])
def test_a_new_or_empty_folder_is_taken(tmp_path: Path, there: bool) -> None:
    folder = tmp_path / "a" / "demo"
    if there:
        folder.mkdir(parents=True)
    prepare(folder)
    assert files_of(folder) == {STAMP}


def test_the_next_demonstration_removes_what_the_last_one_wrote_and_nothing_else(tmp_path: Path) -> None:
    foreign = prepare(tmp_path)
    written(tmp_path, "library.jsonl", "files/1.jpg", "files/deep/2.jpg", "plan.json")
    keep(tmp_path, foreign)
    written(tmp_path, "thesis.txt", "files/mine.jpg", "report.html")
    for _ in range(2):
        foreign = prepare(tmp_path)
        assert files_of(tmp_path) == {STAMP, "thesis.txt", "files/mine.jpg"}
        assert not (tmp_path / "files" / "deep").exists()
        written(tmp_path, "library.jsonl", "files/1.jpg")
        keep(tmp_path, foreign)


def test_a_stamp_that_names_files_elsewhere_removes_nothing_there(tmp_path: Path) -> None:
    folder, outside = tmp_path / "demo", tmp_path / "outside"
    outside.mkdir()
    prepare(folder)
    written(tmp_path, "precious.txt", "outside/also.txt")
    (folder / "link").symlink_to(outside)
    stamp = folder / STAMP
    stamp.write_text("../precious.txt\nlink/also.txt\nlink\n" + str(tmp_path / "precious.txt"), encoding="utf-8")
    prepare(folder)
    assert files_of(tmp_path) >= {"precious.txt", "outside/also.txt"}


def test_a_stamp_that_is_a_link_is_no_stamp(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    written(folder, "thesis.txt")
    written(tmp_path, "list")
    (folder / STAMP).symlink_to(tmp_path / "list")
    with pytest.raises(ConfigError):
        prepare(folder)
