"""The result of a plan, a run or a verification, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from dam_sync.model import journal_names
from dam_sync.model.safe_text import visible
from dam_sync.model.values import Json
from dam_sync.report.parts import (
    Collisions,
    Estimate,
    FieldAccount,
    FileProblem,
    Headline,
    IrreversibleStep,
    LossLine,
    MadeTree,
    MappingLine,
    Omission,
    OpenOption,
    Origin,
    ReportedRisk,
    ReportScope,
)

FORMAT = 2  # of `as_json`; 1 had no `format`


@dataclass(slots=True)
class ReportedSide:
    """One service in a report. user: of its credential; `calls` by endpoint; for a plan they are estimated. at_least:
    those of a plan that are a lower bound, by endpoint, with what one call takes."""

    kind: str
    tenant: str
    release: str = ""
    assets: int | None = None
    calls: dict[str, int] = field(default_factory=dict)
    user: str = ""
    at_least: dict[str, str] = field(default_factory=dict)

    @property
    def total_calls(self) -> int:
        """Total API calls."""
        return sum(self.calls.values())


@dataclass(slots=True, repr=False)
class Report:
    """kind: plan, run, verify or adopt. wave: of a job with waves. counts: assets by what happened to them.

    headline: the result in one sentence; None for verifications and adoptions, which have a `verdict` or counts.
    origin: who made it, with which version, mapping and schemas. scope: which assets it covers. mapping: field rules
    with samples; accounts: what became of the values, by path; omissions: fields that the mapping leaves out on
    purpose; losses: what else is not carried, by path and rule, with their assets. terms, containers: what is to be
    created. collisions: file names that are taken. files: those that the target does not take. operations: how many
    writes of each kind. repaired: assets by the part that was changed at the target and is set right. parked: cause,
    text, operation, hint, count, asset, example. exposure: by rule, how many assets more people would see, or may
    see because the operator accepted it: rule, fate, assets, examples, meaning. conflicts: values that changed at
    both services: path, take (source, target, merged or parked), by (policy or decision), assets, examples. gone:
    assets that are gone from the source and are to be removed at the target: asset, target, reason, since, until
    (the end of the grace period). left_out: assets that were not selected, by the condition of `select`. estimate:
    of a plan. risks: what the reader should decide about. undecided: what is left behind until an option says what
    becomes of it. irreversible: writes that nothing takes back. notes: what needs no decision. names: the file name
    or title of each asset in an example, by its id at the source.
    """

    kind: str
    job: str
    source: ReportedSide
    target: ReportedSide
    started: str
    ended: str
    run: int = 0
    wave: str = ""
    seconds: float = 0.0
    resumed: bool = False
    headline: Headline | None = None
    origin: Origin = field(default_factory=Origin)
    scope: ReportScope = field(default_factory=ReportScope)
    counts: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    operations: dict[str, int] = field(default_factory=dict)
    digest: str = ""
    repaired: dict[str, int] = field(default_factory=dict)
    mapping: list[MappingLine] = field(default_factory=list)
    accounts: list[FieldAccount] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)
    losses: list[LossLine] = field(default_factory=list)
    terms: list[MadeTree] = field(default_factory=list)
    containers: list[MadeTree] = field(default_factory=list)
    collisions: Collisions = field(default_factory=Collisions)
    files: list[FileProblem] = field(default_factory=list)
    parked: list[dict[str, Json]] = field(default_factory=list)
    exposure: list[dict[str, Json]] = field(default_factory=list)
    conflicts: list[dict[str, Json]] = field(default_factory=list)
    gone: list[dict[str, Json]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    estimate: Estimate | None = None
    risks: list[ReportedRisk] = field(default_factory=list)
    irreversible: list[IrreversibleStep] = field(default_factory=list)
    undecided: list[OpenOption] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    verdict: dict[str, Json] | None = None
    names: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        counts = ", ".join(f"{number:,} {name}" for name, number in self.counts.items() if number)
        number = f" {self.run}" if self.run else ""
        return f"<Report of {self.kind}{number} of job {visible(self.job)}: {counts or 'no counts'}>"

    @property
    def is_plan(self) -> bool:
        """Whether it says what would happen, rather than what happened."""
        return self.kind.startswith("plan")

    @property
    def clean(self) -> bool:
        """Whether a verification found no difference."""
        return self.verdict is None or bool(self.verdict["clean"])

    @property
    def early(self) -> bool:
        """Whether it is too early to decide about some assets."""
        return self.verdict is not None and bool(self.verdict.get("early"))

    def as_json(self) -> dict[str, Json]:
        """For `--json` and files; see `dam-sync help reports`."""
        return {"format": FORMAT, **asdict(self)}


def count_operations(names: Mapping[str, int]) -> dict[str, int]:
    """Writes by kind, without their inner steps and settled conflicts."""
    kinds: Counter[str] = Counter()
    for name, number in names.items():
        if journal_names.writes(name):
            kinds[journal_names.kind_of(name)] += number
    return dict(sorted(kinds.items()))
