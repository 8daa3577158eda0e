"""The clock of another computer, by responses that carry its time."""

from __future__ import annotations

import math

DRIFT = 2e-4  # seconds per second by which clocks may differ in their speed


class ServerTime:
    """What the other clock shows, between two bounds: a response carries a time between request and response.

    Bounds of earlier responses are kept while they are narrower; clocks drift, so they widen. If the other clock was
    set, only the last response counts.
    """

    def __init__(self) -> None:
        self._least, self._most = -math.inf, math.inf  # of the difference: the other clock minus ours
        self._at = 0.0

    def measured(self, began: float, ended: float, shown: float) -> None:
        """The other clock showed this time between two times of ours."""
        wider = DRIFT * max(0.0, ended - self._at)
        least, most = shown - ended, shown - began
        kept_least, kept_most = max(least, self._least - wider), min(most, self._most + wider)
        self._least, self._most = (kept_least, kept_most) if kept_least <= kept_most else (least, most)
        self._at = ended

    def local(self, shown: float) -> float:
        """When the other clock surely shows this time; safe to wait for."""
        return shown - self._least

    def earliest(self, local: float) -> float:
        """The earliest time that it can show at this time of ours."""
        return local + self._least

    def latest(self, local: float) -> float:
        """The latest time that it can show at this time of ours."""
        return local + self._most
