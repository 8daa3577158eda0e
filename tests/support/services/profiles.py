"""How each service is tried: the emulated ones as their emulators say, and the folder, which is its own."""

from __future__ import annotations

from dam_sync import emulators
from dam_sync.emulators.kit.profile import Profile

FOLDER = "folder"
_FOLDER = Profile(
    auth=({},),
    denied={},
    options={"bag": "off"},
    fixed=frozenset({"country"}),
    containers={"folder": "folder", "label": "label", "collection": "collection"},
)


def profile_of(kind: str) -> Profile:
    """How a service of this kind is tried."""
    return _FOLDER if kind == FOLDER else emulators.profile_of(kind)


def prefix_in(target: str, source: str) -> str:
    """What is before the names of fields at a target: a folder takes them as they are at its source."""
    return profile_of(source if target == FOLDER else target).prefix


def marker_in(target: str, field: str) -> str:
    """The field of a target that takes the marker; `field` where it was made for it."""
    return "source_key" if target == FOLDER else profile_of(target).prefix + field
