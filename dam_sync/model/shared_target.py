"""What the jobs tell each other that write into one target: terms, containers and file names, each decided once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from dam_sync.model.values import Json


@dataclass(frozen=True, slots=True)
class SharedPart:
    """A term or container of the target that a job creates or renames.

    place: its vocabulary, or its kind of container; path: at the target; value: JSON of it as it was created, None if
    the process that began to create it is gone and nobody knows whether it exists; before: its path before a rename.
    """

    place: str
    path: tuple[str, ...]
    value: Json = None
    before: tuple[str, ...] = ()


class SharedTarget(Protocol):
    """The target, as the processes know it that write into it: of one job, or of several.

    A scope is what one process at a time adds to: all terms, all containers, or a list that a service extends by
    itself. Every method that waits raises StoreUnreachable; an outage of some seconds is bridged.
    """

    async def identify(self, name: str, lag: timedelta) -> None:
        """Say which target it is, before anything else. name: the same for all jobs that write into it; lag: of its
        listings."""
        ...

    def has_news(self, scope: str) -> bool:
        """Whether other processes may have created something that `created_by_others` did not return yet."""
        ...

    def creating(self, scope: str) -> AbstractAsyncContextManager[None]:
        """One process at a time is within it. It ends with the process. Raises Transient if another one does not
        leave it for minutes."""
        ...

    async def created_by_others(self, scope: str) -> Sequence[SharedPart]:
        """What other processes created or renamed since this was called last, or lately, at the first call. Within
        `creating` also what a process that is gone, or was cut off, began to create; while it may still be at work it
        is waited for. Raises Transient if that takes minutes."""
        ...

    async def begin(self, scope: str, parts: Sequence[SharedPart]) -> None:
        """Record, within `creating`, that these are about to be created. What is not `created` when that is left may
        exist or not. If the others can no longer be told, `creating` is cancelled, and raises Transient. Safe to
        repeat."""
        ...

    def prove_claimed(self) -> None:
        """Called before each call that may write. Raises Transient if it would create what others may take for not
        existing by now."""
        ...

    async def created(self, scope: str, parts: Sequence[SharedPart]) -> None:
        """Tell the others, within `creating`. A part without a value does not exist. Safe to repeat."""
        ...

    async def reserve_name(self, folded: str, owner: str) -> bool:
        """Reserve a file name for a source asset of this job, whose state has it already; False if another job has it.
        A name that the state of the other job no longer has is free. Safe to repeat."""
        ...

    async def is_used_elsewhere(self, part: str, place: str, target: str) -> bool:
        """Whether another job writes assets with this term or container, by its id at the target."""
        ...


class UnsharedTarget(SharedTarget):
    """No other process is known: that of a job whose state is a file."""

    async def identify(self, name: str, lag: timedelta) -> None:
        pass

    def has_news(self, scope: str) -> bool:
        return False

    def creating(self, scope: str) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def created_by_others(self, scope: str) -> Sequence[SharedPart]:
        return ()

    async def begin(self, scope: str, parts: Sequence[SharedPart]) -> None:
        pass

    def prove_claimed(self) -> None:
        pass

    async def created(self, scope: str, parts: Sequence[SharedPart]) -> None:
        pass

    async def reserve_name(self, folded: str, owner: str) -> bool:
        return True

    async def is_used_elsewhere(self, part: str, place: str, target: str) -> bool:
        return False


UNSHARED: Final = UnsharedTarget()
