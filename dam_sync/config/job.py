"""The job file: which two services, which mapping, where the state is; secrets are references, never values."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError, field_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from dam_sync.config.diagnostics import KeyPath, SourceMap, diagnostics_of
from dam_sync.config.loader import FileFormat, Syntax
from dam_sync.model.diagnostic import Diagnostic, nearest
from dam_sync.model.errors import ConfigError
from dam_sync.model.exposure import ExposureRule, Waiver
from dam_sync.model.service import Connector
from dam_sync.model.values import Json

JOB_FILE = FileFormat("job file", "give the path of a job file", 1_000_000, ConfigError)
COMMAND_SECONDS = 30
SECRET = re.compile(r"(^|_)(password|passphrase|token|key|secret)$")
SOURCES = ("env", "file", "command", "keyring")
REFERENCE = re.compile(rf"\$\{{({'|'.join(SOURCES)}):([^}}]+)\}}")
OPENING = "${"
VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
FORMS = "${env:NAME}, ${file:PATH}, ${command:ARGS} or ${keyring:service/user}"
OPTIONAL = frozenset({"scope", "form"})  # what a flow may take besides what it needs
BYTES = re.compile(r"(\d+(?:\.\d+)?)\s*([kMG]?)(i?)B(?:/s|ps)?", re.IGNORECASE)
LATER = frozenset({"hours", "schedule", "webhooks", "max_deletes"})
SQLITE = "sqlite:///"
HTTP = ("https", "http")
EXAMPLES = {"https": "https://host", "file": "file:///folder"}


class Reference(str):
    """A value of `auth` as written: a plain word, or a reference to a secret. It knows where it stands."""

    place: str = ""
    folder: Path = Path()

    @classmethod
    def at(cls, text: str, place: str, folder: Path) -> Reference:
        """The text found at `file:line: key`; relative paths in it are meant from `folder`."""
        made = cls(text)
        made.place, made.folder = place, folder
        return made


def is_secret(key: str) -> bool:
    """Whether a parameter of `auth` is one that nobody else may know."""
    return SECRET.search(key) is not None


def resolve_secret(text: str) -> str:
    """What a reference stands for, or the text itself when it is none. Raises ConfigError naming the reference."""
    match = REFERENCE.fullmatch(text)
    if match is None:
        if OPENING in text:
            raise _unresolved(text, "is no reference", "write the whole value as one: ${env:NAME} or ${file:PATH}")
        return str(text)
    secret = RESOLVERS[match[1]](text, match[2].strip())
    if not secret:
        raise _unresolved(text, "is empty", "store the secret there")
    return secret


def _unresolved(text: str, message: str, hint: str = "") -> ConfigError:
    """Never says more of the value than the reference itself."""
    place = f"{text.place}: " if isinstance(text, Reference) and text.place else ""
    named = str(text) if REFERENCE.fullmatch(text) else "the value"
    return ConfigError(f"{place}{named} {message}", hint=hint)


def _from_environment(text: str, name: str) -> str:
    secret = os.environ.get(name)
    if secret is None:
        raise _unresolved(text, "is not set", f"export {name}=… before the command")
    return secret


def _from_file(text: str, name: str) -> str:
    folder = text.folder if isinstance(text, Reference) else Path()
    try:
        return (folder / Path(name).expanduser()).read_text(encoding="utf-8-sig").strip("\r\n")
    except UnicodeDecodeError:
        raise _unresolved(text, "is not text") from None
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "unknown home"
        raise _unresolved(text, f"cannot be read: {reason}", "correct the path or its rights") from None


def _from_command(text: str, name: str) -> str:
    try:
        ran = subprocess.run(shlex.split(name), capture_output=True, timeout=COMMAND_SECONDS, check=False)
        if ran.returncode:
            raise _unresolved(text, f"ended with exit code {ran.returncode}", "run the command by hand")
        return ran.stdout.decode("utf-8").strip("\r\n")
    except subprocess.TimeoutExpired:
        raise _unresolved(text, f"did not end within {COMMAND_SECONDS} s", "run the command by hand") from None
    except UnicodeDecodeError:
        raise _unresolved(text, "gives no text") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its quotes do not match"
        raise _unresolved(text, f"cannot be run: {reason}", "correct the command") from None


def _from_keyring(text: str, name: str) -> str:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        raise _unresolved(text, "needs the keyring", "pip install 'dam-sync[keyring]'") from None
    service, _, user = name.rpartition("/")
    if not service or not user:
        raise _unresolved(text, "names no user", "write ${keyring:service/user}")
    try:
        secret = keyring.get_password(service, user)
    except KeyringError as error:
        raise _unresolved(text, f"cannot be asked: {type(error).__name__}", "unlock the keyring") from None
    if secret is None:
        raise _unresolved(text, "is not in the keyring", f"keyring set {service} {user}")
    return secret


RESOLVERS: Mapping[str, Callable[[str, str], str]] = {
    "env": _from_environment,
    "file": _from_file,
    "command": _from_command,
    "keyring": _from_keyring,
}


class StrictModel(BaseModel):
    """A piece of the file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Auth(BaseModel):
    """How to prove who we are: the flow, and its parameters by name."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)
    flow: str

    @property
    def parameters(self) -> Mapping[str, str]:
        """Everything but the flow; give each to `resolve_secret`."""
        return {key: value for key, value in (self.model_extra or {}).items() if isinstance(value, str)}

    def __repr__(self) -> str:
        return f"Auth(flow={self.flow!r}, {', '.join(sorted(self.parameters))})"

    __str__ = __repr__


class SideConfig(StrictModel):
    """One of the two services."""

    kind: str
    base_url: str = ""  # needed unless the connector says otherwise, as `auth` is
    tenant_url: str = ""
    auth: Auth | None = None
    options: Mapping[str, Json] = Field(default_factory=dict)


def _bytes_per_second(given: Json) -> Json:
    """`50MB/s`, `10 MiB/s` or a number of bytes."""
    if not isinstance(given, str):
        return given
    match = BYTES.fullmatch(given.strip())
    if match is None:
        raise ValueError("should be bytes a second, like 50MB/s")
    base = 1024 if match[3] else 1000
    return float(match[1]) * base ** " kmg".index(match[2].lower() or " ")


class SideLimits(StrictModel):
    """What the operator allows, besides what the services document. bandwidth in bytes a second."""

    calls_per_second: Annotated[float, Field(gt=0)] | None = None
    max_calls: Annotated[int, Field(gt=0)] | None = None
    concurrency: Annotated[int, Field(gt=0, le=1024)] | None = None
    bandwidth: Annotated[float, BeforeValidator(_bytes_per_second), Field(gt=0)] | None = None


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
    """A mapping that is not in a file of its own: its keys and values, and the folder of the tables it names."""

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
            raise ValueError("a state in a server's database is not in this release; give a file")
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
        """The checkpoint store; `../state/NAME.db` beside the job file's folder where the job names none."""
        return self._path(self.state.removeprefix(SQLITE) or f"../state/{self.name}.db")

    def _path(self, text: str) -> Path:
        return Path(os.path.normpath(self._folder / Path(text).expanduser()))


