"""The product with one safeguard taken away: what a suite that proves the safeguards must notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dam_sync.store import journal, runs
from dam_sync.store.runs import Runs
from dam_sync.transfer import digests

Mutant = Callable[[pytest.MonkeyPatch], None]


def no_intent(patch: pytest.MonkeyPatch) -> None:
    """A call is made without a word that it is about to be."""

    async def forgotten(self: Any, name: str) -> None:
        return None

    patch.setattr(journal.StoredJournal, "_intend", forgotten)


def no_look(patch: pytest.MonkeyPatch) -> None:
    """A call whose outcome is unknown is made again, and nobody looks for what it did."""
    take = journal.StoredJournal._take

    async def blind(self: Any, name: str, call: Any, found: Any, kept: Any, harmless: bool) -> Any:
        return await take(self, name, call, None, kept, True)

    patch.setattr(journal.StoredJournal, "_take", blind)


def no_lease(patch: pytest.MonkeyPatch) -> None:
    """Nobody asks whether another process is at it."""
    patch.setattr(runs, "live_run", lambda c, since, process_exists: None)


def no_leash(patch: pytest.MonkeyPatch) -> None:
    """A process that stood still sends what it was about to send."""
    patch.setattr(Runs, "prove_held", lambda self: None)


def no_fence(patch: pytest.MonkeyPatch) -> None:
    """A process that was taken over goes on writing."""
    patch.setattr(Runs, "_refuse_when_taken_over", lambda self, c: None)


def no_digest(patch: pytest.MonkeyPatch) -> None:
    """Bytes are taken for what they should be."""
    patch.setattr(digests.DigestTracker, "check", digests.DigestTracker.settle)


SAFEGUARDS: Mapping[str, Mutant] = {
    "intent": no_intent,
    "found": no_look,
    "lease": no_lease,
    "leash": no_leash,
    "fence": no_fence,
    "digest": no_digest,
}
