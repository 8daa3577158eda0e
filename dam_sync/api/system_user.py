"""Who runs the program on this computer."""

from __future__ import annotations

import getpass


def user_name() -> str:
    """The user of this computer; empty for one that has no name."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        return ""
