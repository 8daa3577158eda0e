"""What the report of a plan has besides that of a run: duration, disk and allowances."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dam_sync.api.bootstrap import ConnectedJob
from dam_sync.api.plans.duration import PlannedTime, Speed, disk_of, estimate_notes, estimate_of
from dam_sync.api.service_notes import about_side_effects
from dam_sync.engine.run.dry_run import DryFiles, DryTarget
from dam_sync.http.rates.shared import month_after
from dam_sync.model.run_options import RunOptions
from dam_sync.report import sentences
from dam_sync.report.parts import AllowanceReach
from dam_sync.report.report import Report


@dataclass(frozen=True, slots=True)
class PlanSpan:
    """How long a plan took, by the clock, and the bytes of its state before and after."""

    started: float
    ended: float
    bytes_before: int
    bytes_after: int


def add_estimate(report: Report, opened: ConnectedJob, files: DryFiles, span: PlanSpan) -> None:
    """Add the calls that open files, their bytes, the duration and the disk."""
    target = opened.target
    assert isinstance(target, DryTarget)
    for endpoint, number in files.estimated.items():
        report.source.calls[endpoint] = report.source.calls.get(endpoint, 0) + number
    report.bytes = files.size
    planned = PlannedTime.of(target, files, report.counts, (span.started, span.ended))
    disk = disk_of(opened.job, max(0, span.bytes_after - span.bytes_before), files)
    readers, writers = opened.source.limits.pace.most, target.capabilities.writers
    speeds = Speed.of(opened.source, readers), Speed.of(target, writers)
    report.estimate = estimate_of(planned, speeds, files, opened.job.limits.bandwidth, disk)
    report.notes.extend(estimate_notes(files, target, report.estimate))
    sides = (("source", opened.source), ("target", target))
    report.notes.extend(sentences.about_costs([role for role, one in sides if one.capabilities.costs is None]))
    report.notes.extend(sentences.about_combined("target", report.target.calls, report.target.at_least))


async def add_service_notes(report: Report, opened: ConnectedJob, options: RunOptions) -> None:
    """Add what the services counted of monthly allowances, and what a migration causes besides. Asked after the plan,
    whose calls are those of its run."""
    for role, service in (("source", opened.source), ("target", opened.target)):
        for text in sentences.about_counted_calls(await service.counted_calls()):
            report.notes.append(f"{role}: {text}")
    report.notes.extend(about_side_effects(opened.job, options, "source", "target"))


def add_allowances(report: Report, opened: ConnectedJob, options: RunOptions) -> None:
    """Add how far the monthly allowances of calls reach, with a note for each that does not suffice."""
    sides = {"source": (report.source, opened.source_account), "target": (report.target, opened.target_account)}
    found = []
    for role, (side, account) in sides.items():
        if account.allowance is None:
            continue
        left, needed = max(0, options.rates.left(role, account.allowance)), side.total_calls
        renewed = month_after(options.clock.now())
        if left < needed:
            report.notes.append(sentences.about_allowance(role, needed, left, account.allowance.calls, renewed))
        found.append(_reach(report, role, account.allowance.calls, left, needed, f"{renewed:%Y-%m-%d}"))
    if report.estimate is not None:
        report.estimate = replace(report.estimate, allowances=tuple(found))


def _reach(report: Report, side: str, calls: int, left: int, needed: int, renewed: str) -> AllowanceReach:
    short = max(0, needed - left)
    assets = report.scope.covered * min(left, needed) // max(1, needed)
    return AllowanceReach(side, calls, left, needed, assets, renewed, 1 + -(-short // max(1, calls)))
