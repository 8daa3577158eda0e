"""A job whose source and target are one library, or lie in each other: every command that writes, or promises to, stops
before anything is written."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dam_sync.api.emulation.sandbox import Emulated, write_job
from dam_sync.cli import cli
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import any_pair, hurried, ran, tenant_of
from tests.support.jobs.folder_jobs import InFolder, Side, job_between
from tests.support.jobs.tenants import Tenant
from tests.support.libraries.every_feature import OWN_MARKS, everything, receiving
from tests.support.pairs import EVERYTHING, KINDS
from tests.support.services.profiles import profile_of

COMMANDS = (
    ("plan",),
    ("run", "--yes"),
    ("run", "--accept-changes"),
    ("run", "--full"),
    ("adopt",),
    ("adopt", "--by-file", "--dry-run"),
    ("rehearse",),
)
STOPPED = 6
FIRST = KINDS if EVERYTHING else KINDS[1:2]


def called(job: Path, *command: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    small_jobs.set_right()
    given = {"clock": small_jobs.CLOCK, "storage": small_jobs.STORAGE, "connectors": None}
    result = CliRunner().invoke(cli, [command[0], str(job), *command[1:], "--no-progress"], obj=given)
    return result.exit_code, " ".join((result.stdout + result.stderr).split())


def written(folder: Path, source: Side, target: Side) -> Path:
    """A job between the two, with a mapping that nobody reads."""
    folder.mkdir(parents=True, exist_ok=True)
    mapping = folder / "mapping.yaml"
    mapping.write_text("version: 1\nfields: {}\n", encoding="utf-8")
    return write_job(folder / "job.yaml", "one", source, target, mapping)


@contextmanager
def tenant(kind: str) -> Iterator[Tenant]:
    library = everything(without=profile_of(kind).refuses)
    with hurried(), tenant_of(kind, library) as made:
        yield made


@pytest.mark.parametrize("kind", FIRST)
def test_every_command_stops_where_both_are_one_tenant(tmp_path: Path, kind: str) -> None:
    with tenant(kind) as made:
        before, local = made.assets, made.url.replace("127.0.0.1", "localhost")
        for url in (made.url, f"{local}/", local.replace("http://", "HTTP://")):
            job = written(tmp_path, Emulated(kind, made.url), Emulated(kind, url))
            code, text = called(job, "check")
            assert code == STOPPED, text
            assert "the source and the target are the same library" in text
        for command in COMMANDS:
            code, text = called(job, *command)
            assert code == STOPPED, (command, text)
            assert "the source and the target are the same library" in text
            assert "correct the source or the target in the job file" in text
        assert made.assets == before


def test_a_job_that_ran_stops_once_its_target_is_its_source(tmp_path: Path) -> None:
    """`rollback` and `verify` too."""
    kind = "b_documents"
    with any_pair(tmp_path, kind, kind, everything(), receiving(), OWN_MARKS) as pair:
        ran(pair)
        text = pair.job.read_text(encoding="utf-8")
        before, there = pair.source.assets, pair.target.assets
        pair.job.write_text(text.replace(pair.target.url, pair.source.url), encoding="utf-8")
        for command in (("rollback", "--run", "1", "--yes"), ("verify",), ("run",), ("plan",)):
            code, said = called(pair.job, *command)
            assert code == STOPPED, (command, said)
            assert "the source and the target are the same library" in said
        assert pair.source.assets == before
        pair.job.write_text(text, encoding="utf-8")
        assert ran(pair)["operations"] == {}
        assert pair.target.assets == there


def everything_in(folder: Path) -> dict[str, str]:
    """The files of a folder, and what is in them."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
    }


def beside(at: Path, path: str) -> Path:
    return at / path


ARRANGEMENTS = {
    "the same": ("archive", "archive", "are the same library"),
    "by a link": ("archive", "link", "are the same library"),
    "by dots": ("archive", "jobs/../archive", "are the same library"),
    "inside": ("archive", "archive/copy", "the target lies inside the source"),
    "deep inside": ("archive", "link/data/copy", "the target lies inside the source"),
    "around": ("archive/data", "archive", "the source lies inside the target"),
}


@pytest.mark.parametrize("name", ARRANGEMENTS)
@pytest.mark.parametrize("loose", [False, True], ids=["catalogue", "files"])
def test_nothing_is_written_into_the_folder_that_is_read(tmp_path: Path, name: str, loose: bool) -> None:
    source, target, expected = ARRANGEMENTS[name]
    archive = tmp_path / "archive"
    (tmp_path / "jobs").mkdir()
    (archive / "data").mkdir(parents=True)
    (tmp_path / "link").symlink_to(archive)
    if loose:
        (archive / "data" / "sea.jpg").write_bytes(b"sea")
    else:
        InFolder(archive).fill([row for row in everything() if row["record"] != "asset"][:1])
    before = everything_in(archive)
    job = written(tmp_path / "jobs", InFolder(tmp_path / source), InFolder(tmp_path / target))
    for command in (("check",), ("plan",), ("run",), ("run", "--accept-changes"), ("adopt",)):
        code, text = called(job, *command)
        assert code == STOPPED, (command, text)
        assert expected in text
    assert everything_in(archive) == before


@pytest.mark.parametrize("target", ["copy", "archive-2", "other/archive"])
def test_a_folder_beside_the_source_takes_a_copy(tmp_path: Path, target: str) -> None:
    archive = tmp_path / "archive"
    archive.mkdir()
    (archive / "sea.jpg").write_bytes(b"sea")
    (tmp_path / target).parent.mkdir(exist_ok=True)
    before = everything_in(archive)
    job = job_between(tmp_path / "jobs", InFolder(archive), InFolder(tmp_path / target))
    code, text = called(job, "check")
    assert code == 0, text
    assert called(job, "run")[0] == 0
    assert everything_in(archive) == before


def roots(url: str, source: str, target: str) -> tuple[Any, Any]:
    return tuple(Emulated("b_documents", url, {"root": root} if root else {}) for root in (source, target))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("", "/default-domain/workspaces", "are the same library"),
        ("", "/default-domain/workspaces/Archive", "the target lies inside the source"),
        ("/default-domain/workspaces/Archive", "/", "the source lies inside the target"),
    ],
)
def test_roots_of_one_server_that_lie_in_each_other_stop(
    tmp_path: Path, source: str, target: str, expected: str
) -> None:
    with tenant("b_documents") as made:
        job = written(tmp_path, *roots(made.url, source, target))
        for command in ("check", "run"):
            code, text = called(job, command)
            assert code == STOPPED, text
            assert expected in text
