"""`init` writes a job file that loads, for every service and every way to authenticate, and never a secret."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ruamel.yaml import YAML

from dam_sync.api.new_job import NewJob, _review, write_first_mapping, write_new_job
from dam_sync.api.new_side import NOTHING, NewSide, SideQuestions
from dam_sync.config.job import load_job
from dam_sync.config.options import required_of
from dam_sync.config.secrets import is_secret
from dam_sync.mapping.suggest import SuggestedLine, Suggestion
from dam_sync.model.errors import ConfigError
from dam_sync.model.run_options import RunOptions
from dam_sync.services import built_in
from tests.support.json_schema import accepts

FLOWS = [(kind.name, flow) for kind in built_in().values() for flow in kind.auth or ("",)]
FILLED = {("b_documents", "token"): {"login": "dam-sync"}, ("b_documents", "oauth"): {"grant": "client_credentials"}}
NAMED = {("b_documents", "token"): {"password": "PW"}, ("b_documents", "oauth"): {"client_secret": "CS"}}
SECRET = "hush-Hush-42"
FOLDER = NewSide("folder", options={"path": "library"})


def side_of(kind: str, flow: str) -> NewSide:
    """What a careful person gives: everything that is required, secrets by the default names."""
    connector = built_in()[kind]
    if not connector.auth:
        return FOLDER
    needed = required_of(connector.auth[flow])
    values = {name: "https://login.example" if name.endswith("_url") else "x" for name in needed if not is_secret(name)}
    tenant = "https://tenant.example" if connector.needs_tenant_url else ""
    values |= FILLED.get((kind, flow), {})
    return NewSide(kind, "https://dam.example", tenant, flow, NAMED.get((kind, flow), {}), values)


class Typing:
    """A person who answers the questions in this order; none may be left."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.questions: list[str] = []
        self.told: list[str] = []

    def ask(self, question: str, default: str) -> str:
        self.questions.append(question)
        return self.answers.pop(0) or default

    def tell(self, text: str) -> None:
        self.told.append(text)


def questions(typing: Typing | None, role: str = "source") -> SideQuestions:
    ask, tell = (typing.ask, typing.tell) if typing else (None, print)
    return SideQuestions(role, "museum", built_in(), ask, tell)


@pytest.mark.parametrize(("kind", "flow"), FLOWS)
def test_every_service_and_auth_method_makes_a_job_that_loads(tmp_path: Path, kind: str, flow: str) -> None:
    path = tmp_path / "jobs" / "museum.yaml"
    written = write_new_job(NewJob(path, side_of(kind, flow), FOLDER), None, print)
    job = load_job(path, built_in())
    assert (job.source.kind, job.target.kind, job.mapping_path) == (
        kind,
        "folder",
        path.with_name("museum.mapping.yaml"),
    )
    assert set(written) == {file for file in path.parent.rglob("*") if file.is_file()}
    text = path.read_text(encoding="utf-8")
    first = text.splitlines()[0]
    schema = path.parent / first.removeprefix("# yaml-language-server: $schema=")
    data = YAML(typ="safe").load(text)
    assert accepts(json.loads(schema.read_text(encoding="utf-8")), data)
    names = [line[:-1] for line in path.with_name("museum.env.example").read_text().splitlines() if line[-1:] == "="]
    assert sorted(names) == sorted({text[6:-1] for text in _references(data)})


def _references(data: dict[str, dict[str, dict[str, str]]]) -> Iterator[str]:
    return (text for text in data["source"].get("auth", {}).values() if text.startswith("${env:"))


def test_a_person_is_asked_for_what_the_service_needs_and_again_after_a_mistake() -> None:
    typing = Typing("z", "e", "ftp://x", "https://api.example", "https://t.example", "", SECRET, "E_TOKEN", "bad=1", "")
    side = questions(typing, "target").complete(NOTHING)
    assert side == NewSide(
        "e_profiles", "https://api.example", "https://t.example", "token", {"token": "E_TOKEN"}, {}, {}
    )
    assert typing.answers == []
    assert not any(SECRET in text for text in (*typing.told, *typing.questions))
    assert sum("is not a URL" in text for text in typing.told) == 1
    assert any("no option bad" in text for text in typing.told)


