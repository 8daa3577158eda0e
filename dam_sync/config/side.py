"""One of the two services in a job file, checked against its connector: URLs, auth method, parameters, options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dam_sync.config.diagnostics import KeyPath, SourceMap, error_text, real_place
from dam_sync.config.options import AuthMethod, Options
from dam_sync.config.secrets import FORMS, OPENING, REFERENCE, Reference, is_secret, may_wait, resolve_secret
from dam_sync.model.connector import Connector, usable
from dam_sync.model.diagnostic import Diagnostic, nearest
from dam_sync.model.errors import ConfigError
from dam_sync.model.url_forms import is_loopback
from dam_sync.model.values import Json

VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
HTTP = ("https", "http")
NO_URL = re.compile(r"[\s\"'“”„‘’<>]")
EXAMPLES = {"https": "https://host", "file": "file:///folder"}


class StrictModel(BaseModel):
    """A piece of the file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Auth(BaseModel):
    """How to authenticate: the flow, and its parameters by name."""

    model_config = ConfigDict(extra="allow", frozen=True, hide_input_in_errors=True)
    flow: str

    @property
    def parameters(self) -> Mapping[str, str]:
        """Everything but the flow, as written; empty ones are left out."""
        return {key: value for key, value in (self.model_extra or {}).items() if isinstance(value, str) and value}

    @property
    def may_wait(self) -> bool:
        """Whether a secret of it is printed by a command or kept in a keyring."""
        return any(map(may_wait, self.parameters.values()))

    def __repr__(self) -> str:
        return f"Auth(flow={self.flow!r}, {', '.join(sorted(self.parameters))})"

    __str__ = __repr__


class SideConfig(StrictModel):
    """One of the two services."""

    kind: str
    base_url: str = ""  # required unless the connector says otherwise, like `auth`
    tenant_url: str = ""
    auth: Auth | None = None
    options: Mapping[str, Json] = Field(default_factory=dict)


def as_used(side: SideConfig, connectors: Mapping[str, Connector]) -> SideConfig:
    """The side with its URLs as they are used, however the documents of the service spell them."""
    kind = connectors[side.kind]
    urls = {"base_url": kind.base_of(side.base_url), "tenant_url": kind.tenant_of(side.tenant_url)}
    return side.model_copy(update=urls)


def options_of(connector: Connector, given: Mapping[str, Json]) -> Options:
    """The options of a side parsed by the model of its connector. Raises ConfigError."""
    try:
        options: Options = connector.options.model_validate(dict(given))
    except ValidationError as error:
        raise _config_error(error, "options", {}) from None
    return options


def auth_of(connector: Connector, auth: Auth | None) -> AuthMethod | None:
    """The auth method of a side with secrets resolved. Raises ConfigError for a secret or value that is invalid."""
    if auth is None:
        return None
    if auth.flow not in connector.auth:
        known = nearest(auth.flow, connector.auth) or f"its flows: {', '.join(connector.auth)}"
        raise ConfigError(f"{connector.name} has no flow {auth.flow}", hint=known)
    resolved = {key: resolve_secret(text) for key, text in auth.parameters.items()}
    try:
        method: AuthMethod = connector.auth[auth.flow].model_validate(resolved)
    except ValidationError as error:
        raise _config_error(error, "auth", auth.parameters) from None
    return method


def _config_error(error: ValidationError, key: str, given: Mapping[str, str]) -> ConfigError:
    lines = []
    for each in error.errors(include_url=False, include_input=False, include_context=False):
        name = ".".join(map(str, each["loc"]))
        written = given.get(name)
        place = written.place if isinstance(written, Reference) and written.place else f"{key}.{name}".rstrip(".")
        lines.append(f"{place}: {error_text(each)}")
    return ConfigError("\n".join(lines))


