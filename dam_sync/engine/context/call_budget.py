"""What a budget of calls leaves for assets: too many at once would share it, and none would be completed."""

from __future__ import annotations

from dataclasses import dataclass

from dam_sync.model.errors import StopKind, StopRequested
from dam_sync.model.run_options import Progress, RunOptions

EACH = 10  # calls to each service that one asset needs, versions and memberships included, in most libraries
AT_LEAST = 100  # calls for assets with which a run gets somewhere


@dataclass(frozen=True, slots=True)
class RunBudget:
    """The calls to each service that a run may make, None without a bound."""

    most: int | None
    progress: Progress

    def begin(self) -> None:
        """The first asset comes next."""
        self.progress.opening_calls = self._spent

    def room(self, wanted: int, in_hand: int) -> int:
        """How many of the wanted assets to begin now, so that those in hand can be completed; one in any case."""
        if self.most is None:
            return wanted
        return max(0, min(wanted, max(1, (self.most - self._spent) // EACH) - in_hand))

    @property
    def _spent(self) -> int:
        return max(self.progress.source_calls(), self.progress.target_calls())


def advise(error: BaseException, options: RunOptions) -> None:
    """Tell in the hint of a stop which budget gets somewhere, if this one completed no asset."""
    most, progress = options.max_calls, options.progress
    if most is None or not isinstance(error, StopRequested) or error.kind is not StopKind.MAX_CALLS or progress.done:
        return
    opening = progress.opening_calls
    if opening is None or most >= opening + AT_LEAST:  # file names of the target are listed for the first new asset
        enough, why = max(AT_LEAST, 3 * most), "it was used up before the first asset, as every run of this budget is"
    else:
        enough, why = opening + AT_LEAST, f"{opening:,} of the {most:,} calls were needed to begin, as by every run"
    error.hint = (
        f"no asset was completed: {why}; allow {enough:,} calls or more (`--max-calls`, or `limits.max_calls` in the "
        "job file), then run the same command again; it resumes where it stopped"
    )
