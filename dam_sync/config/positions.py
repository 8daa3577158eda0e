"""Where a character of a value is in the YAML or TOML text it was read from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate

ESCAPES = {"x": 4, "u": 6, "U": 10}
"""Characters of an escape in double quotes, by the letter after the backslash; the others have two."""


def position_within(text: str, start: tuple[int, int], line: int, column: int) -> tuple[int, int]:
    """Line and column, from 1, of the character at `line` and `column` of a scalar that is written from `start` on:
    plain, in quotes, or as a block. A position that cannot be found is that of the scalar."""
    lines, starts = _lines_of(text)
    if not 1 <= start[0] <= len(lines):
        return start
    sign = lines[start[0] - 1][start[1] - 1 : start[1]]
    if sign in ("|", ">") and sign:
        return _in_block(lines, start, line if sign == "|" else 1, column)
    if line > 1:
        return start
    begin = starts[start[0] - 1] + start[1] - 1
    quote = sign if sign in ("'", '"') else ""
    found = _walked(text, begin + len(quote), quote, column - 1)
    number = bisect_right(starts, found)
    return number, found - starts[number - 1] + 1


@lru_cache(maxsize=2)
def _lines_of(text: str) -> tuple[Sequence[str], Sequence[int]]:
    """The lines of a text, and the index of the first character of each: once for all faults of a file."""
    lines = text.split("\n")
    return lines, [0, *accumulate(len(line) + 1 for line in lines[:-1])]


def _in_block(lines: Sequence[str], start: tuple[int, int], line: int, column: int) -> tuple[int, int]:
    first = next((lines[index] for index in range(start[0], len(lines)) if lines[index].strip()), "")
    indent = len(first) - len(first.lstrip(" "))
    where = start[0] + line
    return (where, indent + column) if where <= len(lines) else start


def _walked(text: str, index: int, quote: str, characters: int) -> int:
    """The index after so many characters of the value."""
    while characters > 0 and index < len(text):
        if text[index] == "\n":  # a line break and the indent of the next line are one space of the value
            index += 1
            while text[index : index + 1] in (" ", "\t") and index < len(text):
                index += 1
        elif quote == '"' and text[index] == "\\":
            index += ESCAPES.get(text[index + 1 : index + 2], 2)
        else:
            index += 2 if quote == "'" and text.startswith("''", index) else 1
        characters -= 1
    return min(index, len(text))
