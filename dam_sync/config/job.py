"""The job file: which two services, which mapping, where the state is; secrets are references, never values."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError, field_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dam_sync.config.diagnostics import KeyPath, SourceMap, diagnostics_of
from dam_sync.config.loader import FileFormat, Syntax
from dam_sync.config.secrets import Reference
from dam_sync.config.side import SideCheck, SideConfig, StrictModel
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import ConfigError
from dam_sync.model.exposure import ExposureRule, Waiver
from dam_sync.model.service import Connector
from dam_sync.model.values import Json

JOB_FILE = FileFormat("job file", "give the path of a job file", 1_000_000, ConfigError)
BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([kMG]?)(i?)B(?:/s|ps)?", re.IGNORECASE)
LATER = frozenset({"hours", "schedule", "webhooks", "max_deletes"})
SQLITE = "sqlite:///"


def _bytes_per_second(given: Json) -> Json:
    """`50MB/s`, `10 MiB/s` or a number of bytes."""
    if not isinstance(given, str):
        return given
    match = BYTES.fullmatch(given.strip())
    if match is None:
        raise ValueError("should be bytes per second, for example 50MB/s")
    base = 1024 if match[3] else 1000
    return float(match[1]) * base ** " kmg".index(match[2].lower() or " ")


class SideLimits(StrictModel):
    """Limits set by the operator, besides those that the services document. bandwidth: bytes per second."""

    calls_per_second: Annotated[float, Field(gt=0)] | None = None
    max_calls: Annotated[int, Field(gt=0)] | None = None
    concurrency: Annotated[int, Field(gt=0, le=1024)] | None = None
    bandwidth: (
        Annotated[float, Field(gt=0), BeforeValidator(_bytes_per_second, json_schema_input_type=str | float)] | None
    ) = None


class ExposureConfig(StrictModel):
    """What may be more visible at the target than at the source, rule by rule; see `model.exposure`."""

    archived_as_published: Waiver | None = None
    unpublished_as_published: Waiver | None = None
    unreleased_as_released: Waiver | None = None
    expiry_dropped: Waiver | None = None
    groups_widened: Waiver | None = None
    denied_dropped: Waiver | None = None
    timed_dropped: Waiver | None = None
    download_widened: Waiver | None = None
    container_widened: Waiver | None = None
    sensitive_widened: Waiver | None = None
    reopened_by_repair: Literal[Waiver.ACCEPT] | None = None

    @property
    def waivers(self) -> Mapping[ExposureRule, Waiver]:
        """Those given."""
        given = {rule: getattr(self, rule.value) for rule in ExposureRule}
        return {rule: waiver for rule, waiver in given.items() if waiver is not None}


class PolicyConfig(StrictModel):
    """What to do where there is a choice."""

    deletes: Literal["none"] = "none"
    conflicts: Literal["park", "overwrite"] = "park"
    extras: Literal["tell", "ignore", "fail"] = "tell"
    exposure: ExposureConfig = Field(default_factory=ExposureConfig)
    versions: Literal["all", "current"] = "all"
    ledger: Literal["values", "keys"] = "values"
    verify: Literal["count", "fields", "digest", "bytes"] = "digest"


@dataclass(frozen=True, slots=True)
class GivenMapping:
    """A mapping given as keys and values, and the folder of its tables."""

    written: SourceMap
    folder: Path


class JobConfig(StrictModel):
    """One job: from a source to a target by a mapping. Paths are made absolute against the job file's folder."""

    version: Literal[1]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    source: SideConfig
    target: SideConfig
    mapping: Annotated[str, Field(min_length=1)]
    state: str = ""
    limits: SideLimits = Field(default_factory=SideLimits)
    policy: PolicyConfig = Field(default_factory=PolicyConfig)
    _folder: Path = PrivateAttr(default_factory=Path)
    _given_mapping: GivenMapping | None = PrivateAttr(default=None)

    @field_validator("state")
    @classmethod
    def _a_file(cls, state: str) -> str:
        if "://" in state and not state.startswith(SQLITE):
            raise ValueError("a state in a database server is not supported; name a file")
        return state

    @property
    def folder(self) -> Path:
        """The folder of the job file."""
        return self._folder

    @property
    def given_mapping(self) -> GivenMapping | None:
        """The mapping, if it is not read from `mapping_path`."""
        return self._given_mapping

    @property
    def mapping_path(self) -> Path:
        """The mapping file."""
        return self._path(self.mapping)

    @property
    def state_path(self) -> Path:
        """The state file; `../state/NAME.db` relative to the job file if the job names none."""
        return self._path(self.state.removeprefix(SQLITE) or f"../state/{self.name}.db")

    def _path(self, text: str) -> Path:
        return Path(os.path.normpath(self._folder / Path(text).expanduser()))


def load_job(path: Path, kinds: Mapping[str, Connector] | None) -> JobConfig:
    """Read a job file. Without `kinds`, what depends on a connector is not checked. Secrets are not resolved yet.

    Raises ConfigError with every diagnostic.
    """
    written = JOB_FILE.read(path, Syntax("YAML", YAML(typ="rt").load, YAMLError))
    return _job_of(written, path.absolute().parent, kinds)


def job_of_code(
    data: Mapping[str, Json], folder: Path, kinds: Mapping[str, Connector], mapping: GivenMapping | None = None
) -> JobConfig:
    """A job from the keys of a job file, and its mapping if that is not a file. A secret may be a plain value.

    Raises ConfigError with every diagnostic.
    """
    job = _job_of(SourceMap("job", dict(data)), folder, kinds, literal=True)
    job._given_mapping = mapping
    return job


def _job_of(
    written: SourceMap, folder: Path, kinds: Mapping[str, Connector] | None, literal: bool = False
) -> JobConfig:
    found: list[Diagnostic] = []
    job: JobConfig | None = None
    try:
        job = JobConfig.model_validate(_with_places(written, folder))
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        found.extend(diagnostics_of(written, errors, JobConfig.model_json_schema(), LATER))
    for role in ("source", "target"):
        side = written.data.get(role)
        if isinstance(side, dict):
            found.extend(SideCheck(written, (role,), side, kinds, literal).diagnostics())
    if found or job is None:
        raise ConfigError.of(found)
    job._folder = folder
    return job


def side_of_code(data: Mapping[str, Json], kinds: Mapping[str, Connector]) -> SideConfig:
    """One service from the keys it has in a job file; a secret may be a plain value. Raises ConfigError with every
    diagnostic."""
    written = SourceMap("connect", dict(data))
    found = list(SideCheck(written, (), written.data, kinds, literal_secrets=True).diagnostics())
    try:
        side = SideConfig.model_validate(written.data)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        raise ConfigError.of([*diagnostics_of(written, errors, SideConfig.model_json_schema()), *found]) from None
    if found:
        raise ConfigError.of(found)
    return side


def _with_places(written: SourceMap, folder: Path) -> Json:
    """The data with a `Reference`, which knows its place, for every text under `auth`."""
    data = dict(written.data)
    for role in ("source", "target"):
        side = data.get(role)
        if isinstance(side, dict) and isinstance(side.get("auth"), dict):
            auth = {key: _placed(written, (role, "auth", key), value, folder) for key, value in side["auth"].items()}
            data[role] = {**side, "auth": auth}
    return data


def _placed(written: SourceMap, place: KeyPath, value: Json, folder: Path) -> Json:
    if not isinstance(value, str) or place[-1] == "flow":
        return value
    return Reference.at(value, written.diagnostic(place, "").where, folder)
