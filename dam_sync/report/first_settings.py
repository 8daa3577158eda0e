"""What a person should look at first in a new job, in order. Each function returns no lines if there is nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dam_sync.model.probed import Undecided
from dam_sync.model.wording import counted

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


def about_idle(parts: Sequence[str], kind: str) -> list[str]:
    """Lines of the mapping that do nothing. kind: of the source."""
    if not parts:
        return []
    return [
        f"`options` of the source: it gives no value for {', '.join(parts)}, as the job is set up; "
        f"the topic {kind} of `dam-sync help` lists the options that say where they are"
    ]


def about_doubtful(lines: Sequence[tuple[str, str]]) -> list[str]:
    """Lines of the mapping with a low score, each with its score and reason."""
    shown = [f"the line `{target}` of the mapping: {why}" for target, why in lines[:SHOWN]]
    more = len(lines) - SHOWN
    return [*shown, f"{counted(more, 'more line')} of the mapping with a score below 0.9"] if more > 0 else shown
