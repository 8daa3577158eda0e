"""One error in a file that people write, and the nearest known word to a misspelt one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing to correct; lines and columns count from 1, 0 is unknown. rank: those with a higher one come last."""

    file: str
    line: int
    key: str
    message: str
    hint: str = ""
    rank: int = 0
    column: int = 0

    @property
    def where(self) -> str:
        """`file:line:column: key`, as editors and terminals understand it; `name: key` for what is in no file."""
        if not self.line:
            return f"{self.file}: {self.key}"
        column = f":{self.column}" if self.column else ""
        return f"{self.file}:{self.line}{column}: {self.key}"

    def __str__(self) -> str:
        return f"{self.where}: {self.message}{f'; {self.hint}' if self.hint else ''}"


@dataclass(frozen=True, slots=True)
class Similar:
    """A hint that is looked up only where it is shown, as `nearest` does.

    otherwise: the hint if nothing is similar. spelt: how a known word is written, if not as it is.
    """

    word: str
    known: Collection[str]
    otherwise: str = ""
    spelt: Callable[[str], str] = str

    def __str__(self) -> str:
        return nearest(self.word, map(self.spelt, self.known)) or self.otherwise


Hint: TypeAlias = str | Similar


def nearest(word: str, known: Iterable[str]) -> str:
    """A hint with the most similar known word, or with all of them if they are few; empty if there are none."""
    words = sorted(set(known))
    close = get_close_matches(word.casefold(), [known.casefold() for known in words], n=1, cutoff=0.6)
    if close:
        return f"did you mean {next(known for known in words if known.casefold() == close[0])}?"
    if 0 < len(words) <= 12:
        return f"known: {', '.join(words)}"
    return ""
