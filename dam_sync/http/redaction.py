"""Masks secrets in texts, logs and errors."""

from __future__ import annotations

import base64
import html
import json
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

MASK = "***"
_SHORTEST = 8  # a shorter secret may be part of an ordinary word: it is masked as a whole word alone
_WORD = 3  # characters; what is shorter still would mask half of every text
_PIECE = 6  # characters of a secret that are too many to show
_READ = 4  # times as many characters as are shown: what is masked becomes shorter
_DEPTH = 6  # of nested values in a log event; deeper ones are masked whole

_PERCENT = re.compile("%[0-9A-F]{2}")
_FOR_SCRIPTS = re.compile("[<>&+']")  # characters that libraries escape in JSON, so that HTML can hold it
_URL_SAFE = str.maketrans("+/", "-_")

_MOST_ISSUED = 1024  # tokens, of all jobs of a process

_hidden: set[str] = set()
_names: set[str] = set()  # secrets that also name secrets, as "password": masked last, or `password=x` would show x
_issued: dict[str, tuple[str, ...]] = {}  # tokens and their forms, oldest first
_changes = 0  # of both
_ordered: tuple[int, tuple[str, ...]] = (0, ())  # both, longest first, after so many changes
_lent: Counter[str] = Counter()  # hosts of links that others were given, by how many are in use

_SECRET_KEY = (
    r"(?:authorization|cookie|set-cookie|password|passwd|secret|client[_-]?secret|access[_-]?token|refresh[_-]?token"
    r"|id[_-]?token|api[_-]?key|x-api-key|accesstoken|x-authentication-token|private[_-]?key|signature|credential)"
)
_SIGNED = (
    r"(?:signature|expires|token|policy|key-pair-id|awsaccesskeyid|sig|hmac|hdnts|hdnea|jwt|auth|__token__"
    r"|x-(?:amz|goog|oss)-[\w-]{1,60})"
)

_REFERENCE = (
    r"\$\{(?:env|file|keyring):[^\s{}]*\}(?=[\s,;&\"']|$)"  # names a secret, and is what to correct in a job file
)

_PARAMETER = re.compile(rf"(?i)\b{_SIGNED}=")


def _query(found: re.Match[str]) -> str:
    """A query without its parameters, if one of them signs it. Takes time by the length: a lookahead in the pattern
    would read the rest at each question mark."""
    return f"?{MASK}" if _PARAMETER.search(found[0]) else found[0]


_TOKEN = r"[\w.~+/-]*(?:[0-9_~+/=]|[a-z][A-Z]|\.\w)|\w{20}"  # what a word of a sentence has not: `standard bearer`
_DIGEST = r"(?:username|realm|nonce|uri|response|cnonce|opaque|qop|nc|algorithm)"

_MASKS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]{0,30}://)[^/\s:@\"']*:[^/\s@\"']*@"), rf"\1{MASK}@"),
    (re.compile(r"\?[^\s\"'<>]*"), _query),
    (re.compile(r"(?i)(?:(?<=^)|(?<=[\s&;]))" + r"((?:x-amz|x-goog)-[\w-]+=)[^&\s\"'<>]+"), rf"\1{MASK}"),
    (re.compile(rf"\b((?i:bearer))\s+(?={_TOKEN})[\w.~+/=-]{{4,}}"), rf"\1 {MASK}"),
    (re.compile(rf"(?i)\b(digest)\s+(?={_DIGEST}=)(?:[\s,]*\w+=(?:\"[^\"]*\"|[^\s,\"]+))+"), rf"\1 {MASK}"),
    (re.compile(r"\b([Bb]asic)\s+(?=\S*[0-9=+/A-Z])[\w+/=-]{8,}"), rf"\1 {MASK}"),
    (re.compile(r"\bw(at|ac|rt)_[\w-]+"), rf"w\1_{MASK}"),
    (re.compile(r"\beyJ[\w-]{8,}(?:\.[\w-]*)*"), MASK),
    (
        re.compile(
            rf"(?i)(\b{_SECRET_KEY}\b[\"']?\s*[:=]\s*)(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(?!{re.escape(MASK)}|{_REFERENCE})[^\s,;&\"'}}]+)"
        ),
        rf"\1{MASK}",
    ),
)
_SECRET_NAME = re.compile(rf"(?i)(?:^|[_.-]){_SECRET_KEY}$")


def hide(*secrets: str) -> None:
    """Mask these texts everywhere from now on; those of 3 to 7 characters only as whole words."""
    for secret in secrets:
        if len(secret) >= _WORD:
            (_names if _SECRET_NAME.search(secret) else _hidden).update(_forms(secret), _in_base64(secret))
    _changed()


def hide_issued(*tokens: str) -> None:
    """The same for what a server issues, again and again: of many tokens only the newest are remembered, because the
    others are used up or have expired."""
    for token in tokens:
        if len(token) >= _WORD:
            _issued.pop(token, None)
            _issued[token] = tuple(dict.fromkeys(_forms(token)))
    for token in list(_issued)[:-_MOST_ISSUED]:
        del _issued[token]
    _changed()


def _changed() -> None:
    global _changes
    _changes += 1


