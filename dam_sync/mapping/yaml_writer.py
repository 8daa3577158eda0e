"""Writes readable YAML: one line per entry, with its reason as a comment."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from dam_sync.mapping.similarity import one_line
from dam_sync.model.unicode_forms import CharacterTable
from dam_sync.model.values import Json

BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
LONGEST_COMMENT = 200
LONGEST_KEY = 1000  # characters; a longer one needs a question mark before it (YAML 1.2.2, 7.4.2 and 8.2.2)


def flow(value: Json) -> str:
    """A value on one line."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case str():
            return quoted(value)
        case Mapping():
            return "{" + ", ".join(f"{_key(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
        case _:
            return "[" + ", ".join(flow(item) for item in value) + "]"


def quoted(text: str) -> str:
    """A text, in double quotes unless it is a plain word that means nothing else."""
    if BARE.fullmatch(text) and text.casefold() not in WORDS:
        return text
    return f'"{text.translate(_QUOTED)}"'


def _key(text: str, indent: str | None = None) -> str:
    """A key up to its colon, on its own line if it is long; indent: None in a value on one line."""
    key = quoted(text)
    if len(key) <= LONGEST_KEY:
        return key
    return f"? {key} " if indent is None else f"? {key}\n{indent}"


def _letter(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_QUOTED = CharacterTable(_letter)


def entry(key: str, value: Json, why: str = "", indent: str = "") -> str:
    """A key with its value, and a comment."""
    comment = one_line(why, LONGEST_COMMENT)
    return f"{indent}{_key(key, indent)}: {flow(value)}" + (f"  # {comment}" if comment else "")


def block(key: str, entries: Iterable[str]) -> Iterator[str]:
    """A key with lines below it; nothing if there are none."""
    lines = list(entries)
    if lines:
        yield f"{key}:"
        yield from lines


def comment(text: str) -> str:
    """A comment line."""
    return f"# {one_line(text, LONGEST_COMMENT * 5)}"
