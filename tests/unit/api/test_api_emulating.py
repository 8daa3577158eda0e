"""`emulate`: what it prints can be pasted into a job; whatever is wrong is said in words, with exit code 2."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from dam_sync.api.bootstrap import connect
from dam_sync.api.emulation.emulate import Emulation, EmulatorAddress, ready, serve_emulation
from dam_sync.api.job_file import job_of
from dam_sync.cli import cli
from dam_sync.emulators import application_of, emulated_kinds, profile_of
from dam_sync.emulators.kit.environment import Environment
from dam_sync.emulators.kit.faults import Faults
from dam_sync.emulators.kit.object_store import ObjectStore
from dam_sync.emulators.kit.serve import Served, serve_in_thread
from dam_sync.model.connector import Connector
from dam_sync.model.errors import ConfigError
from dam_sync.model.run_options import RunOptions
from dam_sync.services import discover
from dam_sync.transfer.budget import MemoryBudget

KINDS = sorted(emulated_kinds())
GOOD = {"record": "type", "name": "Photo"}
ASSET = {"record": "asset", "id": "1", "filename": "a.jpg"}


@contextmanager
def served(kind: Connector) -> Iterator[Served]:
    """The service as `emulate KIND` has it, without options."""
    with serve_in_thread(
        lambda: application_of(kind.name)(Environment(), Faults(), ObjectStore(Environment()), {})
    ) as running:
        yield running


@pytest.mark.parametrize("name", KINDS)
async def test_what_is_printed_can_be_pasted_into_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    kind = discover()[name]
    with served(kind) as running:
        shown = ready(kind, running.url, running.storage_url)
        for line in shown.text().splitlines():
            if line.startswith("export "):
                variable, _, value = line.removeprefix("export ").partition("=")
                monkeypatch.setenv(variable, value.strip("'"))
        block = "".join(f"{line}\n" for line in shown.text().splitlines() if not line.startswith(("#", "export ")))
        job = tmp_path / "job.yaml"
        both = block + block.replace("source:", "target:")
        (tmp_path / "mapping.yaml").write_text("version: 1\n", encoding="utf-8")
        job.write_text(f"version: 1\nname: pasted\n{both}mapping: mapping.yaml\n", encoding="utf-8")
        for role in ("source", "target"):
            service = await connect(job_of(job), role, RunOptions(), MemoryBudget(1 << 20), read_only=True)
            try:
                assert (await service.probe()).tenant
            finally:
                await service.close()


@pytest.mark.parametrize("name", KINDS)
def test_no_secret_is_in_the_block(name: str) -> None:
    shown = ready(discover()[name], "http://127.0.0.1:1", "http://127.0.0.1:2")
    lines = [line for line in shown.text().splitlines() if not line.startswith("export ")]
    block = YAML(typ="safe").load("\n".join(lines))["source"]
    assert block == shown.connection
    assert not profile_of(name).secrets & set(map(str, block["auth"].values()))
    assert set(shown.environment.values()) <= profile_of(name).secrets
    assert json.loads(json.dumps(shown.as_json()))["url"] == "http://127.0.0.1:1"


def refused(*arguments: str) -> tuple[str, str]:
    """What a command that must be refused says: the error and the hint."""
    result = CliRunner().invoke(cli, ["emulate", *arguments, "--json"])
    assert result.exit_code == 2, (result.exit_code, result.output, result.exception)
    assert "Traceback" not in result.output
    found = json.loads(result.stdout)
    return str(found["message"]), str(found["hint"])


def test_a_kind_must_be_given_and_be_there() -> None:
    message, hint = refused()
    assert message == "the KIND of the service is missing"
    assert all(kind in hint for kind in KINDS)
    message, hint = refused("z")
    assert "no service called 'z'" in message
    assert KINDS[0] in hint


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("option", ["wrong=1", "variant=nonsense", "nothing"])
def test_an_unknown_option_is_refused(name: str, option: str) -> None:
    message, hint = refused(name, "--option", option)
    assert "option" in message or "variant" in message
    assert "KEY=VALUE" in message + hint


@pytest.mark.parametrize("option", ["languages=5", "zone=Nowhere", "users=[1]"])
def test_a_value_that_an_option_cannot_have(option: str) -> None:
    assert refused("a_hypermedia", "--option", option)[0].startswith("--option: ")


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        message, hint = refused("a", "--port", str(port))
    assert f"port {port} cannot be used" in message
    assert "--port" in hint
    assert "70000" in refused("a", "--port", "70000")[0]


BROKEN: list[tuple[list[Any], str]] = [
    (["{"], "catalogue.jsonl:1: "),
    ([GOOD, [1]], "catalogue.jsonl:2: a line is a JSON object"),
    ([GOOD, {"record": "thing"}], "catalogue.jsonl:2: unknown record 'thing'"),
    ([GOOD, {"record": "field", "kind": "text"}], "catalogue.jsonl:2: the record 'field' lacks key"),
    ([GOOD, {"record": "asset"}], "catalogue.jsonl:2: the record 'asset' lacks id"),
    ([GOOD, {**ASSET, "fields": {"nope": "x"}}], "catalogue.jsonl:2: asset '1' has the field 'nope'"),
    ([GOOD, ASSET, {**ASSET, "id": "2", "versions": [{"name": "a"}]}], "catalogue.jsonl:3: "),
    ([GOOD, {**ASSET, "type": "Photo", "versions": [{"name": "a", "file": "none.jpg"}]}], "catalogue.jsonl:2: "),
    ([GOOD, {**ASSET, "type": "Photo", "versions": [{"name": "a", "file": "../x"}]}], "catalogue.jsonl:2: "),
]


@pytest.mark.parametrize("kind", ["b_documents", "c_brandlibrary", "d_templates", "e_profiles"])
@pytest.mark.parametrize(("lines", "words"), BROKEN)
def test_a_catalogue_that_is_broken_names_its_line(tmp_path: Path, kind: str, lines: list[Any], words: str) -> None:
    path = tmp_path / "catalogue.jsonl"
    path.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines), encoding="utf-8")
    (tmp_path / "files").mkdir()
    (tmp_path / "x").write_text("secret")
    message, _ = refused(kind, "--load", str(path), "--files", str(tmp_path / "files"))
    assert words in message


def test_a_catalogue_that_cannot_be_read(tmp_path: Path) -> None:
    assert "none.jsonl cannot be read" in refused("a", "--load", str(tmp_path / "none.jsonl"))[0]
    assert "cannot be read" in refused("a", "--load", str(tmp_path))[0]
    (tmp_path / "c.jsonl").write_bytes(b"\xff\xfe\x00")
    assert "damaged" in refused("a", "--load", str(tmp_path / "c.jsonl"))[0]
    (tmp_path / "c.jsonl.gz").write_bytes(b"no gzip")
    assert "cannot be read" in refused("a", "--load", str(tmp_path / "c.jsonl.gz"))[0]
    (tmp_path / "ok.jsonl").write_text(json.dumps(GOOD))
    message, _ = refused("a", "--load", str(tmp_path / "ok.jsonl"), "--files", str(tmp_path / "none"))
    assert "is not a folder" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[\n{]", ":2: not JSON"),
        ('{"match": "*"}', "a list of objects"),
        ("[5]", "fault 1 must be an object"),
        ('[{"match": "*", "do": "empty"}, {"match": "*", "do": "melt"}]', "fault 2: unknown fault 'melt'"),
        ('[{"match": "*", "do": "empty", "when": 1}]', "fault 1 must be"),
    ],
)
def test_a_broken_file_of_faults_is_refused(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "faults.json"
    path.write_text(text, encoding="utf-8")
    message, hint = refused("a", "--faults", str(path))
    assert words in message
    assert "reset_after" in hint
    assert "cannot be read" in refused("a", "--faults", str(tmp_path / "none.json"))[0]


def test_a_port_that_is_taken_by_name_alone_raises_before_anything_is_shown() -> None:
    shown: list[EmulatorAddress] = []
    with pytest.raises(ConfigError):
        serve_emulation(Emulation("a", port=70_000), shown.append)
    assert not shown
