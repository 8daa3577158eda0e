"""Calls of a credential that all processes of a database count together: they are leased in blocks, and given back."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from dam_sync.model.permits import CallBudget, CallLease, CallRequest, CredentialPermits

BLOCK = 64  # calls that are leased at once, while much is left
IDLE_BEATS = 3  # without a call, after which what is left is given back
REPORTED = 4  # slices before the present one whose calls are reported again: clocks are set back, calls are put back


class LeasedCalls:
    """The calls of one process. `take` comes before every call. earlier: what its job counted by slice before."""

    def __init__(self, permits: CredentialPermits, earlier: Mapping[int, int]) -> None:
        self._permits, self._earlier = permits, earlier
        self._lock = asyncio.Lock()
        self._sent: Counter[int] = Counter()  # by slice, of those that are not final yet
        self._slice, self._left, self._taken, self._seen, self._idle = 0, 0, 0, 0, 0
        self._budgets: tuple[CallBudget, ...] = ()
        self._counted: tuple[int, ...] = ()
        permits.on_beat(self._give_back_unless_used)

    async def take(self, at: int, budgets: tuple[CallBudget, ...]) -> CallBudget | None:
        """Take a call of the slice `at`. Returns the budget that is used up, None if the call may be sent. Raises
        StoreUnreachable."""
        while not self._has_some(at, budgets):
            async with self._lock:
                if self._has_some(at, budgets):
                    break
                lease = await self._ask(at, BLOCK, budgets)
                if not lease.calls:
                    return next(each for each, sent in zip(budgets, lease.counted, strict=True) if _is_full(each, sent))
        self._left -= 1
        self._taken += 1
        self._sent[at] += 1
        return None

    def put_back(self, at: int) -> None:
        """A call that was taken in this slice is not sent."""
        if self._sent[at] > 0:
            self._sent[at] -= 1
            self._left += at == self._slice

    async def give_back(self) -> None:
        """What is left belongs to everybody again. Safe to repeat. Raises StoreUnreachable."""
        async with self._lock:
            if self._left:
                await self._ask(self._slice, 0, self._budgets)

    def counted(self, name: str, since: int) -> int | None:
        """The calls of all processes by the budget of this name, as far as was known when this one last leased some,
        with its own; None if they were not asked for since this slice."""
        for budget, number in zip(self._budgets, self._counted, strict=True):
            if (budget.name, budget.since) == (name, since):
                return number - self._left
        return None

    def _has_some(self, at: int, budgets: tuple[CallBudget, ...]) -> bool:
        return self._left > 0 and at == self._slice and budgets == self._budgets

    async def _ask(self, at: int, calls: int, budgets: tuple[CallBudget, ...]) -> CallLease:
        """Report what was sent, and lease calls in place of those that are left."""
        self._left = 0
        request = CallRequest(at, calls, dict(self._sent), budgets, self._earlier)
        lease = await self._permits.lease_calls(request)
        self._earlier = {}
        self._sent = Counter({each: sent for each, sent in self._sent.items() if each >= at - REPORTED})
        self._slice, self._budgets = at, budgets
        self._left, self._counted = lease.calls, lease.counted
        return lease

    async def _give_back_unless_used(self) -> None:
        """Called every few seconds."""
        self._idle = self._idle + 1 if self._taken == self._seen else 0
        self._seen = self._taken
        if self._idle >= IDLE_BEATS:
            await self.give_back()


def _is_full(budget: CallBudget, sent: int) -> bool:
    return budget.most is not None and sent >= budget.most
