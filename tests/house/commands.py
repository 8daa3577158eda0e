"""The commands of the product, as the house tests read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import typer.main

from dam_sync.cli import cli

COMMANDS: Mapping[str, Any] = typer.main.get_command(cli).commands  # type: ignore[attr-defined]

MEMBERS: Mapping[str, frozenset[str]] = {
    name: frozenset(command.commands) for name, command in COMMANDS.items() if hasattr(command, "commands")
}


def parameters_of(command: Any) -> Sequence[Any]:
    """The parameters of a command, or those of all commands of a group."""
    members = getattr(command, "commands", {}).values()
    return [*command.params, *(parameter for member in members for parameter in member.params)]