@dataclass(frozen=True, slots=True)
class SideCheck:
    """Checks that depend on the connector of a side: auth methods, parameters, options, URLs."""

    written: SourceMap
    place: KeyPath
    side: Mapping[str, Json]
    connectors: Mapping[str, Connector] | None  # None: not checked against them
    literal_secrets: bool = False  # code may contain a secret, a file must not

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Everything wrong with this side."""
        if self.connectors is None:
            auth = self.side.get("auth")
            yield from self._secrets(auth) if isinstance(auth, dict) else ()
        else:
            yield from self._all(self.connectors)

    def _all(self, connectors: Mapping[str, Connector]) -> Iterator[Diagnostic]:
        name = self.side.get("kind")
        kind = connectors.get(name) if isinstance(name, str) else None
        if isinstance(name, str) and kind is None:
            known = f"known: {', '.join(connectors)}"
            yield self._at(("kind",), f"there is no kind {name}", nearest(name, connectors) or known)
        if kind is not None and (fits := self._other_kinds(kind, connectors)):
            several = " or ".join(fits)
            message = f"{kind.name} does not take this `auth`; together with the other keys it is that of {several}"
            yield self._at(("kind",), message, f"write kind: {fits[0]}, or the `auth` of {kind.name}")
        else:
            yield from self._rest(kind, connectors)

    def _rest(self, kind: Connector | None, connectors: Mapping[str, Connector]) -> Iterator[Diagnostic]:
        """Of an unknown kind, only what is wrong with every kind."""
        yield from self._needed(kind) if kind is not None else ()
        yield from self._urls(kind)
        auth, options = self.side.get("auth"), self.side.get("options")
        if isinstance(auth, dict):
            yield from self._secrets(auth)
            yield from self._auth(auth, kind, connectors) if kind else ()
        if isinstance(options, dict):
            yield from self._options(options, kind, connectors)
        if kind is not None and kind.needs_tenant_url and not self.side.get("tenant_url"):
            yield self._at((), "tenant_url is missing", f"{kind.name} has two URLs")

    def _urls(self, kind: Connector | None) -> Iterator[Diagnostic]:
        """Of an unknown kind, those of HTTP: another may take other schemes."""
        for key in ("base_url", "tenant_url"):
            url = self.side.get(key)
            if isinstance(url, str) and (kind is not None or url.partition(":")[0] in HTTP):
                yield from self._url((key,), url, kind.schemes if kind else HTTP)
                yield from self._former((key,), url, kind.former_paths if kind else {})

    def _other_kinds(self, kind: Connector, connectors: Mapping[str, Connector]) -> list[str]:
        """The kinds that all other keys fit, if the auth method is none of this kind."""
        auth = self.side.get("auth")
        flow = auth.get("flow") if isinstance(auth, dict) else None
        if not isinstance(flow, str) or flow in kind.auth:
            return []
        others = {name: each for name, each in usable(connectors) if flow in each.auth}
        sides = {name: replace(self, side={**self.side, "kind": name}) for name in others}
        fits = [name for name, side in sides.items() if not any(side._all(others))]
        two = bool(self.side.get("tenant_url"))
        return [name for name in fits if others[name].needs_tenant_url is two] or fits

    def _at(self, keys: KeyPath, message: str, hint: str = "") -> Diagnostic:
        return self.written.diagnostic((*self.place, *keys), message, hint)

    def _needed(self, kind: Connector) -> Iterator[Diagnostic]:
        """Missing keys that the kind needs."""
        for key, left_out in {"base_url": kind.base_url_optional, "auth": not kind.auth}.items():
            if not left_out and self.side.get(key) is None:
                yield self._at((), f"{key} is missing", f"{kind.name} needs it")

    def _auth(
        self, auth: Mapping[str, Json], kind: Connector, connectors: Mapping[str, Connector]
    ) -> Iterator[Diagnostic]:
        flow = auth.get("flow")
        others = [name for name, each in usable(connectors) if flow in each.auth]
        if not kind.auth:
            yield self._at(("auth",), f"{kind.name} takes no credentials", "remove the key")
        elif isinstance(flow, str) and flow not in kind.auth:
            known = nearest(flow, kind.auth) or f"its flows: {', '.join(kind.auth)}"
            hint = f"{known}; is `kind` right? {flow} is a flow of {', '.join(others)}" if others else known
            yield self._at(("auth", "flow"), f"{kind.name} has no flow {flow}", hint)
        elif isinstance(flow, str):
            method = kind.auth[flow]
            empty = {key for key in method.model_fields if not auth.get(key)}
            given = {key: value for key, value in auth.items() if key not in empty | {"flow"}}
            unread = {key for key, value in given.items() if not isinstance(value, str) or OPENING in value}
            for error in _errors(method, given):
                key = str(error["loc"][0]) if error["loc"] else ""
                if error["type"] == "missing":
                    yield self._at(("auth",), f"{key} is missing", f"flow {flow} needs it")
                elif error["type"] == "extra_forbidden":
                    yield self._at(("auth", key), "unknown key", nearest(key, method.model_fields))
                elif key not in unread:
                    yield self._at(("auth", *error["loc"]), error_text(error))

    def _secrets(self, auth: Mapping[str, Json]) -> Iterator[Diagnostic]:
        """A secret must be a reference, even for a test server: job files are passed around and kept forever."""
        for key, value in auth.items():
            refused = is_secret(key) and not self.literal_secrets
            literal = refused and value and not (isinstance(value, str) and OPENING in value)
            variable = VARIABLE.fullmatch(value) if isinstance(value, str) and (literal or OPENING in value) else None
            place = ("auth", key)
            if variable is not None:
                hint = f"write ${{env:{variable[1] or variable[2]}}}"
                yield self._at(place, "looks like a shell variable, which is not expanded here", hint)
            elif literal:
                name = f"{self.place[0]}_{key}".upper()
                hint = f"write {FORMS}, for example ${{env:{name}}}"
                yield self._at(place, "a literal secret is not allowed in a job file", hint)
            elif not isinstance(value, str):
                yield self._at(place, "should be text; put it in quotes")
            elif OPENING in value and REFERENCE.fullmatch(value) is None:
                yield self._at(place, "is not a reference to a secret", f"write the whole value as {FORMS}")
            elif key.endswith("_url") and OPENING not in value:
                yield from self._url(place, value, HTTP)

    def _options(
        self, options: Mapping[str, Json], kind: Connector | None, connectors: Mapping[str, Connector]
    ) -> Iterator[Diagnostic]:
        references = [key for key, value in options.items() if OPENING in str(value)]
        for error in _errors(kind.options, options) if kind is not None else ():
            key = str(error["loc"][0]) if error["loc"] else ""
            if error["type"] == "extra_forbidden" and kind is not None:
                others = [name for name, each in usable(connectors) if key in each.options.model_fields]
                more = f"; is `kind` right? {key} is an option of {', '.join(others)}" if others else ""
                hint = nearest(key, kind.options.model_fields) or f"its options: dam-sync help {kind.name}{more}"
                yield self._at(("options", key), f"{kind.name} has no option {key}", hint)
            elif key not in references:
                place = real_place(self.written.data, (*self.place, "options", *error["loc"]))
                yield self.written.diagnostic(place, error_text(error))
        for key in references:
            yield self._at(("options", key), "references to secrets are allowed under auth only")

    def _former(self, keys: KeyPath, url: str, paths: Mapping[str, str]) -> Iterator[Diagnostic]:
        """An API of the service that is not used."""
        for path, instead in paths.items():
            if path in url.casefold():
                yield self._at(keys, f"is the URL of an API that is not supported ({path})", instead)

    def _url(self, keys: KeyPath, url: str, schemes: Sequence[str]) -> Iterator[Diagnostic]:
        """URLs are never repeated: one may hold a password."""
        example = f"write {EXAMPLES.get(schemes[0], f'{schemes[0]}://…')}"
        try:
            parts = urlsplit(url)
            host, has_user = parts.hostname or "", bool(parts.username or parts.password)
            _ = parts.port
        except ValueError:
            yield self._at(keys, "is not a URL", example)
            return
        if NO_URL.search(url.strip()):
            yield self._at(keys, "has whitespace or quotes in it", f"{example} without them")
        elif parts.scheme not in schemes or not (host or (parts.path and parts.scheme not in HTTP)):
            yield self._at(keys, "is not a URL", example)
        elif has_user:
            yield self._at(keys, "contains more than host and path", "credentials belong under auth")
        elif parts.query or parts.fragment:
            yield self._at(keys, "contains more than host and path", "leave out what begins with ? or #, as of a page")
        elif parts.scheme == "http" and not is_loopback(host):
            yield self._at(keys, "http:// is allowed for localhost only", "write https://…")


def _errors(model: type[Any], given: Mapping[str, Json]) -> Sequence[Mapping[str, Any]]:
    """Errors of a model, without the values."""
    try:
        model.model_validate(dict(given))
    except ValidationError as error:
        return error.errors(include_url=False, include_input=False, include_context=False)
    return ()


def is_loopback_url(url: str) -> bool:
    """Whether it is a URL of http on this computer."""
    try:
        parts = urlsplit(url)
        return parts.scheme == "http" and is_loopback(parts.hostname or "")
    except ValueError:
        return False