def load_job(path: Path, kinds: Mapping[str, Connector] | None) -> JobConfig:
    """Read a job file. Without `kinds` what only they know is not checked. Raises ConfigError with every fault; secrets
    are not resolved yet."""
    written = JOB_FILE.read(path, Syntax("YAML", YAML(typ="rt").load, YAMLError))
    return _job_of(written, path.absolute().parent, kinds)


def job_of_code(
    data: Mapping[str, Json], folder: Path, kinds: Mapping[str, Connector], mapping: GivenMapping | None = None
) -> JobConfig:
    """A job from the keys of a job file, and its mapping where that is not a file. A secret may be given as it is.

    Raises ConfigError with every fault.
    """
    job = _job_of(SourceMap("job", dict(data)), folder, kinds, literal=True)
    job._given_mapping = mapping
    return job


def _job_of(
    written: SourceMap, folder: Path, kinds: Mapping[str, Connector] | None, literal: bool = False
) -> JobConfig:
    faults: list[Diagnostic] = []
    job: JobConfig | None = None
    try:
        job = JobConfig.model_validate(_with_places(written, folder))
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        faults.extend(diagnostics_of(written, errors, JobConfig.model_json_schema(), LATER))
    for role in ("source", "target"):
        side = written.data.get(role)
        if isinstance(side, dict):
            faults.extend(_SideCheck(written, (role,), side, kinds, literal).faults())
    if faults or job is None:
        raise ConfigError.of(faults)
    job._folder = folder
    return job


