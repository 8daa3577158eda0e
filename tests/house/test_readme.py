"""README and help topics say what the code does."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import dam_sync
from dam_sync.cli import cli
from dam_sync.config.job import JobConfig, PolicyConfig, SideLimits
from dam_sync.config.side import SideConfig
from dam_sync.help import text_of, topics
from dam_sync.mapping.spec import MappingFile
from dam_sync.model.capabilities import Operation
from dam_sync.reference import ABILITIES, EXITS, PICTURE, README, documents, refreshed, sections
from dam_sync.services import built_in
from tests.house.commands import COMMANDS, parameters_of

ROOT = Path(__file__).parents[2]
TEXT = README.read_text(encoding="utf-8")


def test_generated_parts_are_up_to_date() -> None:
    made = sections()
    texts = {path.name: path.read_text(encoding="utf-8") for path in documents()}
    stale = [name for name, text in texts.items() if refreshed(text, made) != text]
    assert stale == [], "run `make reference`"


def test_every_generated_part_is_in_a_document() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in documents())
    assert set(re.findall(r"<!-- generated: ([\w-]+) -->", text)) == {*sections(), PICTURE}


def test_the_readme_has_at_most_200_lines() -> None:
    assert TEXT.count("\n") <= 200


@pytest.mark.parametrize("topic", topics())
def test_every_topic_is_listed_and_begins_with_its_summary(topic: str) -> None:
    title, blank, summary, after, *_ = text_of(topic).split("\n")
    assert title.startswith("# ")
    assert blank == after == ""
    assert summary.endswith(".")
    assert f"- `{topic}`: {summary}\n" in TEXT


def test_every_service_has_a_topic() -> None:
    assert set(built_in()) <= set(topics())


def test_every_command_and_every_option_is_described() -> None:
    text = text_of("commands")
    assert set(re.findall(r"^\| `(\w+)[ `]", text, re.MULTILINE)) == set(COMMANDS)
    everywhere = text + text_of("emulate")
    for name, command in COMMANDS.items():
        for option in (
            option for parameter in parameters_of(command) for option in parameter.opts if option[:2] == "--"
        ):
            short = {"--output": "-o", "--verbose": "-v"}.get(option, option)
            assert short in everywhere, f"{name} {option}"


def test_every_key_of_a_job_file_is_described() -> None:
    text = text_of("jobs")
    keys = {*JobConfig.model_fields, *SideConfig.model_fields} - {"limits", "policy"}
    keys |= {f"limits.{key}" for key in SideLimits.model_fields} | {
        f"policy.{key}" for key in PolicyConfig.model_fields
    }
    assert [key for key in sorted(keys) if f"`{key}`" not in text] == []


def test_every_block_of_a_mapping_file_is_described() -> None:
    text = text_of("mapping")
    assert [key for key in MappingFile.model_fields if f"{key}:" not in text] == []


def test_every_dependency_has_its_line() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("dependencies = [")[1].split("]")[0]
    told = TEXT.split("## Dependencies")[1].split("## ")[0]
    for name in re.findall(r'"([A-Za-z0-9-]+)[><=]', project):
        assert name.lower() in told.lower(), f"{name} is not explained"


def test_the_readme_names_every_service_and_the_two_commands() -> None:
    for kind in built_in():
        assert f"`{kind}`" in TEXT
    assert "make demo" in TEXT
    assert "make test" in TEXT


def test_make_targets_have_a_help_line() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert targets is not None
    for target in targets[1].split():
        assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE), target


def test_exit_codes_of_errors_are_in_the_readme() -> None:
    from dam_sync.model import errors

    codes = {error.exit_code for error in vars(errors).values() if hasattr(error, "exit_code")}
    assert codes <= {code for code, _ in EXITS}


def test_assumed_writes_name_an_assumption_and_how_they_are_verified() -> None:
    for kind in built_in().values():
        numbers = {assumption.number for assumption in kind.assumptions}
        for write in kind.assumed_writes:
            assert write.number in numbers, f"{kind.name}: {write.form}"
            assert write.verified_by, f"{kind.name}: {write.form}"


def test_the_table_of_operations_has_every_one() -> None:
    assert set(ABILITIES) == set(Operation)


def test_the_tagline_is_the_same_wherever_it_is_read_first() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tagline = project["description"]
    assert TEXT.splitlines()[2] == tagline
    assert (dam_sync.__doc__ or "").splitlines()[0] == tagline
    assert cli.info.help == tagline


PAGES = [*sorted((ROOT / ".github").glob("*.md")), ROOT / "dam_sync" / "help" / "decisions.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_for_contributors_name_files_topics_and_targets_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`((?:dam_sync|tests|\.ci)/[\w/.]+|[\w-]+\.(?:toml|lock))`", text)
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert set(re.findall(r"`dam-sync help ([\w-]+)`", text)) <= set(topics())
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {target for found in re.findall(r"`make ([a-z ]+)`", text) for target in found.split()}
    assert targets <= set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))
