"""What the reader of a plan or run should decide about, from the rest of its report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dam_sync.model.exposure import HIDING, ExposureResult
from dam_sync.model.loss_rules import LossRule
from dam_sync.model.parking import ExposureCause, park_cause
from dam_sync.model.wording import agreed, bytes_text, counted
from dam_sync.report.parts import HIGH, LOW, MEDIUM, ReportedRisk
from dam_sync.report.report import Report

SHOWN = 5  # losses and causes named one by one


def risks_of(report: Report) -> list[ReportedRisk]:
    """The risks, the highest first."""
    found = [
        *_exposure(report),
        *_estimate(report),
        *_parked(report),
        *_options(report),
        *_losses(report),
        *_names(report),
    ]
    return sorted(found, key=lambda risk: (HIGH, MEDIUM, LOW).index(risk.level))


def _exposure(report: Report) -> Iterator[ReportedRisk]:
    for row in report.exposure:
        number, meaning, held = row["assets"], row["meaning"], row["fate"] == ExposureResult.REFUSED
        are = "will be" if report.is_plan else agreed(number, "is", "are")
        if row["fate"] in HIDING:
            fate = f"{are} {meaning}"
        elif held:
            fate = f"would be visible to more people ({meaning}): held back until you decide"
        else:
            fate = f"{are} visible to more people ({meaning}), as the job accepts"
        remedy = row.get("remedy") if held else None
        text = f"{counted(number, 'asset')} {fate}{f'. {remedy}' if remedy else ''}"
        yield ReportedRisk(HIGH if held else MEDIUM, "exposure", text, number)


def _estimate(report: Report) -> Iterator[ReportedRisk]:
    if report.estimate is None:
        return
    for reach in report.estimate.allowances:
        if reach.left < reach.needed:
            text = (
                f"the monthly allowance of the {reach.side} suffices for {counted(reach.assets, 'asset')}: of "
                f"{reach.needed:,} calls that are needed, {reach.left:,} are left until {reach.renewed}; it takes "
                f"{counted(reach.months, 'month')}"
            )
            yield ReportedRisk(HIGH, "allowance", text, reach.assets)
    disk = report.estimate.disk
    if disk is not None and disk.state + disk.spool > disk.free:
        need, free = bytes_text(disk.state + disk.spool), bytes_text(disk.free)
        text = f"the run may need {need} in {disk.path}, and {free} {agreed(disk.free, 'is', 'are')} free"
        yield ReportedRisk(HIGH, "disk", text)


def _parked(report: Report) -> Iterator[ReportedRisk]:
    """One line for each reason; assets that are set aside because more people would see them have lines already."""
    reasons: Counter[str] = Counter()
    for row in report.parked:
        if not isinstance(park_cause(row["cause"]), ExposureCause):
            reasons[row.get("text") or row["cause"]] += row["count"]
    one, several = ("asset is", "assets are") if not report.is_plan else ("asset would be", "assets would be")
    for reason, number in reasons.most_common(SHOWN):
        yield ReportedRisk(MEDIUM, "parked", f"{counted(number, one, several)} parked: {reason}", number)
    if rest := reasons.most_common()[SHOWN:]:
        number = sum(many for _, many in rest)
        text = f"{counted(number, one, several)} parked for {counted(len(rest), 'other reason')}"
        yield ReportedRisk(MEDIUM, "parked", text, number)


def _options(report: Report) -> Iterator[ReportedRisk]:
    for one in report.undecided:
        many = f" ({counted(one.assets, 'asset')})" if one.assets else ""
        yield ReportedRisk(MEDIUM if one.assets else LOW, "option", f"{one.text}{many}: {one.hint}", one.assets)


def _losses(report: Report) -> Iterator[ReportedRisk]:
    undecided = {one.part for one in report.undecided}
    losses = [loss for loss in report.losses if loss["path"] not in undecided and loss["rule"] != LossRule.NAME_TAKEN]
    for loss in losses[:SHOWN]:
        yield ReportedRisk(MEDIUM, "loss", f"{loss['text']} ({counted(loss['assets'], 'asset')})", loss["assets"])
    if more := len(losses[SHOWN:]):
        yield ReportedRisk(MEDIUM, "loss", f"{counted(more, 'more kind')} of loss")


def _names(report: Report) -> Iterator[ReportedRisk]:
    number = report.collisions.assets
    if number:
        text = f"{counted(number, 'asset gets', 'assets get')} another file name, because theirs is taken"
        yield ReportedRisk(MEDIUM, "names", text, number)
