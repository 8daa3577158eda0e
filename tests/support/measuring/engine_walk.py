"""Which modules of the engine run, from which places they are called, and in which order functions are entered."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final, Self

PACKAGE: Final = "/dam_sync/"
ENGINE: Final = "engine/"


@dataclass(slots=True)
class Walk:
    """A tracer of calls in this thread. entry: only what runs below this function counts, such as
    `engine/write/asset.py:act`; empty for everything. watched: modules of which each call is noted in `entered`, as
    module and names of the function, in their order. modules: of the engine, that ran; sites: call sites that lead from
    one module of the engine to another, each once."""

    entry: str = ""
    watched: frozenset[str] = frozenset()
    modules: set[str] = field(default_factory=set)
    sites: dict[tuple[str, int, str, str], tuple[str, str]] = field(default_factory=dict)
    entered: list[tuple[str, frozenset[str]]] = field(default_factory=list)

    @contextmanager
    def on(self) -> Iterator[Self]:
        """While this is entered, calls are traced."""
        sys.setprofile(self._note)
        try:
            yield self
        finally:
            sys.setprofile(None)

    def __ior__(self, other: Walk) -> Self:
        self.modules |= other.modules
        self.sites |= other.sites
        return self

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        path = frame.f_code.co_filename
        if PACKAGE not in path:
            return
        here = path.split(PACKAGE, 1)[1]
        if here in self.watched:
            self.entered.append((here, frozenset(frame.f_code.co_qualname.split("."))))
        if here.startswith(ENGINE):
            self._note_engine(frame, here)

    def _note_engine(self, frame: FrameType, here: str) -> None:
        module, _, name = self.entry.partition(":")
        caller: FrameType | None = None
        inside = not self.entry
        above: FrameType | None = frame
        while above is not None and not (inside and caller is not None):
            if above is not frame and caller is None and _module_of(above).startswith(ENGINE):
                caller = above
            inside = inside or (_module_of(above) == module and above.f_code.co_name == name)
            above = above.f_back
        if not inside:
            return
        self.modules.add(here)
        if caller is not None and _module_of(caller) != here:
            site = (_module_of(caller), caller.f_lineno, here, frame.f_code.co_name)
            self.sites[site] = (_module_of(caller), here)

    def lacks(self, stops: Sequence[tuple[str, Collection[str]]]) -> list[str]:
        """Of these modules, each with names of functions or classes, those that were not entered after the one
        before."""
        lacking, spot = list[str](), 0
        for module, names in stops:
            later = range(spot, len(self.entered))
            found = next(
                (at for at in later if self.entered[at][0] == module and self.entered[at][1] & set(names)), None
            )
            if found is None:
                lacking.append(f"{module}: {', '.join(names)}")
            else:
                spot = found + 1
        return lacking

    def _is_entered(self, at: int, module: str, names: Collection[str]) -> bool:
        where, entered = self.entered[at]
        return where == module and bool(entered & set(names))


def _module_of(frame: FrameType) -> str:
    path = frame.f_code.co_filename
    return path.split(PACKAGE, 1)[1] if PACKAGE in path else ""
