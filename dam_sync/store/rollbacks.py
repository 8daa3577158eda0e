"""Which runs roll back another, by the command in the history."""

from __future__ import annotations

from typing import Final, Protocol

ROLLBACK: Final = "rollback "


class RunOfHistory(Protocol):
    """A run in the history."""

    @property
    def command(self) -> str:
        """What was run."""
        ...


def rollback_command(run: int) -> str:
    """The command of a run that rolls back another."""
    return f"{ROLLBACK}{run}"


def rollback_of(row: RunOfHistory) -> int | None:
    """The run that this one rolls back; None if it is no rollback."""
    return int(row.command.removeprefix(ROLLBACK)) if row.command.startswith(ROLLBACK) else None
