"""How an extra of this distribution is installed: from the checkout or the wheel, never by a name from an index, where
it may be somebody else's."""

from __future__ import annotations


def install_hint(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '.[{extra}]' in the checkout; from a wheel: pip install 'FILE.whl[{extra}]'"
