"""Names joined into one text, and taken apart again. This is the only place that does it: other names give another
text, whatever characters they contain, because what separates them is escaped inside of them.

A backslash counts before a separator and before a backslash; before anything else it is a character of the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

ESCAPE = "\\"
BETWEEN = " / "
PIECE = 4096  # characters
_SLASHES = re.compile("(?<= )/+(?= )")


def escaped(name: str, separators: str) -> str:
    """The name with a backslash before each of these characters, and before each backslash."""
    if ESCAPE not in name and not any(each in name for each in separators):
        return name
    for each in dict.fromkeys(ESCAPE + separators):
        name = name.replace(each, ESCAPE + each)
    return name


def unescaped(text: str, separators: str) -> str:
    """The inverse of `escaped`."""
    return "".join(_parts(text, "", separators))


def joined(names: Iterable[str], separator: str) -> str:
    """The names with a character between them."""
    return separator.join(escaped(name, separator) for name in names)


def parted(text: str, separator: str, at_most: int = 0) -> list[str]:
    """The inverse of `joined`. at_most: how many parts, 0 for any number; the last one is left as it is."""
    return _parts(text, separator, separator, at_most)


def spaced(names: Iterable[str]) -> str:
    """The names with ` / ` between them, as one name that people read: there is no way back. Slashes of a name that
    would be taken for a separator get one more: `b / c` alone is `b // c`, so that it is not `b` and `c`."""
    parts = tuple(names)
    if not any("/" in name for name in parts):
        return BETWEEN.join(parts)
    return BETWEEN.join(_SLASHES.sub(r"\g<0>/", f" {name} ")[1:-1] for name in parts)


def _parts(text: str, separator: str, separators: str, at_most: int = 0) -> list[str]:
    if ESCAPE not in text and separator:
        return text.split(separator, at_most - 1 if at_most else -1)
    found, start, marks = list[str](), 0, _marks(separators)
    if at_most == 1:
        return [text]
    for mark in marks.finditer(text):
        if mark[0] == separator:
            found.append(_read(marks, text[start : mark.start()]))
            start = mark.end()
            if at_most and len(found) == at_most - 1:
                return [*found, text[start:]]
    return [*found, _read(marks, text[start:])]


def _read(marks: re.Pattern[str], text: str) -> str:
    """The text without what escapes. Long ones in pieces, because a substitution keeps all parts of a text at once."""
    if len(text) <= PIECE:
        return marks.sub(_meant, text)
    pieces, start = list[str](), 0
    while start < len(text):
        piece = text[start : start + PIECE]
        if (len(piece) - len(piece.rstrip(ESCAPE))) % 2:  # it would end within an escaped character
            piece = text[start : start + len(piece) + 1]
        pieces.append(marks.sub(_meant, piece))
        start += len(piece)
    return "".join(pieces)


@cache
def _marks(separators: str) -> re.Pattern[str]:
    """An escaped character, or one that separates."""
    counting = re.escape(ESCAPE + separators)
    return re.compile(f"{re.escape(ESCAPE)}[{counting}]|[{re.escape(separators)}]" if separators else r"\\\\")


def _meant(mark: re.Match[str]) -> str:
    return mark[0][-1]
