"""Untrusted text made safe to show: it cannot control a terminal, reorder a line or start a formula."""

from __future__ import annotations

import re

_STEERING = "\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_LINES = re.compile(f"[{_STEERING}]")
_LINE = re.compile(f"[\t\n{_STEERING}]")
_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_FORMULA = "[=+\\-@\uff1d\uff0b\uff0d\uff20\t\r]"  # also full width
# At the start of a cell, and after what splits it in a spreadsheet of another language, whatever its quotes say
_UNGUARDED = re.compile(f"^(?='*{_FORMULA})|(?<=[;\t\n])(?=[\"']*{_FORMULA})")
_GUARDED = re.compile(f"^'(?='*{_FORMULA})|(?<=[;\t\n])'(?=[\"']*{_FORMULA})")


def visible(text: str) -> str:
    """One line: control characters, line ends and characters that change the direction as `\\x1b` or `\\u202e`."""
    return _LINE.sub(_escaped, text)


def visible_lines(text: str) -> str:
    """Like `visible`, but keeps line feeds and tabs: for text with our own line breaks."""
    return _LINES.sub(_escaped, text)


def visible_json(text: str) -> str:
    """JSON text with such characters escaped; the data stays the same."""
    return _JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def shown_name(name: str) -> str:
    """The name of a field in a list. What cannot be told from another name on a screen (whitespace other than single
    spaces between words, characters that are not printed) is escaped, and the name is in quotes."""
    escaped = re.sub(r"(?<=\s)\s|^\s|\s$", lambda found: _code_point(found[0]), name)
    escaped = "".join(each if each.isprintable() else _code_point(each) for each in escaped)
    return name if escaped == name else f'"{escaped}"'


def csv_cell(value: object) -> str:
    """A value as a CSV cell: one line, not a formula."""
    return guarded(visible(str(value)))


def guarded(text: str) -> str:
    """A cell of which no spreadsheet interprets a part as a formula, also if it separates cells at semicolons."""
    return _UNGUARDED.sub("'", text)


def unguarded(text: str) -> str:
    """The inverse of `guarded`."""
    return _GUARDED.sub("", text)


def _code_point(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    if found[0] == "\n":
        return "\\n"
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
