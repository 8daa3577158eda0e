"""What the operator accepts of what guards find, kept for the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dam_sync.engine.context.run_state import RunState
from dam_sync.engine.context.run_task import RunTask
from dam_sync.model.run_options import RunOptions
from dam_sync.store.note_keys import accepted_key
from dam_sync.store.rollbacks import ROLLBACK

REPORTED = ("run", "only", ROLLBACK)  # the commands whose report is one of all processes that took part


@dataclass(slots=True)
class Accepted:
    """findings: as sentences, of all processes that took part in the run."""

    task: RunTask
    state: RunState
    findings: list[str] = field(default_factory=list)

    @property
    def options(self) -> RunOptions:
        """They say what is accepted."""
        return self.task.options

    def note(self, findings: Iterable[str]) -> None:
        """Record findings; safe to repeat."""
        self.findings.extend(one for one in findings if one not in self.findings)

    async def accept(self, findings: Iterable[str]) -> None:
        """Record what the operator accepted, before anything is stored because of it: if this process is killed, the
        report of the run that is resumed has it, too. Safe to repeat."""
        self.note(findings)
        await self.keep()

    async def keep(self) -> None:
        """Store what was accepted for this run so far. Safe to repeat."""
        if self.findings and self.state.run.command.startswith(REPORTED):
            await self.state.store.set_meta(accepted_key(self.state.run.id), self.findings)

    async def recall(self) -> None:
        """Take over what was accepted for the earlier processes of this run."""
        self.note(await self.state.store.get_meta(accepted_key(self.state.run.id)) or [])
