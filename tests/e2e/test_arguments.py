"""Arguments that cannot be meant are refused before a run is opened; a closed pipe is no error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import programs
from tests.support.jobs.small_jobs import Small, hurry, photo, photos, small
from tests.support.programs import Program
from tests.support.services.small_limits import changed

ASSETS = 3


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    """A library that was moved but for one asset, which is parked."""
    with pytest.MonkeyPatch.context() as patch:
        hurry(patch)
        with small(tmp_path_factory.mktemp("moved"), [*photos(ASSETS), photo(9, credit="y" * 2_000)]) as job:
            job.run(code=4)
            yield job


def runs(job: Small) -> list[str]:
    return [row["result"] for row in job.ran("status", "--json", code=0).data["runs"]]


def refused(job: Small, verb: str, *options: str, code: int = 2) -> str:
    before = runs(job)
    told = job.ran(verb, "--no-progress", *options, code=code)
    assert runs(job) == before
    return told.err


def test_a_duration_that_is_none(moved: Small) -> None:
    assert "--max-duration expects a duration, not 'soon'" in refused(moved, "run", "--max-duration", "soon")


@pytest.mark.parametrize("verb", ["run", "plan"])
def test_an_asset_that_the_source_lacks_is_refused(moved: Small, verb: str) -> None:
    assert "the source has no asset nope" in refused(moved, verb, "--only", "nope")
    moved.run("--only", "8801", code=4)


def test_a_run_that_a_guard_refuses(moved: Small) -> None:
    mapping = moved.pair.folder / "mapping.yaml"
    good = mapping.read_text(encoding="utf-8")
    mapping.write_text(good.replace("default: documents", "default: images"), encoding="utf-8")
    try:
        assert "the mapping changed" in refused(moved, "run", code=6)
    finally:
        mapping.write_text(good, encoding="utf-8")


def test_a_refused_command_leaves_no_run_that_bars_the_next(tmp_path: Path) -> None:
    with small(tmp_path) as job:
        job.ran("run", "--no-progress", "--only", "nope", code=2)
        job.credential("a_hypermedia", "wrong-word-of-mine")
        job.ran("run", "--no-progress", code=7)
        job.credential("a_hypermedia", "secret-a")
        assert runs(job) == []
        job.run("--only", "8801")
        assert len(job.ends_complete()) == 4


def test_a_run_that_listed_something_stays_and_is_resumed(tmp_path: Path) -> None:
    with small(tmp_path, photos(8), limits={"a_hypermedia": changed("a_hypermedia", page=2)}) as job:
        job.ran("run", "--no-progress", "--limit", "1", code=8)
        job.credential("a_hypermedia", "wrong-word-of-mine")
        job.ran("run", "--no-progress", code=7)
        job.credential("a_hypermedia", "secret-a")
        assert runs(job) == ["stopped"]
        assert len(job.ends_complete()) == 8
        assert runs(job) == ["done"]


@pytest.mark.parametrize("options", [("--retry",), ()])
def test_a_cause_that_nothing_is_parked_for(moved: Small, options: tuple[str, ...]) -> None:
    told = refused(moved, "errors", "--cause", "Nonsense", *options)
    assert "no asset is parked for the cause 'Nonsense'" in told
    assert "known: mapping fields.credit: too long" in told


def test_a_sample_without_its_sign(moved: Small) -> None:
    assert "write 2% for two of a hundred" in refused(moved, "verify", "--sample", "2")


def test_a_demonstration_of_nothing(tmp_path: Path) -> None:
    done = programs.run("demo", "--assets", "0", "--dir", str(tmp_path / "demo"), timeout=120)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "demo").exists()


@pytest.mark.parametrize("options", [(), ("--json",)])
@pytest.mark.parametrize("verb", ["status", "errors", "check"])
def test_a_pipe_that_is_closed(moved: Small, tmp_path: Path, verb: str, options: tuple[str, ...]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        closed, said = Path(f"/proc/{os.getpid()}/fd/{theirs}"), tmp_path / "said.txt"
        with Program("dam_sync", verb, str(moved.pair.job), *options, out=closed, err=said) as process:
            pass
    finally:
        os.close(theirs)
    assert process.returncode == 0
    told = said.read_text(encoding="utf-8")
    assert not [line for line in told.splitlines() if not line.startswith("next: ")], told
