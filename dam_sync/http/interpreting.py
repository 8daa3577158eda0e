"""Distinguishes undocumented responses from our own bugs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import structlog

from dam_sync.http.redaction import excerpt
from dam_sync.model.errors import ContractBroken
from dam_sync.model.mistyped import is_textual
from dam_sync.model.values import Json

MISREAD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions raised when reading JSON of an unexpected shape."""
_SHOWN = 120  # characters of the exception

F = TypeVar("F", bound=Callable[..., Any])

_log = structlog.get_logger()


def interprets_response(function: F) -> F:
    """Marks a function that only converts the JSON of a response to our model: an unexpected shape raises
    ContractBroken. Errors in unmarked functions are our own bugs."""
    name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def reading(*args: Any, **kwargs: Any) -> Any:
            with interpreting_response(name):
                yield from function(*args, **kwargs)

        return cast("F", reading)

    @functools.wraps(function)
    def read(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except MISREAD as error:
            raise _broken(name, error) from error

    return cast("F", read)


@contextmanager
def interpreting_response(what: str) -> Iterator[None]:
    """Like `interprets_response`, for a block of code that reads `what`. Must not await."""
    try:
        yield
    except MISREAD as error:
        raise _broken(what, error) from error


@interprets_response
def member_text(data: Json, *names: str) -> str:
    """The first of these members of an object that is not empty, as text; empty if there is none. Raises
    ContractBroken for a flag, a list or an object, which would otherwise become a bogus name."""
    for name in names:
        value = data.get(name) if isinstance(data, dict) else None
        if value is not None and not is_textual(value):
            raise TypeError(f"{name} is {value!r:.40}, not text")
        if value:
            return str(value)
    return ""


def _broken(name: str, error: Exception) -> ContractBroken:
    _log.info("response.misread", reader=name, exc_info=error)
    shown = excerpt(str(error), _SHOWN)
    return ContractBroken(f"a response has an undocumented shape ({type(error).__name__} in {name}: {shown})")
