"""What a service may hold and dam-sync does not move: data of each service, shown by its help topic and by
`inspect`."""

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
