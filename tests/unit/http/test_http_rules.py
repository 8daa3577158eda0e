"""What a refusal means."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dam_sync.http.error_rules import ErrorRule, Refusal, error_for, explanation
from dam_sync.http.redaction import hide
from dam_sync.model.errors import (
    ConfigError,
    Conflict,
    ContractBroken,
    DamSyncError,
    Denied,
    InvalidValue,
    NotFound,
    Rejected,
    SessionGone,
    Throttled,
    TooLarge,
    Transient,
    Unsupported,
)


def refusal(status: int, body: Any = b"", **changes: Any) -> Refusal:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Refusal(**{"status": status, "headers": {}, "body": raw, "service": "x", "operation": "GET /a", **changes})


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, InvalidValue),
        (422, InvalidValue),
        (401, Denied),
        (403, Denied),
        (404, NotFound),
        (410, NotFound),
        (409, Conflict),
        (412, Conflict),
        (413, TooLarge),
        (408, Transient),
        (429, Throttled),
        (500, Transient),
        (502, Transient),
        (503, Transient),
        (599, Transient),
        (501, Unsupported),
        (407, ConfigError),
        (405, ContractBroken),
        (415, Rejected),
        (451, Rejected),
        (302, ContractBroken),
        (799, ContractBroken),
    ],
)
def test_defaults(status: int, error: type[DamSyncError]) -> None:
    assert type(error_for((), refusal(status))) is error


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        ({"error": "not_found", "error_description": "Asset not found"}, "Asset not found", "not_found"),
        ({"status": 404, "code": "file-not-found"}, "file-not-found", "file-not-found"),
        ({"entity-type": "exception", "status": 404, "message": "No such document"}, "No such document", ""),
        ({"errors": [{"status": "422", "title": "Nope", "detail": "Slug taken"}]}, "Slug taken", ""),
        ({"errors": [{"code": "x-1", "detail": "One"}, {"detail": "Two"}]}, "One; Two", "x-1"),
        ({"errors": {"title": ["is missing"]}}, "is missing", ""),
        ({"error": {"code": "quota", "message": "Full"}}, "Full", "quota"),
        ({"code": 1234, "detail": "Odd"}, "Odd", "1234"),
        ("a bare text", "a bare text", ""),
        (b"plain words\n over  lines", "plain words over lines", ""),
        (b"", "", ""),
        (b"   ", "", ""),
        (b"<!DOCTYPE html><html><head><title> Bad\n gateway</title>", "an HTML page, “Bad gateway”", ""),
        (b"<html><body>oops", "an HTML page", ""),
        (b"<?xml version='1.0'?><Error><Code>Expired</Code><Message>Too late</Message></Error>", "Too late", "Expired"),
        (b"\xff\xfe\x00", "\ufffd\ufffd\x00", ""),
        (None, "", ""),
        ([], "", ""),
        ({"message": None, "error": "", "detail": {"deep": 1}}, "", ""),
    ],
)
def test_what_bodies_say(body: Any, message: str, code: str) -> None:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = explanation({}, raw)
    assert found == (message, code) or ("deep" in str(body) and found[1] == code)


def test_a_page_is_recognized_by_its_type_too() -> None:
    assert explanation({"content-type": "text/html; charset=utf-8"}, b"<p>x")[0] == "an HTML page"


RULES = (
    ErrorRule(404, SessionGone, operation="* /files/*", code="gone-*", hint="begin again"),
    ErrorRule(404, Conflict, operation="PUT /files"),
    ErrorRule(range(400, 500), Unsupported, code="feature-off"),
    ErrorRule(None, Throttled, code="slow-down"),
)


@pytest.mark.parametrize(
    ("status", "operation", "code", "error"),
    [
        (404, "POST /files/{id}", "gone-now", SessionGone),
        (404, "POST /files/{id}", "other", NotFound),
        (404, "PUT /files/{id}", "other", Conflict),
        (403, "GET /a", "feature-off", Unsupported),
        (500, "GET /a", "feature-off", Transient),
        (403, "GET /a", "slow-down", Throttled),
    ],
)
def test_the_first_rule_that_fits(status: int, operation: str, code: str, error: type[DamSyncError]) -> None:
    assert type(error_for(RULES, refusal(status, {"code": code}, operation=operation))) is error


def test_an_error_says_what_where_and_what_next() -> None:
    error = error_for(RULES, refusal(404, {"code": "gone-now"}, operation="PUT /files/{id}", asset="7"))
    assert str(error) == "x, PUT /files/{id}, asset 7: returned 404 Not Found: gone-now"
    assert (error.hint, error.code, error.service) == ("begin again", "gone-now", "x")


def test_a_pause_is_handed_on() -> None:
    error = error_for((), refusal(503, retry_after=12.5))
    assert isinstance(error, Transient)
    assert error.retry_after == 12.5


def test_a_signed_link_is_named_by_its_host() -> None:
    error = error_for((), refusal(404, where="a signed link on host cdn.example"))
    assert error.message == "a signed link on host cdn.example returned 404 Not Found"


def test_a_refused_signed_link_has_no_hint_about_rights_in_the_service() -> None:
    rules = (ErrorRule(403, Rejected, operation="GET /files/*", hint="grant the user permission"),)
    asked = {"operation": "GET /files/{id}"}
    assert error_for(rules, refusal(403, **asked)).hint == "grant the user permission"
    error = error_for(rules, refusal(403, where="a signed link on host cdn.example", **asked))
    assert isinstance(error, Rejected)
    assert "it may have expired" in error.hint


def test_texts_are_redacted_and_short() -> None:
    body = {"message": "token wat_demo_b1d3c61e03c6 in https://u:pw@h/x?Signature=abcd " + "x" * 5000}
    error = error_for((), refusal(400, body))
    assert len(error.message) <= 300
    assert "b1d3c61e03c6" not in error.message
    assert "pw@" not in error.message
    assert "abcd" not in error.message


OPAQUE = "mB3xV9cTq7RzLw5KpYd2"  # of no form that is known
ECHOES = {
    "json": b'{"message": "%s"}',
    "code": b'{"code": "%s"}',
    "html": b"<html><title>%s</title>",
    "xml": b"<Error><Message>%s</Message></Error>",
    "text": b"%s",
}


@pytest.mark.parametrize("form", ECHOES)
@pytest.mark.parametrize("before", range(0, 24, 5))
def test_a_secret_that_is_repeated_often_is_shown_nowhere(form: str, before: int) -> None:
    hide(OPAQUE)
    for space in (b"", b" ", b" " * 200):
        body = ECHOES[form].replace(b"%s", b"x" * before + (OPAQUE.encode() + space) * 500)
        error = error_for((), refusal(400, body))
        assert not [at for at in range(len(OPAQUE) - 5) if OPAQUE[at : at + 6] in error.message + error.code]


@settings(max_examples=150, deadline=None)
@given(
    status=st.integers(300, 599),
    body=st.one_of(
        st.binary(max_size=200),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=20),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["error", "errors", "message", "code", "status", "detail", "x"]), inner, max_size=4
                )
            ),
            max_leaves=12,
        ).map(lambda data: json.dumps(data).encode()),
    ),
)
def test_any_body_gives_an_error(status: int, body: bytes) -> None:
    error = error_for(RULES, refusal(status, body))
    assert isinstance(error, DamSyncError)
    assert 0 < len(error.message) <= 300
    assert len(error.code) <= 80
