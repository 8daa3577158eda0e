"""A service that passes what reads on to another one, derived from the contract of services."""

from __future__ import annotations

import functools
import inspect
from abc import update_abstractmethods
from collections.abc import Callable, Iterator
from typing import Any

from dam_sync.model.service import Service

OF_CLASSES = frozenset({"kind", "keyed_endpoints", "declared"})


class ReadThrough(Service):
    """Passes every call on that changes nothing at the service. A subclass defines what happens instead of the others;
    it cannot be defined without one of them, so that no write is ever passed on by mistake."""

    def __init__(self, wrapped: Service) -> None:
        self._wrapped = wrapped

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__mro__[: cls.__mro__.index(ReadThrough)]
        if missing := sorted(name for name in writes() if not any(name in vars(each) for each in own)):
            raise TypeError(f"{cls.__name__} has to define {', '.join(missing)}: they may change the service")


def writes() -> Iterator[str]:
    """The methods that may change a service: all that make calls and are not marked by `changes_nothing`."""
    for name, member in vars(Service).items():
        if inspect.iscoroutinefunction(member) and not hasattr(member, "changes_nothing"):
            yield name


def _passed_on(name: str, member: Any) -> Any:
    if isinstance(member, property):
        return property(lambda self: getattr(self._wrapped, name), _set(name) if member.fset else None)

    @functools.wraps(member, updated=())  # not that it is abstract
    def call(self: ReadThrough, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._wrapped, name)(*args, **kwargs)

    return call


def _set(name: str) -> Callable[[Any, Any], None]:
    return lambda self, value: setattr(self._wrapped, name, value)


def _derive(cls: Any) -> None:
    """Defines every method that is passed on."""
    for name in vars(Service).keys() - OF_CLASSES - {*writes()}:
        if not name.startswith("_"):
            setattr(cls, name, _passed_on(name, vars(Service)[name]))
    update_abstractmethods(cls)


_derive(ReadThrough)
