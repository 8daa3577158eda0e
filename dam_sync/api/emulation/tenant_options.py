"""How the tenants of a demo name their parts: a file next to its library, so that the job of the demo also works when
the library is emulated again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from dam_sync.api.atomic_io import atomic_write
from dam_sync.emulators import profile_of
from dam_sync.emulators.kit.profile import Profile
from dam_sync.model.errors import ConfigError

TENANT_OPTIONS = "emulate.json"


def write_tenant_options(catalogue: Path, kinds: Iterable[str]) -> None:
    """Write next to a catalogue how the tenants of a demo name their parts, as the options of its job say: `emulate`
    reads it with the catalogue."""
    trials: dict[str, Profile] = {kind: profile_of(kind) for kind in sorted(set(kinds))}
    named = {
        kind: {key: trial.emulated[key] for key in trial.naming if key in trial.emulated}
        for kind, trial in trials.items()
    }
    with atomic_write(catalogue.with_name(TENANT_OPTIONS), "the options of the emulated services") as out:
        out.write(json.dumps(named, indent=2) + "\n")


def tenant_options(catalogue: Path | None, kind: str) -> dict[str, object]:
    """What `write_tenant_options` wrote for this kind; empty without such a file. Raises ConfigError if it is damaged
    or cannot be read."""
    path = None if catalogue is None else catalogue.with_name(TENANT_OPTIONS)
    if path is None or not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")).get(kind) or {})
    except (OSError, ValueError, TypeError, AttributeError) as problem:
        hint = "delete it, or run the demo again, which writes it"
        raise ConfigError(f"the options in {path} cannot be read: {problem}", hint=hint) from None
