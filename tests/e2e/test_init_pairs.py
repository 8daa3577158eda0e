"""`init` between any two services: from the credentials in the environment to a job that `check` accepts, with nothing
written at source or target and no secret in a file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from dam_sync.cli import cli
from dam_sync.config.secrets import is_secret
from tests.conformance.catalogue import library
from tests.support.jobs import small_jobs
from tests.support.jobs.any_pair import hurried, receiver_of, tenant_of
from tests.support.jobs.folder_jobs import side_of
from tests.support.libraries.every_feature import receiving
from tests.support.pairs import ids, pairs
from tests.support.services.profiles import profile_of

PAIRS = pairs(2)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=ids(PAIRS))
def test_from_credentials_to_a_checked_job(tmp_path: Path, source: str, target: str) -> None:
    job = tmp_path / "jobs" / "museum.yaml"
    with hurried(), tenant_of(source, library()) as first, receiver_of(target, receiving()) as second:
        sides = {
            "source": side_of(source, first, {}).as_job(),
            "target": side_of(target, second, profile_of(target).parted).as_job(),
        }
        secrets = {name: text for role, side in sides.items() for name, text in secrets_of(role, side)}
        words = [word for role, side in sides.items() for word in flags_of(role, side)]
        made = ran("init", str(job), *words, "--non-interactive", "--json", env=secrets)
        assert made.exit_code == 0, made.output
        written = {
            path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.*") if path.parent == job.parent
        }
        assert (job.parent / "museum.mapping.yaml") in written
        told = "\n".join([*written.values(), made.output])
        assert not any(secret in told for secret in secrets.values())
        checked = ran("check", str(job), "--json", "--no-progress", env=secrets)
        assert checked.exit_code == 0, checked.output
        for side, kind in ((first, source), (second, target)):
            assert side.served is None or wrote(side.calls, kind) == []


def ran(*words: str, env: Mapping[str, str]) -> Any:
    """A command in this process."""
    result = CliRunner().invoke(cli, list(words), env=dict(env), obj={"clock": small_jobs.CLOCK})
    structlog.reset_defaults()
    return result


def flags_of(role: str, side: Mapping[str, Any]) -> Iterator[str]:
    """The source or target of a job file as options of `init`."""
    given = {key: text for key, text in side.items() if isinstance(text, str)}
    given |= {key: text for key, text in side.get("auth", {}).items() if not is_secret(key)}
    given |= {f"options.{key}": _text(value) for key, value in side.get("options", {}).items()}
    for key, text in given.items():
        yield from (f"--{role}", f"{key}={text}")
    for key in side.get("auth", {}):
        if is_secret(key):
            yield from (f"--{role}-env", f"{key}={_variable(role, key)}")


def secrets_of(role: str, side: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Its variables."""
    yield from ((_variable(role, key), text) for key, text in side.get("auth", {}).items() if is_secret(key))


def wrote(calls: Mapping[str, int], kind: str) -> list[str]:
    """The calls that may have written."""
    reads = ("GET *", "HEAD *", *profile_of(kind).reads)
    return [call for call in calls if not any(fnmatch(call, form) for form in reads)]


def _variable(role: str, key: str) -> str:
    return f"TEST_{role}_{key}".upper()


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return json.dumps(value) if isinstance(value, dict | list | tuple) else str(value)
