"""Nothing secret in texts and logs."""

from __future__ import annotations

import base64
import html
import io
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from urllib.parse import quote, quote_plus

import pytest
import structlog

from dam_sync.http.redaction import excerpt, hide, hide_issued, lending, redact, redacting_processor
from dam_sync.model.errors import Denied

SECRET = "S3cr3tValu3xyz"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {SECRET}",
        f"authorization=Bearer {SECRET}",
        f"{{'Authorization': 'Basic {SECRET}=='}}",
        f'{{"authorization": "Bearer {SECRET}"}}',
        f"bearer {SECRET} was refused",
        f"Basic {SECRET}==",
        f"https://user:{SECRET}@dam.example/x",
        f"ftp://user:{SECRET}@dam.example/x",
        f"postgresql+psycopg://me:{SECRET}@db.example/state",
        f"https://cdn.example/f?Expires=1&Signature={SECRET}&Key-Pair-Id=K",
        f"https://s3.example/f?X-Amz-Credential=a&X-Amz-Signature={SECRET}",
        f"https://s3.example/f?x-goog-signature={SECRET}.",
        f"https://x.example/f?a=1&token={SECRET}",
        f"see (https://x.example/f?sig={SECRET}) there",
        f"https://x.example/f?e=1&hmac={SECRET}",
        f"https://x.example/f?jwt={SECRET}",
        f"https://x.example/f?hdnts=exp=1~hmac={SECRET}",
        f"wat_demo_{SECRET}",
        f"wrt_demo_{SECRET} and wac_demo_{SECRET}",
        f"eyJhbGciOiJIUzI1NiJ9.{SECRET}.{SECRET}",
        f"password={SECRET}",
        f"client_secret: {SECRET}",
        f'{{"refresh_token": "{SECRET}"}}',
        f'{{"access_token":"{SECRET}","expires_in":3600}}',
        f"X-API-Key: {SECRET}",
        f"Set-Cookie: session={SECRET}; Path=/",
        f"X-Authentication-Token: {SECRET}",
        f"api_key='{SECRET}'",
    ],
)
def test_what_is_masked(text: str) -> None:
    clean = redact(text)
    assert SECRET not in clean
    assert "***" in clean
    assert redact(clean) == clean


OPAQUE = "kY7tq0Lw9ZsXe4Rb2NvGf8Hj"  # of no form that is known


def pieces_of(secret: str, text: str) -> list[str]:
    """The pieces of a secret in a text, from six characters on."""
    return [secret[at : at + 6] for at in range(len(secret) - 5) if secret[at : at + 6] in text]


@pytest.mark.parametrize("before", range(0, 40, 3))
@pytest.mark.parametrize("between", ["", " ", " " * 30])
def test_an_excerpt_has_no_piece_of_a_secret(before: int, between: str) -> None:
    """Also not where it is cut: what is masked becomes shorter, so that more of the text is shown."""
    hide(OPAQUE)
    shown = excerpt("x" * before + (between + OPAQUE) * 300, 300)
    assert not pieces_of(OPAQUE, shown)
    assert "***" in shown
    assert len(shown) <= 300


@pytest.mark.parametrize("end", range(6, len(OPAQUE)))
def test_a_text_that_was_cut_before_has_no_piece_of_a_secret(end: int) -> None:
    hide(OPAQUE)
    assert not pieces_of(OPAQUE, excerpt(f"refused: {OPAQUE[:end]}", 80))


def test_issued_tokens_are_masked_and_older_ones_forgotten() -> None:
    """A server that issues one for every call fills no memory, and what is configured stays masked."""
    hide("c0nfigur3d-f0r-ever")
    tracemalloc.start()
    try:
        for number in range(5_000):
            hide_issued(f"issued-{number}-" + "x" * 1000)
        assert tracemalloc.get_traced_memory()[0] < 4 << 20
    finally:
        tracemalloc.stop()
    for number in (4_999, 4_950):
        assert f"issued-{number}" not in redact(f"token issued-{number}-" + "x" * 1000)
    assert redact("c0nfigur3d-f0r-ever") == "***"


def test_a_configured_secret_that_is_issued_as_well_is_not_forgotten() -> None:
    hide("c0nfigur3d-as-w3ll")
    hide_issued("c0nfigur3d-as-w3ll")
    for number in range(2_000):
        hide_issued(f"another-issued-{number}")
    assert redact("c0nfigur3d-as-w3ll") == "***"


