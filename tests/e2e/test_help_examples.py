"""Every command in the examples of the help topics runs as it is written, in the order of its topic."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import metadata
from pathlib import Path
from urllib.request import urlopen

import pytest
from ruamel.yaml import YAML

from dam_sync.emulators.kit.library import write_empty_tenant, write_library
from dam_sync.help import text_of, topics
from tests.support.forking import Forking
from tests.support.jobs.tenants import CREDENTIALS, Pair, pair
from tests.support.network.raw_server import free_port
from tests.support.programs import PIPE, Program, completed

ASSETS = 12
MAPPING = Path(__file__).parents[2] / "mappings" / "demo-a-to-e.yaml"
KEYS = {"MUSEUM_A_PASSWORD": CREDENTIALS["a_hypermedia"], "MUSEUM_E_TOKEN": CREDENTIALS["e_profiles"]}
SHELL = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
RECORDS = re.compile(r"^```json\n(.*?)^```", re.DOTALL | re.MULTILINE)
TRIED = {"emulate", "init", "inspect", "map", "operations", "scale", "watch"}  # topics with examples of commands
PATIENCE = 240.0  # seconds; the host may be busy


def examples(topic: str) -> list[list[str]]:
    """The commands of a topic, as words."""
    blocks = (text.replace("\\\n", " ") for text in SHELL.findall(text_of(topic)))
    return [shlex.split(line, comments=True) for text in blocks for line in text.splitlines() if line.strip()]


class Desk:
    """A folder in which somebody tries the examples; two emulated tenants stand for those of the examples."""

    def __init__(self, tenants: Pair, folder: Path, forking: Forking) -> None:
        self.tenants, self.folder, self._forking = tenants, folder, forking
        self.environment = {**os.environ, **KEYS}

    def typed(self, words: Sequence[str]) -> list[str]:
        """The words with the URLs of the emulated tenants, a free port and folders below this one."""
        found = list[str]()
        for word in words:
            urls = {"source": self.tenants.source.url, "target": self.tenants.target.url}
            side = found[-1].removeprefix("--") if found else ""
            if "=https://" in word:
                word = f"{word.partition('=')[0]}={urls[side]}"
            word = word.replace("/srv/dam/", f"{self.folder}/srv/")
            found.append(re.sub(r"^127\.0\.0\.1:\d+$", f"127.0.0.1:{free_port()}", word))
        return found

    def runs(self, words: Sequence[str], answers: str = "", code: int = 0) -> str:
        """What the command prints; it ends with `code`."""
        name, *arguments = self.typed(words)
        assert name == "dam-sync"
        out = None
        if ">" in arguments:
            arguments, (out,) = arguments[: arguments.index(">")], arguments[arguments.index(">") + 1 :]
        given = {name: value for name, value in self.environment.items() if os.environ.get(name) != value}
        done = self._forking.start(*arguments, folder=self.folder, typed=answers, **given).wait()
        assert done.code == code, f"{shlex.join(words)}\n{done.text}"
        if out is not None:
            (self.folder / out).write_text(done.out, encoding="utf-8")
        return done.out

    @contextmanager
    def serving(self, words: Sequence[str], started: str) -> Iterator[str]:
        """A command that goes on until it is stopped, and then ends with 0; what it printed up to the line that has the
        word `started`."""
        _, *arguments = self.typed(words)
        given = {"folder": self.folder, "environment": self.environment}
        process = Program("dam_sync", *arguments, out=PIPE, err=PIPE, **given)
        try:
            assert process.stdout is not None
            lines = list[str]()
            for line in process.stdout:
                lines.append(line)
                if started in line:
                    break
            else:
                raise AssertionError("".join(lines))
            yield "".join(lines)
            process.send_signal(signal.SIGTERM)
            rest, _ = process.communicate(timeout=PATIENCE)
            assert process.returncode == 0, rest
        finally:
            if process.poll() is None:
                process.kill()


@pytest.fixture
def desk(tmp_path: Path, forking: Forking) -> Iterator[Desk]:
    library = tmp_path / "state" / "demo"
    library.mkdir(parents=True)
    write_library(library, ASSETS)
    write_empty_tenant(library)
    (tmp_path / "pair").mkdir()
    catalogue, empty = library / "catalogue.jsonl", library / "target.jsonl"
    with pair(tmp_path / "pair", catalogue, empty, MAPPING, files=library / "files") as tenants:
        yield Desk(tenants, tmp_path, forking)


def flags() -> list[str]:
    """The command with which `help init` writes a job without questions."""
    return next(words for words in examples("init") if "--non-interactive" in words)


def job_at(desk: Desk, path: str, more: str = "") -> None:
    """Write a job and a mapping to where an example has them."""
    name, verb, _, *rest = flags()
    desk.runs([name, verb, path, *rest])
    job = desk.folder / path
    job.write_text(job.read_text(encoding="utf-8") + more, encoding="utf-8")


def test_no_topic_with_commands_is_left_out() -> None:
    assert {topic for topic in topics() if examples(topic)} == TRIED


def test_the_examples_of_scale() -> None:
    """Runs with workers need several processes and a server: `test_workers` tries them, and `test_cluster_tls` all that
    belongs to a cluster. Here: nothing is misspelled."""
    for name, verb, *rest in examples("scale"):
        if name == "openssl":
            continue
        if name == "pip":
            extras = re.findall(r"\w+", rest[0].partition("[")[2])
            assert set(extras) <= set(metadata("dam-sync-engine").get_all("Provides-Extra") or ())
            continue
        shown = completed({"dam-sync": "dam_sync", "dask": "dask"}[name], verb, "--help")
        shown.check_returncode()
        assert [word for word in rest if word.startswith("--") and word not in shown.stdout] == []


def test_the_examples_of_operations() -> None:
    """They install a release, which `test_release_contents` makes: here, its names are those of the project file."""
    check, install = examples("operations")
    assert check == ["sha256sum", "-c", "SHA256SUMS"]
    name = f"dam_sync_engine-{metadata('dam-sync-engine')['Version']}-py3-none-any.whl"
    assert install == ["pip", "install", "--constraint", "./constraints.txt", f"./{name}"]


def test_the_examples_of_init(desk: Desk) -> None:
    asked, given = examples("init")
    answers = [
        *("a", desk.tenants.source.url, "basic", "dam-sync", "MUSEUM_A_PASSWORD", ""),
        *("e_profiles", desk.tenants.target.url, desk.tenants.target.url, "token", "MUSEUM_E_TOKEN", "", ""),
    ]
    desk.runs(asked, "\n".join(answers))
    job = desk.folder / asked[-1]
    written = job.read_text(encoding="utf-8")
    for path in job.parent.glob("museum.*"):
        path.unlink()
    desk.runs(given)
    assert job.read_text(encoding="utf-8") == written, "both ways write the same job"


def test_the_examples_of_inspect(desk: Desk) -> None:
    job_at(desk, "state/museum.yaml")
    for words in examples("inspect"):
        assert desk.runs(words).strip()
    assert (desk.folder / "inventory.html").is_file()
    assert list((desk.folder / "inventory").iterdir())


def test_the_examples_of_map(desk: Desk) -> None:
    job_at(desk, "jobs/museum.yaml")
    (desk.folder / "mappings").mkdir()
    suggest, check, diff, sheet = examples("map")
    desk.runs(suggest)
    job, made = desk.folder / "jobs" / "museum.yaml", desk.folder / "mappings" / "museum.yaml"
    assert made.is_file()
    desk.runs(check)
    desk.runs(["dam-sync", "plan", str(job)])
    yaml = YAML()
    rules = yaml.load(made.read_text(encoding="utf-8"))
    rules["fields"].popitem()
    with made.with_name("changed.yaml").open("w", encoding="utf-8") as out:
        yaml.dump(rules, out)
    assert "change" in desk.runs(diff, code=3)  # there are differences
    desk.runs(sheet)
    assert (desk.folder / "terms.csv").read_text(encoding="utf-8").count("\n") > 1


def test_the_examples_of_watch(desk: Desk) -> None:
    job_at(desk, "srv/museum.yaml", "schedule: {every: 1d}\n")
    watch, run, unit = examples("watch")
    with desk.serving(watch, "http://") as told:
        url = re.search(r"http://[\w.:]+", told)
        assert url is not None
        with urlopen(f"{url[0]}/health") as response:
            assert json.load(response)["jobs"][0]["job"] == "museum"
    desk.runs(run)
    desk.runs(unit)
    assert "ExecStart=" in (desk.folder / "dam-sync.service").read_text(encoding="utf-8")


def test_the_examples_of_emulate(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target, init = examples("emulate")
    assert init[:2] == ["dam-sync", "init"]
    ports = {"7101": str(free_port()), "7102": str(free_port())}
    source, target = ([ports.get(word, word) for word in words] for words in (source, target))
    with desk.serving(source, "base_url") as first, desk.serving(target, "base_url") as second:
        urls = [re.findall(r"base_url: (\S+)", text)[0] for text in (first, second)]
        desk.environment |= dict(re.findall(r"^export (\w+)=(\S+)$", first + second, re.MULTILINE))
        answers = [
            *("d_templates", urls[0], "session", "D_TEMPLATES_API_KEY", "svc-migration", "D_TEMPLATES_PASSWORD", ""),
            *("e_profiles", urls[1], urls[1], "token", "E_PROFILES_TOKEN", "", ""),
        ]
        desk.runs(init, "\n".join(answers))
    assert (desk.folder / "state" / "trial" / "museum.mapping.yaml").is_file()


def test_the_example_of_a_catalogue_can_be_loaded(desk: Desk) -> None:
    (text,) = RECORDS.findall(text_of("emulate"))
    records = re.sub(r"\n (?=\S)", " ", text)
    assert all(json.loads(line)["record"] for line in records.splitlines())
    (desk.folder / "catalogue.jsonl").write_text(records, encoding="utf-8")
    files = desk.folder / "files"
    files.mkdir()
    (files / "sea.jpg").write_bytes(b"sea")
    words = ["dam-sync", "emulate", "d_templates", "--load", "catalogue.jsonl", "--files", "files"]
    with desk.serving(words, "base_url") as told:
        url = re.search(r"http://127[\w.:]+", told)
        assert url is not None
        with urlopen(f"{url[0]}/_emulator/assets") as response:
            assert len(response.read().splitlines()) >= 1
