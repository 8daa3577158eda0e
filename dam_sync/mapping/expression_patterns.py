"""The regular expressions of `matches`, compiled once when an expression is compiled.

The CEL library compiles a pattern in each call again: up to half a second for an asset. Here its engine is used through
pydantic, which keeps what it compiled: no backtracking, so that the time of a search grows with the text alone, and at
most 10 MB for a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated

from pydantic import StringConstraints, TypeAdapter

from dam_sync.mapping.expression_tokens import CelToken

MATCHES = "matches"
MOST_PATTERNS = 10  # of an expression
MOST_SEARCHED = 10_000_000  # characters, by all patterns of an expression in all rounds of its loops
KEPT = 256
NOTHING = CelToken("", "", 0)
ERROR = re.compile(r"^error: (.*)", re.MULTILINE)
TOO_LARGE = re.compile(r"exceeds size limit")
Search = Callable[[str], bool]


class PatternFault(ValueError):
    """A pattern that cannot be used; `at` is its position, `hint` says what to write."""

    def __init__(self, message: str, at: int, hint: str = "") -> None:
        super().__init__(message)
        self.at, self.hint = at, hint


@dataclass(slots=True)
class PatternSearches:
    """The searches of one evaluation. fault: why what they gave is not to be used; empty if it is."""

    patterns: Mapping[str, Search]
    fault: str = ""
    left: int = field(default=MOST_SEARCHED, repr=False)

    def holds(self, text: object, pattern: object) -> bool:
        """Whether the pattern is found in the text; never raises, because the library would log it."""
        if not isinstance(text, str) or not isinstance(pattern, str):
            self.fault = f"{MATCHES} takes a text"
            return False
        self.left -= len(text)
        if self.left < 0:
            self.fault = f"would search more than {MOST_SEARCHED:,} characters"
            return False
        return self.patterns[pattern](text)


def patterns_of(tokens: Sequence[CelToken], text_of: Callable[[str], object]) -> dict[str, Search]:
    """The patterns of an expression, compiled; text_of: what the library reads in a text with quotes.

    Raises PatternFault for a pattern that is not written as text or not a regular expression.
    """
    found: dict[str, Search] = {}
    for token in _literals(tokens):
        pattern = text_of(token.text)
        if not isinstance(pattern, str):
            raise PatternFault("a pattern is a text", token.at, 'write matches("^M [0-9]+$")')
        try:
            found[pattern] = compile_pattern(pattern)
        except ValueError as error:
            raise PatternFault(str(error), token.at, "write a shorter or simpler one") from None
        if len(found) > MOST_PATTERNS:
            message = f"has more than {MOST_PATTERNS} patterns"
            raise PatternFault(message, token.at, "write one with alternatives: matches('^(A|B)')")
    return found


@lru_cache(maxsize=KEPT)
def compile_pattern(pattern: str) -> Search:
    """The search for a pattern anywhere in a text. Raises ValueError."""
    try:
        validator = TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)]).validator
    except Exception as error:  # noqa: BLE001 - its class is not part of the API of pydantic
        if TOO_LARGE.search(str(error)):
            raise ValueError("the pattern becomes too large: repetitions multiply") from None
        found = ERROR.search(str(error))
        raise ValueError(f"is not a regular expression: {found[1] if found else pattern[:20]}") from None
    return validator.isinstance_python


def _literals(tokens: Sequence[CelToken]) -> Iterator[CelToken]:
    """The tokens of the patterns."""
    for index in _calls(tokens):
        token, (pattern, closing) = tokens[index], _two(tokens, index + 2)
        if _two(tokens, index - 1)[0].text != ".":
            raise PatternFault(f"{MATCHES} is asked of a text", token.at, f'write asset.filename.{MATCHES}("^M")')
        if pattern.form != "text" or closing.text != ")":
            message = "the pattern is not written here as one text in quotes"
            raise PatternFault(message, token.at, f'write {MATCHES}("^M [0-9]+$")')
        yield pattern


def _calls(tokens: Sequence[CelToken]) -> Iterator[int]:
    """Where it is called; a field or a variable may have the same name."""
    for index, token in enumerate(tokens):
        if token.form == "name" and token.text == MATCHES and _two(tokens, index + 1)[0].text == "(":
            yield index


def _two(tokens: Sequence[CelToken], index: int) -> tuple[CelToken, CelToken]:
    """The token at this index and the next one; empty ones outside."""
    first, second = (tokens[each] if 0 <= each < len(tokens) else NOTHING for each in (index, index + 1))
    return first, second
