"""Keeps secrets and signed URLs out of every text that leaves us."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

MASK = "[hidden]"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), rf"\1 {MASK}"),
    (re.compile(r"\bw(?:at|ac|rt)_[A-Za-z0-9-]+_[A-Za-z0-9]+"), MASK),
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}"), MASK),
    (re.compile(r"(?i)(https?://)[^/\s:@]+:[^/\s@]+@"), rf"\1{MASK}@"),
    (re.compile(r"(?i)(https?://[^\s?\"'<>]+)\?[^\s\"'<>]*(?:signature|expires|token|key-pair-id|x-amz-|sig=|policy=)[^\s\"'<>]*"),
     rf"\1?{MASK}"),
    (re.compile(r"(?i)(\"?(?:password|client_secret|refresh_token|access_token|api_key|secret_key)\"?\s*[:=]\s*\"?)[^\s\",}&]+"),
     rf"\1{MASK}"),
)  # fmt: skip
_SECRET_KEYS = frozenset({"authorization", "password", "token", "secret", "cookie", "set-cookie", "x-api-key", "url"})


def redact(text: str) -> str:
    """The text with everything that looks like a credential or a signed URL masked."""
    for pattern, mask in _RULES:
        text = pattern.sub(mask, text)
    return text


def host_of(url: str) -> str:
    """All that may be told of a signed link."""
    return urlsplit(url).hostname or "another host"


def redacting_processor(_logger: Any, _name: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """For structlog: masks values by name and by shape, also inside mappings and lists."""
    for key, value in event.items():
        event[key] = _masked(key, value)
    return event


def _masked(key: str, value: Any) -> Any:
    if key.lower() in _SECRET_KEYS:
        return MASK
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {name: _masked(str(name), inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked("", inner) for inner in value]
    if isinstance(value, BaseException):
        return redact(str(value))
    return value
