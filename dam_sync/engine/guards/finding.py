"""What a guard found, and how it stops a run: all reasons at once, with the flag that continues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dam_sync.model.errors import SafetyStop
from dam_sync.model.run_options import RunOptions

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class GuardFinding:
    """Why continuing may be a mistake, and what to do. `--accept-changes` always continues; `full`: `--full` does too,
    because it reads and maps every asset again."""

    message: str
    hint: str
    full: bool = False


def refuse(findings: Sequence[GuardFinding], options: RunOptions) -> tuple[str, ...]:
    """The accepted findings as sentences. Raises SafetyStop with everything that was not accepted, so that nobody
    accepts an unreported finding."""
    if not (options.accept_changes or all(finding.full and options.full for finding in findings)):
        message = "; ".join(finding.message for finding in findings)
        raise SafetyStop(message, hint="; ".join(dict.fromkeys(finding.hint for finding in findings)))
    return tuple(finding.message for finding in findings)
