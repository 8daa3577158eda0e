"""Every folder here that exports KIND is a service."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import Any

from dam_sync.model.service import Kind


@cache
def discover() -> Mapping[str, Kind]:
    """The kinds by name, in order of name."""
    found: dict[str, Kind] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        if module.ispkg:
            kind = getattr(importlib.import_module(f"{__name__}.{module.name}"), "KIND", None)
            if isinstance(kind, Kind):
                found[kind.name] = kind
    return found


def trial_of(kind: str) -> Any:
    """The `emulation.trial.Trial` of a kind: how its emulator is entered and tried."""
    return importlib.import_module(f"{__name__}.{kind}.emulator.trial").TRIAL
