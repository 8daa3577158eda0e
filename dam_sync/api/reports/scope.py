"""Which part of the library a plan or run covers, and what that part says about the whole."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.engine.context.run_context import RunContext
from dam_sync.engine.context.sampling import CONFIDENCE, most_different
from dam_sync.model.wording import agreed, counted, the_first
from dam_sync.report.parts import ReportScope, SampledTotal
from dam_sync.store.waves import NOT_DONE

EACH_SIDE = 1 - (1 - CONFIDENCE) / 2  # of an interval
ACTIONS = ("created", "updated", "unchanged", "skipped", "parked")


def scope_of(context: RunContext, counts: Mapping[str, int]) -> ReportScope:
    """What was asked for, how much was covered, and the statement of a part."""
    options = context.task.options
    covered = sum(number for name, number in counts.items() if name not in NOT_DONE)
    listed = max(context.tallies.listed, counts["listed"]) if options.sample else counts["listed"]
    if options.sample:
        statement, totals = _of_sample(listed, covered), _totals(listed, covered, counts)
    else:
        statement, totals = _of_limit(context, covered) if options.limit is not None else "", ()
    return ReportScope(
        listed=listed,
        covered=covered,
        limit=options.limit,
        sample=options.share if options.sample else None,
        only=len(options.only),
        full=options.full,
        repair=context.task.repair,
        statement=statement,
        totals=totals,
    )


def _of_sample(listed: int, covered: int) -> str:
    if not covered:
        return f"no asset of {listed:,} is in the sample, so nothing is known about any"
    most = most_different(listed, covered, 0)
    return (
        f"{covered:,} of {counted(listed, 'asset')} {agreed(covered, 'was', 'were')} planned, chosen by a digest of "
        f"their ids. With {100 * CONFIDENCE:.0f} % confidence, what was not found in them concerns at most "
        f"{counted(most, 'asset')}. Calls, bytes and duration are those of the sample"
    )


def _of_limit(context: RunContext, covered: int) -> str:
    total = context.source.account.total
    first = the_first(covered, "asset") if total is None else f"the first {covered:,} of {counted(total, 'asset')}"
    return (
        f"{first} in the order of the listing, which need not resemble the rest; "
        "memberships and relations are written once all assets exist, and are not among the operations"
    )


def _totals(listed: int, covered: int, counts: Mapping[str, int]) -> tuple[SampledTotal, ...]:
    """The counts of a sample as those of the library."""
    if not covered:
        return ()
    return tuple(_total(name, counts.get(name, 0), listed, covered) for name in ACTIONS)


def _total(name: str, found: int, listed: int, covered: int) -> SampledTotal:
    high = most_different(listed, covered, found, EACH_SIDE)
    low = listed - most_different(listed, covered, covered - found, EACH_SIDE)
    return SampledTotal(name, found, round(found * listed / covered), low, high)