def test_an_empty_input_where_one_is_needed_says_so() -> None:
    typing = Typing("", "e", "", "https://api.example", "", "https://t.example", "", "E_TOKEN", "")
    assert questions(typing, "target").complete(NOTHING).base_url == "https://api.example"
    assert [text for text in typing.told if text.endswith("is needed")] == [
        "kind of the target is needed",
        "URL of the target is needed",
        "second URL of the target is needed",
    ]


def test_choices_have_a_line_each_and_a_number_that_is_taken() -> None:
    typing = Typing("2", "https://b.example", "1", "bob", "", "1=Picture", "")
    side = questions(typing).complete(NOTHING)
    first = next(iter(built_in()["b_documents"].options.model_fields))
    assert (side.kind, side.flow, side.options) == ("b_documents", "basic", {first: "Picture"})
    listed = [text for text in typing.told if re.match(r" *\d+\. ", text)]
    for name, about in [(kind.name, kind.summary) for kind in built_in().values()]:
        assert any(text.endswith(f". {name}: {about}") for text in listed)
    for name in built_in()["b_documents"].options.model_fields:
        assert any(f". {name}: " in text for text in listed)
    assert all("\n" not in text for text in listed)
    asked = Typing("e", "https://api.example", "https://t.example", "", "E_TOKEN", "")
    questions(asked).complete(NOTHING)
    assert any(text.endswith("for example https://museum.dam.example") for text in asked.questions)


def test_an_auth_method_with_alternatives_is_asked_for_until_it_is_complete() -> None:
    typing = Typing("b", "https://b.example", "token", "login", "bob", "password", "", "type=Picture", "")
    side = questions(typing).complete(NOTHING)
    assert (side.values, side.variables) == ({"login": "bob"}, {"password": "MUSEUM_SOURCE_PASSWORD"})
    assert side.options == {"type": "Picture"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (NewSide(), "missing: kind of the source"),
        (NewSide("a_hypermedia"), "missing: URL of the source"),
        (NewSide("a_hypermedia", "https://a.example", flow="basic"), "missing: login of the source"),
        (NewSide("a_hypermedia", "https://a.example", flow="nope"), "there is no flow of this name"),
        (NewSide("nope"), "there is no kind 'nope'"),
        (NewSide("a_hypermedia", f"https://bob:{SECRET}@a.example"), "contains more than host and path"),
        (NewSide("c_brandlibrary", "https://c.example", values={"token": SECRET}), "token is a secret"),
        (NewSide("c_brandlibrary", "https://c.example", variables={"token": SECRET}), "not the name of a variable"),
        (NewSide("c_brandlibrary", "https://c.example", variables={SECRET: "X"}), "no parameter of this name"),
        (NewSide("e_profiles", "https://c.example"), "missing: second URL of the source"),
        (NewSide("c_brandlibrary", "https://c.example", options={"library": "${env:X}"}), "allowed under auth only"),
        (NewSide("folder", flow="basic"), "takes no credentials"),
        (NewSide("folder", values={"path": "../library"}), "path is an option"),
        (NewSide("b_documents", "https://b.example", flow="basic", values={"type": "X"}), "type is an option"),
    ],
)
def test_what_is_missing_or_wrong_is_said_without_the_secret(given: NewSide, words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        questions(None).complete(given)
    assert words in str(raised.value)
    assert SECRET not in f"{raised.value} {raised.value.hint}"


def test_pairs_are_read_with_the_keys_of_a_job_file() -> None:
    texts = ["kind=c_brandlibrary", "base_url=https://c.example", "options.library=Main = 1"]
    side = NewSide.of(texts, ["token=C_TOKEN"], "source")
    assert side == NewSide(
        "c_brandlibrary", "https://c.example", variables={"token": "C_TOKEN"}, options={"library": "Main = 1"}
    )
    spelt = NewSide.of(["options.x=[010, 1.10, +33]", "options.y={0x1F: True}"], [], "source").options
    assert spelt == {"x": ["010", "1.10", "+33"], "y": {"0x1F": True}}
    assert NewSide.of(["options.multiple=[a, b]", "options.x={Views: 7}"], [], "source").options == {
        "multiple": ["a", "b"],
        "x": {"Views": 7},
    }
    with pytest.raises(ConfigError, match="the option x is neither"):
        NewSide.of(["options.x={unclosed"], [], "source")
    with pytest.raises(ConfigError, match="--source-env expects KEY=VALUE") as raised:
        NewSide.of([], [SECRET], "source")
    assert SECRET not in f"{raised.value} {raised.value.hint}"


def test_a_reference_may_stand_for_a_secret() -> None:
    given = NewSide("c_brandlibrary", "https://c.example", values={"token": "${file:/run/secrets/c}"})
    assert questions(None).complete(given).keys()["auth"] == {"flow": "token", "token": "${file:/run/secrets/c}"}


@pytest.mark.parametrize("name", ["museum.yaml", "museum.mapping.yaml", "museum.env.example"])
def test_nothing_is_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="exists; nothing was changed"):
        write_new_job(NewJob(tmp_path / "museum.yaml", FOLDER, FOLDER), None, print)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine\n"