def _longest_first() -> tuple[str, ...]:
    """Ordered once for many texts. Another thread may add a secret meanwhile: the next text has it."""
    global _ordered
    changes, (done, ordered) = _changes, _ordered
    if done != changes:
        ordered = tuple(sorted(_hidden.union(*_issued.values()), key=len, reverse=True))
        _ordered = changes, ordered
    return ordered


@contextmanager
def lending(url: str) -> Iterator[None]:
    """Mask every URL on the host of a link while somebody else has it: what they report of it may repeat it, in whole
    or cut, and not every link has a signature by which it is recognized."""
    host = urlsplit(url).netloc
    _lent[host] += 1
    try:
        yield
    finally:
        _lent[host] -= 1
        if not _lent[host]:
            del _lent[host]


@lru_cache(maxsize=64)
def _on(host: str) -> re.Pattern[str]:
    """The URLs on a host, also escaped as in JSON, or percent-encoded."""
    return re.compile(rf"(?i)({'|'.join({re.escape(host), re.escape(quote(host, safe=''))})})(?:/|\\/|%2f)[^\s\"'<>]*")


def _forms(secret: str) -> Iterator[str]:
    """How a text is written in URLs, JSON, HTML and messages of Python, by the libraries of several languages."""
    yield secret
    for quoted in (
        *(quote(secret, safe=safe, errors="replace") for safe in ("", "/")),
        quote_plus(secret, errors="replace"),
    ):
        yield quoted
        yield _PERCENT.sub(lambda found: found[0].lower(), quoted)
    for strict in (True, False):
        written = json.dumps(secret, ensure_ascii=strict)[1:-1]
        yield written
        yield written.replace("/", r"\/")
        for digits in ("04x", "04X"):
            yield _FOR_SCRIPTS.sub(partial(_unicode_escape, digits), written)
    marked = html.escape(secret)
    yield marked
    for quote_mark, apostrophe in (("&#34;", "&#39;"), ("&quot;", "&#39;"), ("&quot;", "&#039;"), ("&quot;", "&apos;")):
        yield marked.replace("&quot;", quote_mark).replace("&#x27;", apostrophe)
    yield repr(secret)[1:-1]


def _unicode_escape(digits: str, found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):{digits}}"


def _in_base64(secret: str) -> Iterator[str]:
    """What is the same in the Base64 of any text with the secret in it, as after a user name, if that is much of it."""
    data = secret.encode("utf-8", "replace")
    for before in range(3):
        coded = base64.b64encode(bytes(before) + data)
        whole = coded[-(-before * 4 // 3) : (before + len(data)) // 3 * 4].decode()
        if len(whole) >= _SHORTEST:
            yield whole
            yield whole.translate(_URL_SAFE)


def redact(text: str) -> str:
    """The text with credentials, tokens, `user:password@` and queries of signed URLs masked; safe to repeat."""
    text = _without(_longest_first(), text)
    for host in filter(None, tuple(_lent)):
        text = _on(host).sub(rf"\1/{MASK}", text)
    for pattern, replacement in _MASKS:
        text = pattern.sub(replacement, text)
    return _without(sorted(_names, key=len, reverse=True), text)


def excerpt(text: str, most: int) -> str:
    """The beginning of a text that somebody else wrote: redacted, at most `most` characters. Where it is cut, here or
    before, it may end within a secret, which is no longer found as a whole: its beginning is masked."""
    read = text[: _READ * most]
    cut = max((_overlap(read, secret) for secret in (*_longest_first(), *_names)), default=0)
    return redact(read[: len(read) - cut] + MASK if cut else read)[:most]


def _overlap(text: str, secret: str) -> int:
    """How many characters at the end of the text begin the secret; zero for a few, which say nothing."""
    begins = secret[:_PIECE]
    at = text.find(begins, max(0, len(text) - len(secret) + 1)) if len(secret) >= _SHORTEST else -1
    while at >= 0:
        if secret.startswith(text[at:]):
            return len(text) - at
        at = text.find(begins, at + 1)
    return 0


def _without(longest_first: Iterable[str], text: str) -> str:
    for secret in longest_first:
        if secret in text:
            text = text.replace(secret, MASK) if len(secret) >= _SHORTEST else _whole(secret).sub(MASK, text)
    return text


@lru_cache(maxsize=64)
def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")


def redacting_processor(logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """structlog processor that redacts every value of an event, including tracebacks, which it renders."""
    problem = event.pop("exc_info", None)
    if problem:
        event["exception"] = _trace(problem)
    for key in list(event):
        event[key] = _clean(key, event[key], _DEPTH)
    return event


def _clean(key: str, value: object, depth: int) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth == 0 or (key and _SECRET_NAME.search(key)):
        return MASK
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: _clean(str(name), part, depth - 1) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean("", part, depth - 1) for part in value]
    return redact(str(value))


def _trace(problem: object) -> str:
    """The traceback as text, redacted."""
    if isinstance(problem, BaseException):
        lines = traceback.format_exception(problem)
    elif isinstance(problem, tuple) and len(problem) == 3 and isinstance(problem[1], BaseException):
        lines = traceback.format_exception(problem[1])
    else:
        lines = [traceback.format_exc()]
    return redact("".join(lines).rstrip())
