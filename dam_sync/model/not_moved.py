"""What a service may hold or offer and dam-sync does not move or use, and what a migration causes there besides:
data of each service, shown by its help topic and by `inspect`; the last also by `check` and `plan`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Way: TypeAlias = Literal["both", "source", "target"]


@dataclass(frozen=True, slots=True)
class NotMoved:
    """One thing that is not moved.

    what: the thing; why: in one clause; where: the section of the service's documents that describes it; way: whether
    that holds for the service as source, as target, or as both; counted: the name by which `Counts.not_moved` counts
    how much of it there is, empty if no cheap call tells.
    """

    what: str
    why: str
    where: str
    way: Way = "both"
    counted: str = ""

    def concerns(self, role: str) -> bool:
        """Whether it holds for a source, or for a target."""
        return self.way in ("both", role)


@dataclass(frozen=True, slots=True)
class NotUsed:
    """A part of the API that is not used. why: in one clause; where: see `NotMoved`."""

    what: str
    why: str
    where: str


@dataclass(frozen=True, slots=True)
class SideEffect:
    """What reading from the service, or writing into it, causes besides what is moved. what: a sentence without its
    full stop; advice: what a person can do about it; where, way: see `NotMoved`."""

    what: str
    advice: str
    where: str
    way: Way = "target"

    @property
    def text(self) -> str:
        """What happens, and what to do."""
        return f"{self.what}; {self.advice}"
