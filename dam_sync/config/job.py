"""The job file: which two services, which mapping, where the state is; secrets are references, never values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, PrivateAttr, ValidationError, field_validator
from ruamel.yaml.error import YAMLError

from dam_sync.config.diagnostics import KeyPath, SourceMap, diagnostics_of
from dam_sync.config.loader import FileFormat, Syntax
from dam_sync.config.schedule import Duration, Hours, NotifyConfig, ScheduleConfig, WebhooksConfig
from dam_sync.config.secrets import Reference, located, open_secret_file, resolve_secret
from dam_sync.config.side import SideCheck, SideConfig, StrictModel, as_used
from dam_sync.config.spelling import for_service, settled
from dam_sync.config.state_url import SQLITE, literal_password, state_url
from dam_sync.config.syntax import positioned
from dam_sync.config.waves import WaveConfig, wave_diagnostics
from dam_sync.model.asset import digest_of
from dam_sync.model.conflict import FIELDS, ConflictPolicy, ConflictRules
from dam_sync.model.connector import Connector
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import ConfigError
from dam_sync.model.exposure import ExposureRule, Waiver, Waivers
from dam_sync.model.state_server import StateServer
from dam_sync.model.values import Json

JOB_FILE = FileFormat(
    "job file", "give the path of a job file; `dam-sync init JOB` writes a new one", 1_000_000, ConfigError
)
BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([kMG]?)(i?)B(?:/s|ps)?", re.IGNORECASE)
LEAST_BYTES = 1_000  # per second; nobody means less by a number
SHARE = re.compile(r"^\d{1,3}(\.\d+)?\s*%$")


def _bytes_per_second(given: Json) -> Json:
    """`50MB/s`, `10 MiB/s` or a number of bytes, of which a small one lacks its unit."""
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 < given < LEAST_BYTES:
        raise ValueError(f"should have a unit, for example {given:g}MB/s; without one it is {given:g} bytes per second")
    if not isinstance(given, str):
        return given
    match = BYTES.fullmatch(given.strip())
    if match is None:
        raise ValueError("should be bytes per second, for example 50MB/s")
    base = 1024 if match[3] else 1000
    return float(match[1]) * base ** " kmg".index(match[2].lower() or " ")


Most: TypeAlias = Annotated[int, Field(ge=0)] | Annotated[str, Field(pattern=SHARE.pattern)]


def _share_or_number(given: Json) -> Json:
    """`5%`, or a number of assets."""
    number = isinstance(given, int) and not isinstance(given, bool) and given >= 0
    if not number and not (isinstance(given, str) and SHARE.match(given)):
        raise ValueError("should be a share or a number of assets, for example 5% or 20")
    if not number and float(given.rstrip("% ")) > 100:
        raise ValueError("should be a share of at most 100%")
    return given


class SideLimits(StrictModel):
    """Limits set by the operator, besides those that the services document. bandwidth: bytes per second. hours:
    kept by `watch`."""

    calls_per_second: Annotated[float, Field(gt=0)] | None = None
    max_calls: Annotated[int, Field(gt=0)] | None = None
    concurrency: Annotated[int, Field(gt=0, le=1024)] | None = None
    bandwidth: (
        Annotated[float, Field(gt=0), BeforeValidator(_bytes_per_second, json_schema_input_type=str | float)] | None
    ) = None
    hours: Hours | None = None
    calls_per_day: Annotated[int, Field(gt=0)] | None = None


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
    reopened_by_rollback: Literal[Waiver.ACCEPT] | None = None
    login_dropped: Literal[Waiver.ACCEPT] | None = None

    @property
    def waivers(self) -> Waivers:
        """Those given."""
        given = {rule: getattr(self, rule.value) for rule in ExposureRule}
        return Waivers({rule: waiver for rule, waiver in given.items() if waiver is not None})


class ConflictConfig(StrictModel):
    """Which value stands after a conflict: one policy for all, or others for some values. fields: by the target's key;
    placements: the only container of an asset."""

    default: ConflictPolicy = ConflictPolicy.PARK
    fields: dict[str, ConflictPolicy] = Field(default_factory=dict)
    filename: ConflictPolicy | None = None
    status: ConflictPolicy | None = None
    rights: ConflictPolicy | None = None
    placements: ConflictPolicy | None = None
    file: ConflictPolicy | None = None

    @property
    def rules(self) -> ConflictRules:
        """As the engine takes them."""
        names = ("filename", "status", "rights", "placements", "file")
        parts = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return ConflictRules(self.default, {**{f"{FIELDS}{key}": each for key, each in self.fields.items()}, **parts})


def _default_conflicts(given: Json) -> Json:
    """One policy for all values; `overwrite` is the former name of `source`."""
    if not isinstance(given, str):
        return given
    known = [policy.value for policy in ConflictPolicy]
    if given not in (*known, "overwrite"):
        raise ValueError(f"should be one of {', '.join(known)}, or a policy for each value")
    return {"default": "source" if given == "overwrite" else given}


SINCE_PLANS = frozenset({"reopened_by_rollback", "login_dropped"})
"""Keys of `exposure` that came after plans of format 1."""


class PolicyConfig(StrictModel):
    """What to do where there is a choice."""

    deletes: Literal["none", "trash"] = "none"
    max_deletes: Annotated[int | str, BeforeValidator(_share_or_number, json_schema_input_type=Most)] = "5%"
    grace: Duration = Field(default="7d", validate_default=True)
    conflicts: Annotated[
        ConflictConfig, BeforeValidator(_default_conflicts, json_schema_input_type=ConflictPolicy | ConflictConfig)
    ] = Field(default_factory=ConflictConfig)
    extras: Literal["tell", "ignore", "fail"] = "tell"
    exposure: ExposureConfig = Field(default_factory=ExposureConfig)
    versions: Literal["all", "current"] = "all"
    rotation: Annotated[int, Field(ge=1)] | None = None
    drift: Literal["tell", "ignore", "repair"] = "tell"
    ledger: Literal["values", "keys"] = "values"
    verify: Literal["count", "fields", "digest", "bytes"] = "digest"
    bytes: Literal["through_us", "pull"] = "through_us"

    @property
    def digest(self) -> str:
        """Of everything that a plan depends on. A key that came later counts once it is given, so that a plan of an
        older release is still one of the same policy."""
        data = self.model_dump(mode="json")
        exposure = {key: one for key, one in data["exposure"].items() if one is not None or key not in SINCE_PLANS}
        return digest_of({**data, "exposure": exposure})


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
    state: str = Field(default="", repr=False)  # from code, its URL may have a password
    limits: SideLimits = Field(default_factory=SideLimits)
    policy: PolicyConfig = Field(default_factory=PolicyConfig)
    schedule: ScheduleConfig | None = None
    webhooks: WebhooksConfig | None = None
    notify: NotifyConfig | None = None
    waves: tuple[WaveConfig, ...] = ()
    _folder: Path = PrivateAttr(default_factory=Path)
    _written: SourceMap = PrivateAttr(default_factory=lambda: SourceMap("job", {}))
    _given_mapping: GivenMapping | None = PrivateAttr(default=None)

    @field_validator("state")
    @classmethod
    def _a_place(cls, state: str) -> str:
        state_url(state)
        return state

    @property
    def folder(self) -> Path:
        """The folder of the job file."""
        return self._folder

    @property
    def written(self) -> SourceMap:
        """Where each key is in the file."""
        return self._written

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
        """The state file; `../state/NAME.db` relative to the job file if the job names none. With a state on a server,
        what is kept next to a state file, such as credentials, is kept next to this path."""
        file = "" if state_url(self.state) is not None else self.state.removeprefix(SQLITE)
        return self._path(file or f"../state/{self.name}.db")

    @property
    def state_place(self) -> Path | StateServer:
        """The state file, or the schema of a server. Raises ConfigError for a password that cannot be resolved."""
        url = state_url(self.state)
        return self.state_path if url is None else url.server(self.name, self.folder)

    @property
    def state_on_server(self) -> bool:
        """Whether the state is not a file."""
        return state_url(self.state) is not None

    @property
    def state_name(self) -> str:
        """The state in messages, never with its password."""
        url = state_url(self.state)
        return str(self.state_path) if url is None else url.named(self.name)

    def notify_secret(self, key: str) -> str:
        """`notify.url` or `notify.secret` with its reference resolved. Raises ConfigError naming the reference."""
        text = getattr(self.notify, key, "")
        return resolve_secret(Reference.at(text, f"notify.{key}", self.folder)) if text else ""

    @property
    def open_secret_files(self) -> list[Path]:
        """Files with secrets of this job that every user of this computer can read."""
        sides = [side.auth.parameters.values() for side in (self.source, self.target) if side.auth is not None]
        url = state_url(self.state)
        texts = [
            *chain.from_iterable(sides),
            *((self.notify.url, self.notify.secret) if self.notify else ()),
            self.webhooks.secret if self.webhooks else "",
            url.password if url is not None else "",
        ]
        found = (open_secret_file(text, self.folder) for text in texts)
        return list(dict.fromkeys(path for path in found if path is not None))

    @property
    def notify_command(self) -> list[str]:
        """`notify.command`; a program that is named by a relative path is the one below the folder of the job file."""
        return located(self.notify.command, self.folder) if self.notify and self.notify.command else []

    @property
    def webhook_secret(self) -> str:
        """`webhooks.secret` with its reference resolved; empty without one. Raises ConfigError naming the reference."""
        text = self.webhooks.secret if self.webhooks else ""
        return resolve_secret(Reference.at(text, "webhooks.secret", self.folder)) if text else ""

    def _path(self, text: str) -> Path:
        return Path(os.path.normpath(self._folder / Path(text).expanduser()))


def load_job(path: Path, kinds: Mapping[str, Connector] | None) -> JobConfig:
    """Read a job file. Without `kinds`, what depends on a connector is not checked. Secrets are not resolved yet.

    Raises ConfigError with every diagnostic.
    """
    written = JOB_FILE.read(path, Syntax("YAML", positioned, YAMLError))
    written = replace(written, data=_settled(written.data))
    if "fields" in written.data and "source" not in written.data:
        hint = "give the path of the job file whose `mapping` names it"
        raise ConfigError(f"{path} is a mapping file, not a job file", hint=hint)
    return _job_of(written, path.absolute().parent, kinds)


def _settled(node: Json, place: KeyPath = ()) -> Json:
    """The keys with numbers and flags as YAML takes them, but for places where a text may stand for itself: what a
    service is given, which reads numbers in texts, and what selects the assets of a wave."""
    if len(place) == 3 and place[0] == "waves" and place[2] == "select":
        return node
    if len(place) == 2 and place[0] in ("source", "target") and place[1] in ("options", "auth"):
        return for_service(node)
    if isinstance(node, dict):
        return {key: _settled(value, (*place, key)) for key, value in node.items()}
    if isinstance(node, list):
        return [_settled(value, (*place, index)) for index, value in enumerate(node)]
    return settled(node)


def job_of_keys(data: Mapping[str, Json], path: Path, kinds: Mapping[str, Connector]) -> JobConfig:
    """A job from the keys that the file at this path will have; a literal secret is refused. Raises ConfigError with
    every diagnostic."""
    return _job_of(SourceMap(str(path), dict(data)), path.absolute().parent, kinds)


def job_of_code(
    data: Mapping[str, Json], folder: Path, kinds: Mapping[str, Connector], mapping: GivenMapping | None = None
) -> JobConfig:
    """A job from the keys of a job file, and its mapping if that is not a file. A secret may be a plain value.

    Raises ConfigError with every diagnostic.
    """
    job = _job_of(SourceMap.of_code("job", data), folder, kinds, literal=True)
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
        found.extend(diagnostics_of(written, errors, _schema_of(written, kinds or {})))
    state = written.data.get("state")
    if isinstance(state, str) and not literal and (wrong := literal_password(state)) is not None:
        found.append(written.diagnostic(("state",), *wrong))
    for role in ("source", "target"):
        side = written.data.get(role)
        if isinstance(side, dict):
            found.extend(SideCheck(written, (role,), side, kinds, literal).diagnostics())
    found.extend(wave_diagnostics(written))
    if found or job is None:
        raise ConfigError.of(found)
    if kinds is not None:
        job = job.model_copy(update={"source": as_used(job.source, kinds), "target": as_used(job.target, kinds)})
    job._folder, job._written = folder, written
    return job


def missing_mapping(path: Path) -> Iterator[Diagnostic]:
    """Whether the mapping file of a job file that is wrong is missing, too: it is not read before the rest is right."""
    written, folder = JOB_FILE.read(path, Syntax("YAML", positioned, YAMLError)), path.absolute().parent
    name = written.data.get("mapping")
    if isinstance(name, str) and name and not os.path.exists(os.path.normpath(folder / Path(name).expanduser())):
        hint = "correct the path, which begins at the folder of the job file"
        yield written.diagnostic(("mapping",), f"there is no file {name}", hint)


def _schema_of(written: SourceMap, kinds: Mapping[str, Connector]) -> Json:
    """The JSON Schema of a job whose two services are of the kinds that are written: with their auth and options."""
    schema = JobConfig.model_json_schema()
    side = schema["$defs"]["SideConfig"]
    for role in ("source", "target"):
        given = written.data.get(role)
        name = given.get("kind") if isinstance(given, dict) else None
        kind = kinds.get(name) if isinstance(name, str) else None
        if kind is not None:
            below = {
                "auth": _keys(key for method in kind.auth.values() for key in ("flow", *method.model_fields)),
                "options": _keys(kind.options.model_fields),
            }
            schema["properties"][role] = {**side, "properties": {**side["properties"], **below}}
    return schema


def _keys(names: Iterable[str]) -> Json:
    return {"properties": {name: {} for name in names}}


def side_of_code(data: Mapping[str, Json], kinds: Mapping[str, Connector]) -> SideConfig:
    """One service from the keys it has in a job file; a secret may be a plain value. Raises ConfigError with every
    diagnostic."""
    written = SourceMap.of_code("connect", data)
    found = list(SideCheck(written, (), written.data, kinds, literal_secrets=True).diagnostics())
    try:
        side = SideConfig.model_validate(written.data)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        raise ConfigError.of([*diagnostics_of(written, errors, SideConfig.model_json_schema()), *found]) from None
    if found:
        raise ConfigError.of(found)
    return as_used(side, kinds)


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
