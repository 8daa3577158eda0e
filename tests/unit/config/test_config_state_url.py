"""The URL of a state: its parts, its password, and what it is called in messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from dam_sync.config.state_url import literal_password, state_url
from dam_sync.model.errors import ConfigError
from dam_sync.model.state_server import SCHEMA_BYTES, schema_of

URL = "postgresql+psycopg://dam:${env:STATE_PASSWORD}@db.example:6432/museum"


@pytest.mark.parametrize("text", ["", "job.db", "../state/a b.db", "sqlite:////var/job.db", "C:/state/job.db"])
def test_a_file_is_no_server(text: str) -> None:
    assert state_url(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "mysql://h/d",
        "postgresql://h/d",
        "postgresql+psycopg://h",
        "postgresql+psycopg://h/",
        "postgresql+psycopg://h/a/b",
    ],
)
def test_what_is_neither_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"^should be a file, postgresql\+psycopg://") as refused:
        state_url(text)
    assert text not in str(refused.value)


def test_the_password_is_resolved_when_the_state_is_opened_and_is_in_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    url = state_url(URL)
    assert url is not None
    monkeypatch.delenv("STATE_PASSWORD", raising=False)
    with pytest.raises(ConfigError, match=r"state: \$\{env:STATE_PASSWORD\} is not set"):
        url.server("museum", Path())
    secret = "p@ss/w%20rd?#"  # no part of a URL, so nothing in it needs an escape
    monkeypatch.setenv("STATE_PASSWORD", secret)
    server = url.server("museum", Path())
    assert (server.user, server.password, server.host, server.port) == ("dam", secret, "db.example", 6432)
    assert (server.database, server.schema) == ("museum", "dam_sync_museum")
    assert [text for text in (repr(url), repr(server), str(server), url.named("museum")) if secret in text] == []
    assert url.named("museum") == str(server)


def test_passwords_travel_encrypted_unless_the_url_says_otherwise() -> None:
    modes = {}
    for host in ("db.example", "localhost", "127.0.0.1", "[::1]", ""):
        url = state_url(f"postgresql+psycopg://me@{host}/museum")
        assert url is not None
        modes[host] = url.server("x", Path()).options["sslmode"]
    assert modes == {
        "db.example": "require",
        "localhost": "prefer",
        "127.0.0.1": "prefer",
        "[::1]": "prefer",
        "": "prefer",
    }
    url = state_url("postgresql+psycopg://me@db.example/museum?sslmode=verify-full&sslrootcert=/etc/ca.pem")
    assert url is not None
    assert url.server("x", Path()).options == {"sslmode": "verify-full", "sslrootcert": "/etc/ca.pem"}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (URL, None),
        ("postgresql+psycopg://db.example/museum", None),
        ("postgresql+psycopg://me:${keyring:dam/me}@db.example/museum", None),
        ("postgresql+psycopg://me:${file:/run/secrets/pw}@db.example/museum", None),
        ("postgresql+psycopg://me:secret@db.example/museum", "a literal password is not allowed"),
        ("postgresql+psycopg://me:${credentials:x}@db.example/museum", "is not a reference to a secret"),
    ],
)
def test_a_password_in_a_file_is_a_reference(text: str, wrong: str | None) -> None:
    found = literal_password(text)
    assert (found and found[0]) == wrong


def test_a_password_among_the_parameters_is_refused() -> None:
    with pytest.raises(ValueError, match="belongs between user and host") as refused:
        state_url("postgresql+psycopg://me@db.example/museum?password=wrt_secret")
    assert "wrt_secret" not in str(refused.value)


def test_every_job_has_a_schema_of_its_own() -> None:
    long = ["a" * 64, "a" * 63 + "b", "Museum", "museum", "x.y-z_1"]
    assert len({schema_of(job) for job in long}) == len(long)
    assert all(len(schema_of(job)) <= SCHEMA_BYTES for job in long)


@pytest.mark.parametrize(
    ("rest", "wrong"),
    [
        ("h:0/d", "has the port 0; a port is a number from 1 to 65535"),
        ("h:99999/d", "has the port 99999"),
        ("h/d?sslmode=verifyfull", "has the unknown sslmode verifyfull; did you mean verify-full?"),
        ("h/d?sslmode=tls", "known: allow, disable, prefer, require, verify-ca, verify-full"),
        ("h/d?sslmode", "has the parameter sslmode without a value"),
        ("h/d?target_session_attrs=writable", "has the unknown target_session_attrs writable"),
        ("h/d?host=/a&host=/b", "has a parameter twice"),
        ("h/d?sslmodes=require", "has the unknown parameter sslmodes; known: host, "),
    ],
)
def test_what_libpq_would_refuse_is_refused_with_the_file(rest: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=r"^has ") as refused:
        state_url(f"postgresql+psycopg://me@{rest}")
    assert wrong in str(refused.value)