def test_an_excerpt_of_a_short_text_is_the_text() -> None:
    assert excerpt("the token has expired", 80) == "the token has expired"
    assert excerpt("", 80) == ""


@pytest.mark.parametrize(
    "text",
    [
        "PUT /v2/assets/{id}/metadata, asset 7: returned 409 Conflict: Basic metadata is missing",
        "https://dam.example/assets?query=sea&limit=100",
        "the token has expired",
        "12:30:45, 5@10, a:b",
        "Signature of the form",
        "basic checks passed",
        "été — ✓",
        "",
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    "part", ["?a", "?x-amz-", "x-amz-", "?", 'password="', "basic ", "bearer ", "eyJ", "a://b:", "&sig"]
)
def test_a_long_text_takes_time_by_its_length(part: str) -> None:
    """A title is whatever a user of the source wrote; with a square of its length this would take hours."""
    assert SECRET not in redact(f"{part * 100_000} password={SECRET}")


def test_a_known_secret_is_masked_wherever_it_is() -> None:
    hide("Ein ganz /geheimes/ Wort")
    assert redact("x Ein ganz /geheimes/ Wort y") == "x *** y"
    assert redact("?q=Ein%20ganz%20%2Fgeheimes%2F%20Wort") == "?q=***"


@pytest.mark.parametrize(
    "written",
    [
        r"s\u0027e\u0026c\u002Br\u003Ce\u003Et/=1-",
        r"s'e&c+r<e>t\/=1-",
        "s%27e%26c%2br%3ce%3et%2f%3d1-",
        "s&#39;e&amp;c+r&lt;e&gt;t/=1-",
        "s&#039;e&amp;c+r&lt;e&gt;t/=1-",
        "s&apos;e&amp;c+r&lt;e&gt;t/=1-",
    ],
)
def test_a_known_secret_is_masked_as_libraries_of_other_languages_write_it(written: str) -> None:
    """A service may repeat what it was sent, in a page or a message that nobody can parse."""
    hide("s'e&c+r<e>t/=1-")
    assert redact(f"x {written} y") == "x *** y"


@pytest.mark.parametrize("user", ["", "u:", "us:", "user:", "a longer user:"])
@pytest.mark.parametrize("coded", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_known_secret_is_masked_in_base64_whatever_is_before_it(user: str, coded: Callable[[bytes], bytes]) -> None:
    hide("correct horse ?>~ battery")
    shown = redact(f"x {coded(f'{user}correct horse ?>~ battery'.encode()).decode()} y")
    assert "***" in shown
    assert len(shown) < len(user) * 2 + 20


@pytest.mark.parametrize("secret", ['quo"ted\\secret', "pässwörd-long", "it's <a> secret & more", "se cret+long/=1"])
@pytest.mark.parametrize(
    "written",
    [json.dumps, partial(json.dumps, ensure_ascii=False), html.escape, repr, quote, quote_plus],
)
def test_a_known_secret_is_masked_however_it_is_written(secret: str, written: Callable[[str], str]) -> None:
    hide(secret)
    assert written(secret).strip("\"'") not in redact(f"x {written(secret)} y")
    assert "***" in redact(f"x {written(secret)} y")


@pytest.mark.parametrize(
    "text", ["the key k3y!z is unknown", "key=k3y!z", "(k3y!z)", "'k3y!z'", "?q=k3y%21z&x=1", "k3y!z"]
)
def test_a_short_secret_is_masked_where_it_is_a_whole_word(text: str) -> None:
    hide("k3y!z", "", "a", "is")
    assert redact(text) == text.replace("k3y!z", "***").replace("k3y%21z", "***")
    assert redact("ak3y!zb is a") == "ak3y!zb is a"


def test_logs_are_redacted() -> None:
    out = io.StringIO()
    logger = structlog.wrap_logger(
        structlog.PrintLogger(out),
        processors=[redacting_processor, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(0),
        context_class=dict,
    )
    try:
        raise Denied(f"Bearer {SECRET}")
    except Denied as problem:
        logger.error(
            f"call.failed Bearer {SECRET}",
            url=f"https://cdn.example/f?Signature={SECRET}",
            password=SECRET,
            headers={"Authorization": f"Basic {SECRET}", "nested": [{"client-secret": SECRET}]},
            problem=problem,
            body=f"token=wat_x_{SECRET}".encode(),
            count=3,
            rate=0.5,
            nothing=None,
            exc_info=True,
        )
    text = out.getvalue()
    assert SECRET not in text
    event = json.loads(text)
    assert (event["count"], event["rate"], event["nothing"]) == (3, 0.5, None)
    assert event["url"] == "https://cdn.example/f?***"
    assert "Denied" in event["exception"]
    assert "exc_info" not in event


@pytest.mark.parametrize("given", ["error", "tuple"])
def test_tracebacks_of_every_form(given: str) -> None:
    problem = ValueError(f"Bearer {SECRET}")
    shown = {"error": problem, "tuple": (ValueError, problem, None)}[given]
    event = redacting_processor(None, "error", {"event": "x", "exc_info": shown})
    assert "ValueError" in event["exception"]
    assert SECRET not in event["exception"]


def test_endless_nesting_ends() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert redacting_processor(None, "info", {"event": "x", "data": endless})["data"]


PLACE = "0p4qu3xPl4c3zzz"  # hidden by no other test
LENT = f"https://files.example:8443/s/{PLACE}/a.jpg"  # without a signature that would give it away


@pytest.mark.parametrize(
    "text",
    [
        f"could not read {LENT}",
        f"could not read {LENT[:-9]}",
        f"could not read {LENT.upper()}",
        json.dumps({"url": LENT}).replace("/", "\\/"),
        f"see ?url={quote(LENT, safe='')}",
    ],
)
def test_a_link_that_others_were_given_is_masked_as_long_as_it_is_in_use(text: str) -> None:
    with lending(LENT), lending(LENT):
        pass
    assert PLACE[:8].casefold() in redact(text).casefold()
    with lending(LENT):
        with lending(LENT):
            pass
        assert PLACE[:8].casefold() not in redact(text).casefold()
        assert "files.example" in redact(text).casefold()


def test_a_link_that_is_no_url_hides_nothing() -> None:
    with lending("nothing"), lending(""):
        assert redact("nothing / else") == "nothing / else"


def _alone(*texts: str, secret: str = "") -> tuple[str, ...]:
    """The texts, redacted by a process of its own: a secret of another test may be one of their words."""
    code = (
        "import sys; from dam_sync.http.redaction import hide, redact\n"
        "hide(sys.argv[1]); print(*map(redact, sys.argv[2:]), sep='\\n')"
    )
    shown = subprocess.run([sys.executable, "-c", code, secret, *texts], capture_output=True, text=True, check=True)
    return tuple(shown.stdout.splitlines())


@pytest.mark.parametrize("secret", ["secret", "password", "API_KEY", "my-secret"])
def test_a_secret_that_is_also_a_name_of_secrets_shows_no_value(secret: str) -> None:
    """People give such passwords to tenants for trials; masked first, nothing says that a secret follows."""
    texts = (f"{secret}=hunter22", f"{secret}: hunter22", f"the word {secret} alone", f'"{secret}": "{secret}"')
    shown = "\n".join(_alone(*texts, secret=secret))
    assert "hunter22" not in shown
    assert secret not in shown


def test_a_reference_to_a_secret_is_none() -> None:
    """An error has to say which variable is not set."""
    texts = (
        "webhooks.secret: ${env:HOOK_SECRET} is not set",
        "source.auth.password: ${file:/run/secrets/a} cannot be read",
        "target.auth.api_key: ${keyring:dam-sync/museum}",
    )
    assert _alone(*texts) == texts
    for text in ("password: ${hunter22", "secret=hunter22", "secret: ${other:hunter22}", "secret: ${env:hunter22}x"):
        assert "hunter22" not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        "sea.jpg: the md5 digest should be 7af43f3e but is 6c7b0b49",
        "the Digest of the file",
        "title: Banner bearer walking before the guild",
        "Bearer figure, oak",
    ],
)
def test_words_that_also_name_a_scheme_of_authentication_are_left_in_sentences(text: str) -> None:
    assert redact(text) == text


def test_what_follows_a_scheme_of_authentication_is_masked() -> None:
    for secret in ("wx7k9abc", "abcd.efgh", "abcdefghijklmnopqrstuvwx", "QUJDRA=="):
        assert secret not in redact(f"Bearer {secret}")
        assert secret not in redact(f"bearer {secret} was refused")
    digest = redact('Digest username="sync", realm="dam", nonce="dcd98b", response="6629fae49393a05397450978507c4ef1"')
    assert not any(secret in digest for secret in ("6629fae4", "dcd98b", "sync"))
