"""Untrusted text made safe to show: it cannot control a terminal, reorder a line or start a formula."""

from __future__ import annotations

import json
import re

# What steers a terminal, hides, or shows nothing that all screens agree on: the categories Cc, Cf, Co, Cs, Zl and Zp of
# Unicode 16, the characters that Unicode reserves for more of them, and the letters that are never drawn. A tab and a
# line feed have rules of their own. This is the only table: a test compares it with the categories.
_STEERING = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\uf8ff\ufeff\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
)
# Marks that words of some scripts are written with: they join and part letters, and enclose numbers
_OF_WORDS = "\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200c-\u200f\U000110bd\U000110cd"
_LINES = re.compile(f"[{_STEERING}]")
_LINE = re.compile(f"[\t\n{_STEERING}]")
_COPIED = re.compile(f"(?![{_OF_WORDS}])[{_STEERING}]")
_JSON = re.compile(f"(?![\x00-\x1f])[{_STEERING}]")  # JSON itself escapes the others
_FORMULA = "[=+\\-@\uff1d\uff0b\uff0d\uff20\t\r]"  # also full width
# At the start of a cell, and after what splits it in a spreadsheet of another language, whatever its quotes say
_UNGUARDED = re.compile(f"^(?='*{_FORMULA})|(?<=[;\t\n])(?=[\"']*{_FORMULA})")
_GUARDED = re.compile(f"^'(?='*{_FORMULA})|(?<=[;\t\n])'(?=[\"']*{_FORMULA})")

_LONGEST_SHOWN = 500  # characters of the name of a field


def visible(text: str) -> str:
    """One line: control characters, line ends and characters that change the direction or hide as `\\x1b` or
    `\\u202e`. For output only: a value that is written to a service keeps the joiners that its script needs."""
    return _LINE.sub(_escaped, text)


def visible_lines(text: str) -> str:
    """Like `visible`, but keeps line feeds and tabs: for text with our own line breaks."""
    return _LINES.sub(_escaped, text)


def visible_json(text: str) -> str:
    """JSON text with such characters escaped; the data stays the same."""
    return _JSON.sub(lambda found: json.dumps(found[0])[1:-1], text)


def shown_name(name: str) -> str:
    """The name of a field in a list. What cannot be told from another name on a screen (whitespace other than single
    spaces between words, characters that are not printed) is escaped, and the name is in quotes. One that fills the
    screen is cut."""
    if len(name) > _LONGEST_SHOWN:
        name = f"{name[:_LONGEST_SHOWN]}…"
    escaped = re.sub(r"(?<=\s)\s|^\s|\s$", lambda found: _code_point(found[0]), name)
    escaped = "".join(each if _is_drawn(each) else _code_point(each) for each in escaped)
    return name if escaped == name else f'"{escaped}"'


def csv_cell(value: object) -> str:
    """A value as a CSV cell: one line, not a formula."""
    return guarded(visible(str(value)))


def copied_cell(text: str) -> str:
    """A value that people copy, change and give back, as a CSV cell: with its line ends, which spreadsheets keep, and
    the marks that its words are written with."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return guarded(_COPIED.sub(_escaped, lines))


def guarded(text: str) -> str:
    """A cell of which no spreadsheet interprets a part as a formula, also if it separates cells at semicolons."""
    return _UNGUARDED.sub("'", text)


def unguarded(text: str) -> str:
    """The inverse of `guarded`."""
    return _GUARDED.sub("", text)


def _is_drawn(character: str) -> bool:
    return character.isprintable() and not _LINES.match(character)


def _code_point(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _escaped(found: re.Match[str]) -> str:
    if found[0] == "\n":
        return "\\n"
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else _code_point(found[0])
