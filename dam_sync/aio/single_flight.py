"""Single-flight helpers: the first caller does the work, concurrent callers share the result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from dam_sync.model.clock import Clock
from dam_sync.model.errors import DamSyncError
from dam_sync.model.waits import sleep_for

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Loads a value once, however many callers request it at the same time; a failure is not cached, nor is what was
    forgotten or replaced while it was loaded."""

    def __init__(self, load: Callable[[], Awaitable[T]]) -> None:
        self._load = load
        self._known: tuple[T] | None = None
        self._changes = 0  # of what is known, but for a load
        self._turns = KeyedLock()

    async def get(self) -> T:
        """The value, loaded by the first caller."""
        if self._known is None:
            async with self._turns.of(""):
                while self._known is None:
                    changes = self._changes
                    loaded = await self._load()
                    if changes == self._changes:
                        self._known = (loaded,)
        return self._known[0]

    async def again(self) -> T:
        """The value, loaded after this call."""
        self.forget()
        return await self.get()

    @property
    def now(self) -> T | None:
        """The value if it is already loaded, without a call."""
        return self._known[0] if self._known else None

    async def renewed(self, stale: T) -> T:
        """A value newer than `stale`; loads at most once however many hold the same stale one."""
        if self._known is not None and self._known[0] is stale:
            self._known = None
        return await self.get()

    def put(self, value: T) -> None:
        """Set the value."""
        self._known = (value,)
        self._changes += 1

    def forget(self) -> None:
        """Load it again on the next request."""
        self._known = None
        self._changes += 1


class KeyedLock:
    """One holder at a time for each key; those that wait should look again before they write."""

    def __init__(self) -> None:
        self._busy: dict[str, asyncio.Event] = {}

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        """Hold the lock of a key; waits until it is free."""
        while name in self._busy:
            await self._busy[name].wait()
        done = self._busy[name] = asyncio.Event()
        try:
            yield
        finally:
            del self._busy[name]
            done.set()


LOOK_AGAIN = 2.0  # seconds before a check without result is repeated


class Proven:
    """Undocumented request forms, verified by their effect on first use of a connection."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._proven: set[str] = set()
        self._failed: set[str] = set()  # replaceable ones, for which nobody waits again
        self._turns = KeyedLock()
        self._uses = KeyedLock()
        self._harmful: dict[str, Callable[[], DamSyncError]] = {}

    def proven(self, forms: Iterable[str]) -> bool:
        """Whether all of these forms are proven."""
        return self._proven.issuperset(forms)

    def unproven(self, forms: Iterable[str]) -> set[str]:
        """Those of these forms whose first use is still to be checked."""
        return set(forms) - self._proven

    @asynccontextmanager
    async def first_use(self, form: str) -> AsyncIterator[None]:
        """Hold back other users of a form that could do harm, until the first one was checked. Raises the error of a
        form that turned out to be harmful."""
        self.refuse_harmful(form)
        if form in self._proven:
            yield
            return
        async with self._uses.of(form):
            self.refuse_harmful(form)
            yield

    def prove(self, form: str) -> None:
        """A response that came anyway showed the effect of this form."""
        self._proven.add(form)

    def harmful(self, form: str, error: Callable[[], DamSyncError]) -> DamSyncError:
        """The error to raise, now and whenever this form is about to be used again."""
        self._harmful[form] = error
        return error()

    def refuse_harmful(self, form: str) -> None:
        """Raises the error of a form that turned out to be harmful."""
        if form in self._harmful:
            raise self._harmful[form]()

    async def holds(
        self, form: str, look: Callable[[], Awaitable[bool]], *, patient: bool = True, replaceable: bool = False
    ) -> bool:
        """Whether a form had the effect that `look` checks; one caller checks, the others wait for it. No call for a
        proven form. patient: checks again after a while before returning False; if the form is replaceable by another
        one, only the first time."""
        if form in self._proven:
            return True
        async with self._turns.of(form):
            if form in self._proven:
                return True
            shown = await look()
            if not shown and patient and form not in self._failed:
                await sleep_for(self._clock, LOOK_AGAIN, "the effect of a call")
                shown = await look()
            if shown:
                self._proven.add(form)
            elif replaceable:
                self._failed.add(form)
            return shown


async def gather_or_raise(calls: Sequence[Coroutine[None, None, T]]) -> list[T]:
    """The results of a few calls made at the same time, in their order; the first error alone, not a group of them."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return [task.result() for task in tasks]
