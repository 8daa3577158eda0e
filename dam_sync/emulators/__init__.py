"""Emulated services, for demonstrations and tests: each is a second reading of its service's contract and imports no
adapter. They need the extra `demo`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

from dam_sync.emulators.kit.profile import Profile


@cache
def emulated_kinds() -> frozenset[str]:
    """Kinds of service that have an emulator here."""
    return frozenset(found.name for found in pkgutil.iter_modules(__path__) if found.ispkg) - {"kit"}


def application_of(kind: str) -> Callable[..., Any]:
    """What makes the ASGI application of a kind, from an environment, faults, an object store and options."""
    factory: Callable[..., Any] = importlib.import_module(f"{__name__}.{kind}").emulator
    return factory


def profile_of(kind: str) -> Profile:
    """How the emulator of a kind is entered and tried."""
    trial: Profile = importlib.import_module(f"{__name__}.{kind}.profile").TRIAL
    return trial
