"""The URL of a state on a database server: its parts, and the password that it refers to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from dam_sync.config.secrets import FORMS, OPENING, REFERENCE, Reference, resolve_secret
from dam_sync.model.diagnostic import nearest
from dam_sync.model.state_server import StateServer, schema_of

SERVER = "postgresql+psycopg://"
SQLITE = "sqlite:///"
SHOULD_BE = f"should be a file, {SERVER}USER@HOST/DATABASE or {SQLITE}FILE"
OPTIONS = frozenset({"host", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "target_session_attrs"})
CHOICES: Mapping[str, tuple[str, ...]] = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "target_session_attrs": ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
}
MOST_PORT = 65_535
LOOPBACK = frozenset({"", "localhost", "127.0.0.1", "::1"})
_URL = re.compile(
    re.escape(SERVER) + r"(?:(?P<user>[^:/@?#]*)(?P<colon>:(?P<password>\$\{[^}]*\}|[^@]*))?@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:/?#@]*)(?::(?P<port>\d{1,5}))?/(?P<database>[^/?#]+)(?:\?(?P<options>[^#]*))?"
)


@dataclass(frozen=True, slots=True)
class StateUrl:
    """The parts of a URL; password: as written, a reference or, from code, the password itself."""

    user: str
    password: str = field(repr=False)
    host: str
    port: int | None
    database: str
    options: Mapping[str, str]

    def server(self, job: str, folder: Path) -> StateServer:
        """Where the state of a job is. Raises ConfigError for a password that cannot be resolved. Passwords do not
        leave this computer in the clear, unless the URL says so."""
        given = Reference.at(self.password, "state", folder)
        password = resolve_secret(given) if self.password else ""
        options = {"sslmode": "prefer" if self._is_local else "require", **self.options}
        host = options.pop("host", self.host)
        return StateServer(host, self.port, self.database, self.user, password, schema_of(job), options)

    def named(self, job: str) -> str:
        """The state of a job in messages: without the password, which is not resolved for it."""
        return str(StateServer(self.host, self.port, self.database, self.user, "", schema_of(job)))

    @property
    def _is_local(self) -> bool:
        host = self.options.get("host", self.host)
        return host in LOOPBACK or host.startswith("/")


def state_url(text: str) -> StateUrl | None:
    """The parts of the URL of a server; None for a file. Raises ValueError, which never has the password."""
    if "://" not in text or text.startswith(SQLITE):
        return None
    found = _URL.fullmatch(text)
    if found is None:
        raise ValueError(SHOULD_BE)
    options = dict(parse_qsl(found["options"] or "", keep_blank_values=True))
    if "password" in options:
        raise ValueError(f"the password belongs between user and host; write {SERVER}USER:${{env:NAME}}@HOST/DATABASE")
    _refuse_options(found["options"] or "", options)
    port, password = found["port"], found["password"] or ""
    if port and not 0 < int(port) <= MOST_PORT:
        raise ValueError(f"has the port {port}; a port is a number from 1 to {MOST_PORT}")
    if not password.startswith(OPENING):
        password = unquote(password)
    return StateUrl(
        unquote(found["user"] or ""),
        password,
        found["host"].strip("[]"),
        int(port) if port else None,
        unquote(found["database"]),
        options,
    )


def _refuse_options(text: str, options: Mapping[str, str]) -> None:
    """Raises ValueError for a parameter that libpq would refuse once it connects."""
    if unknown := sorted(options.keys() - OPTIONS):
        raise ValueError(f"has the unknown parameter {unknown[0]}; known: {', '.join(sorted(OPTIONS))}")
    if len(parse_qsl(text, keep_blank_values=True)) > len(options):
        raise ValueError("has a parameter twice; leave one of them out")
    for name, value in options.items():
        if not value:
            raise ValueError(f"has the parameter {name} without a value; write {name}=VALUE, or leave it out")
        if name in CHOICES and value not in CHOICES[name]:
            raise ValueError(f"has the unknown {name} {value}; {nearest(value, CHOICES[name])}")


def literal_password(text: str) -> tuple[str, str] | None:
    """What is wrong with the password of a URL in a file, and what to write; None if nothing is."""
    try:
        url = state_url(text)
    except ValueError:
        return None
    if url is None or not url.password or REFERENCE.fullmatch(url.password):
        return None
    what = "is not a reference to a secret" if OPENING in url.password else "a literal password is not allowed"
    return what, f"write {FORMS} between user and host, for example ${{env:STATE_PASSWORD}}"
