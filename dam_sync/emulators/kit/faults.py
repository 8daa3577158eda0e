"""Scripted faults: what goes wrong, on which call, how often, and whether it did."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from fnmatch import translate
from typing import Any

ACTIONS: Mapping[str, str] = {
    "status": "`status:503`: that status, without reaching the service",
    "throttle": "`throttle:2`: 429 with `Retry-After` in seconds (1 if not given)",
    "reset_before": "the connection is reset, the service saw nothing",
    "reset_after": "the service did its work, the connection is reset instead of the response",
    "twice": "the request arrives twice, as from a proxy that repeats it; the second response is returned",
    "delay": "`delay:2.5`: so many seconds pass before the service sees the call",
    "advance": "`advance:3600`: the clock of the service moves on first, so that tokens, sessions and links expire",
    "truncate": "`truncate:0.5`: the connection breaks after that part of the body",
    "wrong_length": "`wrong_length:0.5`: a well-formed response whose body is only that part",
    "garble": "the body has its right length and wrong bytes",
    "html": "`html:502`: a page of some proxy instead of the response (200 if not given)",
    "empty": "200 with nothing",
    "odd": "`odd:2`: 200 with JSON of a shape that no document shows, by its number (the first if not given)",
}
"""What the kit plays itself. `play:WORD` is handed to the service, as a word in `scope["emulation.play"]`."""
ODD = (b'{"surprise": true}', b"[[7, null]]", b"null", b'"ok"', b'{"_embedded": 5, "_links": [], "items": {"a": 1}}')


@dataclass(slots=True)
class Fault:
    """One line of the script. Of the calls that match: the `nth`, or each `every`-th, or the first `times`, or all.

    `match` is a glob over `METHOD /path` (no query). `do` is an action, with its argument after a colon.
    """

    match: str
    do: str
    nth: int | None = None
    every: int | None = None
    times: int | None = None
    seen: int = 0
    hits: int = 0
    pattern: re.Pattern[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.action not in ACTIONS and self.action != "play":
            raise ValueError(f"unknown fault {self.do!r}; one of {', '.join(sorted(ACTIONS))}, play:WORD")
        if self.argument and self.action != "play":
            float(self.argument)
        self.pattern = re.compile(translate(self.match))

    @property
    def action(self) -> str:
        """The word before the colon."""
        return self.do.partition(":")[0]

    @property
    def argument(self) -> str:
        """What stands after the colon, empty if nothing does."""
        return self.do.partition(":")[2]

    def number(self, default: float) -> float:
        """The argument as a number."""
        return float(self.argument) if self.argument else default

    def strikes(self, call: str) -> bool:
        """Whether it hits this call; counts what it saw and hit."""
        if not self.pattern.match(call):
            return False
        self.seen += 1
        if self.nth is not None:
            hit = self.seen == self.nth
        elif self.every is not None:
            hit = self.seen % self.every == 0
        else:
            hit = True
        if hit and self.times is not None and self.hits >= self.times:
            hit = False
        self.hits += hit
        return hit


def _fault(number: int, line: Any) -> Fault:
    """One line of a script. Raises ValueError saying which line is wrong."""
    known = {each.name for each in fields(Fault) if each.init and each.name not in ("seen", "hits")}
    if not isinstance(line, Mapping) or not {"match", "do"} <= line.keys() or line.keys() - known:
        raise ValueError(
            f"fault {number} must be an object with `match` and `do`, and of {', '.join(sorted(known))} only"
        )
    try:
        return Fault(**line)
    except (ValueError, TypeError) as problem:
        raise ValueError(f"fault {number}: {problem}") from None


class Faults:
    """The script; lines can be added while the service runs."""

    def __init__(self, script: Iterable[Mapping[str, Any]] = ()) -> None:
        self.lines: list[Fault] = []
        self.add(script)

    def add(self, script: Iterable[Mapping[str, Any]]) -> None:
        """Add lines as JSON has them. Raises ValueError or TypeError on a line that is none; then none is added."""
        if not isinstance(script, Iterable) or isinstance(script, str | Mapping):
            raise TypeError('faults are a list of objects like {"match": "GET /path*", "do": "status:503", "nth": 1}')
        self.lines += [_fault(number, line) for number, line in enumerate(script, 1)]

    def clear(self) -> None:
        """Nothing goes wrong any more."""
        self.lines.clear()

    def striking(self, call: str) -> list[Fault]:
        """The faults that hit `METHOD /path`, in the order of the script."""
        return [line for line in self.lines if line.strikes(call)]

    @property
    def hits(self) -> list[dict[str, Any]]:
        """Each line with how many calls it saw and hit."""
        return [{"match": line.match, "do": line.do, "seen": line.seen, "hits": line.hits} for line in self.lines]

    def unhit(self) -> list[str]:
        """The lines that never hit: a test that scripted them proved nothing."""
        return [f"{line.match} {line.do}" for line in self.lines if not line.hits]
