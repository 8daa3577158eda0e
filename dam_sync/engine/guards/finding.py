"""What a guard found, and the one way in which it stops a run: every reason at once, with the flag that goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dam_sync.engine.run_context import RunControl
from dam_sync.model.errors import SafetyStop

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class GuardFinding:
    """Why going on may be a mistake, and what to do. `--accept-changes` always goes on; `full`: `--full` does as well,
    for it reads and maps every asset again."""

    message: str
    hint: str
    full: bool = False


def refuse(findings: Sequence[GuardFinding], control: RunControl) -> tuple[str, ...]:
    """What the operator accepted, in words. Raises SafetyStop with everything that was not accepted, so that nobody
    accepts what he was not told."""
    if not (control.accept_changes or all(finding.full and control.full for finding in findings)):
        message = "; ".join(finding.message for finding in findings)
        raise SafetyStop(message, hint="; ".join(dict.fromkeys(finding.hint for finding in findings)))
    return tuple(finding.message for finding in findings)
