"""Every folder here that exports KIND is a service."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from dam_sync.model.service import Connector


@cache
def discover() -> Mapping[str, Connector]:
    """The kinds by name, in order of name."""
    found: dict[str, Connector] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        if module.ispkg:
            kind = getattr(importlib.import_module(f"{__name__}.{module.name}"), "KIND", None)
            if isinstance(kind, Connector):
                found[kind.name] = kind
    return found
