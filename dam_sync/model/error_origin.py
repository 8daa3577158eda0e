"""Errors that leave a service name it."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Protocol

from dam_sync.model.errors import DamSyncError, InternalError

BUGS = (ArithmeticError, AttributeError, LookupError, NameError, RecursionError, TypeError, ValueError)
"""What a bug raises; a response of an undocumented shape is turned into ContractBroken where it is read."""


class _Named(Protocol):
    @property
    def kind(self) -> str: ...


def naming_service(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Wrap a method so that every error names its service: a `DamSyncError` gets the name of the service, and a
    bug (see `BUGS`) becomes an InternalError, so that it is not mistaken for a fault of the service."""

    @functools.wraps(method)
    async def wrapper(self: _Named, *args: Any, **kwargs: Any) -> Any:
        try:
            return await method(self, *args, **kwargs)
        except DamSyncError as error:
            error.within(service=self.kind)
            raise
        except BUGS as error:
            raise _internal(self.kind, error) from error

    return wrapper


def naming_service_in_items(method: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
    """Like `naming_service`, for a method that returns an asynchronous iterator; it is closed at the end."""

    @functools.wraps(method)
    async def wrapper(self: _Named, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        items = method(self, *args, **kwargs)
        try:
            async for item in items:
                yield item
        except DamSyncError as error:
            error.within(service=self.kind)
            raise
        except BUGS as error:
            raise _internal(self.kind, error) from error
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()

    return wrapper


def _internal(kind: str, error: Exception) -> InternalError:
    internal = InternalError.of(error)
    internal.within(service=kind)
    return internal
