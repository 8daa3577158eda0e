"""The result of a rollback, or of its preview, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dam_sync.model.values import Json

COLUMNS = ("what", "assets or parts", "why", "for example")


@dataclass(slots=True)
class RollbackReport:
    """run: the run that is rolled back; by: the rollback, 0 for a preview. done: whether everything of the run is
    undone now but for what was meant to stay, as exit code 0 says; nothing: whether there was nothing left to undo.
    cannot: what stays as the run left it: what, reason, number, examples, stays (it was meant to stay). counts: assets
    and parts by what becomes of them. trashed: of these, assets that go to the trash, of `linked`; over: why they are
    too many for a rollback without --max-deletes."""

    job: str
    run: int
    command: str
    started: str
    by: int = 0
    dry_run: bool = False
    resumed: bool = False
    done: bool = False
    nothing: bool = False
    cannot: list[dict[str, Json]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    trashed: int = 0
    linked: int = 0
    over: str = ""
    calls: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether nothing stays that somebody has to look at."""
        return not any(not row["stays"] for row in self.cannot)

    def as_json(self) -> dict[str, Json]:
        """For `--json`."""
        return asdict(self)


def rows_of(cannot: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """What stays, as rows of a table."""
    return [(row["what"], f"{row['number']:,}", row["reason"], ", ".join(row["examples"])) for row in cannot]
