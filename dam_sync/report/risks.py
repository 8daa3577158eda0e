"""What the reader of a plan or run should decide about, from the rest of its report."""

from __future__ import annotations

from collections.abc import Iterator

from dam_sync.model.wording import counted
from dam_sync.report.causes import sentence
from dam_sync.report.parts import HIGH, LOW, MEDIUM, ReportedRisk
from dam_sync.report.report import Report

NAME_TAKEN = "name taken"  # the rule of a loss that has a risk of its own
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
        held = row["fate"] == "set aside"
        fate = "are held back until you decide" if held else f"are {row['fate']} by the job"
        text = f"{counted(row['assets'], 'asset')} would be visible to more people ({row['meaning']}): they {fate}"
        text += f". {row['remedy']}" * bool(held and row.get("remedy"))
        yield ReportedRisk(HIGH if held else MEDIUM, "exposure", text, row["assets"])


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
        text = f"the run may need {disk.state + disk.spool:,} bytes in {disk.path}, and {disk.free:,} are free"
        yield ReportedRisk(HIGH, "disk", text)


def _parked(report: Report) -> Iterator[ReportedRisk]:
    for row in report.parked[:SHOWN]:
        meaning = sentence(row["cause"]) or row["cause"]
        one, several = ("asset is", "assets are") if not report.is_plan else ("asset would be", "assets would be")
        text = f"{counted(row['count'], one, several)} parked: {meaning}"
        yield ReportedRisk(MEDIUM, "parked", text, row["count"])


def _options(report: Report) -> Iterator[ReportedRisk]:
    for one in report.undecided:
        many = f" ({counted(one.assets, 'asset')})" if one.assets else ""
        yield ReportedRisk(MEDIUM if one.assets else LOW, "option", f"{one.text}{many}: {one.hint}", one.assets)


def _losses(report: Report) -> Iterator[ReportedRisk]:
    undecided = {one.part for one in report.undecided}
    losses = [loss for loss in report.losses if loss["path"] not in undecided and loss["rule"] != NAME_TAKEN]
    for loss in losses[:SHOWN]:
        yield ReportedRisk(MEDIUM, "loss", f"{loss['text']} ({counted(loss['assets'], 'asset')})", loss["assets"])
    if more := len(losses[SHOWN:]):
        yield ReportedRisk(MEDIUM, "loss", f"{counted(more, 'more kind')} of loss")


def _names(report: Report) -> Iterator[ReportedRisk]:
    number = report.collisions.assets
    if number:
        text = f"{counted(number, 'asset gets', 'assets get')} another file name, because theirs is taken"
        yield ReportedRisk(MEDIUM, "names", text, number)
