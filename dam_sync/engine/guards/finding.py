"""What a guard found, and how it stops a run: all reasons at once, with the flag that continues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dam_sync.engine.context.run_state import RunState
from dam_sync.model.errors import SafetyStop, WrongClock
from dam_sync.model.run_options import RunOptions
from dam_sync.model.safe_text import visible

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class GuardFinding:
    """Why continuing may be a mistake, and what to do. `--accept-changes` always continues; `full`: `--full` does too,
    because it reads and maps every asset again. named: examples that follow the message."""

    message: str
    hint: str
    full: bool = False
    named: str = ""
    passing: bool = False  # it may be over by itself


def empty_state(state: RunState) -> str:
    """What gives a job a state without links: one on a server has a schema that is named after its job."""
    return "another `name:`, or an empty database in `state:`" if state.on_server else "a new `state:` file"


def refuse(findings: Sequence[GuardFinding], options: RunOptions) -> tuple[str, ...]:
    """The accepted findings as sentences. Raises SafetyStop with everything that was not accepted, so that nobody
    accepts an unreported finding."""
    if not (options.accept_changes or all(finding.full and options.full for finding in findings)):
        named = [finding.message + finding.named for finding in findings]
        kind = WrongClock if all(finding.passing for finding in findings) else SafetyStop
        stop = kind(_list(named), hint=_hints(findings))
        stop.public = _list([finding.message for finding in findings])
        raise stop
    return tuple(finding.message + finding.named for finding in findings)


def _list(findings: Sequence[str]) -> str:
    """One message, or a numbered list with a line for each."""
    if len(findings) == 1:
        return findings[0]
    lines = [f"{number}. {visible(finding)}" for number, finding in enumerate(findings, 1)]
    return "\n".join((f"{len(findings)} reasons not to continue:", *lines))


def _hints(findings: Sequence[GuardFinding]) -> str:
    """One hint, or a line for each with the numbers of the messages that it is about."""
    numbers: dict[str, list[str]] = {}
    for number, finding in enumerate(findings, 1):
        numbers.setdefault(finding.hint, []).append(str(number))
    if len(numbers) == 1:
        return findings[0].hint
    lines = [f"{' and '.join(about)}: {visible(hint)}" for hint, about in numbers.items()]
    return "\n".join(("what to do about each:", *lines))