async def test_a_mapping_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "museum.yaml"
    write_new_job(NewJob(path, FOLDER, FOLDER), None, print)
    (tmp_path / "museum.mapping.yaml").write_text("mine\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"museum\.mapping\.yaml exists"):
        write_new_job(NewJob(path), None, print)
    with pytest.raises(ConfigError, match=r"museum\.mapping\.yaml exists"):
        await write_first_mapping(path, RunOptions())


async def test_between_folders_the_mapping_is_written_at_once(tmp_path: Path) -> None:
    path, mapping = tmp_path / "jobs" / "museum.yaml", tmp_path / "mappings" / "first.yaml"
    (tmp_path / "jobs" / "library").mkdir(parents=True)
    asset = {"record": "asset", "id": "7", "filename": "sea.jpg", "status": "published", "fields": {}}
    (tmp_path / "jobs" / "library" / "catalogue.jsonl").write_text(json.dumps(asset) + "\n", encoding="utf-8")
    target = NewSide("folder", options={"path": "copy"})
    write_new_job(NewJob(path, FOLDER, target, "first", mapping), None, print)
    done = await write_first_mapping(path, RunOptions())
    assert done.written == (mapping,)
    assert done.lines
    head = mapping.read_text(encoding="utf-8").splitlines()[0]
    assert head == "# yaml-language-server: $schema=../jobs/schemas/mapping.schema.json"
    assert load_job(path, built_in()).mapping_path == mapping


def test_lines_that_check_asks_about_come_before_likely_ones() -> None:
    made: Any = SimpleNamespace(
        suggestion=Suggestion(tuple(SuggestedLine(f"f{at}", (), score=0.45 if at > 5 else 0.8) for at in range(8))),
        undecided={},
        questions=(),
    )
    told = [text for text in _review(made, built_in()["folder"]) if text.startswith("the line")]
    assert [text.split("`")[1] for text in told] == ["f6", "f7", "f0", "f1", "f2"]


@pytest.mark.parametrize(("keys", "first"), [((), "the marker: no line"), (("srckey",), "`policy`")])
def test_a_mapping_without_a_marker_is_what_to_look_at_first(keys: tuple[str, ...], first: str) -> None:
    lines = tuple(SuggestedLine(key, (), more={"marker": True}) for key in keys)
    made: Any = SimpleNamespace(suggestion=Suggestion(lines), undecided={}, questions=())
    assert next(_review(made, built_in()["folder"])).startswith(first)
