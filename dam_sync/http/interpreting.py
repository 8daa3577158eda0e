"""Reading answers: what goes wrong there is the service's doing, what goes wrong anywhere else is ours."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

import structlog

from dam_sync.http.redaction import redact
from dam_sync.model.errors import ContractBroken

MISREAD = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""What reading JSON of another shape raises."""
_SHOWN = 120  # characters of what was raised

F = TypeVar("F", bound=Callable[..., Any])

_log = structlog.get_logger()


def interprets_response(function: F) -> F:
    """Marks a function that turns JSON of an answer into our model and does nothing else: an answer of another shape is
    reported as ContractBroken. Errors of unmarked functions are bugs of ours."""
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
    """The same for some lines of a function that does more; `what` is read there. Nothing may be awaited inside."""
    try:
        yield
    except MISREAD as error:
        raise _broken(what, error) from error


def _broken(name: str, error: Exception) -> ContractBroken:
    _log.info("answer.misread", reader=name, exc_info=error)
    shown = redact(str(error)[: 4 * _SHOWN])[:_SHOWN]
    return ContractBroken(f"an answer has a shape that is not documented ({type(error).__name__} in {name}: {shown})")
