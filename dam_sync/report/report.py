"""The result of a plan, a run or a verification, as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field

from dam_sync.model import journal_names
from dam_sync.model.values import Json


@dataclass(slots=True)
class ReportedSide:
    """One service in a report. `calls` by endpoint; for a plan they are estimated."""

    kind: str
    tenant: str
    release: str = ""
    assets: int | None = None
    calls: dict[str, int] = field(default_factory=dict)

    @property
    def total_calls(self) -> int:
        """Total API calls."""
        return sum(self.calls.values())


@dataclass(slots=True)
class Report:
    """kind: plan, run or verify. counts: assets by what happened to them. losses: by path and rule, with their assets.

    operations: how many writes of each kind. repaired: assets by the part that was changed at the target and is set
    right. parked: cause, operation, hint, count, example. exposure: by rule, how many assets more people would see, or
    may see because the operator accepted it: rule, fate, assets, examples, meaning. conflicts: values that changed at
    both services: path, take (source, target, merged or parked), by (policy or decision), assets, examples. gone:
    assets that are gone from the source and are to be removed at the target: asset, target, reason, since, until (the
    end of the grace period). left_out: assets that were not selected, by the condition of `select`.
    """

    kind: str
    job: str
    source: ReportedSide
    target: ReportedSide
    started: str
    ended: str
    run: int = 0
    seconds: float = 0.0
    resumed: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    operations: dict[str, int] = field(default_factory=dict)
    digest: str = ""
    repaired: dict[str, int] = field(default_factory=dict)
    losses: list[dict[str, Json]] = field(default_factory=list)
    parked: list[dict[str, Json]] = field(default_factory=list)
    exposure: list[dict[str, Json]] = field(default_factory=list)
    conflicts: list[dict[str, Json]] = field(default_factory=list)
    gone: list[dict[str, Json]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    verdict: dict[str, Json] | None = None
    forecast_seconds: float | None = None

    @property
    def clean(self) -> bool:
        """Whether a verification found no difference."""
        return self.verdict is None or bool(self.verdict["clean"])

    @property
    def early(self) -> bool:
        """Whether it is too early to decide about some assets."""
        return self.verdict is not None and bool(self.verdict.get("early"))

    def as_json(self) -> dict[str, Json]:
        """For `--json` and files."""
        return asdict(self)


def count_operations(names: Counter[str]) -> dict[str, int]:
    """Writes by kind, without their inner steps and settled conflicts."""
    kinds: Counter[str] = Counter()
    for name, number in names.items():
        if journal_names.writes(name):
            kinds[journal_names.kind_of(name)] += number
    return dict(sorted(kinds.items()))
