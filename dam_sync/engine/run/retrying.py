"""What earlier runs parked and this one retries: temporary failures, and assets parked because of an older mapping."""

from __future__ import annotations

from dataclasses import replace

from dam_sync.engine.context.libraries import Source
from dam_sync.engine.context.run_context import RunContext
from dam_sync.model.asset import digest_of
from dam_sync.model.outcome import Outcome
from dam_sync.model.parking import ParkReason
from dam_sync.model.run_options import RunOptions
from dam_sync.store.note_keys import PARKED_BY_MAPPING, PARKED_BY_POLICY
from dam_sync.store.rows import Work

MOST_RUNS = 5  # runs in which an asset fails temporarily before a person has to retry it
MAPPING_CAUSES = frozenset({ParkReason.INVALID_VALUE, ParkReason.UNSUPPORTED})
"""Refusals that another mapping may avoid."""
PASSED, CHANGED, DECIDED = "passed", "changed", "decided"
"""Why: a temporary failure, another mapping, or a decision about conflicts, by a person or by another policy."""


async def retry_parked(context: RunContext) -> None:
    """Requeue what this run retries; safe to repeat."""
    if context.task.options.only:
        return
    store, now = context.state.store, context.mapping.crosswalk.digest
    if await store.get_meta(PARKED_BY_MAPPING) != now:
        context.tallies.retried[CHANGED] += await store.retry_causes(MAPPING_CAUSES, operation="mapping")
        await store.set_meta(PARKED_BY_MAPPING, now)
    rules = context.task.policy.conflicts
    policy = digest_of([rules.default, sorted(rules.parts.items())])
    context.tallies.retried[DECIDED] += await store.retry_decided()
    if await store.get_meta(PARKED_BY_POLICY) != policy:
        context.tallies.retried[DECIDED] += await store.retry_causes({ParkReason.CONFLICT})
        await store.set_meta(PARKED_BY_POLICY, policy)
    if not context.state.run.resumed:
        context.tallies.retried[PASSED] += await store.retry_passing(MOST_RUNS)


def unseen_changes(source: Source, options: RunOptions, since: str | None) -> tuple[str, ...]:
    """What changes without being listed by date; nothing for a run that lists everything."""
    return () if not since or options.only or options.full else source.service.limits.undated


def with_limit(work: Work, outcome: Outcome) -> Outcome:
    """The outcome with a hint that says whether the next run tries it again."""
    if not outcome.passing:
        return outcome
    failed = work.passing + 1
    if failed < MOST_RUNS:
        again = f"the next run tries it again (failed in {failed} of at most {MOST_RUNS} runs)"
    else:
        again = f"it failed in {failed} runs: `errors JOB --retry` lets the next run try it again"
    return replace(outcome, hint=f"{outcome.hint}; {again}" if outcome.hint else again)
