"""Values made for one asset, as they would be for another: its number is replaced wherever it is part of a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

Made = Callable[[int], Any]
DIGEST: Final = 24  # characters of a text that has no spaces, from which on it may be a digest


class Numbered:
    """The values of the asset of a number, and of its group (see `members`), for any other."""

    def __init__(self, number: int, group: Mapping[str, Callable[[int], str]], members: int) -> None:
        """group: texts that name the group of the asset, and what they are for that of another number; members: assets
        of a group, in the order of their numbers."""
        self._members, self._group = members, group
        parts = [f"(?<![0-9a-f])0*{number}(?![0-9a-f])", *map(re.escape, group)]
        self._pattern = re.compile("|".join(f"({part})" for part in parts))

    def maker(self, value: Any) -> Made | None:
        """Makes the value for a number; None if it is the same for every number."""
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, (tuple, list)):
            return self._sequence(value)
        return self._instance(value) if is_dataclass(value) else None

    def _text(self, value: str) -> Made | None:
        pieces: list[Callable[[int], str]] = []
        end = 0
        for found in self._pattern.finditer(value):
            pieces += [_same(value[end : found.start()]), self._piece(found[0])]
            end = found.end()
        if not pieces:
            return None
        pieces.append(_same(value[end:]))
        return lambda number: "".join([piece(number) for piece in pieces])

    def _piece(self, text: str) -> Callable[[int], str]:
        if text in self._group:
            named, members = self._group[text], self._members
            return lambda number: named((number - 1) // members)
        width = len(text) if text.startswith("0") else 0
        return lambda number: f"{number:0{width}d}"

    def _sequence(self, value: Any) -> Made | None:
        kind, makers = type(value), [self.maker(each) for each in value]
        if not any(makers):
            return None
        both = list(zip(value, makers, strict=True))
        if hasattr(kind, "_make"):
            return lambda number: kind._make(make(number) if make else each for each, make in both)
        return lambda number: kind([make(number) if make else each for each, make in both])

    def _mapping(self, value: Mapping[Any, Any]) -> Made | None:
        makers = {key: make for key, each in value.items() if (make := self.maker(each))}
        if not makers:
            return None
        return lambda number: {**value, **{key: make(number) for key, make in makers.items()}}

    def _instance(self, value: Any) -> Made | None:
        kind, given = type(value), {each.name: getattr(value, each.name) for each in fields(value)}
        makers = {name: make for name, each in given.items() if (make := self.maker(each))}
        if not makers:
            return None
        return lambda number: kind(**{**given, **{name: make(number) for name, make in makers.items()}})


def _same(text: str) -> Callable[[int], str]:
    return lambda number: text
