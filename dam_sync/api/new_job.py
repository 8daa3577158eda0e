"""`init`: a new job file, a first mapping, and a template of the environment variables they need."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dam_sync.api.atomic_io import atomic_write
from dam_sync.api.job_file import job_of
from dam_sync.api.job_options import set_option
from dam_sync.api.mapping_tools.exposure_questions import OptionQuestion
from dam_sync.api.mapping_tools.suggest import SuggestedMapping, suggest_mapping
from dam_sync.api.new_side import NOTHING, Ask, NewSide, SideQuestions, Tell, variables_of
from dam_sync.config.job import JobConfig, job_of_keys
from dam_sync.config.job_schema import job_schema
from dam_sync.config.secrets import REFERENCE
from dam_sync.mapping.document import json_schema
from dam_sync.mapping.doubts import DOUBTED
from dam_sync.mapping.yaml_writer import entry, flow
from dam_sync.model.connector import Connector
from dam_sync.model.errors import ConfigError
from dam_sync.model.run_options import RunOptions
from dam_sync.model.safe_text import shown_name
from dam_sync.model.values import Json
from dam_sync.report import first_settings
from dam_sync.services import discover

SCHEMAS = "schemas"
"""Folder next to a job file with the JSON Schemas that its first line names."""
ROLES = ("source", "target")
DOUBTFUL = 0.9  # score below which a suggested line needs a person


@dataclass(frozen=True, slots=True)
class NewJob:
    """What was asked for. path: of the job file; name: of the job, by default that of the file; mapping: where the
    mapping is written, by default next to the job file."""

    path: Path
    source: NewSide = NOTHING
    target: NewSide = NOTHING
    name: str = ""
    mapping: Path | None = None

    @property
    def job_name(self) -> str:
        """The name of the job."""
        return self.name or self.path.stem

    @property
    def mapping_path(self) -> Path:
        """Where the mapping is written."""
        return self.mapping or self.path.with_name(f"{self.path.stem}.mapping.yaml")

    @property
    def environment_path(self) -> Path:
        """Where the template of the environment is written."""
        return template_of(self.path)

    @property
    def says_something(self) -> bool:
        """Whether it says anything besides the path of the job file."""
        return (self.source, self.target, self.name, self.mapping) != (NOTHING, NOTHING, "", None)


@dataclass(frozen=True, slots=True)
class Initialized:
    """What `init` did. written: files; unset: variables without which no mapping can be suggested; lines: of the
    mapping, of which `doubtful` have a low score; notes: what a person has to decide; review: what a person
    should look at next, in order; questions: options that decide who sees assets."""

    job: Path
    mapping: Path
    written: tuple[Path, ...]
    unset: tuple[str, ...] = ()
    lines: int = 0
    doubtful: int = 0
    notes: tuple[str, ...] = ()
    review: tuple[str, ...] = ()
    questions: tuple[OptionQuestion, ...] = ()

    @property
    def template(self) -> Path:
        """The template of the environment, if `init` wrote the job file."""
        return template_of(self.job)

    def as_json(self) -> dict[str, Json]:
        """For `--json`."""
        return {
            "job": str(self.job),
            "mapping": str(self.mapping) if self.mapping in self.written else None,
            "written": [str(path) for path in self.written],
            "unset": list(self.unset),
            "lines": self.lines,
            "doubtful": self.doubtful,
            "notes": list(self.notes),
            "review": list(self.review),
            "questions": [each.as_json() for each in self.questions],
        }


def template_of(path: Path) -> Path:
    """The template of the environment of a job file."""
    return path.with_name(f"{path.stem}.env.example")


def write_new_job(
    new: NewJob, ask: Ask | None, tell: Tell, installed: Mapping[str, Connector] | None = None
) -> list[Path]:
    """Write the job file, the template of its environment and the schemas; returns the files. ask: None if nobody can
    be asked; installed: replaces the installed services. If the job file is there and nothing else is given, nothing
    is asked or written: the mapping is what is left to do. Raises ConfigError for what is wrong, and for a file that
    exists."""
    connectors = installed or discover()
    if new.path.exists() and not new.says_something:
        job = job_of(new.path, connectors)
        _refuse_existing(job.mapping_path)
        return []
    for path in (new.path, new.mapping_path, new.environment_path):
        _refuse_existing(path)
    sides = {
        role: SideQuestions(role, new.job_name, connectors, ask, tell).complete(getattr(new, role)) for role in ROLES
    }
    keys = _keys(new, sides)
    job_of_keys(keys, new.path, connectors)
    texts = {
        new.path: "\n".join(_job_lines(new, keys)) + "\n",
        new.environment_path: "\n".join(_environment_lines(new, sides)) + "\n",
    }
    for path, text in texts.items():
        with atomic_write(path, "the file") as out:
            out.write(text)
    return [*texts, *_write_schemas(new.path.parent, connectors)]


async def write_first_mapping(path: Path, options: RunOptions) -> Initialized:
    """Write a mapping suggested for a job that has none, if its variables are set. Raises what either service raises,
    and ConfigError if the mapping exists."""
    job = job_of(path, options.connectors)
    _refuse_existing(job.mapping_path)
    unset = _unset(job)
    if unset:
        return Initialized(path, job.mapping_path, (), tuple(unset))
    suggested = await suggest_mapping(job, options)
    found = suggested.suggestion
    folder = os.path.relpath(path.absolute().parent / SCHEMAS, job.mapping_path.parent)
    with atomic_write(job.mapping_path, "the mapping") as out:
        out.write(f"{_schema_line(Path(folder) / 'mapping.schema.json')}\n{found.text()}")
    doubtful = sum(line.score < DOUBTFUL for line in found.lines)
    free = ", ".join(map(shown_name, (key for key in suggested.unwritten if key not in suggested.required)))
    notes = (*found.notes, *((f"fields of the target that no line writes: {free}",) if free else ()))
    kind = (options.connectors or discover())[job.source.kind]
    review, asked = tuple(_review(suggested, kind)), suggested.questions
    return Initialized(
        path, job.mapping_path, (job.mapping_path,), (), len(found.lines), doubtful, notes, review, asked
    )


def decide_options(
    done: Initialized, ask: Ask, tell: Tell, installed: Mapping[str, Connector] | None = None
) -> Initialized:
    """Ask a person about the options that decide who sees assets, and write what is chosen into the job file. Returns
    what is left to look at. installed: replaces the installed services. Raises ConfigError if the job would not load
    with it."""
    review, left = list(done.review), list[OptionQuestion]()
    for question in done.questions:
        answer = ask(question.text, "").strip()
        while answer and answer not in question.values:
            tell(f"it is none of {', '.join(question.values)}")
            answer = ask(question.text, "").strip()
        if not answer:
            left.append(question)
            continue
        set_option(done.job, question.role, question.name, question.values[answer], installed)
        tell(f"written into {done.job}: the option {question.name} of the {question.role}")
        review = [text for text in review if text != question.told]
    return replace(done, review=tuple(review), questions=tuple(left))


def _review(suggested: SuggestedMapping, kind: Connector) -> Iterator[str]:
    """The settings that a person should look at, those that decide most first."""
    lines = suggested.suggestion.lines
    if not any((line.more or {}).get("marker") for line in lines):
        yield first_settings.MARKER
    asked = [each.told for each in suggested.questions]
    yield from asked
    yield from (text for text in first_settings.about_options(suggested.undecided) if text not in asked)
    undecided = {one.part.name.lower() for one in suggested.undecided.get("source", ()) if one.part is not None}
    idle = [line.target for line in lines if line.idle and line.target not in undecided]
    yield from first_settings.about_idle(idle, kind)
    chosen = suggested.suggestion.profile
    profile = [("profile", chosen.why)] if chosen.score < DOUBTFUL else []
    ordered = sorted(lines, key=lambda line: line.score >= DOUBTED)  # `check` asks about those first
    doubtful = [(line.target, line.why) for line in ordered if line.score < DOUBTFUL]
    yield from first_settings.about_doubtful([*profile, *doubtful])
    yield first_settings.POLICY


def _refuse_existing(path: Path) -> None:
    if path.exists() or path.is_symlink():
        raise ConfigError(f"{path} exists; nothing was changed", hint="remove it, or name another file")


def _keys(new: NewJob, sides: Mapping[str, NewSide]) -> dict[str, Json]:
    mapping = os.path.relpath(new.mapping_path.absolute(), new.path.absolute().parent)
    return {
        "version": 1,
        "name": new.job_name,
        **{role: side.keys() for role, side in sides.items()},
        "mapping": mapping,
        "state": f"{new.path.stem}.db",
    }


def _job_lines(new: NewJob, keys: Mapping[str, Json]) -> Iterator[str]:
    """The job file: one line for each key of a side."""
    yield _schema_line(Path(SCHEMAS) / "job.schema.json")
    yield "# `dam-sync help jobs` describes every key. Secrets are references, never values."
    yield f"# The variables are listed in {new.environment_path.name}."
    for key, value in keys.items():
        if key not in ROLES:
            yield entry(key, value)
            continue
        yield f"{key}:"
        for inner, text in value.items():
            yield entry(inner, text, indent="  ")
        if "options" not in value:
            yield f"  # options: {flow({})}  # see dam-sync help {value['kind']}"


def _environment_lines(new: NewJob, sides: Mapping[str, NewSide]) -> Iterator[str]:
    copy = new.environment_path.with_suffix("").name
    yield f"# Variables of {new.path.name}. Copy this file to {copy}, fill in the values, and keep the copy out of"
    yield f"# version control. Then, in the shell: set -a; . ./{copy}; set +a"
    for variable, what in variables_of([(role, sides[role]) for role in ROLES]):
        yield f"# {what}"
        yield f"{variable}="


def _schema_line(path: Path) -> str:
    return f"# yaml-language-server: $schema={path.as_posix()}"


def _write_schemas(folder: Path, connectors: Mapping[str, Connector]) -> list[Path]:
    """Written again by each `init`: they follow the installed services."""
    schemas = {"job": job_schema(connectors), "mapping": json_schema()}
    written = []
    for name, schema in schemas.items():
        written.append(folder / SCHEMAS / f"{name}.schema.json")
        with atomic_write(written[-1], "the schema") as out:
            out.write(json.dumps(schema, indent=1, ensure_ascii=False) + "\n")
    return written


def _unset(job: JobConfig) -> list[str]:
    """Variables that the job refers to and the environment lacks."""
    auths = (side.auth.parameters.values() for side in (job.source, job.target) if side.auth is not None)
    references = (REFERENCE.fullmatch(text) for texts in auths for text in texts)
    names = dict.fromkeys(found[2].strip() for found in references if found is not None and found[1] == "env")
    return [name for name in names if not os.environ.get(name)]
