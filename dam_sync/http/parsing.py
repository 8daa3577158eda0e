"""JSON out of answers: bounded, and of valid text."""

from __future__ import annotations

import json
import re

from dam_sync.http.bounds import MOST_VALUES
from dam_sync.model.values import Json

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(rb"\\u[dD][89a-fA-F]")
_RAW = re.compile(rb"\xed[\xa0-\xbf]")  # UTF-8 of a surrogate, which is none
REPLACEMENT = "\ufffd"


class NoJson(ValueError):
    """What cannot be read as JSON, or is more of it than anything we ask for; the text says which."""


def parsed(body: bytes) -> Json:
    """The body as JSON; text that is no valid Unicode has U+FFFD in the place of each lone surrogate, so that whatever
    takes it on can write it. Raises NoJson."""
    if body.count(b",") + body.count(b"[") + body.count(b"{") > MOST_VALUES:
        raise NoJson(f"more than {MOST_VALUES} values")
    try:
        data = json.loads(body)
        return mended(data) if _ESCAPED.search(body) or _RAW.search(body) else data
    except RecursionError:
        raise NoJson("a value nested too deeply") from None
    except ValueError:
        raise NoJson("") from None


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
    """The text with U+FFFD in the place of each lone surrogate."""
    return _SURROGATE.sub(REPLACEMENT, text)
