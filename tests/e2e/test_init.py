"""`init` over sockets: from two credentials to a job that `check` accepts, with questions and without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from dam_sync.cli import cli
from tests.support.jobs.small_jobs import CLOCK, PASSWORD, SECRETS, TOKEN, Ran, Small, hurry, small

KEYS = {"M_A_PASSWORD": PASSWORD, "M_E_TOKEN": TOKEN}
UNSET: Mapping[str, str | None] = dict.fromkeys(KEYS)


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hurry(monkeypatch)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    with small(tmp_path_factory.mktemp("desk")) as made:
        yield made
        assert made.pair.target.writes == 0


def ran(*arguments: str, code: int, typed: str = "", env: Mapping[str, str | None] = UNSET) -> Ran:
    """A command in this process with these variables; no secret is in what it prints."""
    result = CliRunner().invoke(cli, list(arguments), input=typed, env=env, obj={"clock": CLOCK})
    structlog.reset_defaults()
    found = Ran(result.exit_code, result.stdout, result.stderr)
    assert found.code == code, found.text
    assert not any(secret in found.text for secret in SECRETS)
    return found


def flags(desk: Small) -> list[str]:
    source = ("kind=a_hypermedia", f"base_url={desk.pair.source.url}", "flow=basic", "login=dam-sync")
    target = ("kind=e_profiles", f"base_url={desk.pair.target.url}", f"tenant_url={desk.pair.target.url}")
    given = [("--source", text) for text in source] + [("--target", text) for text in target]
    given += [("--source-env", "password=M_A_PASSWORD"), ("--target-env", "token=M_E_TOKEN")]
    return [*(word for pair in given for word in pair), "--non-interactive"]


def texts(folder: Path) -> str:
    """Everything that was written."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file())


def checked(job: Path) -> dict[str, Any]:
    """The faults of a check."""
    data: dict[str, Any] = ran("check", str(job), "--json", "--no-progress", code=0, env=KEYS).data
    return data


def test_from_flags_to_a_job_that_check_accepts(desk: Small, tmp_path: Path) -> None:
    job = tmp_path / "jobs" / "museum.yaml"
    found = ran("init", str(job), *flags(desk), code=0, env=KEYS)
    found.says("museum.mapping.yaml", "lines", "next: dam-sync inspect", "next: dam-sync check")
    written = texts(tmp_path)
    assert not any(secret in written for secret in SECRETS)
    assert "M_A_PASSWORD=\n" in written
    assert "marker: true" in (job.parent / "museum.mapping.yaml").read_text(encoding="utf-8")
    assert checked(job)["ok"]


def test_it_says_what_to_look_at_next_in_order(desk: Small, tmp_path: Path) -> None:
    found = ran("init", str(tmp_path / "museum.yaml"), *flags(desk), code=0, env=KEYS)
    found.says("look at these next, in this order", "1. `options` of the target: no profile keeps new assets of types")
    found.says("2. `options` of the target: older file versions are not written")
    found.says("`policy` in the job file", "dam-sync help jobs")
    assert found.out.index("version_policy") < found.out.index("`policy` in the job file")
    decided = tmp_path / "decided.yaml"
    words = [*flags(desk), "--target", "options.version_policy=none"]
    review = ran("init", str(decided), *words, "--json", code=0, env=KEYS).data["review"]
    assert not [text for text in review if "version_policy" in text]
    assert review[-1].startswith("`policy`")


def test_init_without_the_variables_names_them_and_continues_later(desk: Small, tmp_path: Path) -> None:
    job = tmp_path / "museum.yaml"
    data = ran("init", str(job), *flags(desk), "--json", code=0).data
    assert (data["unset"], data["mapping"]) == (["M_A_PASSWORD", "M_E_TOKEN"], None)
    ran("init", str(job), code=0).says("not set: M_A_PASSWORD", "museum.env.example", f"next: dam-sync init {job}")
    before = job.read_text(encoding="utf-8")
    ran("init", str(job), code=0, env=KEYS).says("museum.mapping.yaml")
    assert job.read_text(encoding="utf-8") == before
    assert checked(job)["ok"]
    ran("init", str(job), code=2, env=KEYS).says("museum.mapping.yaml exists; nothing was changed")
    ran("init", str(job), *flags(desk), code=2, env=KEYS).says("museum.yaml exists; nothing was changed")


def test_a_person_is_asked(desk: Small, tmp_path: Path) -> None:
    job = tmp_path / "museum.yaml"
    source = ["a", desk.pair.source.url, "basic", "dam-sync", PASSWORD, "M_A_PASSWORD", "timezone=Nowhere", ""]
    target = ["e_profiles", desk.pair.target.url, desk.pair.target.url, "token", "M_E_TOKEN", ""]
    result = CliRunner().invoke(cli, ["init", str(job)], input="\n".join([*source, *target, ""]), env=KEYS)
    structlog.reset_defaults()
    assert result.exit_code == 0, result.stderr
    assert "this is not the name of a variable for password" in result.stderr
    assert "should be the name of a time zone" in result.stderr
    assert PASSWORD not in texts(tmp_path)
    assert checked(job)["ok"]


def test_a_person_who_leaves_writes_nothing(tmp_path: Path) -> None:
    left = ran("init", str(tmp_path / "museum.yaml"), code=5, typed="a\nhttps://a.example\n")
    left.says("stopped at a question before anything was done")
    assert list(tmp_path.iterdir()) == []


def test_a_literal_secret_is_refused_and_not_repeated(desk: Small, tmp_path: Path) -> None:
    words = [*flags(desk), "--source", f"password={PASSWORD}"]
    ran("init", str(tmp_path / "museum.yaml"), *words, code=2).says("password is a secret and must not be given")
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_credential_leaves_the_job_file_for_the_next_attempt(desk: Small, tmp_path: Path) -> None:
    job = tmp_path / "museum.yaml"
    wrong = {**KEYS, "M_A_PASSWORD": "wrong-hush-hush"}
    found = ran("init", str(job), *flags(desk), code=7, env=wrong)
    found.says(f"once it is right, `dam-sync init {job}` writes the mapping")
    assert "wrong-hush-hush" not in found.text + texts(tmp_path)
    ran("init", str(job), code=0, env=KEYS).says("museum.mapping.yaml")
