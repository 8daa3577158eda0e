"""Parses JSON: bounded, and with valid Unicode."""

from __future__ import annotations

import json
import re

import msgspec

from dam_sync.http.bounds import MOST_VALUES
from dam_sync.model.mistyped import REPLACEMENT
from dam_sync.model.values import Json

_STRICT: msgspec.json.Decoder[Json] = msgspec.json.Decoder()
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(rb"\\u[dD][89a-fA-F]")
_RAW = re.compile(rb"\xed[\xa0-\xbf]")  # a surrogate encoded as UTF-8, which is invalid


class InvalidJson(ValueError):
    """Not JSON, or larger than anything we request; the message says which."""


def parsed(body: bytes) -> Json:
    """The body as JSON; lone surrogates are replaced by U+FFFD, so that the text can be encoded. Raises InvalidJson."""
    if has_too_many_values(body):
        raise InvalidJson(f"more than {MOST_VALUES} values")
    try:
        return _STRICT.decode(body)  # up to twice as fast; what it refuses may still be JSON with lone surrogates
    except RecursionError:
        raise InvalidJson("a value nested too deeply") from None
    except (msgspec.DecodeError, ValueError):
        return _leniently(body)


def has_too_many_values(body: bytes) -> bool:
    """Whether `parsed` refuses JSON for their number, of which it takes a bound that costs little."""
    return len(body) > MOST_VALUES and body.count(b",") + body.count(b"[") + body.count(b"{") > MOST_VALUES


def parsed_text(text: str) -> Json:
    """The same for JSON that a response, or a file, has as text. Raises InvalidJson."""
    return parsed(text.encode("utf-8", "surrogatepass"))


def _leniently(body: bytes) -> Json:
    try:
        data = json.loads(body)
        return mended(data) if _ESCAPED.search(body) or _RAW.search(body) else data
    except RecursionError:
        raise InvalidJson("a value nested too deeply") from None
    except ValueError:
        raise InvalidJson("") from None


def mended(data: Json) -> Json:
    """JSON data without lone surrogates, in keys as well."""
    if isinstance(data, str):
        return valid(data)
    if isinstance(data, list):
        return [mended(item) for item in data]
    if isinstance(data, dict):
        return {valid(key): mended(item) for key, item in data.items()}
    return data


def valid(text: str) -> str:
    """The text with lone surrogates replaced by U+FFFD."""
    return _SURROGATE.sub(REPLACEMENT, text)
