"""The grammar of search terms (wire D 2.2)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import translate
from typing import TypeAlias

_FACET = re.compile(r'\(\s*(?:"(?P<quoted>[^"]*)"|(?P<name>[^:"]*))\s*:\s*(?P<value>.*?)\s*\)$', re.DOTALL)
_NAMED = re.compile(r'"?\s*(?P<name>[A-Za-z_][A-Za-z0-9_]*)\s*:\s+(?P<value>.*?)\s*"?$', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Everything:
    """`*`."""

    negated: bool = False


@dataclass(frozen=True, slots=True)
class Facet:
    """`(Attribute Name:Value)`, by display name."""

    name: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """`searchfield: value`."""

    field: str
    value: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Plain:
    """A keyword, wildcards and all."""

    text: str
    negated: bool = False


Term: TypeAlias = Everything | Facet | Named | Plain


def parse(text: str, known: Callable[[str], bool]) -> Term:
    """A term; `known` says whether a word is a search field."""
    text = text.strip()
    negated = text.startswith("-")
    text = text[1:].strip() if negated else text
    if text in ("*", ""):
        return Everything(negated)
    facet = _FACET.match(text)
    if facet is not None:
        name = facet["quoted"] if facet["quoted"] is not None else facet["name"]
        return Facet(name.strip(), unquoted(facet["value"]), negated)
    named = _NAMED.match(text)
    if named is not None and known(named["name"]):
        return Named(named["name"], named["value"], negated)
    return Plain(unquoted(text), negated)


def unquoted(text: str) -> str:
    """Without one pair of double quotes around it."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def pattern(text: str) -> re.Pattern[str] | None:
    """What a text with wildcards matches; None without any."""
    return re.compile(translate(text.replace("[", "[[]"))) if "*" in text or "?" in text else None
