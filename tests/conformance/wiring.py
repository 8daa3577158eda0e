"""How each service wants to be tried; nothing of the suite names one."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.emulation.trial import Trial as Wired
from dam_sync.services import discover, trial_of

WIRED: Mapping[str, Wired] = {kind: trial_of(kind) for kind in discover()}
VARIANTS = ("", "second")
