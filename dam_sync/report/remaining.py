"""How long a phase still takes, as a range: the pace so far varies, and so does what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from dam_sync.report.terminal import duration

SAMPLES = 64  # of a phase; of a longer one every second sample is kept
FEWEST_STEPS, FEWEST_ASSETS = 8, 10  # before that nothing is said
RECENT = 4  # the last quarter of the samples is the recent pace
SPREAD = 2.0  # standard errors
SLOWEST = 0.05  # of the mean pace; below that there is no upper limit


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Seconds: at least `least`, probably at most `most`; None: nobody knows."""

    least: float
    most: float | None

    @property
    def text(self) -> str:
        """`3 min 20 s to 5 min 0 s`."""
        least = duration(self.least)
        if self.most is None:
            return f"more than {least}"
        most = duration(self.most)
        return f"about {least}" if least == most else f"{least} to {most}"


class RemainingTime:
    """Estimates from how many assets were completed when. `add` at least once a second while assets are completed."""

    def __init__(self) -> None:
        self._samples: list[tuple[float, int]] = []
        self._step = 1.0

    def add(self, at: float, done: int) -> None:
        """At this time, in seconds, so many assets were completed."""
        if self._samples and at - self._samples[-1][0] < self._step:
            return
        self._samples.append((at, done))
        if len(self._samples) > SAMPLES:
            self._samples = self._samples[::2]
            self._step *= 2

    def range(self, least: int, most: int | None) -> TimeRange | None:
        """The time that between `least` and `most` more assets take; None as long as too little is known.

        From the mean pace and the recent pace, whichever is faster or slower, and twice their standard errors.
        """
        if len(self._samples) <= FEWEST_STEPS or self._samples[-1][1] - self._samples[0][1] < FEWEST_ASSETS:
            return None
        paces = [_pace(self._samples), _pace(self._samples[-1 - len(self._samples) // RECENT :])]
        fastest = max(mean + SPREAD * error for mean, error in paces)
        slowest = min(mean - SPREAD * error for mean, error in paces)
        unlimited = most is None or slowest < SLOWEST * paces[0][0]
        return TimeRange(least / fastest, None if unlimited or most is None else most / slowest)


def _pace(samples: list[tuple[float, int]]) -> tuple[float, float]:
    """Assets per second, and the standard error of that."""
    steps = [(done - before) / (at - since) for (since, before), (at, done) in pairwise(samples)]
    (since, before), (at, done) = samples[0], samples[-1]
    mean = (done - before) / (at - since)
    variance = sum((each - mean) ** 2 for each in steps) / max(1, len(steps) - 1)
    return mean, math.sqrt(variance / len(steps))
