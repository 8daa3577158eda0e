"""Lines of a suggested mapping that nobody has decided about: each still has its low score in its comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dam_sync.config.diagnostics import KeyPath, SourceMap, dotted
from dam_sync.mapping.document import line_places

DOUBTED = 0.5  # score below which a suggested line is a question
SCORED = re.compile(r"#\s*(0\.\d\d)\s+(?P<reason>\S.*)$")
SHOWN = 10
PROFILE: KeyPath = ("profile",)


@dataclass(frozen=True, slots=True)
class DoubtedLine:
    """A line as the mapping file has it. where: file and line; reason: as the suggestion gave it."""

    name: str
    where: str
    score: str
    reason: str


def doubted_lines(written: SourceMap) -> Iterator[DoubtedLine]:
    """The lines with a score below `DOUBTED` in their comment."""
    texts = {name: text.splitlines() for name, text in written.texts.items()}
    for place in (*line_places(written.data), PROFILE):
        file, rows = written.file_of(place), texts.get(written.file_of(place), [])
        for number in _numbers(written, place):
            found = SCORED.search(rows[number - 1]) if 0 < number <= len(rows) else None
            if found is not None and float(found[1]) < DOUBTED:
                yield DoubtedLine(dotted(place), f"{file}:{number}", found[1], found["reason"])
                break


def _numbers(written: SourceMap, place: KeyPath) -> Iterator[int]:
    """The numbers of the rows on which a line begins: that of its key, and that of its value."""
    yield written.position(place)[0]
    if place in written.values:
        yield written.values[place][0]


def about_doubted(lines: list[DoubtedLine]) -> str:
    """What a person should do about them."""
    named = [f"{line.name} ({line.where}, {line.score})" for line in lines[:SHOWN]]
    more = [f"{len(lines) - SHOWN:,} more"] if len(lines) > SHOWN else []
    what = "a suggested line with a score" if len(lines) == 1 else "suggested lines with a score"
    these = "it" if len(lines) == 1 else "each"
    return (
        f"{what} below {DOUBTED}: {', '.join([*named, *more])}; correct {these}, or keep it, and then remove the score "
        "from its comment"
    )
