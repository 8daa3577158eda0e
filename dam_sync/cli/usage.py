"""Hints for command lines that are typed in another order, or as other tools take them."""

from __future__ import annotations

import os
import shlex
from itertools import combinations
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

LONGEST_LINE: Final = 20  # words that are looked through for a path with spaces
JOB_FILES: Final = (".yaml", ".yml")


class CommandGroup(TyperGroup):
    """Commands; says so if one is typed after its job."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """The command that is typed first. Raises UsageError if it is none."""
        first, rest = args[0], args[1:]
        if self.get_command(ctx, first) is None and not ctx.resilient_parsing:
            if rest and self.get_command(ctx, rest[0]) is not None:
                typed = shlex.join([rest[0], first, *rest[1:]])
                ctx.fail(f"The command comes first: {ctx.command_path} {typed}")
            if first.endswith(JOB_FILES):
                ctx.fail(f"No such command {first!r}. The command comes first: {ctx.command_path} COMMAND {first}")
        found = super().resolve_command(ctx, args)
        if not ctx.resilient_parsing:
            self._refuse_split_path(ctx, found[2])
        return found

    def _refuse_split_path(self, ctx: Any, args: list[str]) -> None:
        """Raises UsageError for a path with spaces that the shell took apart."""
        for begin, end in combinations(range(min(len(args), LONGEST_LINE) + 1), 2):
            path = " ".join(args[begin:end])
            # not by pathlib, which raises OSError where a name is longer than the file system allows
            if end > begin + 1 and os.path.isfile(path) and not os.path.exists(args[begin]):
                ctx.fail(f"A path with spaces is written in quotes: {shlex.quote(path)}")


class RunCommand(TyperCommand):
    """`run`, whose dry run is a command of its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See `TyperCommand.parse_args`. Raises UsageError."""
        if "--dry-run" in args and not ctx.resilient_parsing:
            ctx.fail("No such option: --dry-run. Use `dam-sync plan JOB`: it shows what a run would do")
        return super().parse_args(ctx, args)
