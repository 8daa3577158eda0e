"""Options of the services: what the job file's check accepts, the adapter accepts too; every way in can be written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dam_sync.api.bootstrap import job_of
from dam_sync.config.job import is_secret
from dam_sync.emulators import profile_of
from dam_sync.emulators.kit.profile import Profile
from dam_sync.model import options
from dam_sync.model.errors import ConfigError
from dam_sync.model.service import Context
from dam_sync.services import discover
from tests.support.pairs import KINDS
from tests.support.vault import MemoryVault

URL = "https://dam.example"
PROBES: tuple[Any, ...] = (
    None, "", "on", "off", "auto", "soon", "a,b", True, False, 0, 5, -1, 2.5, float("inf"), "30", "later", "wait",
    "session", "put", "sweep", "scroll", "file_only", "Major", "bearer", "Europe/Paris", "Mars/Base",
    [], ["a", "b"], [[1]],
    {}, {"a": "date"}, {"a": 7}, {"a": {"b": "c"}}, {"a": ["b"]},
)  # fmt: skip
CASES = [(kind, name) for kind in KINDS for name in discover()[kind].settings]


def connects(kind: str, name: str, value: Any) -> bool:
    trial: Profile = profile_of(kind)
    auth = {key: text.format(url=URL) for key, text in trial.auth[0].items()}
    given = {**trial.options, name: value}
    try:
        discover()[kind].connect(
            Context(base_url=URL, tenant_url=URL, auth=auth, options=given, vault=MemoryVault(), read_only=True)
        )
    except (ConfigError, TypeError, ValueError, AttributeError):
        return False
    return True


@pytest.mark.parametrize(("kind", "name"), CASES)
async def test_what_the_check_accepts_the_adapter_accepts(kind: str, name: str) -> None:
    option = discover()[kind].settings[name]
    accepted = [value for value in PROBES if not option.fault(value)]
    assert accepted
    assert [value for value in accepted if not connects(kind, name, value)] == []
    assert option.fault(None).startswith("should be ")


@pytest.mark.parametrize("kind", KINDS)
async def test_every_way_in_can_be_written_in_a_job_file(kind: str, tmp_path: Path) -> None:
    trial: Profile = profile_of(kind)
    for number, auth in enumerate((*trial.auth, trial.denied)):
        way = {key: "${env:SECRET}" if is_secret(key) else text.format(url=URL) for key, text in auth.items()}
        side = {"kind": kind, "base_url": URL, "tenant_url": URL, "auth": way, "options": dict(trial.options)}
        path = tmp_path / f"{number}.yaml"
        body = {"version": 1, "name": "way", "source": side, "target": side, "mapping": "mapping.yaml"}
        path.write_text(json.dumps(body), encoding="utf-8")  # JSON is YAML
        assert job_of(path).source.auth.flow == auth["flow"]


@pytest.mark.parametrize(
    ("option", "good", "bad"),
    [
        (options.text(""), ["x", 5, ""], [None, True, ["x"], {}]),
        (options.choice("", "a", "b"), ["a", "b"], ["", "c", None, True, ["a"]]),
        (options.switch("", "auto"), [True, False, "on", "off", "auto"], ["yes", 1, 0, None, ["on"]]),
        (options.seconds(""), [0, 2.5, "30"], [-1, "soon", True, None, float("nan"), float("inf")]),
        (options.count("", 1), [1, "20"], [0, 2.5, "x"]),
        (options.zone(""), ["Europe/Paris", "UTC"], ["", "Mars/Base", "../etc", 1]),
        (options.words(""), ["", "a,b", ["a", 1], []], [None, 5, {"a": 1}, [["a"]]]),
        (options.pairs(""), [{}, {"a": "b"}], [[], "a", {"a": {}}]),
        (options.either(options.text(""), options.pairs("")), ["a", {"a": "b"}], [["a"], None]),
    ],
)
def test_kinds_of_option(option: options.Option, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if option.fault(value)] == []
    assert [value for value in bad if not option.fault(value)] == []
