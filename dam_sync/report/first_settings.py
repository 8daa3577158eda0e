"""What a person should look at first in a new job, in order. Each function returns no lines if there is nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dam_sync.model.capabilities import Feature
from dam_sync.model.connector import Connector
from dam_sync.model.probed import Undecided
from dam_sync.model.wording import agreed, counted

DATED = ("release", "expiry")  # parts of an asset that tenants often keep in a field of their own
SHOWN = 5  # lines of the mapping
POLICY = (
    "`policy` in the job file: as long as it is not there, nothing is removed at the target, all file versions are "
    "moved, and what changed at both services is parked (`dam-sync help jobs`)"
)
MARKER = (
    "the marker: no line of the mapping has it, and nothing is planned or run until one says `{marker: true}`. Add an "
    "optional, searchable text field to the target and give it that line, or write `marker: none` into the mapping"
)


def about_options(undecided: Mapping[str, Sequence[Undecided]]) -> list[str]:
    """Options that decide what is left behind, by role."""
    return [f"`options` of the {role}: {one.text}; {one.hint}" for role, parts in undecided.items() for one in parts]


def about_idle(parts: Sequence[str], kind: Connector) -> list[str]:
    """Lines of the mapping that do nothing. kind: of the source, whose options may change that, or not."""
    if not parts:
        return []
    able = kind.capabilities
    by_option = [part for part in parts if able.reads(Feature[part.upper()])]
    never = [part for part in parts if part not in by_option]
    told = [
        f"`options` of the source: it gives no value for {', '.join(by_option)}, as the job is set up; "
        f"the topic {kind.name} of `dam-sync help` lists the options that say where they are"
    ]
    lines = f"the {agreed(len(never), 'line', 'lines')} {', '.join(f'`{part}`' for part in never)} of the mapping"
    held = next((part for part in never if part in DATED), never[0] if never else "")
    pipe = ", pipe: [datetime]" if held in DATED else ""  # of a day, of a text and of a timestamp
    silent = [
        f"{lines}: {kind.name} has nothing of the kind, and no option changes that; if a field of the source holds it, "
        f"let the line read that: `{held}: {{from: fields.KEY{pipe}}}`"
    ]
    return [*(told if by_option else []), *(silent if never else [])]


def about_doubtful(lines: Sequence[tuple[str, str]]) -> list[str]:
    """Lines of the mapping with a low score, each with its score and reason."""
    shown = [f"the line `{target}` of the mapping: {why}" for target, why in lines[:SHOWN]]
    more = len(lines) - SHOWN
    return [*shown, f"{counted(more, 'more line')} of the mapping with a score below 0.9"] if more > 0 else shown
