"""What a YAML parser says of a broken file, in words that say what to do."""

from __future__ import annotations

import re

PROBLEMS = (
    (r"found character '\\t'", "a tab in front of the line", "YAML is indented by spaces: replace the tab"),
    (r"found duplicate key", "", "remove one of the two"),
    (
        r"mapping values are not allowed",
        "a second `: ` in one line, or a line that is indented too far",
        "indent it like the lines around it, or write text with a colon in quotes",
    ),
    (
        r"expected <block end>",
        "the line is indented differently from those around it",
        "indent all keys of a block by the same number of spaces",
    ),
    (r"expected ',' or '([\]}])'", "a comma or a bracket is missing before this", "write [a, b] or {a: 1, b: 2}"),
    (r"found '<stream end>'", "a bracket is not closed", "close it"),
    (r"found unexpected end of stream", "a quote is not closed", "close it"),
    (r"could not find expected ':'", "a key without a colon", "write key: value"),
    (r"surrogates not allowed", "half a character, written as an escape such as \\ud800", "write the whole one"),
    (r"special characters are not allowed", "is not text", "save it as UTF-8 text"),
    (r"found undefined alias", "", "name text that begins with * in quotes"),
    (r"found character '[@`%]'", "", "write text that begins with such a character in quotes"),
    (r"nested too deeply|too large", "", "write shorter lists; keep tables in CSV files"),
)


def explained(problem: str) -> tuple[str, str]:
    """What is wrong, and what to do; the problem as it is, if it is not a known one."""
    for pattern, message, hint in PROBLEMS:
        if re.search(pattern, problem):
            return message or problem, hint
    return problem, "check the line above: its colon, indent, quotes and brackets"
