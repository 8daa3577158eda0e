"""How each service wants to be tried; nothing of the suite names one."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.emulators.kit.profile import Profile as Wired
from tests.support.pairs import EVERY
from tests.support.services.profiles import profile_of

WIRED: Mapping[str, Wired] = {kind: profile_of(kind) for kind in EVERY}
VARIANTS = ("", "second")