def side_of_code(data: Mapping[str, Json], kinds: Mapping[str, Connector]) -> SideConfig:
    """One service from the keys it has in a job file; a secret may be given as it is. Raises ConfigError with every
    fault."""
    written = SourceMap("connect", dict(data))
    faults = list(_SideCheck(written, (), written.data, kinds, literal_secrets=True).faults())
    try:
        side = SideConfig.model_validate(written.data)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_input=False)
        raise ConfigError.of([*diagnostics_of(written, errors, SideConfig.model_json_schema()), *faults]) from None
    if faults:
        raise ConfigError.of(faults)
    return side


def json_schema() -> dict[str, Json]:
    """The JSON Schema of the job file, for editors."""
    return JobConfig.model_json_schema()


def _with_places(written: SourceMap, folder: Path) -> Json:
    """The data with every text of `auth` knowing its place."""
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
    fault = written.fault(place, "")
    return Reference.at(value, f"{fault.file}:{fault.line}: {fault.key}", folder)


@dataclass(frozen=True, slots=True)
class _SideCheck:
    """What only the kinds can tell of one side: flow, parameters, options, addresses."""

    written: SourceMap
    place: KeyPath
    side: Mapping[str, Json]
    kinds: Mapping[str, Connector] | None  # None: not checked against them
    literal_secrets: bool = False  # code may hold a secret, a file may not

    def faults(self) -> Iterator[Diagnostic]:
        """Everything wrong with this side."""
        if self.kinds is None:
            auth = self.side.get("auth")
            yield from self._secrets(auth) if isinstance(auth, dict) else ()
        else:
            yield from self._all(self.kinds)

    def _all(self, kinds: Mapping[str, Connector]) -> Iterator[Diagnostic]:
        name = self.side.get("kind")
        kind = kinds.get(name) if isinstance(name, str) else None
        if isinstance(name, str) and kind is None:
            yield self._fault("kind", f"there is no kind {name}", nearest(name, kinds))
        yield from self._needed(kind)
        for key in ("base_url", "tenant_url"):
            if isinstance(self.side.get(key), str):
                yield from self._address((key,), self.side[key], kind.schemes if kind else HTTP)
        auth, options = self.side.get("auth"), self.side.get("options")
        if isinstance(auth, dict):
            yield from self._secrets(auth)
            yield from self._flow(auth, kind) if kind else ()
        if isinstance(options, dict):
            yield from self._options(options, kind)
        if kind is not None and kind.needs_tenant_url and not self.side.get("tenant_url"):
            yield self.written.fault(self.place, "tenant_url is missing", f"{kind.name} has two addresses")

    def _fault(self, key: str, message: str, hint: str = "") -> Diagnostic:
        return self.written.fault((*self.place, key), message, hint)

    def _needed(self, kind: Connector | None) -> Iterator[Diagnostic]:
        """What is left out though the kind needs it; of a kind that is not known, what most need."""
        optional = {
            "base_url": kind is not None and kind.base_url_optional,
            "auth": kind is not None and not kind.flows,
        }
        for key, left_out in optional.items():
            if not left_out and self.side.get(key) is None:
                yield self.written.fault(self.place, f"{key} is missing")

    def _flow(self, auth: Mapping[str, Json], kind: Connector) -> Iterator[Diagnostic]:
        flow = auth.get("flow")
        if not kind.flows:
            yield self._fault("auth", f"{kind.name} takes no credentials", "remove the key")
            return
        needed = kind.flows.get(flow) if isinstance(flow, str) else None
        if needed is None:
            if isinstance(flow, str):
                yield self._auth("flow", f"{kind.name} has no flow {flow}", nearest(flow, kind.flows))
            return
        extras = kind.extras.get(str(flow), ())
        for key in needed:
            if not auth.get(key):
                yield self.written.fault((*self.place, "auth"), f"{key} is missing", f"flow {flow} needs it")
        for key in auth:
            if key != "flow" and key not in needed and key not in OPTIONAL and key not in extras:
                yield self._auth(key, "unknown key", nearest(key, (*needed, *extras)))

    def _secrets(self, auth: Mapping[str, Json]) -> Iterator[Diagnostic]:
        """A secret is a reference, whatever the address is: files like this one are sent around and kept for ever."""
        for key, value in auth.items():
            refused = is_secret(key) and not self.literal_secrets
            literal = refused and value and not (isinstance(value, str) and OPENING in value)
            variable = VARIABLE.fullmatch(value) if isinstance(value, str) and (literal or OPENING in value) else None
            if variable is not None:
                hint = f"write ${{env:{variable[1] or variable[2]}}}"
                yield self._auth(key, "looks like a variable of the shell, which is not expanded here", hint)
            elif literal:
                name = f"{self.place[0]}_{key}".upper()
                hint = f"write {FORMS}, for example ${{env:{name}}}"
                yield self._auth(key, "a literal secret is not allowed in a job file", hint)
            elif not isinstance(value, str):
                yield self._auth(key, "should be text; put it between quotes")
            elif OPENING in value and REFERENCE.fullmatch(value) is None:
                yield self._auth(key, "is no reference to a secret", f"write the whole value as {FORMS}")
            elif key.endswith("_url") and OPENING not in value:
                yield from self._address(("auth", key), value, HTTP)

    def _auth(self, key: str, message: str, hint: str = "") -> Diagnostic:
        return self.written.fault((*self.place, "auth", key), message, hint)

    def _options(self, options: Mapping[str, Json], kind: Connector | None) -> Iterator[Diagnostic]:
        for key, value in options.items():
            place = (*self.place, "options", key)
            option = kind.settings.get(key) if kind is not None else None
            if OPENING in str(value):
                yield self.written.fault(place, "references to secrets are taken under auth only")
            elif kind is not None and option is None:
                yield self.written.fault(place, f"{kind.name} has no option {key}", nearest(key, kind.settings))
            elif option is not None and (wrong := option.fault(value)):
                yield self.written.fault(place, wrong)

    def _address(self, keys: KeyPath, url: str, schemes: Sequence[str]) -> Iterator[Diagnostic]:
        """Addresses are never repeated: one may hold a password."""
        place, example = (*self.place, *keys), f"write {EXAMPLES.get(schemes[0], f'{schemes[0]}://…')}"
        try:
            parts = urlsplit(url)
            host, odd = parts.hostname or "", bool(parts.username or parts.password or parts.query or parts.fragment)
            _ = parts.port
        except ValueError:
            yield self.written.fault(place, "is no address", example)
            return
        if parts.scheme not in schemes or not (host or (parts.path and parts.scheme not in HTTP)):
            yield self.written.fault(place, "is no address", example)
        elif odd:
            yield self.written.fault(place, "holds more than host and path", "credentials belong under auth")
        elif parts.scheme == "http" and not _is_loopback(url):
            yield self.written.fault(place, "plain http is taken for this machine only", "write https://…")


def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
