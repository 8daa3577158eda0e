"""Options of the services: what their types take and refuse; every way to authenticate can be written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from dam_sync.api.job_file import job_of
from dam_sync.config.options import AuthMethod, AutoSwitch, Count, Options, PasswordAuth, Seconds, Switch, Words
from dam_sync.config.secrets import is_secret
from dam_sync.emulators import profile_of
from dam_sync.emulators.kit.profile import Profile
from dam_sync.model.errors import ConfigError
from dam_sync.services import discover
from tests.support.pairs import KINDS
from tests.support.services.typed_options import method_of, read_options

URL = "https://dam.example"


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


@pytest.mark.parametrize("kind", list(discover()))
def test_every_option_has_a_default_and_a_description(kind: str) -> None:
    options = discover()[kind].options
    options()
    assert [name for name, field in options.model_fields.items() if not field.description] == []


@pytest.mark.parametrize("kind", list(discover()))
def test_every_optional_parameter_is_described_and_no_text_shows_a_value(kind: str) -> None:
    for method in discover()[kind].auth.values():
        fields = method.model_fields.items()
        assert [name for name, field in fields if not field.is_required() and not field.description] == []
        assert "hush" not in repr(method.model_construct(**dict.fromkeys(method.model_fields, "hush")))


@pytest.mark.parametrize("kind", list(discover()))
def test_an_empty_text_stands_for_the_default(kind: str) -> None:
    connector = discover()[kind]
    default = connector.options()
    empty = read_options(connector, dict.fromkeys(connector.options.model_fields, ""))
    assert empty.model_dump() == default.model_dump()


class SomeOptions(Options):
    text: str = ""
    switch: Switch = False
    auto: AutoSwitch = True
    seconds: Seconds = 1
    count: Count = 1
    zone: ZoneInfo = ZoneInfo("UTC")
    words: Words = ()
    pairs: dict[str, str] = {}  # noqa: RUF012 -- pydantic copies it


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("text", ["x", 5], [None, True, ["x"], {}]),
        ("switch", [True, False, "on", "off"], ["yes", 1, 0, None, ["on"], "auto"]),
        ("auto", [True, False, "on", "off", "auto"], ["yes", 1, None, ["auto"]]),
        ("seconds", [0, 2.5, "30"], [-1, "soon", True, None, float("nan"), float("inf")]),
        ("count", [0, 1, "20"], [-1, 2.5, "x", True]),
        ("zone", ["Europe/Paris", "UTC"], ["Mars/Base", "../etc", 1]),
        ("words", ["a,b", ["a", 1], []], [None, 5, {"a": 1}, [["a"]]]),
        ("pairs", [{}, {"a": "b"}, {"a": 7}], [[], "a", {"a": {}}]),
    ],
)
def test_kinds_of_option(name: str, good: list[Any], bad: list[Any]) -> None:
    def refused(value: Any) -> bool:
        try:
            SomeOptions.model_validate({name: value})
        except ValueError:
            return True
        return False

    assert [value for value in good if refused(value)] == []
    assert [value for value in bad if not refused(value)] == []


def test_words_are_split_and_trimmed() -> None:
    assert SomeOptions.model_validate({"words": " a, b,, c "}).words == ("a", "b", "c")
    assert SomeOptions.model_validate({"words": ["a ", "", 7]}).words == ("a", "7")


def test_a_parameter_is_refused_without_its_value() -> None:
    with pytest.raises(ConfigError) as refused:
        method_of(discover()["a_hypermedia"], flow="signed_token", client_id="i", login="l", key="k", algorithm="hush")
    assert "auth.algorithm: should be 'HS256', 'HS384' or 'HS512'" in refused.value.message
    assert "hush" not in refused.value.message


def test_no_text_of_a_method_shows_its_secrets() -> None:
    method: AuthMethod = PasswordAuth(login="me", password="hush")
    assert "hush" not in f"{method!r} {method}"
