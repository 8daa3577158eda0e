"""What processes cost: seconds of the clock, and seconds of the processors, each process by itself."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Cost:
    """wall: seconds of the clock; own: CPU seconds of the processes that were started and ended meanwhile; others: of
    processes that were there before and are there afterwards, by name."""

    wall: float = 0.0
    own: float = 0.0
    others: dict[str, float] = field(default_factory=dict)


@contextmanager
def costing(**others: int) -> Iterator[Cost]:
    """Measures the block; others: process ids by name. No process that began before the block may end in it."""
    cost = Cost()
    began, own, before = time.perf_counter(), ended_children(), _of(others)
    yield cost
    cost.wall, cost.own = time.perf_counter() - began, ended_children() - own
    cost.others = {name: spent - before[name] for name, spent in _of(others).items()}


def ended_children() -> float:
    """CPU seconds of processes that were started here and have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def of_process(pid: int) -> float:
    """CPU seconds of a living process and of all its threads, to a hundredth."""
    row = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    fields = row.rpartition(")")[2].split()  # the name in front of them may contain anything
    return (int(fields[11]) + int(fields[12])) / TICKS


def _of(processes: Mapping[str, int]) -> dict[str, float]:
    return {name: of_process(pid) for name, pid in processes.items()}
