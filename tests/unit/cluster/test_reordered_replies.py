"""Replies of a worker that overtake each other: what it spent is counted once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dam_sync.cluster.messages import Spent, WorkerResult
from dam_sync.cluster.workers import DaskWorkers, Member
from dam_sync.engine.context.pulls import Fetched, Pulls
from dam_sync.store.server.workers import WorkerProcess
from tests.support.run_double import run_double


class Rates:
    """Counts what it receives."""

    def __init__(self) -> None:
        self.noted = 0

    def note(self, role: str, number: int) -> None:
        self.noted += number


def spent(calls: int) -> Spent:
    """After so many calls: ten bytes for each, and a file that was sent all the same."""
    return Spent({"target": {"POST /assets": calls}}, 10 * calls, Fetched(sent=calls))


def test_what_a_worker_spent_is_counted_once_though_its_replies_overtake_each_other() -> None:
    rates, progress, nothing = Rates(), SimpleNamespace(bytes=0), object()
    pulls = Pulls(nothing, nothing, "pull")  # type: ignore[arg-type]
    workers: Any = DaskWorkers(nothing, 1)  # type: ignore[arg-type]
    workers._context = run_double(options=SimpleNamespace(rates=rates), progress=progress, pulls=pulls)
    member = Member("tcp://worker", WorkerProcess("host", 7, 0), 4)
    for calls in (5, 10, 7, 12):  # the reply after 7 calls comes late
        workers._take_in(member, WorkerResult(spent=spent(calls)))
    assert (rates.noted, progress.bytes, pulls.fetched.sent, pulls.in_vain) == (12, 120, 12, 12)
    assert member.spent == spent(12)
