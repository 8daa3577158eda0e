"""A task group in which no task ends unnoticed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from dam_sync.model.errors import InternalError

T = TypeVar("T")
P = ParamSpec("P")


class TaskGroup(asyncio.TaskGroup):
    """`asyncio.TaskGroup` takes a task that raises CancelledError for one that somebody cancelled, and goes on without
    its work. If nobody did, as with one that waited for the cancelled task of a library, this group fails instead."""

    def start(self, call: Callable[P, Coroutine[Any, Any, T]], *args: P.args, **kwargs: P.kwargs) -> asyncio.Task[T]:
        """A task of the group that makes this call. The group raises InternalError if it ends by a CancelledError that
        is not meant for it."""

        async def whole() -> T:
            try:
                return await call(*args, **kwargs)
            except asyncio.CancelledError as stray:
                _refuse_stray(stray)
                raise

        return self.create_task(whole())


def _refuse_stray(cancelled: asyncio.CancelledError) -> None:
    """Raises InternalError unless somebody cancels the present task."""
    task = asyncio.current_task()
    if task is None or not task.cancelling():
        error = InternalError("a part of the work was cancelled by nobody, and is not done")
        error.problem = cancelled
        raise error from cancelled
