"""What the emulated services take, for their help topic."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields

from dam_sync.emulators import emulated_kinds, profile_of
from dam_sync.emulators.kit.faults import ACTIONS

WAYS_IN = frozenset({"oidc", "consents"})  # options of emulators by which a way in is opened
SCALARS = (bool, int, float, str)


def fault_actions() -> Mapping[str, str]:
    """Each action of a scripted fault, and what it does."""
    return ACTIONS


def credentials() -> Iterator[tuple[str, str, str, str]]:
    """For each way in: kind, flow, what to write in `auth`, and the options that the emulator needs for it."""
    for kind in sorted(emulated_kinds()):
        profile = profile_of(kind)
        for number, way in enumerate(profile.auth):
            given = {key: text for key, text in way.items() if key != "flow"}
            needed = {key: profile.emulated[key] for key in WAYS_IN & profile.emulated.keys()} if number else {}
            if way["flow"] not in ("oauth", "client_credentials"):
                needed = {}
            options = " ".join(f"--option '{key}={json.dumps(value)}'" for key, value in sorted(needed.items()))
            yield kind, way["flow"], ", ".join(f"{key}: {text}" for key, text in given.items()), options


def emulator_options() -> Iterator[tuple[str, str, str]]:
    """Of each kind, the options of its emulator with their defaults, and the words for `variant`."""
    for kind in sorted(emulated_kinds()):
        module = importlib.import_module(f"dam_sync.emulators.{kind}.options")
        simple = [
            f"{field.name}={json.dumps(field.default)}"
            for field in fields(module.Options)
            if field.init and field.default is not MISSING and isinstance(field.default, (*SCALARS, type(None)))
        ]
        yield kind, ", ".join(simple), ", ".join(module.VARIANTS)
